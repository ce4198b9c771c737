// Every float32 to every format of at most 8 bits that has a sign, with QCONFORM_TEST_SCALE=64: a few
// minutes for each. Smaller scales take a part of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/tests/test_scale.h"
#include "reference/numerics/small_float.h"
#include "reference/numerics/small_float_test_support.h"

namespace qconform::reference {
namespace {

class EveryFloat32 : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryFloat32, RoundsToNearestEven) {
  const auto& formats = oracle::small_formats();
  const auto format = std::find_if(formats.begin(), formats.end(),
                                   [](const auto& f) { return std::string_view(f.name) == GetParam(); });
  ASSERT_NE(format, formats.end());
  const oracle::NumberLine line(*format);
  const auto step = static_cast<std::uint32_t>(6400 / std::min(6400, testing::scaled(100)));
  const FloatFormat& f = float_format(format->type);
  // Infinities and NaN have their own test.
  for (std::uint64_t bits = 0; bits < 0x7F800000U; bits += step) {
    const auto value = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    for (const bool saturate : {false, true}) {
      const Overflow overflow = saturate ? Overflow::saturate : Overflow::special;
      ASSERT_EQ(encode(f, value, overflow), oracle::expected_pattern(*format, line, value, saturate)) << value;
      ASSERT_EQ(encode(f, -value, overflow), oracle::expected_pattern(*format, line, -value, saturate)) << -value;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFloat32,
                         ::testing::Values("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
                                           "float4e2m1"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace qconform::reference
