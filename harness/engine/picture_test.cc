// What a picture shows is what the judge says, wherever it is cut.
#include "harness/engine/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "harness/backends/kinds.h"
#include "harness/operators/case_builder.h"
#include "harness/operators/operator.h"
#include "harness/suites/random.h"
#include "harness/tests/planted_kernels.h"

namespace qconform {
namespace {

using ::testing::ElementsAre;

std::unique_ptr<Backend> planted(const char* name) {
  return backend::in_tree(testing::planted_kernel_set(name), RoundingProfile::correctly_rounded, name);
}

// A 1x3 filter of ones over [1, 2, 3, 4] + 10 with zero point 10 and a pad of 1 on the left: the planted
// kernel takes the padded tap for 0 and not for the zero point.
Case padded_case() {
  return QLinearConvBuilder()
      .id("padded")
      .x(make::uint8({1, 1, 1, 4}, {11, 12, 13, 14}))
      .x_zero_point(10)
      .w(make::int8({1, 1, 1, 3}, {1, 1, 1}))
      .pads({0, 1, 0, 0})
      .build();
}

TEST(Picture, ShowsEachElementAndWhatFeedsIt) {
  const auto backend = planted("pad-raw-zero");
  const auto picture = picture_of(padded_case(), *backend, {});
  ASSERT_TRUE(picture.has_value());
  EXPECT_THAT(picture->got.extent, ElementsAre(1, 1, 1, 3));
  EXPECT_THAT(picture->expected, ElementsAre("3", "6", "9"));
  EXPECT_THAT(picture->got.values, ElementsAre("0", "6", "9")) << "1 + 2 - 10, saturated";
  EXPECT_THAT(picture->exact, ElementsAre("3", "6", "9"));
  EXPECT_THAT(picture->admissible, ElementsAre("{3}", "{6}", "{9}"));
  EXPECT_THAT(picture->wrong, ElementsAre(true, false, false));
  EXPECT_THAT(picture->worst, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(picture->wrong_elements, 1U);
  ASSERT_TRUE(picture->geometry.has_value());
  EXPECT_EQ(picture->geometry->axes[1].pad_begin, 1);
  ASSERT_FALSE(picture->inputs.empty());
  EXPECT_EQ(picture->inputs[0].name, "x");
  EXPECT_THAT(picture->inputs[0].values, ElementsAre("11", "12", "13", "14"));
}

TEST(Picture, ThereIsNoneOfWhatIsRight) {
  EXPECT_FALSE(picture_of(padded_case(), *planted("scalar"), {}).has_value());
}

TEST(Picture, IsCutToItsLimitsAroundTheWorstElement) {
  const auto backend = planted("pad-raw-zero");
  const PictureLimits limits{.output = 6, .input = 12};
  int pictures = 0;
  for (std::uint64_t index = 0; index < 150; ++index) {
    const Case test_case = random_case(5, index);
    const auto picture = picture_of(test_case, *backend, {}, limits);
    if (!picture) continue;
    ++pictures;
    EXPECT_LE(picture->got.values.size(), 6U);
    for (const TensorBox& input : picture->inputs) {
      EXPECT_LE(input.values.size(), 12U);
      EXPECT_EQ(static_cast<std::int64_t>(input.values.size()), elements_of(input.extent));
    }
    const auto indices = indices_in(picture->got.shape, {picture->got.begin, picture->got.extent});
    const auto worst =
        indices_in(picture->got.shape, {picture->worst, std::vector<std::int64_t>(picture->worst.size(), 1)});
    const auto place = std::find(indices.begin(), indices.end(), worst[0]);
    ASSERT_NE(place, indices.end());
    EXPECT_TRUE(picture->wrong[static_cast<std::size_t>(place - indices.begin())]);
  }
  EXPECT_GT(pictures, 10);
}

RC_GTEST_PROP(PictureBoxes, HoldTheCenterAndNoMoreThanTheyMay, ()) {
  const auto shape = *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange<std::size_t>(1, 5),
                                                                    rc::gen::inRange<std::int64_t>(1, 40));
  std::vector<std::int64_t> center;
  for (const std::int64_t size : shape) center.push_back(*rc::gen::inRange<std::int64_t>(0, size));
  const auto most = *rc::gen::inRange<std::int64_t>(1, 3000);
  const Box box = box_around(shape, center, most);
  RC_ASSERT(box.elements() <= most);
  RC_ASSERT(box.elements() >= std::min<std::int64_t>(most / 4 + 1, shape.back()) || box.elements() * 4 >= most);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    RC_ASSERT(box.begin[d] >= 0 && box.begin[d] + box.extent[d] <= shape[d]);
    RC_ASSERT(box.begin[d] <= center[d] && center[d] < box.begin[d] + box.extent[d]);
  }
  const std::vector<std::int64_t> indices = indices_in(shape, box);
  RC_ASSERT(static_cast<std::int64_t>(indices.size()) == box.elements());
  RC_ASSERT(std::is_sorted(indices.begin(), indices.end()));
}

TEST(PictureBoxes, KeepAllOfWhatFits) {
  const Box box = box_around({2, 3, 5, 7}, {1, 2, 4, 6}, 210);
  EXPECT_THAT(box.begin, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(box.extent, ElementsAre(2, 3, 5, 7));
}

}  // namespace
}  // namespace qconform
