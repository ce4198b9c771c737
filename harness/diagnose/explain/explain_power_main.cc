// Measures explain() on planted defects: docs/explain.md has the figures.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "harness/diagnose/explain/explain_power.h"

namespace {

using namespace qconform::diagnose;

struct PowerOptions {
  std::uint64_t sets = 0;
  std::size_t defects = 2;
  std::string only;
  std::uint64_t shards = 1;
  std::uint64_t shard = 0;
  TrialOptions trial;
};

class Measurement {
 public:
  explicit Measurement(std::string title) : title_(std::move(title)) {}

  void add(const Trial& trial) {
    if (!trial.explanation) {
      ++silent_;
      return fmt::print("{:<60} no failing case\n", trial.plant.name());
    }
    const Explanation& e = *trial.explanation;
    ++grades_[trial.grade];
    seconds_.push_back(trial.processor_seconds);
    work_.push_back(e.work);
    const Soundness& sound = trial.soundness;
    regions_ += sound.region_holds() ? 1 : 0;
    patterns_ += sound.pattern_holds() ? 1 : 0;
    failing_ += sound.failing;
    outside_region_ += sound.outside_region;
    outside_pattern_ += sound.outside_pattern;
    std::string not_excluded;
    for (const DefectSet& set : e.not_excluded) not_excluded += " " + set.name();
    fmt::print(
        "{:<60} {:<11} {:5.2f} s {:4} M  {} by {}; {}/{} cases, {} failing, {} of {} wrong; {} expressions, {} agreed; "
        "{}; in {}; not excluded:{}\n",
        trial.plant.name(), name_of(trial.grade), trial.processor_seconds, e.work / 1'000'000,
        e.candidates.empty() ? "-" : e.candidates.front().name(), e.arithmetic, e.support.reproduced_cases,
        e.support.cases, e.support.failing, e.support.explained, e.support.wrong, e.expressions, e.agreed, e.pattern.id,
        e.region.text(), not_excluded);
    if (sound.failing > 0) {
      fmt::print(
          "    of {} further failing cases {} outside the region, {} with a wrong element outside the pattern; "
          "of {} passing ones {} inside the region\n",
          sound.failing, sound.outside_region, sound.outside_pattern, sound.passing, sound.passing_inside);
    }
    std::fflush(stdout);
  }

  void print() {
    fmt::print("\n{}:", title_);
    for (const auto& [grade, count] : grades_) fmt::print(" {} {},", name_of(grade), count);
    fmt::print(" no failing case {}", silent_);
    std::sort(seconds_.begin(), seconds_.end());
    if (!seconds_.empty()) {
      fmt::print("; processor seconds median {:.2f}, worst {:.2f}; most work {}", seconds_[seconds_.size() / 2],
                 seconds_.back(), *std::max_element(work_.begin(), work_.end()));
    }
    if (failing_ > 0) {
      fmt::print("\nregions that hold {} of {}, patterns {}; of {} further failing cases {} and {} outside", regions_,
                 seconds_.size(), patterns_, failing_, outside_region_, outside_pattern_);
    }
    fmt::print("\n");
  }

 private:
  std::string title_;
  std::map<Grade, int> grades_;
  int silent_ = 0;
  std::vector<double> seconds_;
  std::vector<std::uint64_t> work_;
  // Counts where defects are held out: explanations that hold, and the further cases that they are held to.
  std::size_t regions_ = 0;
  std::size_t patterns_ = 0;
  std::uint64_t failing_ = 0;
  std::uint64_t outside_region_ = 0;
  std::uint64_t outside_pattern_ = 0;
};

int run(const PowerOptions& options) {
  std::vector<Plant> plants;
  if (options.sets == 0) plants = single_plants();
  for (std::uint64_t i = 0; i < options.sets; ++i)
    plants.push_back(random_plant(options.trial.seed, i, options.defects));
  Measurement measurement(options.sets > 0 ? "sets" : options.trial.hold_out ? "held out" : "singles");
  std::erase_if(plants, [&](const Plant& plant) { return plant.name().find(options.only) == std::string::npos; });
  for (std::size_t i = options.shard; i < plants.size(); i += options.shards) {
    measurement.add(try_to_explain(plants[i], options.trial));
  }
  measurement.print();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Plants defects one by one, or several at once, and measures what explain() says of them");
  PowerOptions options;
  app.add_option("--sets", options.sets, "So many random sets of defects, in place of every single one");
  app.add_option("--defects", options.defects, "Of each set")->capture_default_str();
  app.add_flag("--hold-out", options.trial.hold_out, "Explain without the planted model");
  app.add_option("--further", options.trial.further, "Cases at least on which where and when are held to what is said")
      ->capture_default_str();
  app.add_option("--failing", options.trial.failing, "Of them failing ones, at least")->capture_default_str();
  app.add_option("--seed", options.trial.seed, "Of sets, cases and probes")->capture_default_str();
  app.add_option("--only", options.only, "Those alone whose operator and defects hold this text");
  app.add_option("--shards", options.shards, "Divide the work into so many parts")->capture_default_str();
  app.add_option("--shard", options.shard, "Do this part, from 0")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
