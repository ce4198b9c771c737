// Strides, dilations, groups, batches: the frame itself, without a numbered rule to decide.
#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

template <typename Builder>
void write_window_vectors(Topic& topic) {
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
                      {}, {"group", "1x1", "power-groups"})
          .x(make::uint8({1, 4, 1, 1}, {1, 2, 3, 4}))
          .w(make::int8({2, 2, 1, 1}, {1, 10, 1, 10}))
          .group(2),
      {1, 2, 1, 1}, {21, 43});
  topic.known(vector<Builder>("depthwise-two-outputs-per-channel", "group = C with M = 2C", {}, {"group", "depthwise"})
                  .x(make::uint8({1, 2, 2}, {1, 2, 3, 4}))
                  .w(make::int8({4, 1, 2}, {1, 0, 0, 1, 5, 0, 0, 5}))
                  .group(2),
              {1, 4, 1}, {1, 2, 15, 20});
  topic.known(vector<Builder>("second-image-of-a-batch", "N=2: image 1 has its own data", {}, {"batch", "power-batch"})
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
                                      {"tail", "power-tails"})
                     .x(pattern(ElementType::uint8, {1, 3, 1, 2}, 250, 77))
                     .x_zero_point(128)
                     .w(pattern(ElementType::int8, {17, 3, 1, 1}, -128, 47)));
  topic.known(vector<Builder>("kernel-shape-stated", "kernel_shape as w has it, not square", {"C7"}, {"kernel"})
                  .x(make::uint8({1, 1, 2, 2}, {1, 2, 3, 4}))
                  .w(make::int8({1, 1, 1, 2}, {1, 10}))
                  .kernel_shape({1, 2}),
              {1, 1, 2, 1}, {21, 43});
  topic.computed(wide_vector<Builder>(9, "padded-batch",
                                      "N=3 with padding: the border of an image is padding, not its neighbour's rows",
                                      {"C1"}, {"batch", "padding", "power-batch"})
                     .x(pattern(ElementType::uint8, {3, 1, 2, 2}, 19, 83))
                     .x_zero_point(90)
                     .w(pattern(ElementType::int8, {2, 1, 2, 2}, 50, -39))
                     .pads({1, 0, 0, 1}));
  topic.known(
      vector<Builder>("seven-dimensions", "five spatial dimensions: attributes of five and ten values", {}, {"5d"})
          .x(make::uint8({1, 1, 2, 1, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}))
          .w(make::int8({1, 1, 2, 1, 1, 1, 2}, {1, 2, 3, 4}))
          .strides({1, 1, 1, 1, 2})
          .pads({0, 0, 0, 0, 0, 0, 0, 0, 0, 1}),
      {1, 1, 1, 1, 1, 2, 2}, {1 + 4 + 21 + 32, 3 + 27, 4 + 10 + 30 + 44, 6 + 36});
}

}  // namespace

void write_windows(Topics& topics) {
  write_both(topics, "windows", []<typename Builder>(Topic& topic) { write_window_vectors<Builder>(topic); });
}

}  // namespace qconform::author
