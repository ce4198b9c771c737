// Detectors, each on cases small enough to count by hand.
#include "harness/core/corner_cases/corner_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <string>

#include "harness/base/file.h"
#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/report/corner_case_coverage.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/linear_builder.h"

namespace qconform {
namespace {

CornerCaseCounts counts_of(const Case& test_case) {
  Expected expected = expect(test_case, {});
  EXPECT_TRUE(expected.output.has_value()) << "the case must have an answer";
  assess(test_case, expected);
  return expected.corner_cases;
}

// Sums 1, 3, 5 and so on over y_scale 2: ties.
QLinearConvBuilder halves(const std::vector<std::int64_t>& sums) {
  const auto size = static_cast<std::int64_t>(sums.size());
  return QLinearConvBuilder()
      .x(make::int8({1, 1, size}, sums))
      .w(make::int8({1, 1, 1}, {1}))
      .y_type(ElementType::int8)
      .y_scale(2.0F);
}

TEST(CornerCases, ListIsSound) {
  std::set<std::string_view> ids;
  std::size_t position = 0;
  for (const CornerCaseInfo& info : corner_cases()) {
    EXPECT_EQ(static_cast<std::size_t>(info.corner_case), position++);
    EXPECT_TRUE(ids.insert(info.id).second) << info.id;
    const auto reaches = [&](const Operator& known) { return concerns(info, known.name); };
    EXPECT_TRUE(std::any_of(operators().begin(), operators().end(), reaches)) << info.id;
    EXPECT_FALSE(info.rules.empty()) << info.id;
    EXPECT_FALSE(info.label.empty()) << info.id;
    EXPECT_GT(info.explanation.size(), 60U) << info.id;
    EXPECT_EQ(corner_case_with_id(info.id), &info);
  }
  EXPECT_EQ(position, kCornerCases);
  EXPECT_EQ(corner_case_with_id("no-such-corner-case"), nullptr);
  EXPECT_TRUE(concerns(info_of(CornerCase::expanded_product), "DequantizeLinear"));
  EXPECT_FALSE(concerns(info_of(CornerCase::expanded_product), "QLinearConv"));
}

TEST(CornerCases, NameRulesThatTheDocumentStates) {
  const auto page = read_file(QCONFORM_NUMERICS_PAGE, 1 << 20);
  ASSERT_TRUE(page.has_value());
  for (const CornerCaseInfo& info : corner_cases()) {
    std::istringstream rules{std::string(info.rules)};
    for (std::string rule; rules >> rule;) {
      if (rule == "graph") continue;  // docs/graphs.md states what is right of graphs
      EXPECT_NE(page->find("\n| " + rule + " |"), std::string::npos) << info.id << ": " << rule;
    }
  }
}

TEST(CornerCases, Ties) {
  const CornerCaseCounts even = counts_of(halves({-3, -1, 1, 2, 3, 5}).build());
  EXPECT_EQ(even[CornerCase::tie_positive], 3U);
  EXPECT_EQ(even[CornerCase::tie_negative], 2U);
  EXPECT_EQ(even[CornerCase::tie_odd_zero_point], 0U);
  EXPECT_EQ(even[CornerCase::near_tie_above], 0U);
  const CornerCaseCounts odd = counts_of(halves({-3, -1, 1, 2, 3, 5}).y_zero_point(7).build());
  EXPECT_EQ(odd[CornerCase::tie_odd_zero_point], 5U);
  // With zero point 127 nothing above it is representable: those ties do not show.
  const CornerCaseCounts hidden = counts_of(halves({-3, 1, 3}).y_zero_point(127).build());
  EXPECT_EQ(hidden[CornerCase::tie_positive], 0U);
  EXPECT_EQ(hidden[CornerCase::tie_negative], 1U);
}

TEST(CornerCases, NearTies) {
  const auto near = [](float scale) { return counts_of(halves({5, -5}).y_scale(scale).build()); };
  const CornerCaseCounts above = near(std::nextafter(2.0F, 0.0F));
  EXPECT_EQ(above[CornerCase::near_tie_above], 1U) << "5 / 2- lies above 2.5";
  EXPECT_EQ(above[CornerCase::near_tie_below], 1U) << "-5 / 2- lies below -2.5";
  EXPECT_EQ(above[CornerCase::tie_positive] + above[CornerCase::tie_negative], 0U);
  const CornerCaseCounts far = near(2.00001F);
  EXPECT_EQ(far[CornerCase::near_tie_above] + far[CornerCase::near_tie_below], 0U);
}

TEST(CornerCases, EndsOfTheRange) {
  const CornerCaseCounts counts = counts_of(QLinearConvBuilder()
                                                .x(make::int8({1, 1, 7}, {-128, -127, -12, -11, -10, 9, 10}))
                                                .w(make::int8({1, 1, 1}, {1}))
                                                .y_zero_point(11)
                                                .build());
  EXPECT_EQ(counts[CornerCase::clamp_low], 3U);
  EXPECT_EQ(counts[CornerCase::edge_below], 1U);
  EXPECT_EQ(counts[CornerCase::edge_low], 1U);
  EXPECT_EQ(counts[CornerCase::clamp_high], 0U);
  const CornerCaseCounts high = counts_of(QLinearConvBuilder()
                                              .x(make::uint8({1, 1, 4}, {253, 254, 255, 0}))
                                              .w(make::int8({1, 1, 1}, {1}))
                                              .y_zero_point(1)
                                              .build());
  EXPECT_EQ(high[CornerCase::edge_high], 1U);
  EXPECT_EQ(high[CornerCase::edge_above], 1U);
  EXPECT_EQ(high[CornerCase::clamp_high], 1U);
}

TEST(CornerCases, Scales) {
  const CornerCaseCounts large = counts_of(halves({0, 1, -1}).y_scale(0x1p-31F).build());
  EXPECT_EQ(large[CornerCase::large_multiplier], 2U) << "a sum of zero stays zero";
  EXPECT_EQ(large[CornerCase::conversion_overflow], 2U);
  EXPECT_EQ(large[CornerCase::scale_outside_domain], 2U);
  EXPECT_EQ(large[CornerCase::subnormal_scale], 0U);
  const CornerCaseCounts subnormal = counts_of(halves({1, 2}).x_scale(0x1p-140F).y_scale(0x1p-139F).build());
  EXPECT_EQ(subnormal[CornerCase::subnormal_scale], 2U);
  EXPECT_EQ(subnormal[CornerCase::tie_positive], 1U);
}

TEST(CornerCases, Biases) {
  const auto with = [](std::int64_t bias) { return counts_of(halves({0, 1}).bias({bias}).build()); };
  const CornerCaseCounts odd = with((1 << 24) + 1);
  EXPECT_EQ(odd[CornerCase::bias_beyond_float], 2U);
  EXPECT_EQ(odd[CornerCase::sum_beyond_float], 1U) << "2^24 + 1 is no float32, 2^24 + 2 is";
  EXPECT_EQ(odd[CornerCase::float_accumulation], 0U) << "the products alone are small";
  EXPECT_EQ(odd[CornerCase::bias_near_limit], 0U);
  const CornerCaseCounts limit = with(std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(limit[CornerCase::bias_near_limit], 2U);
  EXPECT_EQ(limit[CornerCase::int32_wrap], 1U);
}

TEST(CornerCases, MultipliersAboveOne) {
  const auto with = [](float y_scale) { return counts_of(halves({-60, 0, 1, 3, 60}).y_scale(y_scale).build()); };
  EXPECT_EQ(with(0.4F)[CornerCase::multiplier_above_one], 1U) << "7.5 is not 6, 2.5 rounds to 2, 60 * 2.5 saturates";
  EXPECT_EQ(with(0.5F)[CornerCase::multiplier_above_one], 0U) << "2 has no fraction";
  EXPECT_EQ(with(1.5F)[CornerCase::multiplier_above_one], 0U);
}

TEST(CornerCases, MultipliersJustBelowAPowerOfTwo) {
  const auto with = [](float off, float y_scale) {
    return counts_of(halves({0, 1, 2, 3, 60, 127})
                         .x_scale(1 - off)
                         .w_scale(1 + off)
                         .y_scale(y_scale)
                         .build())[CornerCase::multiplier_carry];
  };
  EXPECT_EQ(with(0x1p-17F, 1.0F), 5U) << "all but 0";
  EXPECT_EQ(with(0x1p-17F, 4.0F), 3U) << "a quarter of 1 and 2 rounds to 0, and so does an eighth";
  EXPECT_EQ(with(0x1p-16F, 1.0F), 5U) << "1 - 2^-32 has 31 bits and a half";
  EXPECT_EQ(with(0x1p-15F, 1.0F), 0U);
  EXPECT_EQ(with(0, 1.0F), 0U) << "a power of two has one bit";
  EXPECT_EQ(with(0x1p-17F, 3.0F), 0U);
}

TEST(CornerCases, SmallSums) {
  EXPECT_EQ(counts_of(halves({-100, 1, 126, 127}).y_scale(1.0F).build())[CornerCase::small_sum_without_bias], 2U)
      << "127 is an end, 126 beside it";
  const CornerCaseCounts biased = counts_of(halves({1, 2}).y_scale(1.0F).bias({3}).build());
  EXPECT_EQ(biased[CornerCase::small_sum], 2U);
  EXPECT_EQ(biased[CornerCase::small_sum_without_bias], 0U);
  EXPECT_EQ(counts_of(halves({1, 2}).y_scale(4.0F).build())[CornerCase::small_sum], 0U);
}

TEST(CornerCases, ExtremeZeroPoints) {
  const auto with = [](std::int64_t y_zero_point) {
    return counts_of(QLinearConvBuilder()
                         .x(make::uint8({1, 1, 3}, {0, 3, 255}))
                         .x_zero_point(0)
                         .w(make::int8({1, 1, 1}, {-127}))
                         .w_zero_point(-128)
                         .y_zero_point(y_zero_point)
                         .build())[CornerCase::extreme_zero_points];
  };
  EXPECT_EQ(with(0), 1U) << "0 and 255 are ends themselves";
  EXPECT_EQ(with(1), 0U);
}

TEST(CornerCases, LargeExtents) {
  const auto reach = [](std::int64_t width, std::int64_t kernel, std::int64_t dilation) {
    return counts_of(ConvIntegerBuilder()
                         .x(make::filled(ElementType::uint8, {1, 1, width}, 1))
                         .w(make::filled(ElementType::int8, {1, 1, kernel}, 1))
                         .dilations({dilation})
                         .build());
  };
  EXPECT_EQ(reach(130, 1, 4)[CornerCase::far_index], 2U);
  EXPECT_EQ(reach(130, 1, 4)[CornerCase::wide_dilation], 0U) << "the dilation of one tap does nothing";
  EXPECT_EQ(reach(6, 2, 4)[CornerCase::wide_dilation], 2U);
  EXPECT_EQ(reach(10, 9, 1)[CornerCase::long_kernel], 2U);
  EXPECT_EQ(reach(10, 8, 1)[CornerCase::long_kernel], 0U);
  const CornerCaseCounts images = counts_of(ConvIntegerBuilder()
                                                .x(make::uint8({5, 1, 1}, {1, 2, 3, 4, 5}))
                                                .w(make::filled(ElementType::int8, {1, 1, 1}, 1))
                                                .build());
  EXPECT_EQ(images[CornerCase::fourth_image], 2U);
}

TEST(CornerCases, ParametersOfFarChannels) {
  std::vector<std::int64_t> zero_points(130, 0);
  zero_points[1] = zero_points[129] = 5;
  const auto unlike = [&] {
    return counts_of(ConvIntegerBuilder()
                         .x(make::uint8({1, 1, 1}, {1}))
                         .w(make::filled(ElementType::int8, {130, 1, 1}, 1))
                         .w_zero_point(zero_points)
                         .build())[CornerCase::far_parameters];
  };
  EXPECT_EQ(unlike(), 0U) << "as 128 channels before";
  zero_points[128] = 7;
  EXPECT_EQ(unlike(), 1U);
}

TEST(CornerCases, FloatAccumulation) {
  const auto with_last = [](std::int64_t last) {
    std::vector<std::int64_t> x(259, 255);
    x.push_back(last);
    const auto depth = static_cast<std::int64_t>(x.size());
    return counts_of(ConvIntegerBuilder()
                         .x(make::uint8({1, depth, 1}, x))
                         .w(make::filled(ElementType::uint8, {1, depth, 1}, 255))
                         .build())[CornerCase::float_accumulation];
  };
  EXPECT_EQ(with_last(2), 1U) << "259 * 65025 + 510 = 16,841,985 is odd";
  EXPECT_EQ(with_last(1), 0U) << "259 * 65025 + 255 is even, and below 2^25";
}

TEST(CornerCases, Int16Sums) {
  const auto pair = [](Tensor x, std::int64_t weight) {
    return counts_of(ConvIntegerBuilder().x(std::move(x)).w(make::int8({1, 2, 1}, {weight, weight})).build());
  };
  const Tensor bright = make::uint8({1, 2, 3}, {255, 255, 0, 255, 0, 255});
  EXPECT_EQ(pair(bright, 127)[CornerCase::pair_saturation], 1U) << "the first column alone has two of 255";
  EXPECT_EQ(pair(bright, 64)[CornerCase::pair_saturation], 0U);
  const Tensor low = make::int8({1, 2, 2}, {-128, -128, -128, -127});
  EXPECT_EQ(pair(low, -128)[CornerCase::pair_wrap], 1U) << "32768 does not fit, 32640 does";
  EXPECT_EQ(pair(low, -128)[CornerCase::tap_sum_wrap], 0U) << "one tap";
  const CornerCaseCounts taps = counts_of(ConvIntegerBuilder()
                                              .x(make::int8({1, 1, 4}, {127, 127, 127, 0}))
                                              .w(make::int8({1, 1, 3}, {127, 127, 127}))
                                              .build());
  EXPECT_EQ(taps[CornerCase::tap_sum_wrap], 1U) << "3 * 16129 does not fit, 2 * 16129 does";
  EXPECT_EQ(taps[CornerCase::pair_wrap], 0U);
}

TEST(CornerCases, Padding) {
  const CornerCaseCounts counts = counts_of(ConvIntegerBuilder()
                                                .x(make::uint8({1, 1, 2}, {1, 2}))
                                                .x_zero_point(255)
                                                .w(make::int8({1, 1, 2}, {1, 2}))
                                                .w_zero_point(3)
                                                .pads({0, 3})
                                                .build());
  // Outputs at 0..3; the window at 0 is inside, the one at 1 half padded, those at 2 and 3 wholly.
  EXPECT_EQ(counts[CornerCase::padding_only_window], 2U);
  EXPECT_EQ(counts[CornerCase::padding_extreme_zero_point], 3U);
  EXPECT_EQ(counts[CornerCase::padding_cross_term], 3U);
  EXPECT_EQ(counts[CornerCase::pads_asymmetric], 3U);
  EXPECT_EQ(counts[CornerCase::pads_end_only], 3U);
  EXPECT_EQ(counts[CornerCase::wide_difference], 2U) << "1 - 255 and 2 - 255";
}

// Dilated taps may all miss an input that lies between them.
TEST(CornerCases, DilatedWindowAroundTheInputSeesNothing) {
  const CornerCaseCounts counts = counts_of(ConvIntegerBuilder()
                                                .x(make::uint8({1, 1, 1}, {9}))
                                                .w(make::int8({1, 1, 2}, {1, 2}))
                                                .dilations({2})
                                                .pads({1, 1})
                                                .build());
  EXPECT_EQ(counts[CornerCase::padding_only_window], 1U);
}

TEST(CornerCases, SamePadding) {
  const auto same = [](std::int64_t kernel, std::int64_t stride) {
    return counts_of(ConvIntegerBuilder()
                         .x(make::filled(ElementType::uint8, {1, 1, 7}, 1))
                         .w(make::filled(ElementType::int8, {1, 1, kernel}, 1))
                         .auto_pad("SAME_LOWER")
                         .strides({stride})
                         .build());
  };
  EXPECT_EQ(same(2, 1)[CornerCase::same_odd_padding], 7U);
  EXPECT_EQ(same(3, 1)[CornerCase::same_odd_padding], 0U);
  EXPECT_EQ(same(1, 3)[CornerCase::same_short_kernel], 0U) << "(3 - 1) * 3 + 1 = 7 takes it all";
  EXPECT_EQ(same(1, 4)[CornerCase::same_short_kernel], 2U) << "(2 - 1) * 4 + 1 = 5 leaves two";
}

TEST(CornerCases, ChannelsGroupsAndTails) {
  const CornerCaseCounts counts = counts_of(QLinearConvBuilder()
                                                .x(make::uint8({2, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10,  //
                                                                           0, 2, 3, 4, 5, 6, 7, 8, 9, 10}))
                                                .w(make::int8({4, 1, 1}, {1, 2, 3, 4}))
                                                .w_scale({1.0F, 2.0F, 1.0F, 3.0F})
                                                .w_zero_point(std::vector<std::int64_t>{0, 0, 1, 0})
                                                .group(2)
                                                .build());
  EXPECT_EQ(counts[CornerCase::batch], 20U);
  EXPECT_EQ(counts[CornerCase::channel_zero_points], 10U) << "channel 2";
  EXPECT_EQ(counts[CornerCase::group_parameters], 20U) << "channels 2 and 3";
  EXPECT_EQ(counts[CornerCase::grouped_pointwise], 20U);
  EXPECT_EQ(counts[CornerCase::output_width_tail], 8U) << "one of five columns";
  EXPECT_EQ(counts[CornerCase::output_channel_tail], 0U) << "four";
  EXPECT_EQ(counts[CornerCase::input_channel_tail], 0U);
}

TEST(CornerCases, DilationsThatDiffer) {
  const auto dilated = [](std::vector<std::int64_t> kernel, std::vector<std::int64_t> dilations) {
    return counts_of(ConvIntegerBuilder()
                         .x(make::filled(ElementType::uint8, {1, 1, 5, 5}, 1))
                         .w(make::filled(ElementType::int8, {1, 1, kernel[0], kernel[1]}, 1))
                         .dilations(std::move(dilations))
                         .build())[CornerCase::dilations_differ];
  };
  EXPECT_EQ(dilated({2, 2}, {1, 2}), 12U);
  EXPECT_EQ(dilated({2, 2}, {2, 2}), 0U);
  EXPECT_EQ(dilated({2, 1}, {1, 2}), 0U) << "the dilation of one tap does nothing";
}

TEST(CornerCases, Quotients) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const CornerCaseCounts counts =
      counts_of(LinearBuilder::quantize()
                    .x(make::float32({9}, {1.0F, -1.0F, 3.0F, std::nextafter(1.0F, 2.0F), kInfinity, -kInfinity,
                                           std::numeric_limits<float>::quiet_NaN(), 254.0F, 0.0F}))
                    .scale(2.0F)
                    .zero_point(make::integer(ElementType::int8, 1))
                    .build());
  EXPECT_EQ(counts[CornerCase::tie_positive], 2U);
  EXPECT_EQ(counts[CornerCase::tie_negative], 1U);
  EXPECT_EQ(counts[CornerCase::tie_odd_zero_point], 3U);
  EXPECT_EQ(counts[CornerCase::near_tie_above], 1U);
  EXPECT_EQ(counts[CornerCase::infinite_input], 2U);
  EXPECT_EQ(counts[CornerCase::nan_input], 1U);
  EXPECT_EQ(counts[CornerCase::conversion_overflow], 2U);
  EXPECT_EQ(counts[CornerCase::edge_above], 1U) << "254 / 2 + 1 = 128";
  EXPECT_EQ(counts[CornerCase::size_tail], 1U);
}

TEST(CornerCases, Float8Outputs) {
  const CornerCaseCounts counts =
      counts_of(LinearBuilder::quantize()
                    .version(19)
                    .x(make::float32({6}, {1.0625F, 1.03F, 0x1p-9F, 0x1.8p-9F, 500.0F, -0.0F}))
                    .zero_point(Tensor{ElementType::float8e4m3fn, {}, {std::byte{0}}})
                    .build());
  EXPECT_EQ(counts[CornerCase::float_midpoint], 2U) << "1 + 1/16, and one and a half smallest numbers";
  EXPECT_EQ(counts[CornerCase::subnormal_result], 2U);
  EXPECT_EQ(counts[CornerCase::float_overflow], 1U);
  EXPECT_EQ(counts[CornerCase::signed_zero], 1U);
}

TEST(CornerCases, Dequantization) {
  const CornerCaseCounts counts = counts_of(LinearBuilder::dequantize()
                                                .version(13)
                                                .x(make::uint8({2, 3}, {0, 255, 130, 7, 3, 100}))
                                                .scale(std::vector<float>{0.1F, 0.1F, 0x1p-140F})
                                                .zero_point(make::uint8({3}, {200, 3, 3}))
                                                .axis(-1)
                                                .build());
  EXPECT_EQ(counts[CornerCase::negative_axis], 6U);
  EXPECT_EQ(counts[CornerCase::parameters_differ], 4U);
  EXPECT_EQ(counts[CornerCase::subnormal_scale], 2U);
  EXPECT_EQ(counts[CornerCase::subnormal_result], 2U);
  EXPECT_EQ(counts[CornerCase::wide_difference], 3U) << "0 - 200, 7 - 200 and 255 - 3";
  EXPECT_GT(counts[CornerCase::expanded_product], 0U);
}

TEST(CornerCases, PackedAndBlocked) {
  const CornerCaseCounts counts = counts_of(LinearBuilder::dequantize()
                                                .version(21)
                                                .x(make::integers(ElementType::int4, {5}, {1, 2, 3, 4, 5}))
                                                .scale({1.0F, 2.0F, 2.0F})
                                                .axis(0)
                                                .attribute("block_size", std::int64_t{2})
                                                .build());
  EXPECT_EQ(counts[CornerCase::partial_block], 1U);
  EXPECT_EQ(counts[CornerCase::odd_packed_count], 1U);
  EXPECT_EQ(counts[CornerCase::parameters_differ], 3U);
}

TEST(CornerCases, LargeIntegers) {
  const CornerCaseCounts counts =
      counts_of(LinearBuilder::dequantize().x(make::int32({3}, {(1 << 24) + 1, 1 << 24, -(1 << 24) - 3})).build());
  EXPECT_EQ(counts[CornerCase::int32_beyond_float], 2U);
  EXPECT_EQ(counts[CornerCase::int32_lowest], 0U);
  const CornerCaseCounts lowest =
      counts_of(LinearBuilder::dequantize().x(make::int32({2}, {INT32_MIN, INT32_MIN + 1})).build());
  EXPECT_EQ(lowest[CornerCase::int32_lowest], 1U);
}

TEST(CornerCases, LargeHalfScales) {
  const auto with = [](std::uint8_t high, std::uint8_t low) {
    Case test_case = LinearBuilder::dequantize().version(19).x(make::int8({2}, {1, 0})).scale(1.0F).build();
    test_case.inputs[1] = Tensor{ElementType::float16, {}, {std::byte{low}, std::byte{high}}};
    return counts_of(test_case)[CornerCase::large_half_scale];
  };
  EXPECT_EQ(with(0x74, 0x00), 0U) << "2^14";
  EXPECT_EQ(with(0x74, 0x01), 2U) << "and the next number";
}

TEST(Coverage, AddsUpByOperatorAndTypes) {
  CornerCaseCoverage coverage;
  EXPECT_FALSE(coverage.is_applicable(CornerCase::batch));
  CornerCaseCounts counts;
  counts.add(CornerCase::batch, 3);
  coverage.add("QLinearConv", "uint8 int8 uint8", counts);
  coverage.add("QLinearConv", "uint8 int8 int8", counts);
  coverage.add("QLinearConv", "uint8 int8 int8", CornerCaseCounts{});
  EXPECT_EQ(coverage.total(CornerCase::batch).cases, 2U);
  EXPECT_EQ(coverage.total(CornerCase::batch).elements, 6U);
  EXPECT_EQ(coverage.total(CornerCase::int32_wrap).cases, 0U);
  EXPECT_TRUE(coverage.is_applicable(CornerCase::int32_wrap));
  EXPECT_FALSE(coverage.is_applicable(CornerCase::nan_input)) << "no such operator was run";
}

}  // namespace
}  // namespace qconform
