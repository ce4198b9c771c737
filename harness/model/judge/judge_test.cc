#include "harness/model/judge/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <onnx/defs/schema.h>

#include <limits>
#include <set>

#include "harness/model/case_builder.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/linear_builder.h"
#include "harness/tests/microsoft_operators.h"

namespace qconform {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

Expected expected_of(const Case& test_case, Profile profile = Profile::conformance) {
  Expected expected = expect(test_case, Policy{.profile = profile});
  assess(test_case, expected);
  return expected;
}

// x = 5, w = 1, everything else plain: y = 5.
Case plain() {
  return QLinearConvBuilder().x(make::uint8({1, 1, 1, 1}, {5})).build();
}
Case invalid() {
  return QLinearConvBuilder().group(0).build();
}

Verdict judge_output(const Case& test_case, Tensor output) {
  return judge(expected_of(test_case), outcome::Produced{std::move(output)});
}

TEST(Judge, PassesTheRightAnswerOnly) {
  EXPECT_EQ(judge_output(plain(), make::uint8({1, 1, 1, 1}, {5})).kind, VerdictKind::pass);
  const Verdict wrong = judge_output(plain(), make::uint8({1, 1, 1, 1}, {6}));
  EXPECT_EQ(wrong.kind, VerdictKind::wrong);
  EXPECT_EQ(wrong.wrong_elements, 1U);
  EXPECT_EQ(wrong.worst->got, "6");
  EXPECT_EQ(wrong.worst->admissible, "{5}");
  EXPECT_EQ(wrong.worst->exact, "5");
  EXPECT_EQ(wrong.worst->distance, 1);
}

// Two settings of one library: one refuses, the other computes.
Verdict judge_refusal_beside(const Case& test_case, std::optional<Tensor> elsewhere) {
  Outcome outcome = outcome::Unsupported{"node 'conv_17' of shape [3] at /src/a.cc:1234 failed"};
  if (elsewhere) outcome.elsewhere = {"library@plain", {std::move(*elsewhere)}};
  return judge(expected_of(test_case), outcome);
}

TEST(Judge, ARefusalIsAFailureWhereAnotherSettingComputesTheCaseRight) {
  EXPECT_EQ(judge_refusal_beside(plain(), std::nullopt).kind, VerdictKind::unsupported);
  EXPECT_EQ(judge_refusal_beside(plain(), make::uint8({1, 1, 1, 1}, {6})).kind, VerdictKind::unsupported)
      << "a wrong answer does not show that it can be computed";
  const Verdict verdict = judge_refusal_beside(plain(), make::uint8({1, 1, 1, 1}, {5}));
  EXPECT_EQ(verdict.kind, VerdictKind::refused_here);
  EXPECT_THAT(verdict.detail, HasSubstr("refused here, computed by library@plain: node 'conv_17'"));
  EXPECT_EQ(verdict.place, "node of shape at failed");
  EXPECT_EQ(judge_refusal_beside(invalid(), make::uint8({1, 1, 1, 1}, {5})).kind, VerdictKind::refused);
}

TEST(Judge, AnotherCountOfOutputsIsABrokenInterface) {
  const Tensor y = make::uint8({1, 1, 1, 1}, {5});
  const Verdict verdict = judge(expected_of(plain()), outcome::Produced{std::vector<Tensor>{y, y}});
  EXPECT_EQ(verdict.kind, VerdictKind::broken_interface);
  EXPECT_EQ(verdict.detail, "2 outputs, expected 1");
}

// The operators of ONNX that the library of ONNX knows, and those of com.microsoft.
std::vector<std::pair<std::string, std::string>> all_operators() {
  std::set<std::pair<std::string, std::string>> names;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    names.insert({schema.domain(), schema.Name()});
  }
  for (const char* name : testing::kMicrosoftOperators) names.insert({"com.microsoft", name});
  return {names.begin(), names.end()};
}

