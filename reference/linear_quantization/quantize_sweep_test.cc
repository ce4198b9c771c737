// A part of all float32 through every kernel set: all through the optimized ones from QCONFORM_TEST_SCALE=4 on.

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "harness/tests/test_scale.h"
#include "reference/tests/quantize_sweep.h"

namespace qconform::reference {
namespace {

using oracle::SweepScale;

constexpr SweepScale kScale{0.1F, 100, ElementType::uint8};

// The optimized sets take a second or two for all patterns, and the reference a minute: every set sees the chunks that
// hold a step of the output, and a part of the others.
TEST(QuantizeLinearSweep, EveryFloat32) {
  const std::int64_t portion = std::min(1000, testing::scaled(250));
  for (const KernelSet& set : kernel_sets()) {
    if (!set.available()) {
      std::cout << "kernel set " << set.name << ": not run, this CPU lacks it\n";
      continue;
    }
    const bool is_reference = &set == kernel_sets().data();
    EXPECT_EQ(oracle::sweep(set, kScale, (is_reference ? 64 : 1) * 1000 / portion), "") << set.name;
  }
}

// Steps lie elsewhere under every scale; the chunks that hold them are few.
TEST(QuantizeLinearSweep, EveryStepOfOtherScales) {
  constexpr std::int64_t kStepsAlone = 1 << 16;
  for (const SweepScale& scale :
       {SweepScale{0x1p-149F, 0, ElementType::int8}, SweepScale{3.7F, -5, ElementType::int8},
        SweepScale{-0.3F, 7, ElementType::uint8}, SweepScale{0x1.FFFFFEp127F, 1, ElementType::uint8}}) {
    EXPECT_EQ(oracle::sweep(kernel_sets().front(), scale, kStepsAlone), "") << scale.scale;
  }
}

}  // namespace
}  // namespace qconform::reference
