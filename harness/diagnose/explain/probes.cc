#include "harness/diagnose/explain/probes.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "harness/base/bytes.h"
#include "harness/base/stopwatch.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/diagnose/explain/explain.h"
#include "harness/diagnose/identify/identify.h"
#include "harness/model/defects/arithmetic.h"
#include "harness/model/draws/draws.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/model/operator.h"
#include "harness/operators/convolution/diagnosis.h"

namespace qconform::diagnose {
namespace {

constexpr std::size_t kNeighbourhoods = 12;

// Enough for a sum that leaves int32.
constexpr std::int64_t kMostWork = std::int64_t{1} << 17;

// Keeps these cases apart from those of other generators that have the same seed.
constexpr std::uint64_t kProbeStream = 0x5345'5041'5241'5445U;

}  // namespace

Probes::Probes(const Operator& op, std::uint64_t seed) : op_(op), family_(*family_of("", op.name)), seed_(seed) {
  for (const CornerCaseInfo& info : corner_cases()) {
    if (concerns(info, op.name)) concerned_.push_back(info.corner_case);
  }
}

void Probes::add_neighbourhood(const Case& test_case) {
  if (!is_small(test_case, classify(test_case))) return;
  if (neighbours_.size() < kNeighbourhoods) {
    neighbours_.push_back(test_case);
  } else {
    neighbours_[oldest_++ % kNeighbourhoods] = test_case;
  }
}

CornerCase Probes::draw_corner_case(Rng& rng) const {
  // Not always: what nobody aims for on purpose is to be met as well.
  if (!targets_.empty() && rng.chance(3, 4)) return targets_[rng.below(static_cast<std::uint32_t>(targets_.size()))];
  return concerned_[rng.below(static_cast<std::uint32_t>(concerned_.size()))];
}

Case Probes::draw(Rng& rng) const {
  const std::uint64_t turn = drawn_ % 3;
  if ((turn == 0 || (is_near_ && turn == 1)) && !neighbours_.empty()) {
    return mutate(neighbours_[rng.below(static_cast<std::uint32_t>(neighbours_.size()))], rng);
  }
  const bool has_targets = family_.draws.draw_for != nullptr && !concerned_.empty();
  if (has_targets && (turn == 1 || (!targets_.empty() && rng.chance(1, 2))))
    return family_.draws.draw_for(rng, op_, draw_corner_case(rng), Swarm());
  return op_.draw(rng, Swarm::of_case(seed_, drawn_ * kSwarmBlock));
}

Case Probes::next() {
  for (;; ++drawn_) {
    Rng rng(seed_ ^ kProbeStream, drawn_);
    Case drawn = draw(rng);
    const Classification classification = classify(drawn);
    if (!classification.lowered || classification.value_is_open || classification.lowered->work() > kMostWork) {
      continue;
    }
    drawn.id = "probe-" + std::to_string(seed_) + "-" + std::to_string(drawn_++);
    return drawn;
  }
}

namespace {

std::vector<CornerCase> corner_cases_near(const Defect& defect, const Operator& op) {
  std::vector<CornerCase> wanted;
  for (const StageInfo* stage : replaced_stages(defect)) {
    std::copy_if(stage->corner_cases.begin(), stage->corner_cases.end(), std::back_inserter(wanted),
                 [&](CornerCase corner_case) { return concerns(info_of(corner_case), op.name); });
  }
  return wanted;
}

}  // namespace

std::vector<CornerCase> common_corner_cases(const Operator& op, std::span<const Observation* const> failures) {
  const std::string_view pattern = pattern_of(failures).id;
  const bool is_rounding = pattern == "ties" || pattern == "near-ties";
  std::vector<CornerCase> common;
  for (const CornerCaseInfo& info : corner_cases()) {
    if (!concerns(info, op.name)) continue;
    const bool is_common = std::all_of(failures.begin(), failures.end(), [&](const Observation* observation) {
      return observation->expected().corner_cases[info.corner_case] > 0;
    });
    if (is_common || (is_rounding && info.corner_case <= CornerCase::near_tie_below))
      common.push_back(info.corner_case);
  }
  return common;
}

std::vector<CornerCase> separating_corner_cases(const Operator& op, std::span<const DefectSet* const> candidates,
                                                std::span<const Defect* const> known, bool few_failures) {
  std::vector<CornerCase> separating;
  for (const Defect* defect : known) {
    const auto with = std::count_if(candidates.begin(), candidates.end(), [&](const DefectSet* candidate) {
      return std::find(candidate->defects.begin(), candidate->defects.end(), defect) != candidate->defects.end();
    });
    const bool is_common = with == static_cast<std::ptrdiff_t>(candidates.size()) && !few_failures;
    if (with == 0 || is_common) continue;
    for (const CornerCase corner_case : corner_cases_near(*defect, op)) separating.push_back(corner_case);
  }
  return separating;
}

namespace {

// Cases of one answer that tell the backend from the nearest eliminated candidates.
constexpr std::size_t kTelling = 4;
// Runs that end their process or time out, after which nothing more is asked.
constexpr int kMostEnded = 5;

// Whether the experiment may find an arithmetic that the policy admits beside its own.
bool is_open(const Experiment& experiment, const Operator& op, const Policy& policy) {
  if (experiment.op_type != op.name) return false;
  return std::any_of(experiment.choices.begin(), experiment.choices.end(), [&](const std::string& id) {
    const Choice& choice = *find_choice(op.name, id);
    return std::any_of(choice.variants.begin(), choice.variants.end(),
                       [&](const Variant& variant) { return admits_requantization(choice, variant, policy); });
  });
}

// A backend that nobody waits for too long.
class Asking {
 public:
  Asking(const Runner& run, double seconds) : run_(run), seconds_(seconds) {}