Case graph_of(const std::string& domain, const std::string& op_type, bool is_quantized) {
  Case test_case;
  test_case.id = op_type;
  test_case.inputs = {make::uint8({2, 3}, {1, 2, 3, 4, 5, 6}), make::float32({}, {0.5F}), make::uint8({}, {3})};
  test_case.input_names = {"x", "s", "z"};
  test_case.fed_inputs = 1;
  test_case.outputs = {"y"};
  test_case.nodes = {{op_type, domain, 17, {}, {"x"}, {"y"}}};
  if (!is_quantized) return test_case;
  test_case.nodes = {{"DequantizeLinear", "", 17, {}, {"x", "s", "z"}, {"a"}},
                     {op_type, domain, 17, {}, {"a"}, {"b"}},
                     {"QuantizeLinear", "", 17, {}, {"b", "s", "z"}, {"y"}}};
  return test_case;
}

// Whatever a backend answers to an operator that qconform does not know, that is no verdict on the backend.
TEST(Judge, GivesNoVerdictOnAnOperatorThatItDoesNotKnow) {
  std::size_t unknown = 0;
  for (const auto& [domain, op_type] : all_operators()) {
    for (const bool is_quantized : {false, true}) {
      const Case test_case = graph_of(domain, op_type, is_quantized);
      const Expected expected = expected_of(test_case);
      const auto& violation = expected.classification.contract.violation;
      const bool is_known = !violation || violation->rule != "operator";
      if (is_known) continue;
      ++unknown;
      for (const Outcome& answer :
           {Outcome(outcome::Produced{make::uint8({2, 3}, {0, 0, 0, 0, 0, 0})}), Outcome(outcome::Unsupported{"no"}),
            Outcome(outcome::Produced{std::vector<Tensor>{}}), Outcome(outcome::Rejected{"no"})}) {
        const Verdict verdict = judge(expected, answer);
        EXPECT_EQ(verdict.kind, VerdictKind::not_judged) << domain << " " << op_type << ": " << verdict.detail;
        EXPECT_THAT(verdict.detail, HasSubstr(op_type));
      }
    }
  }
  EXPECT_GT(unknown, 200U);
}

TEST(MessageSignature, KeepsWhatDoesNotChangeFromCaseToCase) {
  Case test_case = graph_of("", "Conv", true);
  const auto signature = [&](std::string_view message) { return message_signature(message, test_case); };
  EXPECT_EQ(signature("Type Error: Type 'tensor(int32)' of input parameter (b_quant) of operator (QuantizeLinear) in "
                      "node (y_7) is invalid."),
            signature("Type Error: Type 'tensor(int8)' of input parameter (a) of operator (QuantizeLinear) in "
                      "node () is invalid."));
  EXPECT_NE(signature("in node (y) of operator (QuantizeLinear)"), signature("in node (y) of operator (Conv)"));
  EXPECT_EQ(signature("at 0x7fff12345678 in /a/b/c.cc:99 line 12: y_dq != [1,2,3]"), "at in line");
  EXPECT_LE(signature(std::string(5000, 'w')).size(), 160U);
}

TEST(Judge, NamesTheElementFarthestFromRight) {
  const Case test_case = QLinearConvBuilder().x(make::uint8({1, 1, 1, 3}, {5, 6, 7})).build();
  const Verdict verdict = judge_output(test_case, make::uint8({1, 1, 1, 3}, {4, 6, 17}));
  EXPECT_EQ(verdict.wrong_elements, 2U);
  EXPECT_EQ(verdict.worst->index, (std::vector<std::int64_t>{0, 0, 0, 2}));
}

TEST(Judge, CountsErrorsByDirectionAndSize) {
  const Case test_case = QLinearConvBuilder().x(make::uint8({1, 1, 1, 4}, {5, 6, 7, 8})).build();
  const Verdict verdict = judge_output(test_case, make::uint8({1, 1, 1, 4}, {4, 6, 10, 12}));
  EXPECT_EQ(verdict.errors.elements(), 3U);
  EXPECT_EQ(verdict.errors.low[1], 1U) << "1 too low";
  EXPECT_EQ(verdict.errors.high[3], 2U) << "3 and 4 too high";
}

