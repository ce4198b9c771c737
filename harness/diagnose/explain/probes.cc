#include "harness/diagnose/explain/probes.h"
#include "harness/model/operator.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "harness/core/corner_cases/corner_case.h"
#include "harness/diagnose/explain/explanation.h"
#include "harness/model/draws/swarm.h"
#include "harness/model/mutate/case_mutator.h"

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
  const bool has_targets = family_.draw_for != nullptr && !concerned_.empty();
  if (has_targets && (turn == 1 || (!targets_.empty() && rng.chance(1, 2))))
    return family_.draw_for(rng, op_, draw_corner_case(rng), Swarm());
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

}  // namespace qconform::diagnose
