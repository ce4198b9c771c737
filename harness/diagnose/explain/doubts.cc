#include "harness/diagnose/explain/doubts.h"

#include <algorithm>

namespace qconform::diagnose {
namespace {

bool is_doubtful(const FailureGroup& group) {
  return group.cause && (group.status == Status::reproduced || group.status == Status::partial);
}

bool is_nameless(const FailureGroup& group) {
  return !group.cause && group.failing_part.empty() && group.signature != kUnexplainedShape;
}

void drop_name(FailureGroup& group) {
  group.cause.reset();
  group.explanation.reset();
  group.only_when.clear();
  group.contradicting = 0;
  group.status = Status::unexplained;
  describe_place(group);
}

// Notes which passing cases contradict the cause in spite of all that tells them from the failing ones.
void hold_against_passing(const Causes& causes, FailureGroup& group) {
  std::vector<CaseTraits> contradicting;
  for (const Observation* passed : causes.contradicting(*group.cause)) {
    contradicting.push_back(features_of(passed->test_case(), passed->expected()));
  }
  if (contradicting.empty()) return;
  const Region apart = suspected_region(group.failures.failing, contradicting);
  group.only_when = apart.conditions;
  group.contradicting = apart.conditions.empty() ? contradicting.size() : apart.passing_inside;
}

// Returns the share of the failing cases on which the cause's models are wrong that they reproduce. Failures that
// another model has do not count.
double share_reproduced(const Causes& causes, std::size_t cause, const std::vector<FailureGroup>& groups) {
  double reproduced = 0;
  double otherwise = 0;
  for (const FailureGroup& group : groups) {
    const Evidence& kept = group.failures.kept;
    if (group.cause && *group.cause != cause) continue;
    if (group.cause && kept.empty()) reproduced += static_cast<double>(group.failures.examined);
    if (kept.empty()) continue;
    const double each = static_cast<double>(group.failures.examined) / static_cast<double>(kept.size());
    for (const auto& failure : kept) {
      if (causes.reproduces(cause, *failure)) {
        reproduced += each;
      } else if (!causes.is_right_on(cause, *failure)) {
        otherwise += each;
      }
    }
  }
  return reproduced == 0 ? 0 : reproduced / (reproduced + otherwise);
}

// A model reproduces some of thousands of failures by chance. A cause that passing cases contradict is one of some of
// the backend's paths, which needs more failures to be believed.
bool is_believed(const Causes& causes, const FailureGroup& group, const std::vector<FailureGroup>& groups) {
  constexpr double kMostByChance = 0.4;
  constexpr double kMostWhereContradicted = 0.5;
  constexpr std::uint64_t kFewestWhereContradicted = 6;
  const double share = share_reproduced(causes, *group.cause, groups);
  if (group.contradicting == 0) return share > kMostByChance;
  return share > kMostWhereContradicted && group.failures.examined >= kFewestWhereContradicted;
}

// Whether one condition tells the failing cases of both from passing ones.
bool have_one_condition(const FailureGroup& group, const std::vector<CaseTraits>& nameless,
                        const std::vector<CaseTraits>& passing) {
  std::vector<CaseTraits> failing = group.failures.failing;
  failing.insert(failing.end(), nameless.begin(), nameless.end());
  return !learn_region(failing, passing).conditions.empty();
}

}  // namespace

void drop_doubtful_names(const Causes& causes, const std::vector<CaseTraits>& passing,
                         std::vector<FailureGroup>& groups, bool has_cures) {
  std::uint64_t left = 0;
  std::vector<CaseTraits> nameless;
  const auto note = [&](const FailureGroup& group) {
    left += group.failures.examined;
    nameless.insert(nameless.end(), group.failures.failing.begin(), group.failures.failing.end());
  };
  for (FailureGroup& group : groups) {
    if (is_nameless(group)) note(group);
    if (!is_doubtful(group)) continue;
    hold_against_passing(causes, group);
    if (is_believed(causes, group, groups)) continue;
    drop_name(group);
    if (!has_cures && is_nameless(group)) note(group);
  }
  for (FailureGroup& group : groups) {
    if (!is_doubtful(group) || left == 0) continue;
    const bool is_clear_majority = group.failures.examined >= 2 * left;
    if (is_clear_majority) continue;
    if (group.failures.examined < left || have_one_condition(group, nameless, passing)) drop_name(group);
  }
}

}  // namespace qconform::diagnose