TEST(ErrorHistogram, HasABinForEveryError) {
  ErrorHistogram errors;
  for (const double error : {0.0, 0.5, -0.5, 1.0, -2.0, 0x1p31, 0x1p60, -0x1p60}) errors.add(error);
  errors.add(std::numeric_limits<double>::infinity());
  errors.add(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(errors.elements(), 10U);
  EXPECT_EQ(errors.high[0], 2U);
  EXPECT_EQ(errors.low[0], 1U);
  EXPECT_EQ(errors.high[1], 1U);
  EXPECT_EQ(errors.low[2], 1U);
  EXPECT_EQ(errors.high[32], 1U);
  EXPECT_EQ(errors.high[33], 1U);
  EXPECT_EQ(errors.low[33], 1U);
  EXPECT_EQ(errors.incomparable, 2U);
}

TEST(Judge, AsksForShapeAndType) {
  EXPECT_EQ(judge_output(plain(), make::uint8({1, 1, 1}, {5})).kind, VerdictKind::bad_shape);
  const Verdict verdict = judge_output(plain(), make::int8({1, 1, 1, 1}, {5}));
  EXPECT_EQ(verdict.kind, VerdictKind::bad_shape);
  EXPECT_EQ(verdict.detail, "output int8 [1, 1, 1, 1], expected uint8 [1, 1, 1, 1]");
}

TEST(Judge, RequiresRefusalOutOfContract) {
  const Verdict verdict = judge_output(invalid(), make::uint8({1, 1, 1, 1}, {5}));
  EXPECT_EQ(verdict.kind, VerdictKind::not_rejected);
  EXPECT_EQ(verdict.rule, "C8");
  EXPECT_THAT(verdict.detail, HasSubstr("group"));
  EXPECT_EQ(judge(expected_of(invalid()), outcome::Rejected{"group"}).kind, VerdictKind::refused);
  EXPECT_EQ(judge(expected_of(invalid()), outcome::Crashed{11, ""}).kind, VerdictKind::crashed);
}

TEST(Judge, CountsARefusedValidCaseAsUnsupported) {
  EXPECT_EQ(judge(expected_of(plain()), outcome::Unsupported{"w uint8"}).kind, VerdictKind::unsupported);
  EXPECT_EQ(judge(expected_of(plain()), outcome::Rejected{"bad model"}).kind, VerdictKind::unsupported);
}

TEST(Judge, TakesValueOrRefusalOfWhatIsImplementationDefined) {
  const Case zero_pads =
      QLinearConvBuilder().x(make::uint8({1, 1, 1, 1}, {5})).auto_pad("VALID").pads({0, 0, 0, 0}).build();
  EXPECT_EQ(judge(expected_of(zero_pads), outcome::Rejected{"both"}).kind, VerdictKind::refused);
  EXPECT_EQ(judge_output(zero_pads, make::uint8({1, 1, 1, 1}, {5})).kind, VerdictKind::pass);
  EXPECT_EQ(judge_output(zero_pads, make::uint8({1, 1, 1, 1}, {6})).kind, VerdictKind::wrong);
}

TEST(Judge, TakesAnyValueWhereNoneIsRight) {
  const Case nan_scale = QLinearConvBuilder().x_scale(std::numeric_limits<float>::quiet_NaN()).build();
  EXPECT_EQ(judge_output(nan_scale, make::uint8({1, 1, 1, 1}, {77})).kind, VerdictKind::pass);
  EXPECT_EQ(judge_output(nan_scale, make::uint8({1, 1}, {77})).kind, VerdictKind::bad_shape);
}

// Rule C17: K = 33026 products of 255 * 255 pass 2^31; the exact sum and the wrapped one are right.
TEST(Judge, TakesExactAndWrappedSumsBeyondInt32) {
  const Case overflow = QLinearConvBuilder()
                            .x(make::filled(ElementType::uint8, {1, 33026, 1, 1}, 255))
                            .w(make::filled(ElementType::uint8, {1, 33026, 1, 1}, 255))
                            .w_zero_point(0)
                            .input(5, make::integer(ElementType::uint8, 0))
                            .y_scale(0x1p24F)
                            .y_type(ElementType::int8)
                            .build();
  EXPECT_EQ(judge_output(overflow, make::int8({1, 1, 1, 1}, {127})).kind, VerdictKind::pass);
  EXPECT_EQ(judge_output(overflow, make::int8({1, 1, 1, 1}, {-128})).kind, VerdictKind::pass);
  EXPECT_EQ(judge_output(overflow, make::int8({1, 1, 1, 1}, {0})).kind, VerdictKind::wrong);
}

// Rule D3: 9 - 2 at a scale of 0.5.
TEST(Judge, TakesAZeroPointOfInt32SubtractedOrRefused) {
  const Case test_case = LinearBuilder::dequantize()
                             .x(make::int32({1}, {9}))
                             .scale(0.5F)
                             .zero_point(make::integer(ElementType::int32, 2))
                             .build();
  EXPECT_EQ(judge_output(test_case, make::float32({1}, {3.5F})).kind, VerdictKind::pass);
  EXPECT_EQ(judge_output(test_case, make::float32({1}, {4.5F})).kind, VerdictKind::wrong) << "left out";
  EXPECT_EQ(judge(expected_of(test_case), outcome::Rejected{"zero point"}).kind, VerdictKind::refused);
}

TEST(Judge, ComparesFloatsBitForBit) {
  const Case zero = LinearBuilder::dequantize().x(make::uint8({1}, {0})).scale(0.5F).build();
  EXPECT_EQ(judge_output(zero, make::float32({1}, {0.0F})).kind, VerdictKind::pass);
  EXPECT_EQ(judge_output(zero, make::float32({1}, {-0.0F})).kind, VerdictKind::wrong) << "rule D5";
  const Case negative = LinearBuilder::dequantize().x(make::uint8({1}, {0})).scale(-0.5F).build();
  EXPECT_EQ(judge_output(negative, make::float32({1}, {0.0F})).kind, VerdictKind::pass) << "rule D5";
  EXPECT_EQ(judge_output(negative, make::float32({1}, {-0.0F})).kind, VerdictKind::pass) << "rule D5";
  const Case nan =
      LinearBuilder::dequantize().x(make::uint8({1}, {1})).scale(std::numeric_limits<float>::quiet_NaN()).build();
  EXPECT_EQ(judge_output(nan, make::float32({1}, {-std::numeric_limits<float>::quiet_NaN()})).kind, VerdictKind::pass)
      << "rule D6: the payload does not count";
}

TEST(Judge, ComparesPackedElementsOneByOne) {
  const Case four_bits = LinearBuilder::quantize()
                             .version(21)
                             .x(make::float32({3}, {1, 2, 3}))
                             .zero_point(make::integer(ElementType::uint4, 0))
                             .build();
  EXPECT_EQ(judge_output(four_bits, make::integers(ElementType::uint4, {3}, {1, 2, 3})).kind, VerdictKind::pass);
  const Verdict verdict = judge_output(four_bits, make::integers(ElementType::uint4, {3}, {1, 7, 3}));
  EXPECT_EQ(verdict.kind, VerdictKind::wrong);
  EXPECT_EQ(verdict.wrong_elements, 1U);
  EXPECT_EQ(verdict.worst->index, std::vector<std::int64_t>{1});
  EXPECT_EQ(verdict.worst->distance, 5);
}

TEST(Judge, ReportsWhatWentWrongOutsideTheOutput) {
  using outcome::WroteOutOfBounds;
  const Verdict write = judge(expected_of(plain()), WroteOutOfBounds{WroteOutOfBounds::Side::before, 3});
  EXPECT_EQ(write.kind, VerdictKind::out_of_bounds);
  EXPECT_EQ(write.detail, "wrote 3 bytes before the output");
  const Verdict read = judge(expected_of(plain()), outcome::ReadOutOfBounds{"x", WroteOutOfBounds::Side::after, 1});
  EXPECT_EQ(read.kind, VerdictKind::read_out_of_bounds);
  EXPECT_EQ(read.detail, "read 1 byte past x");
  const Verdict stray =
      judge(expected_of(plain()), outcome::ReadOutOfBounds{"x", WroteOutOfBounds::Side::after, 1, true});
  EXPECT_EQ(stray.kind, VerdictKind::out_of_bounds);
  EXPECT_EQ(stray.detail, "wrote 1 byte past x");
  EXPECT_EQ(judge(expected_of(plain()), outcome::TimedOut{2}).kind, VerdictKind::timed_out);
  EXPECT_EQ(judge(expected_of(plain()), outcome::LeftUnwritten{"no output"}).kind, VerdictKind::unwritten);
}

// The prepared node ran with another x too, and a newly prepared one gives the same.
TEST(Judge, HoldsTheAnswerToAnotherInputAgainstTheReference) {
  const auto dequantize = [](std::int64_t x) {
    return LinearBuilder::dequantize().x(make::uint8({2}, {x, 9})).scale(0.5F).build();
  };
  const Case test_case = dequantize(3);
  const Case other = dequantize(5);
  const Expected expected = expected_of(test_case);
  Outcome outcome = outcome::Produced{*expected.output};
  const auto verdict_with = [&](const Tensor& output) {
    outcome.on_other_input = {0, *other.inputs[0], {output}};
    return judge(expected, outcome);
  };
  EXPECT_EQ(verdict_with(*expected_of(other).output).kind, VerdictKind::pass);
  EXPECT_FALSE(with_its_own_input(expected, outcome).has_value()) << "both answers are right";
  // The first answer again is a memory only where a new process gives another.
  EXPECT_FALSE(doubtful_other_input(test_case, outcome).has_value()) << "it is right";
  EXPECT_EQ(verdict_with(*expected.output).kind, VerdictKind::wrong);
  const auto doubtful = doubtful_other_input(test_case, outcome);
  ASSERT_TRUE(doubtful.has_value());
  EXPECT_EQ(doubtful->inputs, other.inputs);
  outcome.on_other_input->is_own = true;
  EXPECT_EQ(judge(expected, outcome).kind, VerdictKind::wrong);
  EXPECT_FALSE(doubtful_other_input(test_case, outcome).has_value()) << "a new process was asked";
  outcome.on_other_input->is_own = false;
  const Verdict kept = judge(expected, outcome);
  EXPECT_EQ(kept.kind, VerdictKind::depends_on_earlier_runs);
  EXPECT_EQ(kept.detail, "gives the first answer again when the prepared node is run with another x");
  const Verdict wrong = verdict_with(make::float32({2}, {9, 9}));
  EXPECT_EQ(wrong.kind, VerdictKind::wrong);
  EXPECT_EQ(wrong.detail, "2 of 2 elements wrong, when the prepared node is run with another x");
  // It is a case by itself, so that its cause is found as that of any other.
  const auto own = with_its_own_input(expected, outcome);
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->test_case.id, test_case.id + "/another-x");
  EXPECT_EQ(own->test_case.inputs, other.inputs);
  EXPECT_EQ(own->test_case.tags, std::vector<std::string>{std::string(kAnotherXTag)});
  EXPECT_EQ(judge(expected_of(own->test_case), own->outcome).detail, "2 of 2 elements wrong");
  outcome.on_other_input->outputs = {*expected.output};
  outcome.on_other_input->is_own = false;
  EXPECT_FALSE(with_its_own_input(expected, outcome).has_value()) << "the first answer again";
  // A case that should have been refused has no right answer to hold another against.
  Case refused = test_case;
  refused.inputs[1] = make::uint8({}, {1});
  outcome.on_other_input = {0, *other.inputs[0], {make::float32({2}, {9, 9})}};
  const Expected of_refused = expected_of(refused);
  ASSERT_EQ(judge(of_refused, outcome).kind, VerdictKind::not_rejected);
  EXPECT_FALSE(with_its_own_input(of_refused, outcome).has_value());
  // Nothing that a damaged worker answers counts.
  outcome.on_other_input = {7, *other.inputs[0], {*expected.output}};
  EXPECT_EQ(judge(expected, outcome).kind, VerdictKind::pass);
  outcome.on_other_input = {0, make::uint8({1}, {5}), {*expected.output}};
  EXPECT_EQ(judge(expected, outcome).kind, VerdictKind::pass);
}

