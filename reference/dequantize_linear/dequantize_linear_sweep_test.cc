#include <gtest/gtest.h>

#include "harness/tests/test_scale.h"
#include "reference/tests/quantize_sweep.h"

namespace qconform::reference {
namespace {

TEST(DequantizeLinearLong, EqualsTheDefinitionForEveryValueAndZeroPointAtTwoThousandScales) {
  oracle::expect_every_8_bit_value_dequantized(testing::scaled(2000));
}

}  // namespace
}  // namespace qconform::reference
