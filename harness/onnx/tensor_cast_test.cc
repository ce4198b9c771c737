#include "harness/onnx/constant_folding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/model/text.h"

namespace qconform {
namespace {

using enum ElementType;

template <typename T>
Tensor row(ElementType type, const std::vector<T>& values) {
  return Tensor::of<T>(type, {static_cast<std::int64_t>(values.size())}, values);
}

std::vector<double> numbers(const std::optional<Tensor>& tensor) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; tensor && i < tensor->elements(); ++i) numbers.push_back(number_at(*tensor, i));
  return numbers;
}

TEST(TensorCast, IntegersKeepTheirLowBits) {
  const Tensor wide = row<std::int64_t>(int64, {-1, 5, 200, 257});
  EXPECT_EQ(cast(wide, uint8, true)->values<std::uint8_t>(), (std::vector<std::uint8_t>{255, 5, 200, 1}));
  EXPECT_EQ(numbers(cast(wide, int4, true)), (std::vector<double>{-1, 5, -8, 1}));
  EXPECT_EQ(cast(wide, boolean, true)->values<std::uint8_t>(), (std::vector<std::uint8_t>{1, 1, 1, 1}));
}

TEST(TensorCast, IntegersRoundOnceToFloats) {
  const std::int64_t odd = (std::int64_t{1} << 62) + (std::int64_t{1} << 38) + 1;  // above a tie that float64 hides
  EXPECT_EQ(cast(row<std::int64_t>(int64, {odd, -3}), float32, true)->values<float>(),
            (std::vector<float>{0x1.000002p62F, -3.0F}));
  EXPECT_EQ(numbers(cast(row<std::uint64_t>(uint64, {~std::uint64_t{0}}), float32, true)), std::vector<double>{0x1p64});
}

TEST(TensorCast, FloatsRoundToNearestAndTruncateToIntegers) {
  const Tensor floats = row<float>(float32, {0.1F, -2.75F, 1e9F});
  EXPECT_EQ(numbers(cast(floats, float16, true)),
            (std::vector<double>{0x1.998p-4, -2.75, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(numbers(cast(floats, float8e4m3fn, true)), (std::vector<double>{0.1015625, -2.75, 448}));
  EXPECT_EQ(cast(floats, int32, true)->values<std::int32_t>(), (std::vector<std::int32_t>{0, -2, 1000000000}));
  EXPECT_EQ(cast(floats, boolean, true)->values<std::uint8_t>(), (std::vector<std::uint8_t>{1, 1, 1}));
}

TEST(TensorCast, WhatOnnxLeavesOpenIsNotComputed) {
  for (const float value : {std::nanf(""), 128.0F, -129.0F, 1e30F}) {
    EXPECT_FALSE(cast(row<float>(float32, {value}), int8, true)) << value;
  }
  EXPECT_EQ(numbers(cast(row<float>(float32, {-128.9F, 127.9F}), int8, true)), (std::vector<double>{-128, 127}));
  EXPECT_FALSE(cast(row<float>(float32, {1.0F}), float8e8m0, true));
  EXPECT_FALSE(cast(row<float>(float32, {1.0F}), complex64, true));
}

}  // namespace
}  // namespace qconform
