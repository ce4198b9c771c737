#include "reference/linear_quantization/linear_quantization.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace qconform::reference {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr PlacementAttributes kNoAxis{.has_axis = false};  // version 10

PlacementAttributes axis(std::int64_t value) {
  return {.axis = value};
}

PlacementAttributes blocks(std::int64_t value, std::int64_t block_size) {
  return {.axis = value, .has_block_size = true, .block_size = block_size};
}

struct LayoutCase {
  const char* what;
  Shape x;
  Shape scale;
  PlacementAttributes attributes;
  std::int64_t outer, channels, inner;
  std::string implementation_defined;  // the remark, or empty
};

TEST(Layout, IsResolved) {
  const LayoutCase cases[] = {
      {"scalar", {2, 3, 4}, {}, axis(1), 1, 1, 24, ""},
      {"scalar, version 10", {2, 3, 4}, {}, kNoAxis, 1, 1, 24, ""},
      {"scalar with rank-0 x (D8)", {}, {}, axis(1), 1, 1, 1, ""},
      {"scalar with empty x (D8)", {2, 0}, {}, axis(1), 1, 1, 0, ""},
      {"scalar with rank-1 x and the default axis", {5}, {}, axis(1), 1, 1, 5, ""},
      {"per axis, default", {2, 3, 4}, {3}, axis(1), 2, 3, 4, ""},
      {"per axis, first", {2, 3, 4}, {2}, axis(0), 1, 2, 12, ""},
      {"per axis, last", {2, 3, 4}, {4}, axis(2), 6, 4, 1, ""},
      {"negative axis", {2, 3, 4}, {4}, axis(-1), 6, 4, 1, ""},
      {"most negative axis", {2, 3, 4}, {2}, axis(-3), 1, 2, 12, ""},
      {"rank-1 x with axis 0", {5}, {5}, axis(0), 1, 5, 1, ""},
      {"an axis of length 1", {2, 1, 4}, {1}, axis(1), 1, 1, 8, ""},
      {"an axis of length 0", {2, 0, 4}, {0}, axis(1), 2, 0, 4, ""},
      {"empty beside the axis", {0, 3}, {3}, axis(1), 0, 3, 1, ""},
      {"shape [1]", {2, 3}, {1}, axis(1), 1, 1, 6, ""},
      {"shape [1], version 10", {2, 3}, {1}, kNoAxis, 1, 1, 6, ""},
      {"shape [1], rank-1 x, default axis", {5}, {1}, axis(1), 1, 1, 5, ""},
      {"shape [1, 1]", {2, 3}, {1, 1}, axis(0), 1, 1, 6, ""},
      {"shape [1, 1, 1], rank-0 x", {}, {1, 1, 1}, axis(1), 1, 1, 1, ""},
      {"scalar with an axis outside",
       {2, 3},
       {},
       axis(2),
       1,
       1,
       6,
       "axis: unused, and outside [-rank, rank-1]: 2 [rule D7]"},
      {"scalar with a negative axis outside",
       {2, 3},
       {},
       axis(-3),
       1,
       1,
       6,
       "axis: unused, and outside [-rank, rank-1]: -3 [rule D7]"},
  };
  for (const LayoutCase& c : cases) {
    Contract contract;
    const auto layout = resolve_layout(c.x, c.scale, "x_scale", c.attributes, contract);
    ASSERT_TRUE(layout.has_value()) << c.what;
    EXPECT_TRUE(contract.holds()) << c.what;
    EXPECT_EQ(layout->outer, c.outer) << c.what;
    EXPECT_EQ(layout->channels, c.channels) << c.what;
    EXPECT_EQ(layout->inner, c.inner) << c.what;
    EXPECT_EQ(layout->block, 0) << c.what;
    EXPECT_EQ(layout->parameters(), c.channels) << c.what;
    EXPECT_EQ(contract.implementation_defined.empty() ? "" : contract.implementation_defined[0].text(),
              c.implementation_defined)
        << c.what;
  }
}

struct BlockedCase {
  const char* what;
  Shape x;
  Shape scale;
  PlacementAttributes attributes;
  std::int64_t outer, channels, inner, block, parameters;
};