TEST(Judge, DoubtsOutputsThatProveNothing) {
  const auto verdict_of = [](const Case& test_case) {
    const Expected expected = expected_of(test_case);
    return judge(expected, outcome::Produced{*expected.output});
  };
  const Case alike = QLinearConvBuilder().x(make::filled(ElementType::uint8, {1, 1, 4, 4}, 7)).build();
  EXPECT_EQ(verdict_of(alike).kind, VerdictKind::vacuous);
  EXPECT_THAT(verdict_of(alike).detail, HasSubstr("equal"));
  std::vector<std::int64_t> ramp;
  for (int i = 0; i < 64; ++i) ramp.push_back(i % 32 == 0 ? 1 : 200 + i % 2);
  const Case saturating =
      QLinearConvBuilder().x(make::uint8({1, 1, 8, 8}, ramp)).w(make::int8({1, 1, 1, 1}, {100})).build();
  EXPECT_THAT(verdict_of(saturating).detail, HasSubstr("saturate"));
  EXPECT_EQ(verdict_of(plain()).kind, VerdictKind::pass) << "one element is there to show one thing";
}

// Sixteen equal outputs prove nothing by themselves, but they do where a backend was once wrong.
TEST(Judge, ARightAnswerProvesThatADefectIsGone) {
  Case alike = QLinearConvBuilder().x(make::filled(ElementType::uint8, {1, 1, 4, 4}, 7)).build();
  std::vector<std::int64_t> values(16, 7);
  values[6] = 9;
  const auto right = [&] { return judge_output(alike, make::filled(ElementType::uint8, {1, 1, 4, 4}, 7)); };
  ASSERT_EQ(right().kind, VerdictKind::vacuous);

  alike.defect = DefectAnswer{VerdictKind::wrong, {make::uint8({1, 1, 4, 4}, values)}};
  EXPECT_FALSE(expected_of(alike).defect_disputed);
  EXPECT_EQ(right().kind, VerdictKind::pass);
  EXPECT_EQ(right().detail, "gives 7 at [0,0,1,2]; the defect that this case guards against gave 9");
  EXPECT_EQ(judge_output(alike, alike.defect->outputs[0]).kind, VerdictKind::wrong);

  alike.defect = DefectAnswer{VerdictKind::bad_shape, {make::uint8({1}, {7})}};
  EXPECT_EQ(right().kind, VerdictKind::pass);
  EXPECT_THAT(right().detail, HasSubstr("bad-shape, output uint8 [1]"));
  alike.defect = DefectAnswer{VerdictKind::crashed, {}};
  EXPECT_EQ(right().kind, VerdictKind::pass);
  EXPECT_EQ(right().detail, "the defect that this case guards against: crashed");
}

