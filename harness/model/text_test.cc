#include "harness/model/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#include "harness/model/operator.h"
#include "harness/operators/graph/graph.h"
#include "harness/suites/drawn.h"
#include "harness/tests/linear_builder.h"

namespace qconform {
namespace {

TEST(Text, ShowsAttributesOfEveryType) {
  EXPECT_EQ(attribute_text(std::int64_t{-3}), "-3");
  EXPECT_EQ(attribute_text(std::string("SAME")), "SAME");
  EXPECT_EQ(attribute_text(std::vector<float>{0.5F, 2}), "[0.5,2]");
  EXPECT_EQ(attribute_text(std::vector<std::string>{"Tanh", "Relu"}), "[Tanh,Relu]");
}

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

// The stated right values are those that examine() admits.

// All patterns of small types; of others the ends of the ranges, what lies beside them, and NaN and zeros.
std::set<std::uint64_t> telling_patterns(const RightValues& right) {
  const int bits = bits_of(right.type);
  std::set<std::uint64_t> patterns;
  if (bits <= 8) {
    for (std::uint64_t pattern = 0; pattern < std::uint64_t{1} << bits; ++pattern) patterns.insert(pattern);
    return patterns;
  }
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
  for (const auto& [lo, hi] : right.ranges) {
    for (const std::uint64_t end : {lo, hi}) {
      for (const std::uint64_t near : {end - 1, end, end + 1, end ^ (mask / 2 + 1)}) patterns.insert(near & mask);
    }
  }
  for (const std::uint64_t special : {std::uint64_t{0}, mask / 2 + 1, mask, mask / 2}) patterns.insert(special);
  return patterns;
}

void expect_to_tell(const Lowered& output, const Policy& policy, const std::string& context) {
  Tensor got = output.evaluate(RoundingProfile::correctly_rounded);
  const int bits = bits_of(got.type);
  for (std::int64_t index = 0; index < got.elements(); index += 1 + got.elements() / 5) {
    const RightValues right = output.right_values(index, policy);
    const std::uint64_t own = raw_bits_at(got.bytes, bits, index);
    EXPECT_FALSE(text_of(right).empty());
    for (const std::uint64_t pattern : telling_patterns(right)) {
      set_raw_bits_at(got.bytes, bits, index, pattern);
      EXPECT_EQ(right.contains(pattern), output.examine(index, got, policy).right)
          << context << ", element " << index << ", pattern " << pattern << " of " << text_of(right);
    }
    set_raw_bits_at(got.bytes, bits, index, own);
  }
}

int expect_cases_to_tell(Case (*draw)(std::uint64_t, std::uint64_t), std::uint64_t cases) {
  int told = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Case test_case = draw(20261125, i);
    const Classification classification = classify(test_case);
    if (!classification.lowered || classification.value_is_open) continue;
    for (const ProfileInfo& info : profiles()) {
      for (std::size_t output = 0; output < classification.lowered->outputs(); ++output) {
        expect_to_tell(classification.lowered->output(output), {.profile = info.profile},
                       test_case.id + " under " + std::string(info.name));
      }
      ++told;
    }
  }
  return told;
}

TEST(RightValues, AreThoseThatAreAdmittedOfOperators) {
  EXPECT_GT(expect_cases_to_tell(random_case, 60), 100);
}

TEST(RightValues, AreThoseThatAreAdmittedOfGraphs) {
  EXPECT_GT(expect_cases_to_tell(graph_case, 60), 100);
}

RightValues integers(ElementType type, std::initializer_list<RightValues::Range> ranges) {
  return {.type = type, .ranges = ranges};
}

TEST(RightValues, AreTextForTheReader) {
  using enum ElementType;
  EXPECT_EQ(text_of(integers(uint8, {{213, 213}})), "{213}");
  EXPECT_EQ(text_of(integers(uint8, {{213, 214}})), "{213, 214}");
  EXPECT_EQ(text_of(integers(int8, {{0xFD, 5}})), "{-3..5}");
  EXPECT_EQ(text_of(integers(uint8, {{0, 0}, {200, 255}})), "{0, 200..255}");
  EXPECT_EQ(text_of((RightValues{.type = uint8, .any_value = true})), "any value");
  const RightValues interval{.type = float32, .ranges = {{0x3DCCCCCD, 0x3E4CCCCD}}};
  EXPECT_EQ(text_of(interval), "[0.1, 0.2]");
  EXPECT_TRUE(interval.contains(0x3E000000));
  EXPECT_FALSE(interval.contains(0x3E4CCCCE));
  EXPECT_FALSE(interval.contains(0x7FC00000));
}

TEST(RightValues, TellZerosAndNanApart) {
  using enum ElementType;
  const RightValues zero{.type = float32, .ranges = {{0, 0}}};
  EXPECT_TRUE(zero.contains(0));
  EXPECT_FALSE(zero.contains(0x80000000));
  const RightValues either{.type = float32, .ranges = {{0, 0}}, .either_zero = true};
  EXPECT_TRUE(either.contains(0x80000000));
  EXPECT_EQ(text_of(either), "{0, zero of either sign}");
  const RightValues any_nan{.type = float16, .ranges = {{0x7E00, 0x7E00}}, .any_nan = true};
  EXPECT_TRUE(any_nan.contains(0xFE01));
  EXPECT_FALSE(any_nan.contains(0x7C00));
  const RightValues across{.type = float32, .ranges = {{0xBF800000, 0x3F800000}}};
  EXPECT_TRUE(across.contains(0x80000000));
}

}  // namespace
}  // namespace qconform
