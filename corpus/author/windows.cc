// Strides, dilations, groups, batches: the frame itself, without a numbered rule to decide.
#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

template <typename Builder>
void write(Topic& topic) {
  topic.known(vector<Builder>("correlation-not-convolution",
                              "the kernel is not flipped: tap 0 meets the earlier element", {}, {"kernel", "1d"})
                  .x(make::uint8({1, 1, 3}, {1, 2, 3}))
                  .w(make::int8({1, 1, 2}, {10, 1})),
              {1, 1, 2}, {12, 23});
  topic.known(vector<Builder>("kernel-rows-and-columns",
                              "a 2x2 kernel with four different taps: exchanged rows and columns show", {}, {"kernel"})
                  .x(make::uint8({1, 1, 2, 2}, {1, 2, 3, 4}))
                  .w(make::int8({1, 1, 2, 2}, {1, 3, 9, 0})),
              {1, 1, 1, 1}, {1 + 6 + 27});
  topic.known(vector<Builder>("unequal-dilations", "dilation 1 down and 2 across", {}, {"dilation"})
                  .x(make::uint8({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}))
                  .w(make::int8({1, 1, 2, 2}, {1, 2, 3, 4}))
                  .dilations({1, 2}),
              {1, 1, 1, 2}, {1 + 6 + 15 + 28, 2 + 8 + 18 + 32});
  topic.known(vector<Builder>("unequal-strides", "stride 1 down and 2 across", {}, {"stride"})
                  .x(make::uint8({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}))
                  .w(make::int8({1, 1, 1, 1}, {10}))
                  .strides({1, 2}),
              {1, 1, 2, 2}, {10, 30, 40, 60});
  topic.known(
      vector<Builder>("pointwise-groups", "1x1 and group 2: each half of the output reads its own half of the input",
                      {}, {"group", "1x1"})
          .x(make::uint8({1, 4, 1, 1}, {1, 2, 3, 4}))
          .w(make::int8({2, 2, 1, 1}, {1, 10, 1, 10}))
          .group(2),
      {1, 2, 1, 1}, {21, 43});
  topic.known(vector<Builder>("depthwise-two-outputs-per-channel", "group = C with M = 2C", {}, {"group", "depthwise"})
                  .x(make::uint8({1, 2, 2}, {1, 2, 3, 4}))
                  .w(make::int8({4, 1, 2}, {1, 0, 0, 1, 5, 0, 0, 5}))
                  .group(2),
              {1, 4, 1}, {1, 2, 15, 20});
  topic.known(vector<Builder>("second-image-of-a-batch", "N=2: image 1 has its own data", {}, {"batch"})
                  .x(make::uint8({2, 1, 2}, {1, 2, 30, 40}))
                  .w(make::int8({1, 1, 2}, {1, 2})),
              {2, 1, 1}, {5, 110});
  topic.computed(wide_vector<Builder>(11, "five-dimensions", "three spatial dimensions, none alike", {}, {"3d"})
                     .x(pattern(ElementType::uint8, {1, 2, 2, 3, 4}, 40, 91))
                     .x_zero_point(120)
                     .w(pattern(ElementType::int8, {2, 2, 1, 2, 3}, 7, 45))
                     .pads({0, 1, 0, 1, 0, 2}));
  topic.computed(wide_vector<Builder>(11, "more-output-channels-than-lanes",
                                      "M=17: one channel beyond vectors of 16, with C=3 beyond groups of 4", {},
                                      {"tail"})
                     .x(pattern(ElementType::uint8, {1, 3, 1, 2}, 250, 77))
                     .x_zero_point(128)
                     .w(pattern(ElementType::int8, {17, 3, 1, 1}, -128, 47)));
}

}  // namespace

void write_windows(Topics& topics) {
  write_both(topics, "windows", []<typename Builder>(Topic& topic) { write<Builder>(topic); });
}

}  // namespace qconform::author