// Whoever records an answer that the rules admit has not made the case prove anything.
TEST(Judge, DisputesADefectThatTheRulesAdmit) {
  const Tensor right = make::filled(ElementType::uint8, {1, 1, 4, 4}, 7);
  Case alike = QLinearConvBuilder().x(right).build();
  const DefectAnswer none_of_these[] = {{VerdictKind::wrong, {right}},
                                        {VerdictKind::wrong, {}},
                                        {VerdictKind::wrong, {make::uint8({1}, {7})}},
                                        {VerdictKind::bad_shape, {right}},
                                        {VerdictKind::not_rejected, {right}},
                                        {VerdictKind::vacuous, {}},
                                        {VerdictKind::unsupported, {}}};
  for (const DefectAnswer& answer : none_of_these) {
    alike.defect = answer;
    EXPECT_TRUE(expected_of(alike).defect_disputed) << name_of(answer.verdict);
    EXPECT_EQ(judge_output(alike, right).kind, VerdictKind::vacuous) << name_of(answer.verdict);
  }
  // A tie that one profile rounds away: the rules do not admit it, a run under that profile does.
  Case ties = QLinearConvBuilder().x(make::filled(ElementType::uint8, {1, 1, 4, 4}, 5)).y_scale(2).build();
  const Tensor away = make::filled(ElementType::uint8, {1, 1, 4, 4}, 3);
  ties.defect = DefectAnswer{VerdictKind::wrong, {away}};
  EXPECT_FALSE(expected_of(ties).defect_disputed);
  EXPECT_FALSE(expected_of(ties, Profile::tflite).defect_disputed);
  EXPECT_EQ(judge(expected_of(ties, Profile::tflite), outcome::Produced{away}).kind, VerdictKind::vacuous);
}

