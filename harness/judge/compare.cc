#include "harness/judge/compare.h"

#include <cmath>
#include <limits>

#include "harness/operators/element_text.h"

namespace qconform {
namespace {

std::uint64_t raw(const Tensor& tensor, std::int64_t index) {
  return raw_bits_at(tensor.bytes, bits_of(tensor.type), index);
}

double distance(const Tensor& got, const Tensor& right, std::int64_t index) {
  const double difference = std::fabs(number_at(got, index) - number_at(right, index));
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

// Tells right from wrong where the element is not the exact one.
bool examine(const Lowered& lowered, const Tensor& got, std::int64_t index, const Policy& policy, TierTally& tiers) {
  const ElementOpinion opinion = lowered.examine(index, got, policy);
  if (opinion.tiers) tiers.add(*opinion.tiers);
  return opinion.right;
}

}  // namespace

Comparison compare(const Lowered& lowered, const Tensor& got, const Tensor& exact, const Tensor* pinned,
                   const Policy& policy) {
  Comparison result;
  const std::int64_t elements = exact.elements();
  std::uint64_t as_exact = 0;
  if (got.bytes == exact.bytes && (pinned == nullptr || pinned->bytes == exact.bytes)) {
    as_exact = static_cast<std::uint64_t>(elements);
  } else {
    for (std::int64_t i = 0; i < elements; ++i) {
      const bool is_exact = raw(got, i) == raw(exact, i);
      if (is_exact) ++as_exact;
      const bool is_pinned = pinned == nullptr || raw(*pinned, i) == raw(got, i);
      bool right = is_exact ? is_pinned : examine(lowered, got, i, policy, result.tiers);
      if (policy.pinned && pinned != nullptr) right = is_pinned;
      if (right) continue;
      ++result.wrong;
      const double off = distance(got, pinned == nullptr ? exact : *pinned, i);
      if (result.worst >= 0 && off <= result.worst_distance) continue;
      result.worst = i;
      result.worst_distance = off;
    }
  }
  if (lowered.has_tiers()) result.tiers.add(reference::TierSet::all(), as_exact);
  return result;
}

}  // namespace qconform
