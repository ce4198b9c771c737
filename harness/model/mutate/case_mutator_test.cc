#include "harness/model/mutate/case_mutator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "harness/model/text.h"
#include "harness/onnx/case_model.h"
#include "harness/suites/drawn.h"
#include "harness/tests/test_scale.h"

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

// Walks of mutants away from random cases, as a fuzzer walks.
template <typename Visit>
void for_each_mutant(int count, Visit visit) {
  Rng rng(41);
  Case current;
  for (int i = 0; i < count; ++i) {
    if (i % 20 == 0) current = random_case(7, static_cast<std::uint64_t>(i));
    Case next = mutate(current, rng);
    visit(current, next);
    current = std::move(next);
  }
}

TEST(Mutate, IsTheSameForTheSameNumbers) {
  Rng first(3);
  Rng second(3);
  Case a = random_case(1, 0);
  Case b = a;
  for (int i = 0; i < testing::scaled(500); ++i) {
    a = mutate(a, first);
    b = mutate(b, second);
    ASSERT_TRUE(*case_to_model(a) == *case_to_model(b)) << "step " << i;
  }
}

TEST(Mutate, GivesCasesThatSurviveTheOnnxForm) {
  for_each_mutant(testing::scaled(3'000), [](const Case&, const Case& mutant) {
    const auto written = case_to_model(mutant);
    ASSERT_TRUE(written.has_value()) << written.error().text();
    const auto read = case_from_model(*written);
    ASSERT_TRUE(read.has_value()) << read.error().text();
    ASSERT_EQ(digest_of(*read), digest_of(mutant));
    ASSERT_TRUE(*case_to_model(*read) == *written);
  });
}

TEST(Mutate, StaysSmall) {
  for_each_mutant(testing::scaled(3'000), [](const Case& original, const Case& mutant) {
    if (is_small(original, classify(original))) {
      for (const auto& input : mutant.inputs) ASSERT_LE(input ? input->elements() : 0, 9 * kLargestElements);
    }
    const Classification classification = classify(mutant);
    if (mutant.node().op_type == original.node().op_type && classification.lowered &&
        is_small(original, classify(original))) {
      ASSERT_LE(classification.lowered->work(), 64 * kLargestWork);
    }
  });
}

TEST(Mutate, MostlyStaysInContractAndMostlyChangesSomething) {
  int mutants = 0;
  int in_contract = 0;
  int changed = 0;
  for_each_mutant(testing::scaled(3'000), [&](const Case& original, const Case& mutant) {
    if (!classify(original).contract.holds()) return;
    ++mutants;
    in_contract += classify(mutant).contract.holds() ? 1 : 0;
    changed += digest_of(mutant) != digest_of(original) ? 1 : 0;
  });
  EXPECT_GE(in_contract, mutants * 85 / 100);
  EXPECT_LT(in_contract, mutants) << "the refusals are tested, too";
  EXPECT_GE(changed, mutants * 85 / 100);
}

// A fuzzer has to reach all this by mutation alone, since it keeps mutants and not the dice.
TEST(Mutate, ReachesWhatTheOperatorsDistinguish) {
  std::map<std::string, std::set<std::int64_t>> versions;
  std::map<std::string, std::set<ElementType>> outputs;
  std::set<std::string> attributes;
  std::set<std::size_t> ranks;
  int ties = 0;
  int blocked = 0;
  for_each_mutant(testing::scaled(20'000), [&](const Case&, const Case& mutant) {
    const Classification classification = classify(mutant);
    if (!classification.lowered) return;
    versions[mutant.node().op_type].insert(
        find_operator("", mutant.node().op_type)->version_at(mutant.node().opset_version));
    outputs[mutant.node().op_type].insert(classification.lowered->output_type());
    for (const Attribute& attribute : mutant.node().attributes) attributes.insert(attribute.name);
    if (mutant.node().op_type == "QLinearConv") {
      ranks.insert(mutant.input(0)->shape.size());
      if (!classification.value_is_open) ties += classification.lowered->statistics({}).ties.exact > 0 ? 1 : 0;
    }
    const Attribute* const block = mutant.attribute("block_size");
    if (block != nullptr && std::get<std::int64_t>(block->value) > 0) ++blocked;
  });
  if (testing::scaled(20'000) < 20'000) return;
  for (const Operator& known : operators()) {
    if (known.usual_weight == 0) continue;  // graphs are not mutated
    EXPECT_EQ(versions[std::string(known.name)].size(), known.versions.size()) << known.name;
  }
  EXPECT_EQ(outputs["QLinearConv"].size(), 2U);
  EXPECT_EQ(outputs["QuantizeLinear"].size(), 8U + 5U) << "integers of 2 to 16 bits, floats of 4 and 8";
  EXPECT_EQ(outputs["DequantizeLinear"].size(), 3U);
  for (const char* name : {"auto_pad", "axis", "block_size", "dilations", "group", "kernel_shape", "output_dtype",
                           "pads", "precision", "saturate", "strides"}) {
    EXPECT_TRUE(attributes.contains(name)) << name;
  }
  for (const std::size_t rank : {3U, 4U, 5U}) EXPECT_TRUE(ranks.contains(rank)) << rank;
  EXPECT_GE(ties, 200);
  EXPECT_GE(blocked, 50);
}

TEST(Cross, CombinesTwoCasesWithinTheContract) {
  Rng rng(5);
  int changed = 0;
  const int count = testing::scaled(1'000);
  for (int i = 0; i < count; ++i) {
    const Case first = random_case(11, static_cast<std::uint64_t>(i));
    const Case second = random_case(13, static_cast<std::uint64_t>(i));
    const Case both = cross(first, second, rng);
    ASSERT_TRUE(classify(both).contract.holds());
    ASSERT_EQ(both.node().op_type, first.node().op_type);
    changed += digest_of(both) != digest_of(first) ? 1 : 0;
  }
  EXPECT_GE(changed, count / 2);
}

}  // namespace
}  // namespace qconform
