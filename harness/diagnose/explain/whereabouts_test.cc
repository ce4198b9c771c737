// Where kernels that are wrong in some place, or from some size on, are said to be wrong.
#include "harness/diagnose/explain/whereabouts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "harness/model/case_builder.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/diagnosis.h"
#include "harness/operators/linear/linear.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/linear_builder.h"

namespace qconform::diagnose {
namespace {

using reference::ConvolutionGeometry;

// Whether the element at `index` of the output is wrong.
using IsWrong = std::function<bool(const Lowered& lowered, std::int64_t index)>;

// The right answer but for some elements, which are off by one.
Runner wrong_where(IsWrong is_wrong) {
  return [is_wrong = std::move(is_wrong)](const Case& test_case) -> Outcome {
    const Expected expected = expect(test_case, {});
    if (!expected.output) return outcome::Unsupported{"out of contract"};
    Tensor y = *expected.output;
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      if (is_wrong(*expected.classification.lowered, i)) set_bits_at(y, i, bits_at(y, i) ^ 1U);
    }
    return outcome::Produced{std::move(y)};
  };
}

const ConvolutionGeometry& geometry_in(const Lowered& lowered) {
  return operands_of(lowered)->geometry;
}

std::int64_t channel_of(const ConvolutionGeometry& g, std::int64_t index) {
  return index / g.output_positions() % g.output_channels;
}

Case convolution_of(std::int64_t channels, std::int64_t size) {
  return ConvIntegerBuilder()
      .x(make::filled(ElementType::uint8, {1, 1, size, size}, 3))
      .w(make::filled(ElementType::int8, {channels, 1, 1, 1}, 1))
      .build();
}

bool is_among(const std::vector<std::string>& texts, const std::string& wanted) {
  return std::find(texts.begin(), texts.end(), wanted) != texts.end();
}

TEST(Whereabouts, ALaneIsARemainder) {
  const auto run = wrong_where(
      [](const Lowered& lowered, std::int64_t index) { return channel_of(geometry_in(lowered), index) % 16 >= 12; });
  const Whereabouts found = locate(convolution_of(13, 1), run, {});
  EXPECT_EQ(found.place, "channel % 16 >= 12");
  EXPECT_GT(found.wrong_there, 0U);
  EXPECT_EQ(found.right_there, 0U);
  EXPECT_GT(found.right_elsewhere, 0U);
  EXPECT_EQ(found.thresholds, std::vector<std::string>{"M >= 13 (12 passes)"});
}

TEST(Whereabouts, TheLastColumnOfEachBlockIsARemainder) {
  const auto run = wrong_where([](const Lowered& lowered, std::int64_t index) {
    return index % geometry_in(lowered).axes.back().output % 8 == 7;
  });
  EXPECT_EQ(locate(convolution_of(1, 8), run, {}).place, "column % 8 = 7");
}

// An index in a byte: wrong from the 257th channel on, which groups do not change.
TEST(Whereabouts, ABoundIsFoundByBisection) {
  const auto run = wrong_where(
      [](const Lowered& lowered, std::int64_t index) { return channel_of(geometry_in(lowered), index) >= 256; });
  const Whereabouts found = locate(convolution_of(300, 1), run, {});
  EXPECT_TRUE(is_among(found.thresholds, "M >= 257 (256 passes)")) << ::testing::PrintToString(found.thresholds);
  EXPECT_EQ(found.place, "channel >= 256");
  EXPECT_EQ(found.right_there, 0U);
}

// What is a bound of a product moves with the other sizes.
TEST(Whereabouts, ABoundOfAProductIsToldAsOne) {
  const auto run = wrong_where([](const Lowered& lowered, std::int64_t) {
    const ConvolutionGeometry& g = geometry_in(lowered);
    return g.output_channels * g.depth() > 64;
  });
  const Whereabouts found = locate(convolution_of(70, 1), run, {});
  EXPECT_TRUE(is_among(found.thresholds, "weights >= 65 (64 passes)")) << ::testing::PrintToString(found.thresholds);
}

TEST(Whereabouts, TwoBoundsOfOneFailureAreBothTold) {
  const auto run = wrong_where([](const Lowered& lowered, std::int64_t) {
    const ConvolutionGeometry& g = geometry_in(lowered);
    return g.group >= 4 && g.axes.back().stride >= 3;
  });
  const Case failing = ConvIntegerBuilder()
                           .x(make::filled(ElementType::uint8, {1, 4, 1, 4}, 3))
                           .w(make::filled(ElementType::int8, {4, 1, 1, 1}, 1))
                           .attribute("group", std::int64_t{4})
                           .attribute("strides", std::vector<std::int64_t>{1, 3})
                           .build();
  const Whereabouts found = locate(failing, run, {});
  EXPECT_TRUE(is_among(found.thresholds, "groups >= 4 (3 passes)")) << ::testing::PrintToString(found.thresholds);
  EXPECT_TRUE(is_among(found.thresholds, "stride along the width >= 3 (2 passes)"))
      << ::testing::PrintToString(found.thresholds);
}

TEST(Whereabouts, AShortLastBlockIsToldInTheWordsOfConditions) {
  const auto run = wrong_where([](const Lowered& lowered, std::int64_t index) {
    const reference::QuantizationLayout& layout = *layout_of(lowered);
    const std::int64_t position = index / layout.inner % layout.channels;
    return layout.is_blocked() && position >= layout.channels / layout.block * layout.block;
  });
  const Case failing = LinearBuilder::quantize()
                           .version(21)
                           .x(make::float32({1, 9}, std::vector<float>(9, 1.0F)))
                           .input(1, make::float32({1, 3}, {1, 2, 4}))
                           .attribute("axis", std::int64_t{1})
                           .attribute("block_size", std::int64_t{4})
                           .build();
  const Whereabouts found = locate(failing, run, {});
  EXPECT_TRUE(is_among(found.thresholds, "last block short")) << ::testing::PrintToString(found.thresholds);
}

// A failure of few values tells nothing of sizes.
TEST(Whereabouts, NothingIsSaidOfWhatSeldomFails) {
  const auto run = wrong_where([](const Lowered& lowered, std::int64_t index) {
    return index == 0 && bits_at(lowered.evaluate(RoundingProfile::correctly_rounded), 0) % 64 == 3;
  });
  EXPECT_TRUE(locate(convolution_of(2, 2), run, {}).is_empty());
}

}  // namespace
}  // namespace qconform::diagnose
