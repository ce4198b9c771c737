#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/graphs/graph_builder.h"
#include "harness/model/case_builder.h"
#include "harness/model/defects/defect.h"
#include "harness/model/text.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/tests/committed_vectors.h"
#include "reports/issue/page.h"
#include "reports/issue/rules.h"

namespace qconform::report {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns the text behind the last "= " of a step.
std::string result_of(const std::string& step) {
  return step.substr(step.rfind("= ") + 2);
}

// Evaluates "(3 - 1) * 2 + 3/8" as a reader does, from the decimals; nothing where the text is no expression.
class Evaluator {
 public:
  static std::optional<long double> value_of(std::string text) {
    if (text.starts_with("about ")) text = text.substr(6);
    Evaluator evaluator(std::move(text));
    const long double value = evaluator.sum();
    if (evaluator.is_wrong_ || evaluator.at_ != evaluator.text_.size()) return std::nullopt;
    return value;
  }

 private:
  explicit Evaluator(std::string text) : text_(std::move(text)) {}

  bool takes(char wanted) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  long double sum() {
    long double value = product();
    for (;;) {
      if (takes('+')) {
        value += product();
      } else if (takes('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }
  long double product() {
    long double value = factor();
    for (;;) {
      if (takes('*')) {
        value *= factor();
      } else if (takes('/')) {
        value /= factor();
      } else {
        return value;
      }
    }
  }
  long double factor() {
    if (takes('(')) {
      const long double value = sum();
      is_wrong_ = is_wrong_ || !takes(')');
      return value;
    }
    if (takes('-')) return -factor();
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const char* begin = text_.c_str() + at_;
    char* end = nullptr;
    const long double value = std::strtold(begin, &end);
    is_wrong_ = is_wrong_ || end == begin;
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string text_;
  std::size_t at_ = 0;
  bool is_wrong_ = false;
};

// The expressions of "what: A = B" or "formula = A = B" that a reader can evaluate.
std::vector<std::string> printed_values(const std::string& step) {
  const std::size_t colon = step.rfind(": ");
  std::string rest = colon == std::string::npos ? step : step.substr(colon + 2);
  std::vector<std::string> all;
  for (std::size_t end = 0; end != std::string::npos; rest = rest.substr(std::min(rest.size(), end + 3))) {
    end = rest.find(" = ");
    if (Evaluator::value_of(rest.substr(0, end))) all.push_back(rest.substr(0, end));
    if (end == std::string::npos) break;
  }
  return all;
}

// A decimal of 17 digits is half a unit of its last place off at most, and an expression has four of them; a fraction
// before rounding has 12 digits.
bool agree(long double a, long double b) {
  if (std::isnan(a) || std::isinf(a)) return std::isnan(a) ? std::isnan(b) : a == b;
  return std::fabs(a - b) <= 4e-16L * std::fabs(a) + 5e-13L;
}

TEST(WorkedOut, EveryExpressionEvaluatesToWhatIsPrintedBehindIt) {
  std::map<std::string, std::uint64_t> checked;
  for (const Case& vector : committed_vectors()) {
    if (!vector.is_one_node()) continue;
    const Expected expected = expect(vector, {});
    if (!expected.output) continue;
    for (std::int64_t index = 0; index < std::min<std::int64_t>(expected.output->elements(), 4); ++index) {
      for (const std::string& step : worked_out(expected, index)) {
        const std::vector<std::string> values = printed_values(step);
        if (values.size() < 2) continue;
        ASSERT_EQ(values.size(), 2U) << step;
        EXPECT_TRUE(agree(*Evaluator::value_of(values[0]), *Evaluator::value_of(values[1]))) << step;
        ++checked[vector.node().op_type];
      }
    }
  }
  for (const char* op : {"ConvInteger", "QLinearConv", "QuantizeLinear", "DequantizeLinear"}) {
    EXPECT_GT(checked[op], 100U) << op;
  }
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
      EXPECT_THAT(steps.back(), EndsWith(" " + right));
      ++checked;
    }
  }
  EXPECT_GT(checked, 1000U);
}

// The first output has no elements, and fewer dimensions than the second, whose last element is wrong.
TEST(IssuePage, OfAGraphNamesTheOutputThatIsWrong) {
  GraphBuilder b(13);
  const std::string none = b.node("Relu", {b.input(make::float32({0}, {}))});
  const std::string some = b.node("Relu", {b.input(make::float32({1, 2}, {1, -2}))});
  const Case graph = b.build({none, some});
  const Expected expected = expect(graph, {});
  ASSERT_TRUE(expected.output);
  const std::vector<Tensor> answers{make::float32({0}, {}), make::float32({1, 2}, {1, 5})};
  const Explained explained{graph, "mine", judge(expected, outcome::Produced(answers)), {}, {}, {}};
  const std::string page = issue_page(
      {explained, expected, {}, {}, issue::program_for(expected, *backend::parse_specification("onednn"), {}), {}, {}});
  EXPECT_THAT(page, HasSubstr("# Relu+Relu on mine"));
  EXPECT_THAT(page, HasSubstr(some + "[0,1] must be {0"));
  EXPECT_THAT(page, HasSubstr(", and is 5."));
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
