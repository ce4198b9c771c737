#include "harness/model/mutate/tensor_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "harness/model/text.h"

namespace qconform {
namespace {

Tensor empty_of(ElementType type, std::int64_t elements) {
  return {type, {elements}, std::vector<std::byte>(static_cast<std::size_t>(bytes_for(type, elements)))};
}

double stored(ElementType type, double value) {
  Tensor tensor = empty_of(type, 3);
  store_number(tensor, 1, value);
  EXPECT_EQ(number_at(tensor, 0), number_at(empty_of(type, 3), 0));
  EXPECT_EQ(number_at(tensor, 2), number_at(empty_of(type, 3), 2));
  return number_at(tensor, 1);
}

TEST(StoreNumber, RoundsAndSaturates) {
  EXPECT_EQ(stored(ElementType::uint8, 300), 255);
  EXPECT_EQ(stored(ElementType::int8, -1e9), -128);
  EXPECT_EQ(stored(ElementType::int4, -5), -5);
  EXPECT_EQ(stored(ElementType::int2, 1), 1);
  EXPECT_EQ(stored(ElementType::int32, 2.5), 2);
  EXPECT_EQ(stored(ElementType::int32, 4e9), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(stored(ElementType::uint16, std::nan("")), 0);
  EXPECT_EQ(stored(ElementType::float16, 0.1), 0x1.998p-4);
  EXPECT_EQ(stored(ElementType::float8e8m0, 4), 4);
}

TEST(Converted, KeepsNumbersThatFit) {
  Tensor tensor = empty_of(ElementType::int8, 5);
  for (std::int64_t i = 0; i < 5; ++i) store_number(tensor, i, static_cast<double>(i - 2));
  for (const ElementType type : {ElementType::int4, ElementType::float16, ElementType::float32, ElementType::int32}) {
    const Tensor other = converted(tensor, type);
    ASSERT_EQ(other.type, type);
    for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(number_at(other, i), static_cast<double>(i - 2));
  }
  EXPECT_EQ(converted(tensor, ElementType::int64), tensor) << "no numeric type";
}

TEST(Reshaped, RepeatsElements) {
  Rng rng(1);
  Tensor tensor = empty_of(ElementType::uint4, 3);
  for (std::int64_t i = 0; i < 3; ++i) store_number(tensor, i, static_cast<double>(i + 1));
  const Tensor wide = reshaped(rng, tensor, {2, 2});
  ASSERT_EQ(wide.bytes.size(), 2U);
  EXPECT_EQ(number_at(wide, 2), 3);
  EXPECT_EQ(number_at(wide, 3), 1);
  EXPECT_EQ(reshaped(rng, tensor, {0}).bytes.size(), 0U);
  EXPECT_EQ(reshaped(rng, empty_of(ElementType::uint8, 0), {4}).bytes.size(), 4U);
}

TEST(ChangeValues, ReachesEveryPatternOfASmallType) {
  Rng rng(2);
  std::set<double> seen;
  Tensor tensor = empty_of(ElementType::uint4, 5);
  for (int i = 0; i < 2'000; ++i) {
    change_values(rng, tensor);
    ASSERT_EQ(std::to_integer<int>(tensor.bytes.back()) >> 4, 0) << "unused bits stay zero";
    seen.insert(number_at(tensor, 4));
  }
  EXPECT_EQ(seen.size(), 16U);
}

TEST(ChangeScales, StaysOrdinaryUnlessAskedOtherwise) {
  Rng rng(3);
  Tensor scales = empty_of(ElementType::float32, 2);
  store_number(scales, 0, 0.5);
  store_number(scales, 1, 0.25);
  for (int i = 0; i < 2'000; ++i) {
    change_scales(rng, scales, false);
    for (std::int64_t j = 0; j < 2; ++j) ASSERT_GT(number_at(scales, j), 0);
    ASSERT_TRUE(std::isfinite(number_at(scales, 0)));
  }
  bool odd = false;
  for (int i = 0; i < 50; ++i) {
    change_scales(rng, scales, true);
    odd = odd || !(number_at(scales, 0) > 0) || !std::isfinite(number_at(scales, 0));
  }
  EXPECT_TRUE(odd);
}

}  // namespace
}  // namespace qconform
