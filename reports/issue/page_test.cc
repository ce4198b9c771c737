#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/diagnose/models/defect.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/text.h"
#include "harness/tests/committed_vectors.h"
#include "reports/issue/arithmetic.h"
#include "reports/issue/rules.h"

namespace qconform::report {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

// What stands behind the last "= " of a step.
std::string result_of(const std::string& step) {
  return step.substr(step.rfind("= ") + 2);
}

// The steps of the first and the last element.
TEST(WorkedOut, ComesToTheReferencesValue) {
  std::size_t checked = 0;
  for (const Case& vector : committed_vectors()) {
    if (!vector.is_one_node()) continue;  // a page is of a single operator
    const Expected expected = expect(vector, {});
    if (!expected.output || expected.output->elements() == 0) continue;
    for (const std::int64_t index : {std::int64_t{0}, expected.output->elements() - 1}) {
      SCOPED_TRACE(name_of_vector(vector));
      const std::vector<std::string> steps = worked_out(expected, index);
      if (const auto* conv = qlinear_conv_of(*expected.classification.lowered)) {
        ASSERT_EQ(steps.size(), conv->operands.bias.empty() ? 3U : 4U);
        EXPECT_THAT(expected.classification.lowered->exact_value(index),
                    StartsWith(result_of(steps[steps.size() - 2])));
      }
      ASSERT_FALSE(steps.empty());
      const std::string right = element_text(*expected.output, index);
      if (vector.node().op_type == "ConvInteger") {
        EXPECT_EQ(static_cast<std::int32_t>(std::stoll(result_of(steps.back()))), std::stoll(right));
      } else {
        EXPECT_THAT(steps.back(), EndsWith(" " + right));
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 1000U);
}

TEST(Rules, OfEveryDefectAreStated) {
  for (const auto& defect : diagnose::defects()) {
    EXPECT_TRUE(defect.rule == "formula" || defect.rule == "signature" || !statement_of(defect.rule).empty())
        << defect.rule;
  }
  EXPECT_TRUE(statement_of("C0").empty());
}

}  // namespace
}  // namespace qconform::report
