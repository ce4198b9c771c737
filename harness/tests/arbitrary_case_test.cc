// Properties that are false by design: what RapidCheck would report must be a small valid case.
#include "harness/tests/arbitrary_case.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "harness/model/operator.h"
#include "harness/model/reductions/edits.h"
#include "harness/model/text.h"

namespace qconform {
namespace {

struct Counterexample {
  Case first;
  Case smallest;
};

// Returns the counterexample that a check would end with, of a property that is false where `fails` holds.
Counterexample counterexample_of(const std::function<bool(const Case&)>& fails) {
  const rc::Gen<Case> cases = testing::arbitrary_case();
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const rc::Shrinkable<Case> drawn = cases(rc::Random(seed), 100);
    const Case first = drawn.value();
    if (fails(first)) return {first, rc::shrinkable::findLocalMin(drawn, fails).first};
  }
  ADD_FAILURE() << "no case fails";
  return {};
}

std::int64_t elements_of_inputs(const Case& test_case) {
  std::int64_t sum = 0;
  for (const auto& input : test_case.inputs) sum += input ? input->elements() : 0;
  return sum;
}

void expect_small(const Counterexample& found, std::int64_t elements) {
  EXPECT_EQ(classify(found.smallest).expectation(), Expectation::valid);
  EXPECT_LE(elements_of_inputs(found.smallest), elements)
      << summary_of(found.smallest) << ", from " << summary_of(found.first);
  EXPECT_LT(elements_of_inputs(found.smallest), elements_of_inputs(found.first));
}

TEST(ArbitraryCase, AGroupedConvolutionShrinksToTwoGroupsOfOneChannel) {
  const auto is_grouped = [](const Case& test_case) {
    const Attribute* group = test_case.attribute("group");
    return group != nullptr && std::get<std::int64_t>(group->value) != 1;
  };
  const Counterexample found = counterexample_of(is_grouped);
  expect_small(found, 4 + 8);  // x and w of two elements each, and at most eight parameters
  EXPECT_TRUE(is_grouped(found.smallest));
  EXPECT_EQ(found.smallest.input(0)->elements(), 2) << summary_of(found.smallest);
}

TEST(ArbitraryCase, ASaturatedOutputShrinksToOneElement) {
  const auto is_saturated = [](const Case& test_case) {
    const Classification found = classify(test_case);
    if (found.lowered == nullptr || found.lowered->output_type() != ElementType::uint8) return false;
    const Tensor y = found.lowered->evaluate(RoundingProfile::correctly_rounded);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      if (integer_at(y, i) == 255) return true;
    }
    return false;
  };
  const Counterexample found = counterexample_of(is_saturated);
  expect_small(found, 9);
  EXPECT_EQ(elements_of(classify(found.smallest).lowered->output_shape()), 1) << summary_of(found.smallest);
}

TEST(ArbitraryCase, APaddedOneShrinksToOnePad) {
  const auto is_padded = [](const Case& test_case) {
    const Attribute* pads = test_case.attribute("pads");
    if (pads == nullptr) return false;
    std::int64_t sum = 0;
    for (const std::int64_t pad : std::get<std::vector<std::int64_t>>(pads->value)) sum += pad;
    return sum > 0;
  };
  const Counterexample found = counterexample_of(is_padded);
  expect_small(found, 12);
  EXPECT_TRUE(is_padded(found.smallest));
}

TEST(ArbitraryCase, ValuesOfEveryOperatorShrink) {
  for (const Operator& op : operators()) {
    if (op.usual_weight == 0) continue;  // no random case is one
    const auto has_large_value = [&](const Case& test_case) {
      if (test_case.node().op_type != op.name || !is_integer(test_case.input(0)->type))
        return test_case.node().op_type == op.name;
      for (std::int64_t i = 0; i < test_case.input(0)->elements(); ++i) {
        if (integer_at(*test_case.input(0), i) != 0) return true;
      }
      return false;
    };
    SCOPED_TRACE(std::string(op.name));
    expect_small(counterexample_of(has_large_value), 9);
  }
}

}  // namespace
}  // namespace qconform