  Outcome run(const Case& test_case) {
    if (is_given_up()) return outcome::Unsupported{"given up"};
    const auto start = std::chrono::steady_clock::now();
    Outcome outcome = run_(test_case);
    spent_ += seconds_since(start);
    const bool ended = !std::holds_alternative<outcome::Produced>(outcome) && !is_refusal(outcome);
    ended_ += ended ? 1 : 0;
    return outcome;
  }
  [[nodiscard]] bool is_given_up() const { return ended_ >= kMostEnded || spent_ > seconds_; }

 private:
  const Runner& run_;
  double seconds_;
  double spent_ = 0;
  int ended_ = 0;
};

// The pins as far as they are admitted: a model and a name for each, which is empty for the policy's own arithmetic.
class PinnedArithmetic {
 public:
  PinnedArithmetic(const Operator& op, const Policy& policy) : policy_(policy), own_(arithmetics(op, policy).front()) {}

  void add(const Pin& pin) {
    Stages stages;
    std::string name;
    for (const Choice& choice : choices()) {
      const auto found = pin.variants.find(choice.id);
      if (choice.op_type != pin.op_type || found == pin.variants.end()) continue;
      const Variant& variant = *find_variant(choice, found->second);
      if (policy_.pinned == nullptr && !admits_requantization(choice, variant, policy_)) continue;
      variant.replace(stages);
      if (&variant != &choice.variants.front()) name += (name.empty() ? "" : ", ") + variant.id;
    }
    const bool is_own = name.empty();
    models_.emplace_back(pattern_of(pin), is_own ? own_.models.common : DefectModel(std::move(stages)));
    names_.push_back(is_own ? own_.name : name);
  }

  [[nodiscard]] std::optional<Arithmetic> arithmetic() const {
    const std::set<std::string> all(names_.begin(), names_.end());
    if (all.empty() || (all.size() == 1 && names_.front() == own_.name)) return std::nullopt;
    if (all.size() == 1) return Arithmetic{names_.front(), {models_.front().second, {}}};
    return Arithmetic{by_kinds(), {own_.models.common, models_}};
  }

 private:
  // "ort-f32 (1x1), f64 (depthwise)"
  [[nodiscard]] std::string by_kinds() const {
    std::map<std::string, std::vector<KindPattern>> patterns;
    for (std::size_t i = 0; i < names_.size(); ++i) patterns[names_[i]].push_back(models_[i].first);
    std::string text;
    for (const auto& [name, kinds] : patterns) {
      text += (text.empty() ? "" : ", ") + name + " (" + text_of_patterns(kinds) + ")";
    }
    return text;
  }

  const Policy& policy_;
  Arithmetic own_;
  std::vector<std::pair<KindPattern, DefectModel>> models_;
  std::vector<std::string> names_;
};

std::vector<Case> telling_cases(const Identification& found) {
  std::vector<Case> cases;
  std::set<std::string> known;
  for (const Answer& answer : found.answers) {
    std::vector<const Candidate*> eliminated;
    for (const Candidate& candidate : answer.candidates) {
      if (candidate.refutation) eliminated.push_back(&candidate);
    }
    std::stable_sort(eliminated.begin(), eliminated.end(),
                     [](const Candidate* a, const Candidate* b) { return a->refuted_elements < b->refuted_elements; });
    if (eliminated.size() > kTelling) eliminated.resize(kTelling);
    for (const Candidate* candidate : eliminated) {
      const Case& by = candidate->refutation->test_case;
      if (known.insert(by.id).second) cases.push_back(by);
    }
  }
  return cases;
}

}  // namespace

BaseArithmetic learn_base(const Runner& run, const Operator& op, const Policy& policy, double seconds) {
  BaseArithmetic base;
  if (family_of("", op.name)->arithmetic.arithmetics == nullptr) return base;
  PinnedArithmetic pinned(op, policy);
  if (policy.pinned != nullptr) {
    for (const Pin& pin : policy.pinned->pins) {
      if (pin.op_type == op.name) pinned.add(pin);
    }
    base.arithmetic = pinned.arithmetic();
    return base;
  }
  IdentifyOptions options;
  options.wants = [&](const Experiment& experiment) { return is_open(experiment, op, policy); };
  Asking asking(run, seconds);
  const Identification found =
      identify([&](const Case& test_case) { return asking.run(test_case); }, BackendInfo{}, options);
  if (asking.is_given_up()) return base;
  for (const Pin& pin : pins_of(found, op.name, true)) pinned.add(pin);
  base.arithmetic = pinned.arithmetic();
  base.telling = telling_cases(found);
  return base;
}

}  // namespace qconform::diagnose
