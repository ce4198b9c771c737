#include "harness/model/judge/compare.h"

#include <cmath>
#include <limits>

#include "harness/model/text.h"

namespace qconform {
namespace {

std::uint64_t raw(const Tensor& tensor, std::int64_t index) {
  return raw_bits_at(tensor.bytes, bits_of(tensor.type), index);
}

double distance(double error) {
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : std::fabs(error);
}

// Tells right from wrong where the element is not the exact one.
bool examine(const Lowered& lowered, const Tensor& got, std::int64_t index, const Policy& policy, TierCounts& tiers) {
  const ElementOpinion opinion = lowered.examine(index, got, policy);
  if (opinion.tiers) tiers.add(*opinion.tiers);
  return opinion.right;
}

}  // namespace

bool is_right(const Lowered& lowered, const Tensor& got, const Tensor& exact, const Tensor* pinned,
              const Policy& policy, std::int64_t index, TierCounts& tiers) {
  const bool is_exact = raw(got, index) == raw(exact, index);
  const bool is_pinned = pinned == nullptr || raw(*pinned, index) == raw(got, index);
  const bool right = is_exact ? is_pinned : examine(lowered, got, index, policy, tiers);
  return policy.pinned && pinned != nullptr ? is_pinned : right;
}

Comparison compare(const Lowered& lowered, const Tensor& got, const Tensor& exact, const Tensor* pinned,
                   const Policy& policy) {
  Comparison result;
  const std::int64_t elements = exact.elements();
  std::uint64_t as_exact = 0;
  if (got.bytes == exact.bytes && (pinned == nullptr || pinned->bytes == exact.bytes)) {
    as_exact = static_cast<std::uint64_t>(elements);
  } else {
    for (std::int64_t i = 0; i < elements; ++i) {
      if (raw(got, i) == raw(exact, i)) ++as_exact;
      if (is_right(lowered, got, exact, pinned, policy, i, result.tiers)) continue;
      ++result.wrong;
      const double error = number_at(got, i) - number_at(pinned == nullptr ? exact : *pinned, i);
      result.errors.add(error);
      const double off = distance(error);
      if (result.worst >= 0 && off <= result.worst_distance) continue;
      result.worst = i;
      result.worst_distance = off;
    }
  }
  if (lowered.has_tiers()) result.tiers.add(reference::TierSet::all(), as_exact);
  return result;
}

}  // namespace qconform
