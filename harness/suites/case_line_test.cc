#include "harness/suites/case_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"
#include "harness/suites/drawn.h"

namespace qconform {
namespace {

using ::testing::HasSubstr;

TEST(CaseLine, ReadsInputsByTheirNames) {
  const auto test_case = case_of_line("QuantizeLinear:19 x=1.5,2.5,nan y_scale=1 y_zero_point:s8=-3 axis=0");
  ASSERT_TRUE(test_case) << test_case.error().text();
  EXPECT_EQ(test_case->node().opset_version, 19);
  EXPECT_EQ(test_case->input(0)->shape, std::vector<std::int64_t>{3});
  EXPECT_EQ(test_case->input(0)->type, ElementType::float32);
  EXPECT_EQ(test_case->input(1)->shape, std::vector<std::int64_t>{});
  EXPECT_EQ(test_case->input(2)->type, ElementType::int8);
  EXPECT_EQ(test_case->node().get_or<std::int64_t>("axis", 7), 0);
  EXPECT_EQ(line_of(*test_case), "QuantizeLinear:19 x=1.5,2.5,nan y_scale=1.0 y_zero_point:int8=-3 axis=0");
}

TEST(CaseLine, JoinsRunsOfOneValue) {
  const auto test_case = case_of_line("QuantizeLinear x=1.5,0*5,2,2 y_scale=1");
  ASSERT_TRUE(test_case) << test_case.error().text();
  EXPECT_EQ(test_case->input(0)->shape, std::vector<std::int64_t>{8});
  EXPECT_EQ(line_of(*test_case), "QuantizeLinear x=1.5,0.0*5,2.0,2.0 y_scale=1.0");
  EXPECT_THAT(case_of_line("QuantizeLinear x=1*many y_scale=1").error().text(),
              HasSubstr("expected a number behind *"));
}

TEST(CaseLine, StatesTheSizesOfAConvolutionAsBenchdnnDoes) {
  const auto test_case = case_of_line("QLinearConv mb2g2ic4iw9oc6ow5kw3sw2pw1 x:int8 w_zero_point=3");
  ASSERT_TRUE(test_case) << test_case.error().text();
  EXPECT_EQ(test_case->input(0)->shape, (std::vector<std::int64_t>{2, 4, 9}));
  EXPECT_EQ(test_case->input(0)->type, ElementType::int8);
  EXPECT_EQ(test_case->input(2)->type, ElementType::int8) << "x_zero_point follows x";
  EXPECT_EQ(test_case->input(3)->shape, (std::vector<std::int64_t>{6, 2, 3}));
  EXPECT_EQ(test_case->input(5)->shape, std::vector<std::int64_t>{6}) << "one for each channel, as the scales";
  const Classification classified = classify(*test_case);
  ASSERT_NE(classified.lowered, nullptr) << classified.contract.violation->text();
  EXPECT_EQ(classified.lowered->output_shape(), (std::vector<std::int64_t>{2, 6, 5}));
  EXPECT_TRUE(case_of_line("ConvInteger ic1ih5kh3"));
  EXPECT_THAT(case_of_line("QLinearConv ic3ih5kh7").error().text(), HasSubstr("axis h: input 5, kernel 7"));
  EXPECT_THAT(case_of_line("QLinearConv ic3ix5").error().text(), HasSubstr("no size ix"));
}

TEST(CaseLine, NamesWhatItDoesNotUnderstand) {
  EXPECT_THAT(case_of_line("").error().text(), HasSubstr("expected OPERATOR"));
  EXPECT_THAT(case_of_line("QuantiseLinear x=1").error().text(), HasSubstr("did you mean QuantizeLinear?"));
  EXPECT_THAT(case_of_line("QuantizeLinear x:u9=1").error().text(), HasSubstr("\"x:u9=1\": no element type u9"));
  EXPECT_THAT(case_of_line("QuantizeLinear x[3]=1,2").error().text(), HasSubstr("2 values for 3 elements"));
  EXPECT_THAT(case_of_line("QuantizeLinear x=one").error().text(), HasSubstr("one is no float"));
  EXPECT_THAT(case_of_line("QuantizeLinear x:u8=300").error().text(), HasSubstr("300 is no uint8"));
  EXPECT_THAT(case_of_line("QuantizeLinear scale:f32").error().text(), HasSubstr("(x, y_scale, y_zero_point)"));
  EXPECT_THAT(case_of_line("QuantizeLinear x=1 y_scal=1").error().text(), HasSubstr("y_scale is missing"));
  EXPECT_THAT(case_of_line("QuantizeLinear x=1 y_scale=1 axsi=1").error().text(), HasSubstr("axsi"));
  EXPECT_THAT(case_of_line("QuantizeLinear x=1 y_scale=1 y_zero_piont=1").error().text(),
              HasSubstr("did you mean y_zero_point?"));
  EXPECT_THAT(case_of_line("QuantizeLinear x[-1]=1").error().text(), HasSubstr("--case"));
  EXPECT_THAT(case_of_line("QuantizeLinear x[99999999999]=1").error().text(), HasSubstr("--case"));
}

// Whatever has a line is the same case again; most small ones have one.
TEST(CaseLine, GivesTheSameCaseAgain) {
  std::size_t lines = 0;
  std::size_t small = 0;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    const Case drawn = random_case(5, index);
    const auto line = line_of(drawn);
    const bool is_alone = !is_judged_as_graph(drawn) && input_bytes(drawn) <= 28;
    small += is_alone ? 1 : 0;
    if (!line) continue;
    lines += is_alone ? 1 : 0;
    const auto again = case_of_line(*line);
    ASSERT_TRUE(again) << *line << ": " << again.error().text();
    EXPECT_EQ(digest_of(*again), digest_of(drawn)) << *line;
  }
  EXPECT_GE(small, 10U);
  EXPECT_GE(lines * 10, small * 9) << lines << " of " << small;
}

}  // namespace
}  // namespace qconform
