#include "harness/model/lowered_by_bits.h"

namespace qconform {
namespace {

reference::Wording wording_under(const Policy& policy) {
  return policy.profile == Profile::dml_doc ? reference::Wording::directml : reference::Wording::onnx;
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
  return {.right = admissible_bits(index, wording_under(policy))->contains(bits), .tiers = {}};
}

bool LoweredByBits::is_determined(std::int64_t index, const Policy& policy) const {
  return !admissible_bits(index, wording_under(policy))->is_open();
}

RightValues LoweredByBits::right_values(std::int64_t index, const Policy& policy) const {
  return right_values_of(*admissible_bits(index, wording_under(policy)));
}

}  // namespace qconform
