#include "harness/operators/lowered_by_bits.h"

#include "harness/operators/text.h"

namespace qconform {
namespace {

reference::Latitude latitude_under(const Policy& policy) {
  return policy.profile == Profile::dml_doc ? reference::Latitude::directml : reference::Latitude::onnx;
}

// A pattern of `type` as a tensor of one element, for its text.
std::string pattern_text(ElementType type, std::uint64_t bits) {
  Tensor tensor{type, {}, std::vector<std::byte>(static_cast<std::size_t>(bytes_for(type, 1)))};
  set_raw_bits_at(tensor.bytes, bits_of(type), 0, bits);
  return element_text(tensor, 0);
}

}  // namespace

Tensor LoweredByBits::evaluate(RoundingProfile) const {
  Tensor y{y_type_, x_.shape, {}};
  y.bytes.resize(static_cast<std::size_t>(bytes_for(y_type_, y.elements())));
  compute(x_.bytes, y.bytes);
  return y;
}

std::uint64_t LoweredByBits::x_bits(std::int64_t index) const {
  return raw_bits_at(x_.bytes, bits_of(x_.type), index);
}

ElementOpinion LoweredByBits::examine(std::int64_t index, const Tensor& got, const Policy& policy) const {
  const std::uint64_t bits = raw_bits_at(got.bytes, bits_of(got.type), index);
  return {.right = admissible_bits(index, latitude_under(policy))->contains(bits), .tiers = {}};
}

bool LoweredByBits::is_determined(std::int64_t index, const Policy& policy) const {
  return !admissible_bits(index, latitude_under(policy))->is_open();
}

std::string LoweredByBits::admissible_text(std::int64_t index, const Policy& policy) const {
  const auto set = *admissible_bits(index, latitude_under(policy));
  if (set.any_value()) return "any value";
  std::string text;
  for (const std::uint32_t bits : set.members()) text += (text.empty() ? "" : ", ") + pattern_text(output_type(), bits);
  if (set.any_nan()) text += ", any NaN";
  if (set.either_zero()) text += ", zero of either sign";
  return "{" + text + "}";
}

}  // namespace qconform
