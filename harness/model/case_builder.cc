#include "harness/model/case_builder.h"

#include <cassert>

namespace qconform {
namespace make {

Tensor integers(ElementType type, Shape shape, const std::vector<std::int64_t>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  assert(elements_of(shape) == count);
  Tensor tensor{type, std::move(shape), std::vector<std::byte>(static_cast<std::size_t>(bytes_for(type, count)))};
  for (std::int64_t i = 0; i < count; ++i) {
    set_raw_bits_at(tensor.bytes, bits_of(type), i, static_cast<std::uint64_t>(values[static_cast<std::size_t>(i)]));
  }
  return tensor;
}

Tensor filled(ElementType type, Shape shape, std::int64_t value) {
  const std::vector<std::int64_t> values(static_cast<std::size_t>(elements_of(shape)), value);
  return integers(type, std::move(shape), values);
}

Tensor uint8(Shape shape, const std::vector<std::int64_t>& values) {
  return integers(ElementType::uint8, std::move(shape), values);
}
Tensor int8(Shape shape, const std::vector<std::int64_t>& values) {
  return integers(ElementType::int8, std::move(shape), values);
}
Tensor int32(Shape shape, const std::vector<std::int64_t>& values) {
  return integers(ElementType::int32, std::move(shape), values);
}
Tensor float32(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(ElementType::float32, std::move(shape), values);
}
Tensor integer(ElementType type, std::int64_t value) {
  return integers(type, {}, {value});
}
Tensor float32(float value) {
  return float32(Shape{}, {value});
}

}  // namespace make

namespace {

make::Shape one_per_channel(std::size_t channels) {
  return {static_cast<std::int64_t>(channels)};
}

}  // namespace

QLinearConvBuilder& QLinearConvBuilder::w_zero_point(std::int64_t value) {
  w_zero_point_shape_.clear();
  return set(w_zero_point_, std::vector<std::int64_t>{value});
}

QLinearConvBuilder& QLinearConvBuilder::w_scale(const std::vector<float>& values) {
  return set(w_scale_, make::float32(one_per_channel(values.size()), values));
}

QLinearConvBuilder& QLinearConvBuilder::w_zero_point(const std::vector<std::int64_t>& values) {
  w_zero_point_shape_ = one_per_channel(values.size());
  return set(w_zero_point_, values);
}

QLinearConvBuilder& QLinearConvBuilder::bias(const std::vector<std::int64_t>& values) {
  return set(bias_, std::optional(make::int32(one_per_channel(values.size()), values)));
}

Case QLinearConvBuilder::build() const {
  return with_inputs({x_, make::float32(x_scale_), make::integer(x_.type, x_zero_point_),  //
                      w_, w_scale_, make::integers(w_.type, w_zero_point_shape_, w_zero_point_),
                      make::float32(y_scale_), make::integer(y_type_, y_zero_point_), bias_});
}

ConvIntegerBuilder& ConvIntegerBuilder::w_zero_point(std::int64_t value) {
  w_zero_point_shape_.clear();
  return set(w_zero_point_, std::vector<std::int64_t>{value});
}

ConvIntegerBuilder& ConvIntegerBuilder::w_zero_point(const std::vector<std::int64_t>& values) {
  w_zero_point_shape_ = one_per_channel(values.size());
  return set(w_zero_point_, values);
}

Case ConvIntegerBuilder::build() const {
  std::optional<Tensor> x_zero_point;
  std::optional<Tensor> w_zero_point;
  if (x_zero_point_) x_zero_point = make::integer(x_.type, *x_zero_point_);
  if (!w_zero_point_.empty()) w_zero_point = make::integers(w_.type, w_zero_point_shape_, w_zero_point_);
  return with_inputs({x_, w_, std::move(x_zero_point), std::move(w_zero_point)});
}

LinearBuilder& LinearBuilder::scale(const std::vector<float>& values) {
  return set(scale_, make::float32(one_per_channel(values.size()), values));
}

}  // namespace qconform
