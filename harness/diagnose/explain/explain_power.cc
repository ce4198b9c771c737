#include "harness/diagnose/explain/explain_power.h"
#include "harness/diagnose/explain/probes.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

#include "harness/suites/drawn.h"

namespace qconform::diagnose {
namespace {

// Keeps the cases that are searched and compared apart from those of explain().
constexpr std::uint64_t kSearchStream = 0x9A7CULL << 32;
constexpr std::uint64_t kComparisonStream = 0xC0DEULL << 32;
constexpr std::uint64_t kFurtherStream = 0xF4E5ULL << 32;

bool is_admitted(const Plant& plant) {
  return std::all_of(plant.defects.begin(), plant.defects.end(),
                     [&](const Defect* defect) { return defect->admitted.contains(plant.op->name); });
}

// As fuzzing draws them; of what that leaves to a suite of its own, as this does, with one output.
Case search_case(const Operator& op, std::uint64_t seed, std::uint64_t index) {
  if (op.usual_weight != 0) return fuzz_case(seed ^ kSearchStream, index);
  Rng rng(seed ^ kSearchStream, index);
  Case drawn = op.draw(rng, Swarm());
  if (drawn.outputs.size() > 1) drawn.outputs = {drawn.outputs.back()};
  return drawn;
}

std::unique_ptr<Observation> failing_observation(const Plant& plant, const TrialOptions& options) {
  const Runner run = plant.runner();
  for (std::uint64_t i = 0; i < options.search; ++i) {
    Case test_case = search_case(*plant.op, options.seed, i);
    if (test_case.subject() != plant.op->name) continue;
    auto observation = Observation::of(std::move(test_case), run, {});
    if (observation != nullptr && observation->is_failure()) return observation;
  }
  return nullptr;
}

bool compute_the_same(const DefectModel& a, const DefectModel& b, const Operator& op, const TrialOptions& options) {
  Probes probes(op, options.seed ^ kComparisonStream);
  for (std::uint64_t i = 0; i < options.comparisons; ++i) {
    const Case test_case = probes.next();
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled != nullptr && modelled->run(a) != modelled->run(b)) return false;
  }
  return true;
}

bool lists(const std::vector<DefectSet>& candidates, const Plant& plant) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](const DefectSet& candidate) { return candidate.defects == plant.defects; });
}

// Grades an explanation with several learnt models: one of them has to compute the same as the plant.
Grade learnt_alternatives(const Plant& plant, const Explanation& explanation, const TrialOptions& options) {
  const CandidateTest test(*plant.op, {});
  const bool has_it =
      std::any_of(explanation.candidates.begin(), explanation.candidates.end(), [&](const DefectSet& candidate) {
        return compute_the_same(test.model_of(candidate).common, plant.model(), *plant.op, options);
      });
  return has_it ? Grade::ambiguous : Grade::wrong;
}

Grade grade_of(const Plant& plant, const Explanation& explanation, const TrialOptions& options) {
  if (explanation.status == Status::unexplained) return Grade::unexplained;
  if (explanation.status == Status::partial || explanation.status == Status::reproduced) return Grade::partial;
  if (explanation.status == Status::ambiguous && lists(explanation.candidates, plant)) return Grade::ambiguous;
  if (explanation.status == Status::ambiguous && explanation.candidates.front().is_learnt()) {
    return learnt_alternatives(plant, explanation, options);
  }
  if (explanation.candidates.front().defects == plant.defects) return Grade::named;
  const NodeModels named = CandidateTest(*explanation.op, {}).model_of(explanation.candidates.front());
  if (compute_the_same(named.common, plant.model(), *plant.op, options)) {
    return explanation.status == Status::learnt ? Grade::learnt : Grade::equivalent;
  }
  return lists(explanation.not_excluded, plant) ? Grade::incomplete : Grade::wrong;
}

