#include "harness/core/report.h"

#include <algorithm>
#include <numeric>

namespace qconform {

std::uint64_t OperatorResult::cases() const {
  return std::accumulate(verdicts.begin(), verdicts.end(), std::uint64_t{0});
}

std::uint64_t BackendResult::count(VerdictKind kind) const {
  std::uint64_t sum = 0;
  for (const auto& [name, result] : operators) sum += result.count(kind);
  return sum;
}

std::uint64_t BackendResult::cases() const {
  std::uint64_t sum = 0;
  for (const auto& [name, result] : operators) sum += result.cases();
  return sum;
}

bool BackendResult::conforms() const {
  for (int kind = 0; kind < kVerdictKinds; ++kind) {
    if (is_failure(static_cast<VerdictKind>(kind)) && count(static_cast<VerdictKind>(kind)) > 0) return false;
  }
  return count(VerdictKind::pass) > 0;
}

bool Report::conforms() const {
  return !backends.empty() &&
         std::all_of(backends.begin(), backends.end(), [](const BackendResult& b) { return b.conforms(); });
}

}  // namespace qconform