TEST(Judge, ARightRefusalProvesThatACaseIsNoLongerComputed) {
  Case test_case = invalid();
  const Outcome refusal = outcome::Rejected{"group is 0"};
  EXPECT_EQ(judge(expected_of(test_case), refusal).kind, VerdictKind::refused);
  test_case.defect = DefectAnswer{VerdictKind::not_rejected, {make::uint8({1}, {0})}};
  EXPECT_FALSE(expected_of(test_case).defect_disputed);
  EXPECT_EQ(judge(expected_of(test_case), refusal).kind, VerdictKind::pass);
}

// The record of a failure makes its case prove something, whatever the profile of the run.
TEST(Judge, RecordsOfAFailureWhatTheRulesForbid) {
  const Case ties =
      QLinearConvBuilder().x(make::uint8({1, 1, 1}, {5})).w(make::int8({1, 1, 1}, {1})).y_scale(2).build();
  const auto recorded = [&](Profile profile, std::int64_t value) {
    const Policy policy{.profile = profile};
    const Outcome outcome = outcome::Produced{make::uint8({1, 1, 1}, {value})};
    return defect_answer(ties, policy, outcome, judge(expect(ties, policy), outcome));
  };
  EXPECT_THAT(recorded(Profile::conformance, 3),
              Optional(DefectAnswer{VerdictKind::wrong, {make::uint8({1, 1, 1}, {3})}}));
  EXPECT_TRUE(recorded(Profile::tflite, 9).has_value());
  EXPECT_FALSE(recorded(Profile::tflite, 2).has_value()) << "right by the rules, and wrong under the profile alone";
}