// Cases by the same generators from another seed, and around the case that was explained: until enough of them fail,
// since a defect may show in one of 200.
Soundness soundness_of(const Explanation& explanation, const Plant& plant, const Case& explained,
                       const TrialOptions& options) {
  Probes probes(*plant.op, options.seed ^ kFurtherStream);
  probes.add_neighbourhood(explained);
  const Runner run = plant.runner();
  Soundness result;
  const auto is_enough = [&](std::uint64_t drawn) {
    return drawn >= options.most_further || (drawn >= options.further && result.failing >= options.failing);
  };
  for (std::uint64_t i = 0; !is_enough(i); ++i) {
    const auto observation = Observation::of(probes.next(), run, {});
    if (observation == nullptr) continue;
    const bool is_inside = explanation.region.contains(features_of(observation->test_case(), observation->expected()));
    if (!observation->is_failure()) {
      ++result.passing;
      result.passing_inside += is_inside ? 1 : 0;
      continue;
    }
    ++result.failing;
    result.outside_region += is_inside ? 0 : 1;
    // An explanation of a wrong shape says nothing of elements, and the reverse.
    const bool is_told = observation->has_wrong_shape() == (explanation.place().id == "shape");
    result.outside_pattern += is_told && !lies_in(*observation, explanation.place().id) ? 1 : 0;
  }
  return result;
}

}  // namespace

std::string Plant::name() const {
  std::string text = std::string(op->name) + " ";
  for (const Defect* defect : defects) text += (text.back() == ' ' ? "" : "+") + std::string(defect->id);
  return text;
}

DefectModel Plant::model() const {
  DefectModel model;
  for (const Defect* defect : defects) static_cast<void>(model.add(*defect));
  return model;
}

Runner Plant::runner() const {
  return runner_of(model());
}

Runner runner_of(DefectModel model) {
  return [model = std::move(model)](const Case& test_case) -> Outcome {
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) return outcome::Rejected{"out of contract"};
    std::optional<Tensor> output = modelled->run(model);
    if (!output) return outcome::Unsupported{"no output"};
    return outcome::Produced{std::move(*output)};
  };
}

std::vector<Plant> single_plants() {
  std::vector<Plant> plants;
  for (const Defect& defect : defects()) {
    for (const Operator& op : operators()) {
      if (defect.operators.contains(op.name) && !defect.admitted.contains(op.name)) plants.push_back({&op, {&defect}});
    }
  }
  return plants;
}

Plant random_plant(std::uint64_t seed, std::uint64_t index, std::size_t count) {
  Rng rng(seed, index);
  const auto draw = [&] { return &defects()[rng.below(static_cast<std::uint32_t>(defects().size()))]; };
  for (;;) {
    Plant plant{&operators()[rng.below(static_cast<std::uint32_t>(operators().size()))], {}};
    DefectModel model;
    while (plant.defects.size() < count) plant.defects.push_back(draw());
    std::sort(plant.defects.begin(), plant.defects.end());
    const bool combine = std::all_of(plant.defects.begin(), plant.defects.end(), [&](const Defect* defect) {
      return defect->operators.contains(plant.op->name) && model.add(*defect).has_value();
    });
    if (combine && !is_admitted(plant)) return plant;
  }
}

std::string_view name_of(Grade grade) {
  switch (grade) {
    case Grade::named: return "named";
    case Grade::equivalent: return "equivalent";
    case Grade::incomplete: return "incomplete";
    case Grade::ambiguous: return "ambiguous";
    case Grade::learnt: return "learnt";
    case Grade::partial: return "partial";
    case Grade::unexplained: return "unexplained";
    case Grade::wrong: break;
  }
  return "wrong";
}

Trial try_to_explain(const Plant& plant, const TrialOptions& options) {
  Trial trial;
  trial.plant = plant;
  auto observation = failing_observation(plant, options);
  if (observation == nullptr) return trial;
  ExplainOptions explaining;
  explaining.seed = options.seed;
  explaining.seconds = std::numeric_limits<double>::infinity();  // the work is counted
  for (const Defect& defect : defects()) {
    const bool is_planted = std::find(plant.defects.begin(), plant.defects.end(), &defect) != plant.defects.end();
    if (!options.hold_out || !is_planted) explaining.known.push_back(&defect);
  }
  const Case failing = observation->test_case();
  const std::clock_t start = std::clock();
  trial.explanation = explain(std::move(observation), plant.runner(), {}, explaining);
  trial.processor_seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  trial.grade = grade_of(plant, *trial.explanation, options);
  if (options.hold_out) trial.soundness = soundness_of(*trial.explanation, plant, failing, options);
  return trial;
}

}  // namespace qconform::diagnose
