// Every rule that puts a case out of contract, and the message that says so.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/engine/relation_check.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/suites/drawn.h"
#include "harness/suites/stored_cases.h"
#include "harness/suites/sweep/suite.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/linear_builder.h"

namespace qconform {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

QLinearConvBuilder qlinear() {
  return QLinearConvBuilder()
      .x(make::uint8({1, 2, 4, 4}, std::vector<std::int64_t>(32, 3)))
      .w(make::int8({4, 2, 3, 3}, std::vector<std::int64_t>(72, 1)));
}

ConvIntegerBuilder integer() {
  return ConvIntegerBuilder()
      .x(make::uint8({1, 2, 4, 4}, std::vector<std::int64_t>(32, 3)))
      .w(make::int8({4, 2, 3, 3}, std::vector<std::int64_t>(72, 1)));
}

struct Rejection {
  const char* name;
  Case test_case;
  const char* rule;
  const char* field;
  const char* says;
};

void PrintTo(const Rejection& rejection, std::ostream* out) {
  *out << rejection.name;
}

class RejectionTest : public ::testing::TestWithParam<Rejection> {};

TEST_P(RejectionTest, NamesFieldValueAndRule) {
  const Rejection& expected = GetParam();
  const Classification result = classify(expected.test_case);
  ASSERT_EQ(result.expectation(), Expectation::invalid);
  EXPECT_EQ(result.lowered, nullptr);
  EXPECT_EQ(result.contract.violation->rule, expected.rule);
  EXPECT_EQ(result.contract.violation->field, expected.field);
  EXPECT_THAT(result.contract.violation->text(), HasSubstr(expected.says));
}

const Rejection kRejections[] = {
    {"pads_and_auto_pad", qlinear().auto_pad("SAME_UPPER").pads({1, 0, 0, 0}).build(), "C5", "pads", "SAME_UPPER"},
    {"pads_and_valid", integer().auto_pad("VALID").pads({0, 0, 0, 1}).build(), "C5", "pads", "[0, 0, 0, 1]"},
    {"window_too_large", qlinear().dilations({2, 2}).build(), "C6", "w", "extent 5"},
    {"kernel_shape", qlinear().kernel_shape({3, 2}).build(), "C7", "kernel_shape", "[3, 3], got [3, 2]"},
    {"kernel_shape_rank", integer().kernel_shape({3}).build(), "C7", "kernel_shape", "got [3]"},
    {"pads_length", qlinear().pads({1, 1, 1}).build(), "C8", "pads", "4 values (2 spatial dims, begin and end), got 3"},
    {"strides_length", qlinear().strides({1}).build(), "C8", "strides", "expected 2 values"},
    {"dilations_length", integer().dilations({1, 1, 1}).build(), "C8", "dilations", "got 3"},
    {"stride_zero", qlinear().strides({0, 1}).build(), "C8", "strides", "[0, 1]"},
    {"dilation_negative", qlinear().dilations({1, -1}).build(), "C8", "dilations", "[1, -1]"},
    {"pads_negative", qlinear().pads({0, 0, -1, 0}).build(), "C8", "pads", "-1"},
    {"auto_pad_unknown", integer().auto_pad("SAME").build(), "C8", "auto_pad", "\"SAME\""},
    {"group_zero", qlinear().group(0).build(), "C8", "group", "got 0"},
    {"group_negative", integer().group(-2).build(), "C8", "group", "got -2"},
    {"channels", qlinear().group(2).build(), "C8", "w", "2 * 2 and 2"},
    {"group_divides_outputs", qlinear().group(2).w(make::int8({3, 1, 3, 3}, std::vector<std::int64_t>(27, 1))).build(),
     "C8", "group", "= 3"},
    {"rank_two", integer().x(make::uint8({2, 2}, {1, 2, 3, 4})).build(), "C8", "x", "[2, 2]"},
    {"rank_mismatch", qlinear().w(make::int8({4, 2, 3}, std::vector<std::int64_t>(24, 1))).build(), "C8", "w",
     "[4, 2, 3]"},
    {"x_scale_vector", qlinear().input(1, make::float32({2}, {1, 2})).build(), "C11", "x_scale", "[2]"},
    {"x_zero_point_matrix", qlinear().input(2, make::uint8({1, 2}, {1, 1})).build(), "C11", "x_zero_point", "[1, 2]"},
    {"w_scale_length", qlinear().w_scale({1, 2, 3}).build(), "C11", "w_scale", "[4]"},
    {"w_zero_point_length", integer().w_zero_point({1, 2}).build(), "C11", "w_zero_point", "got shape [2]"},
    {"y_zero_point_vector", qlinear().input(7, make::uint8({4}, {1, 1, 1, 1})).build(), "C11", "y_zero_point", "[4]"},
    {"x_zero_point_omitted", qlinear().input(2, std::nullopt).build(), "C15", "x_zero_point", "missing"},
    {"y_zero_point_omitted", qlinear().input(7, std::nullopt).build(), "C15", "y_zero_point", "missing"},
    {"x_zero_point_type", qlinear().input(2, make::integer(ElementType::int8, 1)).build(), "C16", "x_zero_point",
     "uint8"},
    {"w_zero_point_type", integer().input(3, make::integer(ElementType::uint8, 1)).build(), "C16", "w_zero_point",
     "int8"},
    {"bias_length", qlinear().bias({1, 2, 3}).build(), "C16", "B", "[4]"},
    {"bias_type", qlinear().input(8, make::float32({4}, {1, 1, 1, 1})).build(), "C16", "B", "int32"},
    {"x_type", integer().x(make::int32({1, 2, 4, 4}, std::vector<std::int64_t>(32, 3))).build(), "C14", "x", "int32"},
    {"y_type", qlinear().input(7, make::integer(ElementType::int32, 0)).build(), "C14", "y_zero_point", "int32"},
    {"unknown_attribute", qlinear().attribute("padding", std::int64_t{1}).build(), "signature", "padding", "no such"},
    {"attribute_type", qlinear().attribute("group", 1.0F).build(), "signature", "group", "expected an integer"},
    {"too_many_inputs", integer().input(4, make::integer(ElementType::uint8, 0)).build(), "signature", "inputs",
     "got 5"},
    {"scale_type", qlinear().input(1, make::integer(ElementType::int32, 1)).build(), "signature", "x_scale", "float"},
    {"x_omitted", qlinear().input(0, std::nullopt).build(), "C15", "x", "missing"},
    {"w_omitted", integer().input(1, std::nullopt).build(), "C15", "w", "missing"},
    {"w_scale_omitted", qlinear().input(4, std::nullopt).build(), "C15", "w_scale", "missing"},
    {"w_type", qlinear().w(make::int32({4, 2, 3, 3}, std::vector<std::int64_t>(72, 1))).build(), "C14", "w", "int32"},
    {"w_scale_type", qlinear().input(4, make::integer(ElementType::int32, 1)).build(), "signature", "w_scale", "float"},
    {"y_scale_type", qlinear().input(6, make::integer(ElementType::int32, 1)).build(), "signature", "y_scale", "float"},
    {"ten_inputs", qlinear().input(9, make::integer(ElementType::uint8, 0)).build(), "signature", "inputs", "got 10"},
    {"unknown_operator", qlinear().op_type("Conv").build(), "operator", "op_type", "Conv"},
    {"foreign_domain", qlinear().domain("com.microsoft").build(), "operator", "op_type", "com.microsoft::QLinearConv"},
    {"opset_too_old", qlinear().version(9).build(), "opset", "opset_version", "got 9"},
    {"scale_length",
     LinearBuilder::dequantize().version(13).x(make::uint8({1, 3}, {1, 2, 3})).scale({1.0F, 2.0F}).build(), "D7",
     "x_scale", "got 2"},
    {"zero_point_shape",
     LinearBuilder::quantize()
         .version(13)
         .x(make::float32({1, 2}, {1, 2}))
         .scale({1.0F, 2.0F})
         .zero_point(make::integer(ElementType::uint8, 0))
         .build(),
     "D7", "y_zero_point", "[2]"},
    {"axis_out_of_range",
     LinearBuilder::quantize().version(13).x(make::float32({2, 2}, {1, 2, 3, 4})).scale({1.0F, 2.0F}).axis(2).build(),
     "D7", "axis", "got 2"},
    {"axis_below_range",
     LinearBuilder::dequantize().version(13).x(make::uint8({2}, {1, 2})).scale({1.0F, 2.0F}).axis(-2).build(), "D7",
     "axis", "[-1, 0]"},
    {"rank_one_default_axis",
     LinearBuilder::dequantize().version(13).x(make::uint8({2}, {1, 2})).scale({1.0F, 2.0F}).build(), "D7", "axis",
     "rank of x is 1"},
    {"version_10_per_axis", LinearBuilder::quantize().x(make::float32({1, 2}, {1, 2})).scale({1.0F, 2.0F}).build(),
     "D7", "y_scale", "scalar only"},
    {"version_10_axis_attribute", LinearBuilder::quantize().axis(0).build(), "signature", "axis", "opset 10"},
    {"y_zero_point_type", LinearBuilder::quantize().zero_point(make::integer(ElementType::int32, 0)).build(), "Q7",
     "y_zero_point", "int32"},
    {"huge_pads", qlinear().pads({INT64_MAX, 0, 0, 0}).build(), "limit", "pads", "at most"},
    {"huge_output", integer().pads({1 << 20, 1 << 20, 1 << 20, 1 << 20}).build(), "limit", "y", "elements"},
    {"large_output", integer().pads({6000, 6000, 6000, 6000}).build(), "limit", "y", "134217728"},
    {"group_overflow", integer().group(INT64_MAX).build(), "limit", "group", "9223372036854775807"},
};

INSTANTIATE_TEST_SUITE_P(Rules, RejectionTest, ::testing::ValuesIn(kRejections),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(Rejection, ReadsLikeASentence) {
  const Classification result = classify(qlinear().pads({1, 1, 1}).build());
  EXPECT_EQ(result.contract.violation->text(),
            "pads: expected 4 values (2 spatial dims, begin and end), got 3 [rule C8]");
}

struct ImplementationDefined {
  const char* name;
  Case test_case;
  const char* rule;
  bool value_is_open;
};

void PrintTo(const ImplementationDefined& row, std::ostream* out) {
  *out << row.name;
}

class ImplementationDefinedTest : public ::testing::TestWithParam<ImplementationDefined> {};

TEST_P(ImplementationDefinedTest, IsComputedAndExplained) {
  const ImplementationDefined& expected = GetParam();
  const Classification result = classify(expected.test_case);
  ASSERT_EQ(result.expectation(), Expectation::implementation_defined);
  ASSERT_NE(result.lowered, nullptr);
  EXPECT_EQ(result.deciding_remark()->rule, expected.rule);
  EXPECT_EQ(result.value_is_open, expected.value_is_open);
}

const ImplementationDefined kImplementationDefined[] = {
    {"zero_pads_beside_auto_pad", qlinear().auto_pad("VALID").pads({0, 0, 0, 0}).build(), "C5", false},
    {"no_channels", qlinear().x(make::uint8({1, 0, 4, 4}, {})).w(make::int8({4, 0, 3, 3}, {})).build(), "C10", false},
    {"empty_spatial_dimension", integer().x(make::uint8({1, 2, 0, 4}, {})).pads({2, 0, 2, 0}).build(), "C10", false},
    {"mixed_parameter_shapes", qlinear().w_scale({1, 2, 3, 4}).build(), "C12", false},
    {"nan_scale", qlinear().x_scale(std::numeric_limits<float>::quiet_NaN()).build(), "C21", true},
    {"infinite_scale", qlinear().y_scale(std::numeric_limits<float>::infinity()).build(), "C21", true},
    {"zero_y_scale", qlinear().y_scale(0).build(), "C21", true},
    {"zero_x_scale", qlinear().x_scale(0).build(), "C21", false},
    {"negative_scale", qlinear().w_scale(-1).build(), "C21", false},
    {"zero_quantize_scale", LinearBuilder::quantize().scale(0).build(), "C21", true},
    {"zero_dequantize_scale", LinearBuilder::dequantize().x(make::uint8({1}, {1})).scale(0).build(), "D6", false},
    {"int32_zero_point",
     LinearBuilder::dequantize().x(make::int32({2}, {1, 2})).zero_point(make::integer(ElementType::int32, 1)).build(),
     "D3", false},
};

INSTANTIATE_TEST_SUITE_P(Rules, ImplementationDefinedTest, ::testing::ValuesIn(kImplementationDefined),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(Valid, HasNoRemarks) {
  EXPECT_EQ(classify(qlinear().build()).expectation(), Expectation::valid);
  // C10: an empty batch, no output channels. C15: x_zero_point "" beside w_zero_point.
  EXPECT_EQ(classify(qlinear().x(make::uint8({0, 2, 4, 4}, {})).build()).expectation(), Expectation::valid);
  EXPECT_EQ(classify(integer().w(make::int8({0, 2, 3, 3}, {})).build()).expectation(), Expectation::valid);
  EXPECT_EQ(classify(integer().w_zero_point({1, 2, 3, 4}).build()).expectation(), Expectation::valid);
  // D8: rank 0.
  EXPECT_EQ(classify(LinearBuilder::dequantize().x(make::integer(ElementType::int8, 3)).build()).expectation(),
            Expectation::valid);
}

TEST(Valid, ExactValuesAreShown) {
  // 3 * 1 * 18 taps = 54; 54 * 1 / 16 = 3 + 3/8.
  const Case short_fraction = qlinear().y_scale(16).build();
  EXPECT_EQ(classify(short_fraction).lowered->exact_value(0), "3 + 3/8");
  const Case long_fraction = qlinear().x_scale(0.1F).y_scale(3.7F).y_zero_point(9).build();
  EXPECT_THAT(classify(long_fraction).lowered->exact_value(0), StartsWith("1 + 0.459"));
}

// A parameter of one element means the same in every shape.

// The positions of the inputs of a node that are scales and zero points.
std::vector<std::size_t> parameters_of(const Node& node) {
  if (node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear") return {1, 2};
  if (node.op_type == "QLinearMatMul") return {1, 2, 4, 5, 6, 7};
  if (node.op_type == "MatMulInteger" || node.op_type == "ConvInteger") return {2, 3};
  if (node.op_type == "QLinearConv") return {1, 2, 4, 5, 6, 7};
  return {};
}

bool has_blocks(const Case& test_case) {
  return std::any_of(test_case.nodes.begin(), test_case.nodes.end(), [](const Node& node) {
    return std::any_of(node.attributes.begin(), node.attributes.end(),
                       [](const Attribute& attribute) { return attribute.name == "block_size"; });
  });
}

// Positions of the case's tensors that are such inputs.
std::set<std::size_t> parameters_of(const Case& test_case) {
  std::set<std::size_t> positions;
  const std::vector<std::string> names = input_names(test_case);
  for (const Node& node : named_nodes(test_case)) {
    for (const std::size_t input : parameters_of(node)) {
      if (input >= node.inputs.size()) continue;
      const auto found = std::find(names.begin(), names.end(), node.inputs[input]);
      if (found != names.end()) positions.insert(static_cast<std::size_t>(found - names.begin()));
    }
  }
  return positions;
}

// Every parameter of one element gets that many dimensions.
Case with_rank(Case test_case, std::size_t rank) {
  for (const std::size_t position : parameters_of(test_case)) {
    if (position >= test_case.inputs.size() || !test_case.inputs[position]) continue;
    Tensor& tensor = *test_case.inputs[position];
    if (tensor.elements() == 1) tensor.shape.assign(rank, 1);
  }
  return test_case;
}

TEST(ShapedScalars, GetTheVerdictsOfScalars) {
  const auto scalar = backend::select("scalar", RoundingProfile::correctly_rounded);
  const auto graphs = backend::select("interpreter", RoundingProfile::correctly_rounded);
  ASSERT_TRUE(scalar && graphs);
  GuardedOutput memory;
  std::set<std::string> compared;
  for (std::uint64_t index = 0; index < 400; ++index) {
    const Case drawn = random_case(11, index);
    if (has_blocks(drawn)) continue;
    const Case base = with_rank(drawn, 0);
    const Expected right = expect(base, {});
    for (const std::size_t rank : {1U, 2U, 3U}) {
      const Case shaped = with_rank(drawn, rank);
      if (shaped == base) continue;
      const Expected same = expect(shaped, {});
      ASSERT_EQ(same.classification.expectation(), right.classification.expectation()) << drawn.id << " " << rank;
      ASSERT_EQ(same.output, right.output) << drawn.id;
      ASSERT_EQ(same.further_outputs, right.further_outputs) << drawn.id;
      Backend& backend = is_judged_as_graph(base) ? **graphs : **scalar;
      EXPECT_EQ(judge(same, execute(backend, shaped, memory)).kind, judge(right, execute(backend, base, memory)).kind)
          << drawn.id << " " << rank;
      EXPECT_EQ(judge(same, outcome::Unsupported{"no"}).kind, judge(right, outcome::Unsupported{"no"}).kind);
      for (const Node& node : base.nodes) compared.insert(node.op_type);
    }
  }
  for (const char* op_type : {"QLinearConv", "ConvInteger", "QuantizeLinear", "DequantizeLinear"}) {
    EXPECT_TRUE(compared.contains(op_type)) << op_type;
  }
}

// Relations derive cases from what a parameter is, not from its shape.
TEST(ShapedScalars, KeepEveryRelation) {
  std::vector<Case> shaped;
  for (std::uint64_t index = 0; index < 300; ++index) {
    const Case drawn = random_case(12, index);
    if (has_blocks(drawn) || is_judged_as_graph(drawn)) continue;
    for (const std::size_t rank : {1U, 2U}) {
      const Case test_case = with_rank(drawn, rank);
      if (classify(test_case).expectation() == Expectation::valid) shaped.push_back(test_case);
    }
  }
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<testing::ListedSuite>(std::move(shaped)));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::move(*backend::select("scalar", RoundingProfile::correctly_rounded)));
  Report report;
  ASSERT_TRUE(run_relations(suites, backends, {}, report));
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].example.id << ": " << report.findings[0].verdict.rule
                                       << ": " << report.findings[0].verdict.detail;
}

// A contract is learnt by class, and a kernel that takes scalars may refuse a shape. A shape of one dimension may also
// be that of one value for each position: these have two.
TEST(ShapedScalars, HaveNoClass) {
  std::size_t compared = 0;
  for (std::uint64_t index = 0; index < 400; ++index) {
    const Case drawn = random_case(13, index);
    if (has_blocks(drawn) || is_judged_as_graph(drawn)) continue;
    const Case base = with_rank(drawn, 0);
    const Case shaped = with_rank(drawn, 2);
    if (classify(base).expectation() != Expectation::valid || shaped == base || !sweep::place_of(base, classify(base)))
      continue;
    ++compared;
    EXPECT_FALSE(sweep::place_of(shaped, classify(shaped))) << drawn.id;
  }
  EXPECT_GT(compared, 100U);
}

}  // namespace
}  // namespace qconform
