#include "harness/operators/text.h"

#include <gtest/gtest.h>

#include "harness/operators/case_builder.h"

namespace qconform {
namespace {

TEST(ValuesText, ShowsSmallInputsAndTheShapesOfLargeOnes) {
  const Case small = LinearBuilder::quantize().x(make::float32({2}, {1, -2.5})).scale(0.5F).build();
  EXPECT_EQ(values_text(small), "x {1, -2.5}, y_scale {0.5}");
  const Case large = LinearBuilder::dequantize().x(make::filled(ElementType::uint8, {1, 17}, 7)).scale(0.5F).build();
  EXPECT_EQ(values_text(large), "x [1,17], x_scale {0.5}");
}

}  // namespace
}  // namespace qconform
