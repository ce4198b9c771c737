// Operators whose right answers are a short list of bit patterns for each element: QuantizeLinear and
// DequantizeLinear.
#pragma once

#include "harness/model/operator.h"

namespace qconform {

/// An element-wise node: y has the shape of x. Judges by admissible_bits(), which derived classes
/// provide.
class LoweredByBits : public Lowered {
 public:
  [[nodiscard]] ElementType output_type() const override { return y_type_; }
  [[nodiscard]] std::vector<std::int64_t> output_shape() const override { return x_.shape; }
  [[nodiscard]] std::optional<Box> read_by(InputRole role, const Box& output) const override {
    return role == InputRole::parameter ? std::nullopt : std::optional(output);
  }
  [[nodiscard]] Tensor evaluate(RoundingProfile profile) const override;
  [[nodiscard]] ElementOpinion examine(std::int64_t index, const Tensor& got, const Policy& policy) const override;
  [[nodiscard]] bool is_determined(std::int64_t index, const Policy& policy) const override;
  [[nodiscard]] RightValues right_values(std::int64_t index, const Policy& policy) const override;

 protected:
  LoweredByBits(const Tensor& x, ElementType y_type) : x_(x), y_type_(y_type) {}

  /// Writes the reference's answer into y, which has the output's size.
  virtual void compute(std::span<const std::byte> x, std::span<std::byte> y) const = 0;

  [[nodiscard]] const Tensor& x() const { return x_; }
  [[nodiscard]] std::uint64_t x_bits(std::int64_t index) const;

 private:
  const Tensor& x_;
  ElementType y_type_;
};

}  // namespace qconform