TEST(Judge, CountsTiesAndTiers) {
  // 3 / 2 and 5 / 2 are ties, 4 / 2 is none.
  const Case ties =
      QLinearConvBuilder().x(make::uint8({1, 1, 3}, {3, 4, 5})).w(make::int8({1, 1, 1}, {1})).y_scale(2).build();
  const Expected expected = expected_of(ties);
  EXPECT_EQ(expected.ties.exact, 2U);
  const Verdict right = judge(expected, outcome::Produced{make::uint8({1, 1, 3}, {2, 2, 2})});
  EXPECT_EQ(right.kind, VerdictKind::pass);
  EXPECT_EQ(right.tiers.by_tier[0], 3U);
  // Half away from zero is right in fixed point only.
  const Outcome rounded_away = outcome::Produced{make::uint8({1, 1, 3}, {2, 2, 3})};
  const Verdict away = judge(expected, rounded_away);
  EXPECT_EQ(away.kind, VerdictKind::wrong);
  EXPECT_EQ(away.tiers.common.strictest(), reference::Tier::fixed_point);
  EXPECT_THAT(profiles_that_pin(expected, rounded_away), ElementsAre(Profile::tflite, Profile::tflite_single_rounding));
  EXPECT_EQ(judge(expected_of(ties, Profile::tflite), outcome::Produced{make::uint8({1, 1, 3}, {2, 2, 3})}).kind,
            VerdictKind::pass);
}

TEST(Judge, FollowsTheProfileThatACaseImplies) {
  // 5 / 2 is a tie: dml-doc leaves it open, the default does not, and the user's choice wins.
  const Case tie = QLinearConvBuilder().x(make::uint8({1, 1, 1}, {5})).w(make::int8({1, 1, 1}, {1})).y_scale(2).build();
  Case directml = tie;
  directml.tags = {"profile:dml-doc"};
  const auto kind = [](const Case& test_case, Profile profile) {
    return judge(expected_of(test_case, profile), outcome::Produced{make::uint8({1, 1, 1}, {3})}).kind;
  };
  EXPECT_EQ(kind(tie, Profile::conformance), VerdictKind::wrong);
  EXPECT_EQ(kind(directml, Profile::conformance), VerdictKind::pass);
  EXPECT_EQ(kind(directml, Profile::correctly_rounded), VerdictKind::wrong);
}

TEST(Judge, DisputesRecordedOutputsAndExpectations) {
  Case test_case = plain();
  test_case.recorded_outputs = {make::uint8({1, 1, 1, 1}, {5})};
  EXPECT_FALSE(expected_of(test_case).recorded_output_disputed);
  test_case.recorded_outputs = {make::uint8({1, 1, 1, 1}, {4})};
  EXPECT_TRUE(expected_of(test_case).recorded_output_disputed);
  test_case.expectation = Expectation::invalid;
  EXPECT_TRUE(expected_of(test_case).expectation_disputed);
}

}  // namespace
}  // namespace qconform
