// QuantizeLinear and DequantizeLinear written down by hand, for tests: the members of the family's description, one
// after the other.
//
//   const Case c = LinearBuilder::quantize().id("ties").x(make::float32({2}, {0.5F, 1.5F})).scale(1.0F).build();
//
// Nothing is checked, and input() and attribute() state what the description cannot: wrong cases are built on purpose.
// A member that a test does not state has the plainest value: a scale is 1, a zero point is omitted, and the operator
// has version 10.
//
// `{5}` is a scalar where a scalar and a list are both taken; write `std::vector<float>{5}` for shape [1].
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/operators/linear/description.h"

namespace qconform {

class LinearBuilder : public CaseBuilder<LinearBuilder> {
 public:
  [[nodiscard]] static LinearBuilder quantize() { return LinearBuilder(true); }
  [[nodiscard]] static LinearBuilder dequantize() { return LinearBuilder(false); }
  LinearBuilder& x(Tensor tensor) { return set(node_.x, std::move(tensor)); }
  LinearBuilder& scale(float value) { return set(node_.scale, make::float32(value)); }
  LinearBuilder& scale(const std::vector<float>& values) {
    return set(node_.scale, make::float32({static_cast<std::int64_t>(values.size())}, values));
  }
  LinearBuilder& zero_point(Tensor tensor) { return set(node_.zero_point, std::move(tensor)); }
  LinearBuilder& axis(std::int64_t value) { return set(node_.axis, value); }
  [[nodiscard]] Case build() const { return with_node(build_linear(node_)); }

 private:
  explicit LinearBuilder(bool quantizes) : CaseBuilder(quantizes ? "QuantizeLinear" : "DequantizeLinear") {
    node_ = {.quantizes = quantizes, .x = make::float32({1}, {1.0F}), .scale = make::float32(1.0F)};
  }

  LinearQuantization node_;
};

}  // namespace qconform
