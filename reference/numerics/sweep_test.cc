// Sweeps that take long: of the admissible sets, and of every float32.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/tests/test_scale.h"
#include "reference/numerics/floats.h"
#include "reference/tests/admissible.h"
#include "reference/tests/small_float.h"

namespace qconform::reference {
namespace {

// The randomized checks of the admissible sets at full length.

TEST(AdmissibleLong, FloatExpressionsAreInsideF5OnFiveMillionElements) {
  check_float_expressions(testing::scaled(5'000'000));
}

TEST(AdmissibleLong, QuickDecisionsAreExactOnThreeMillionElements) {
  check_quick_decisions(testing::scaled(3'000'000));
}

// Every float32, infinities and NaN included, to every format of at most 16 bits that has a sign, with
// and without saturation. Smaller test scales than 64 take a part of the values.
//
// Between two neighbouring midpoints of a format's numbers one answer holds: the oracle computes it
// for both ends of such a run, and every value within is held to it.

using oracle::FormatFacts;
using oracle::NumberLine;

constexpr std::uint32_t kSign = 0x80000000U;
constexpr std::uint32_t kInfinity = 0x7F800000U;
constexpr std::uint32_t kBeyond = kSign;  // the pattern behind those without sign

double value_of_pattern(std::uint32_t bits) {
  return static_cast<double>(std::bit_cast<float>(bits));
}

// The patterns, without sign, at which runs of one answer begin; kBeyond at the end. A midpoint, which
// is a tie, is a run of its own.
std::vector<std::uint32_t> run_starts(const NumberLine& line) {
  std::vector<std::uint32_t> starts{0};
  for (const double midpoint : line.midpoints()) {
    const auto single = static_cast<float>(midpoint);
    EXPECT_EQ(static_cast<double>(single), midpoint) << "every midpoint is a float32";
    starts.push_back(std::bit_cast<std::uint32_t>(single));
    starts.push_back(starts.back() + 1);
  }
  starts.insert(starts.end(), {kInfinity, kInfinity + 1, kBeyond});
  return starts;
}

// Any pattern of NaN is right for NaN; a format without one gives its largest number.
bool is_right(const FormatFacts& facts, double value, std::uint64_t got, std::uint64_t expected) {
  if (!std::isnan(value) || facts.nans.empty()) return got == expected;
  const std::uint64_t sign =
      facts.has_negative_zero ? std::uint64_t{1} << (facts.exponent_bits + facts.mantissa_bits) : 0;
  return std::count(facts.nans.begin(), facts.nans.end(), static_cast<int>(got & ~sign)) == 1;
}

class EveryFloat32 : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryFloat32, RoundsToNearestEven) {
  const auto& formats = oracle::small_formats();
  const auto facts = std::find_if(formats.begin(), formats.end(),
                                  [](const auto& f) { return std::string_view(f.name) == GetParam(); });
  ASSERT_NE(facts, formats.end());
  const NumberLine line(*facts);
  const FloatFormat& format = float_format(facts->type);
  const std::vector<std::uint32_t> starts = run_starts(line);
  ASSERT_TRUE(std::is_sorted(starts.begin(), starts.end()));
  const auto stride = static_cast<std::uint32_t>(testing::sweep_stride());
  std::uint64_t values = 0;
  for (const bool saturate : {false, true}) {
    const Overflow overflow = saturate ? Overflow::saturate : Overflow::special;
    for (const std::uint32_t sign : {0U, kSign}) {
      for (std::size_t run = 0; run + 1 < starts.size(); ++run) {
        const std::uint32_t last = sign | (starts[run + 1] - 1);
        const std::uint64_t expected = expected_pattern(*facts, line, value_of_pattern(last), saturate);
        ASSERT_EQ(expected, expected_pattern(*facts, line, value_of_pattern(sign | starts[run]), saturate));
        for (std::uint64_t bits = sign | starts[run]; bits <= last; bits += stride) {
          const double value = value_of_pattern(static_cast<std::uint32_t>(bits));
          const std::uint64_t got = encode(format, value, overflow);
          if (got != expected && !is_right(*facts, value, got, expected)) {
            FAIL() << std::hexfloat << value << " saturate " << saturate << ": got " << got << ", expected "
                   << expected;
          }
          ++values;
        }
        const std::uint64_t got = encode(format, value_of_pattern(last), overflow);
        ASSERT_TRUE(is_right(*facts, value_of_pattern(last), got, expected)) << value_of_pattern(last);
      }
    }
  }
  EXPECT_GE(values, (std::uint64_t{1} << 33) / stride);
  if (stride == 1) {
    EXPECT_EQ(values, std::uint64_t{1} << 33) << "every pattern, twice";
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFloat32,
                         ::testing::Values("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
                                           "float4e2m1", "float16", "bfloat16"),
                         [](const auto& parameter) { return std::string(parameter.param); });

}  // namespace
}  // namespace qconform::reference
