#include "harness/diagnose/explain/evidence.h"

#include <algorithm>
#include <tuple>

namespace qconform::diagnose {

std::vector<const Observation*> failures_of(const Evidence& evidence) {
  std::vector<const Observation*> failures;
  for (const auto& observation : evidence) {
    if (observation->is_failure()) failures.push_back(observation.get());
  }
  return failures;
}

std::vector<const Observation*> in_testing_order(const Evidence& evidence) {
  std::vector<const Observation*> ordered;
  for (const auto& observation : evidence) ordered.push_back(observation.get());
  std::stable_sort(ordered.begin(), ordered.end(), [](const Observation* a, const Observation* b) {
    return std::tuple(!a->is_failure(), a->work()) < std::tuple(!b->is_failure(), b->work());
  });
  return ordered;
}

}  // namespace qconform::diagnose
