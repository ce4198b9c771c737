// Every float32 through every kernel set, under eight scales, with QCONFORM_TEST_SCALE=64; smaller test
// scales take a part of them.

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/tests/test_scale.h"
#include "reference/tests/quantize_sweep.h"

namespace qconform::reference {
namespace {

using oracle::SweepScale;

class QuantizeLinearSweepLong : public ::testing::TestWithParam<SweepScale> {};

TEST_P(QuantizeLinearSweepLong, EveryFloat32) {
  const std::int64_t stride = testing::sweep_stride();
  for (const KernelSet& set : kernel_sets()) {
    const bool is_reference = &set == kernel_sets().data();
    if (set.available()) {
      EXPECT_EQ(oracle::sweep(set, GetParam(), is_reference ? stride : std::max<std::int64_t>(1, stride / 8)), "")
          << set.name;
    }
  }
}

constexpr SweepScale kScales[] = {
    {1.0F, 0, ElementType::uint8},
    {0.1F, 128, ElementType::uint8},
    {3.7F, -5, ElementType::int8},
    {0x1p-7F, 127, ElementType::int8},
    {-0.3F, 7, ElementType::uint8},
    {0x1p-149F, 0, ElementType::int8},
    {0x1.234568p-130F, 255, ElementType::uint8},
    {0x1.FFFFFEp127F, 1, ElementType::uint8},
};

INSTANTIATE_TEST_SUITE_P(Scales, QuantizeLinearSweepLong, ::testing::ValuesIn(kScales),
                         [](const auto& parameter) { return "Scale" + std::to_string(parameter.index); });

// Float outputs take the reference ten times as long: every step of the output, and one of 512 chunks
// between them. sweep_test.cc sends every float32 through the conversion itself.
class FloatSweepLong : public ::testing::TestWithParam<ElementType> {};

TEST_P(FloatSweepLong, StepsLieWhereTheDefinitionHasThem) {
  const std::int64_t stride = std::max<std::int64_t>(512, 64 * testing::sweep_stride());
  for (const float scale : {1.0F, 0.3F, -0x1.8p-100F}) {
    for (const bool saturate : {false, true}) {
      const SweepScale parameters{scale, 0, GetParam(), saturate};
      for (const KernelSet& set : kernel_sets()) {
        if (!set.available()) continue;
        EXPECT_EQ(oracle::sweep(set, parameters, stride), "")
            << set.name << " scale " << scale << " saturate " << saturate;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, FloatSweepLong,
                         ::testing::Values(ElementType::float8e4m3fn, ElementType::float8e4m3fnuz,
                                           ElementType::float8e5m2, ElementType::float8e5m2fnuz,
                                           ElementType::float4e2m1),
                         [](const auto& parameter) {
                           return "Type" + std::to_string(static_cast<int>(parameter.param));
                         });

TEST(DequantizeLinearLong, EqualsTheDefinitionForEveryValueAndZeroPointAtFiveHundredScales) {
  oracle::expect_every_8_bit_value_dequantized(testing::scaled(500));
}

}  // namespace
}  // namespace qconform::reference