TEST(Layout, BlocksAreResolved) {
  const BlockedCase cases[] = {
      {"whole blocks", {2, 6, 4}, {2, 3, 4}, blocks(1, 2), 2, 6, 4, 2, 24},
      {"partial last block", {2, 7, 4}, {2, 3, 4}, blocks(1, 3), 2, 7, 4, 3, 24},
      {"last axis", {3, 5}, {3, 3}, blocks(-1, 2), 3, 5, 1, 2, 9},
      {"first axis", {5, 3}, {2, 3}, blocks(0, 4), 1, 5, 3, 4, 6},
      {"blocks of one", {2, 3}, {2, 3}, blocks(1, 1), 2, 3, 1, 1, 6},
      {"a block longer than the axis", {2, 3}, {2, 1}, blocks(1, INT64_MAX), 2, 3, 1, INT64_MAX, 2},
      {"rank-1 x", {5}, {3}, blocks(0, 2), 1, 5, 1, 2, 3},
      {"rank-1 x in one block", {5}, {1}, blocks(0, 5), 1, 5, 1, 5, 1},
      {"an axis of length 0", {2, 0}, {2, 0}, blocks(1, 4), 2, 0, 1, 4, 0},
  };
  for (const BlockedCase& c : cases) {
    Contract contract;
    const auto layout = resolve_layout(c.x, c.scale, "x_scale", c.attributes, contract);
    ASSERT_TRUE(layout.has_value()) << c.what << contract.violation->text();
    EXPECT_TRUE(contract.implementation_defined.empty()) << c.what;
    EXPECT_EQ(layout->outer, c.outer) << c.what;
    EXPECT_EQ(layout->channels, c.channels) << c.what;
    EXPECT_EQ(layout->inner, c.inner) << c.what;
    EXPECT_EQ(layout->block, c.block) << c.what;
    EXPECT_EQ(layout->parameters(), c.parameters) << c.what;
  }
}

// x [2, 5, 3] in blocks of 2 along axis 1: the scale is [2, 3, 3]. Written out by coordinates.
TEST(Layout, EveryElementFindsItsBlock) {
  Contract contract;
  const auto layout = resolve_layout(Shape{2, 5, 3}, Shape{2, 3, 3}, "x_scale", blocks(1, 2), contract);
  ASSERT_TRUE(layout.has_value());
  std::int64_t index = 0;
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t c = 0; c < 5; ++c) {
      for (std::size_t w = 0; w < 3; ++w) EXPECT_EQ(layout->parameter_of(index++), (n * 3 + c / 2) * 3 + w);
    }
  }
}

TEST(Layout, UnusedBlockSizesAreImplementationDefined) {
  for (const Shape& scale : {Shape{}, Shape{1}, Shape{1, 1}}) {
    Contract contract;
    const auto layout = resolve_layout(Shape{2, 6}, scale, "x_scale", blocks(1, 2), contract);
    ASSERT_TRUE(layout.has_value());
    EXPECT_FALSE(layout->is_blocked());
    ASSERT_FALSE(contract.implementation_defined.empty());
    EXPECT_EQ(contract.implementation_defined[0].rule, "D7");
  }
}

struct RefusedCase {
  Shape x;
  Shape scale;
  PlacementAttributes attributes;
  std::string text;
};

TEST(Layout, RefusesWhatIsOutOfContract) {
  const RefusedCase cases[] = {
      {{2, 3}, {1, 3}, axis(1), "y_scale: expected a scalar or one dimension, got rank 2 [rule D7]"},
      {{2, 3}, {3}, kNoAxis, "y_scale: this version takes a scalar only, got shape [3] [rule D7]"},
      {{2, 3}, {3}, axis(2), "axis: expected a value in [-2, 1] (rank of x is 2), got 2 [rule D7]"},
      {{2, 3}, {3}, axis(-3), "axis: expected a value in [-2, 1] (rank of x is 2), got -3 [rule D7]"},
      {{5}, {5}, axis(1), "axis: expected a value in [-1, 0] (rank of x is 1), got 1 [rule D7]"},
      {{2, 3}, {2}, axis(1), "y_scale: expected one value for each of the 3 positions of axis 1, got 2 [rule D7]"},
      {{2, 3}, {3}, axis(-2), "y_scale: expected one value for each of the 2 positions of axis -2, got 3 [rule D7]"},
      {{2, 3}, {}, blocks(1, -1), "block_size: expected at least 0, got -1 [rule D7]"},
      {{2, 6},
       {2, 3},
       blocks(1, 0),
       "y_scale: expected a scalar or one dimension without a block_size, got rank 2 [rule D7]"},
      {{2, 6}, {2, 2}, blocks(1, 2), "y_scale: expected shape [2, 3] (blocks of 2 along axis 1), got [2, 2] [rule D7]"},
      {{2, 6}, {6}, blocks(1, 1), "y_scale: expected shape [2, 6] (blocks of 1 along axis 1), got [6] [rule D7]"},
      {{2, 6}, {1, 3}, blocks(1, 2), "y_scale: expected shape [2, 3] (blocks of 2 along axis 1), got [1, 3] [rule D7]"},
      {{2, 6}, {2, 3}, blocks(2, 2), "axis: expected a value in [-2, 1] (rank of x is 2), got 2 [rule D7]"},
      {{5}, {3}, blocks(1, 2), "axis: expected a value in [-1, 0] (rank of x is 1), got 1 [rule D7]"},
  };
  for (const RefusedCase& c : cases) {
    Contract contract;
    EXPECT_FALSE(resolve_layout(c.x, c.scale, "y_scale", c.attributes, contract).has_value()) << c.text;
    ASSERT_TRUE(contract.violation.has_value()) << c.text;
    EXPECT_EQ(contract.violation->text(), c.text);
  }
}

}  // namespace
}  // namespace qconform::reference
