// Every float32 through every kernel set, under eight scales. The scalar reference takes half a minute
// for each, and sees all of them with QCONFORM_TEST_SCALE=64; smaller scales take a part of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/tests/test_scale.h"
#include "reference/quantize_linear/sweep_test_support.h"

namespace qconform::reference {
namespace {

using oracle::SweepScale;

class QuantizeLinearSweepLong : public ::testing::TestWithParam<SweepScale> {};

TEST_P(QuantizeLinearSweepLong, EveryFloat32) {
  const std::int64_t stride = 6400 / std::min(6400, testing::scaled(100));
  for (const KernelSet& set : kernel_sets()) {
    const bool is_reference = &set == kernel_sets().data();
    if (set.available()) {
      EXPECT_EQ(oracle::sweep(set, GetParam(), is_reference ? stride : std::max<std::int64_t>(1, stride / 8)), "")
          << set.name;
    }
  }
}

constexpr SweepScale kScales[] = {
    {1.0F, 0, Element::uint8},
    {0.1F, 128, Element::uint8},
    {3.7F, -5, Element::int8},
    {0x1p-7F, 127, Element::int8},
    {-0.3F, 7, Element::uint8},
    {0x1p-149F, 0, Element::int8},
    {0x1.234568p-130F, 255, Element::uint8},
    {0x1.FFFFFEp127F, 1, Element::uint8},
};

INSTANTIATE_TEST_SUITE_P(Scales, QuantizeLinearSweepLong, ::testing::ValuesIn(kScales),
                         [](const auto& parameter) { return "Scale" + std::to_string(parameter.index); });

}  // namespace
}  // namespace qconform::reference
