#include "harness/model/text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/model/case_builder.h"

namespace qconform {
namespace {

TEST(ValuesText, ShowsSmallInputsAndTheShapesOfLargeOnes) {
  const Case small = LinearBuilder::quantize().x(make::float32({2}, {1, -2.5})).scale(0.5F).build();
  EXPECT_EQ(values_text(small), "x {1, -2.5}, y_scale {0.5}");
  const Case large = LinearBuilder::dequantize().x(make::filled(ElementType::uint8, {1, 17}, 7)).scale(0.5F).build();
  EXPECT_EQ(values_text(large), "x [1,17], x_scale {0.5}");
}

TEST(ElementText, SaysAnElementOfEveryTypeThatATensorHolds) {
  for (std::int32_t number = 0; number < 64; ++number) {
    const auto type = static_cast<ElementType>(number);
    if (!is_known(type)) continue;
    SCOPED_TRACE(name_of(type));
    Case test_case;
    test_case.inputs = {Tensor::zeros(type, {3}), Tensor::zeros(type, {2, 0})};
    EXPECT_FALSE(element_text(*test_case.inputs[0], 2).empty());
    EXPECT_EQ(std::isnan(number_at(*test_case.inputs[0], 2)),
              type == ElementType::complex64 || type == ElementType::complex128);
    EXPECT_NE(values_text(test_case).find("input 1 {}"), std::string::npos);
  }
  EXPECT_EQ(element_text(make::integers(ElementType::boolean, {2}, {0, 1}), 1), "1");
  EXPECT_EQ(element_text(Tensor::of<float>(ElementType::complex64, {1}, std::vector<float>{1.5F, -2}), 0), "1.5-2i");
}

}  // namespace
}  // namespace qconform
