#include "reference/tests/dequantize_sweep.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/dequantize_linear/dequantize_linear.h"
#include "reference/oracle/quantization.h"
#include "reference/oracle/random.h"

namespace qconform::reference::oracle {
namespace {

float random_scale(Random& random, int index) {
  constexpr std::array kBorders{std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(),
                                std::numeric_limits<float>::max(), -1.0F, 0.0F};
  if (index < static_cast<int>(kBorders.size())) return kBorders[static_cast<std::size_t>(index)];
  if (index % 5 == 0) return std::ldexp(1.0F, static_cast<int>(random.between(-149, 127)));
  if (index % 5 == 1) return std::ldexp(random.positive_float(0, 0), static_cast<int>(random.between(-149, -120)));
  if (index % 5 == 2) return random.any_float();
  return random.one_in(8) ? -random.positive_float(-30, 10) : random.positive_float(-30, 10);
}

// Zero points are the channels of one tensor.
void expect_dequantized(float scale, Element type) {
  const IntegerRange range = range_of(type);
  std::array<float, 511> expected;  // by the difference, from -255
  for (int d = -255; d <= 255; ++d) expected[static_cast<std::size_t>(d + 255)] = oracle::dequantize(d, scale);
  DequantizeLinear node;
  node.layout = {.outer = 1, .channels = 256, .inner = 256};
  node.x_type = type;
  node.x_scale.assign(256, static_cast<double>(scale));
  std::vector<std::byte> x;
  for (int zero_point = range.lo; zero_point <= range.hi; ++zero_point) {
    node.x_zero_point.push_back(zero_point);
    for (int raw = 0; raw < 256; ++raw) x.push_back(static_cast<std::byte>(raw));
  }
  std::vector<float> y(x.size());
  dequantize_linear(node, x, std::as_writable_bytes(std::span(y)));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto raw = static_cast<int>(i % 256);
    const int value = raw > range.hi ? raw - 256 : raw;
    const int difference = value - (range.lo + static_cast<int>(i / 256));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]),
              std::bit_cast<std::uint32_t>(expected[static_cast<std::size_t>(difference + 255)]))
        << difference << " * " << ::testing::PrintToString(scale);
  }
}

}  // namespace

void expect_every_8_bit_value_dequantized(int scales) {
  Random random(37);
  for (int i = 0; i < scales; ++i) {
    const float scale = random_scale(random, i);
    ASSERT_NO_FATAL_FAILURE(expect_dequantized(scale, Element::uint8));
    ASSERT_NO_FATAL_FAILURE(expect_dequantized(scale, Element::int8));
  }
}

}  // namespace qconform::reference::oracle
