#include "harness/model/mutate/case_mutator.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "harness/onnx/case_model.h"
#include "harness/suites/random.h"
#include "harness/tests/test_scale.h"

namespace qconform {
namespace {

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
