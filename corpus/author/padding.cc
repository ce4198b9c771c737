#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

template <typename Builder>
void write_more(Topic& topic) {
  topic.known(vector<Builder>("pads-zero-point-0",
                              "zero point 0 beside one of w of 7: a correction by the sum of all weights counts the "
                              "padded taps too",
                              {"C1"}, {"padding", "asymmetric", "power-padding-value"})
                  .x(make::uint8({1, 1, 2, 2}, {1, 2, 3, 4}))
                  .w(make::uint8({1, 1, 2, 2}, {8, 9, 4, 10}))
                  .w_zero_point(7)
                  .pads({0, 1, 1, 0}),
              {1, 1, 2, 2}, {11, 8, 6, 11});
  topic.known(vector<Builder>("pads-zero-point-127",
                              "int8 at its upper end, padded before in one dimension and behind in the other", {"C1"},
                              {"padding", "asymmetric", "power-padding-value"})
                  .x(make::int8({1, 1, 1, 2}, {127, 126}))
                  .x_zero_point(127)
                  .w(make::int8({1, 1, 2, 2}, {-128, -127, -126, -124}))
                  .w_zero_point(-128)
                  .pads({1, 0, 0, 1}),
              {1, 1, 1, 2}, {-4, -2});
  topic.known(vector<Builder>("pad-at-the-bottom-right-only",
                              "no pad at the top and left, one and two at the bottom and right, stride 2 across",
                              {"C1"}, {"padding", "asymmetric", "stride", "power-end-padding"})
                  .x(make::uint8({1, 1, 2, 2}, {11, 12, 13, 14}))
                  .x_zero_point(10)
                  .w(make::int8({1, 1, 2, 2}, {1, 2, 4, 8}))
                  .strides({1, 2})
                  .pads({0, 0, 1, 2}),
              {1, 1, 2, 2}, {49, 0, 11, 0});
  topic.known(vector<Builder>("windows-wholly-in-padding-with-stride-and-dilation",
                              "extent 3, stride 2, pads 5 and 4: the second window is the first to meet the input, "
                              "and only with its last tap",
                              {"C9"}, {"padding", "padding-only", "stride", "dilation", "1d", "power-padding-only"})
                  .x(make::int8({1, 1, 2}, {-98, -97}))
                  .x_zero_point(-100)
                  .w(make::int8({1, 1, 2}, {5, 7}))
                  .w_zero_point(2)
                  .strides({2})
                  .dilations({2})
                  .pads({5, 4}),
              {1, 1, 5}, {0, 0, 15, 9, 0});
}

template <typename Builder>
void write_padding_vectors(Topic& topic) {
  topic.known(vector<Builder>("pads-top-right-zero-point-255",
                              "padding must be 255, the zero point: raw zeros would count as -255 each", {"C1"},
                              {"padding", "asymmetric", "power-padding-value"})
                  .x(make::uint8({1, 1, 2, 2}, {255, 254, 253, 252}))
                  .x_zero_point(255)
                  .w(make::uint8({1, 1, 2, 2}, {4, 5, 1, 3}))
                  .w_zero_point(3)
                  .pads({1, 0, 0, 1}),
              {1, 1, 2, 2}, {0, 2, 2, 5});
  topic.known(vector<Builder>("pads-left-bottom-zero-point-minus-128",
                              "int8 at its lower end: a padding byte of 0 or 0x80^0x80 is 128 too large", {"C1"},
                              {"padding", "asymmetric", "power-padding-value"})
                  .x(make::int8({1, 1, 2, 2}, {-128, -127, -126, -125}))
                  .x_zero_point(-128)
                  .w(make::int8({1, 1, 2, 2}, {4, 5, 1, 3}))
                  .w_zero_point(3)
                  .pads({0, 1, 1, 0}),
              {1, 1, 2, 2}, {0, -2, 4, 8});
  topic.known(vector<Builder>("pad-at-the-end-only",
                              "left pad 0 with right pad 2: symmetric padding or exchanged sides shift every output",
                              {"C1"}, {"padding", "asymmetric", "1d", "power-end-padding"})
                  .x(make::uint8({1, 1, 4}, {129, 130, 131, 132}))
                  .x_zero_point(128)
                  .w(make::int8({1, 1, 2}, {1, 10}))
                  .pads({0, 2}),
              {1, 1, 5}, {21, 32, 43, 4, 0});
  topic.computed(wide_vector<Builder>(10, "four-different-pads",
                                      "no two sides alike, two channels: any other order of the pads changes the shape "
                                      "or the border",
                                      {"C1"}, {"padding", "asymmetric"})
                     .x(pattern(ElementType::uint8, {1, 2, 3, 4}, 3, 101))
                     .x_zero_point(77)
                     .w(pattern(ElementType::int8, {2, 2, 2, 3}, -5, 53))
                     .w_zero_point(-9)
                     .pads({1, 2, 3, 0}));
  topic.known(vector<Builder>("windows-wholly-in-padding-2d",
                              "a 1x1 kernel with pads 1: eight of nine windows see padding alone and give exactly 0",
                              {"C9", "C1"}, {"padding", "padding-only", "power-padding-only"})
                  .x(make::uint8({1, 1, 1, 1}, {7}))
                  .x_zero_point(5)
                  .w(make::int8({1, 1, 1, 1}, {3}))
                  .pads({1, 1, 1, 1}),
              {1, 1, 3, 3}, {0, 0, 0, 0, 6, 0, 0, 0, 0});
  topic.known(vector<Builder>("windows-wholly-in-padding-at-two-corners",
                              "pads beyond the kernel on two sides only: a stale accumulator shows in the first window",
                              {"C9"}, {"padding", "padding-only", "asymmetric", "power-padding-only"})
                  .x(make::uint8({1, 1, 1, 1}, {7}))
                  .x_zero_point(5)
                  .w(make::int8({1, 1, 1, 1}, {3}))
                  .pads({2, 0, 0, 2}),
              {1, 1, 3, 3}, {0, 0, 0, 0, 0, 0, 6, 0, 0});
  topic.known(vector<Builder>("pads-equal-to-the-kernel",
                              "pads = kernel extent: the first and the last window just miss the input", {"C9"},
                              {"padding", "padding-only", "1d", "power-padding-only"})
                  .x(make::int8({1, 1, 2}, {-99, -98}))
                  .x_zero_point(-100)
                  .w(make::int8({1, 1, 3}, {1, 1, 1}))
                  .pads({3, 3}),
              {1, 1, 6}, {0, 1, 3, 3, 2, 0});
  write_more<Builder>(topic);
}

}  // namespace

void write_padding(Topics& topics) {
  write_both(topics, "padding", []<typename Builder>(Topic& topic) { write_padding_vectors<Builder>(topic); });
}

}  // namespace qconform::author
