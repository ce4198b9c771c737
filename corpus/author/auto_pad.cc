#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

template <typename Builder>
void write_same(Topic& topic) {
  topic.known(vector<Builder>("same-upper-odd-total", "one pad in all: SAME_UPPER puts it at the end", {"C4"},
                              {"auto_pad", "1d"})
                  .x(make::uint8({1, 1, 3}, {1, 2, 3}))
                  .w(make::int8({1, 1, 2}, {1, 10}))
                  .auto_pad("SAME_UPPER"),
              {1, 1, 3}, {21, 32, 3});
  topic.known(vector<Builder>("same-lower-odd-total", "one pad in all: SAME_LOWER puts it at the beginning", {"C4"},
                              {"auto_pad", "1d"})
                  .x(make::uint8({1, 1, 3}, {1, 2, 3}))
                  .w(make::int8({1, 1, 2}, {1, 10}))
                  .auto_pad("SAME_LOWER"),
              {1, 1, 3}, {10, 21, 32});
  topic.known(vector<Builder>("same-upper-with-dilation",
                              "the padding follows from the dilated extent 3, not from the kernel size 2", {"C2"},
                              {"auto_pad", "dilation", "1d"})
                  .x(make::uint8({1, 1, 5}, {1, 2, 3, 4, 5}))
                  .w(make::int8({1, 1, 2}, {1, 10}))
                  .dilations({2})
                  .auto_pad("SAME_UPPER"),
              {1, 1, 5}, {20, 31, 42, 53, 4});
  topic.computed(wide_vector<Builder>(9, "same-lower-with-unequal-dilations",
                                      "dilations 3 and 2 under SAME_LOWER: odd and even totals of the dilated extents",
                                      {"C2"}, {"auto_pad", "dilation"})
                     .x(pattern(ElementType::uint8, {1, 1, 4, 5}, 9, 87))
                     .x_zero_point(100)
                     .w(pattern(ElementType::int8, {1, 1, 2, 3}, 17, -31))
                     .dilations({3, 2})
                     .auto_pad("SAME_LOWER"));
  for (const char* side : {"SAME_UPPER", "SAME_LOWER"}) {
    const std::string name = side == std::string("SAME_UPPER") ? "same-upper" : "same-lower";
    topic.known(vector<Builder>(name + "-stride-beyond-the-kernel",
                                "kernel 1, stride 3, input 6: the total padding is -2 and must be clamped to 0, "
                                "else the input loses its head",
                                {"C3"}, {"auto_pad", "stride", "1d", "power-same-stride"})
                    .x(make::uint8({1, 1, 6}, {1, 2, 3, 4, 5, 6}))
                    .w(make::int8({1, 1, 1}, {10}))
                    .strides({3})
                    .auto_pad(side),
                {1, 1, 2}, {10, 40});
    topic.known(vector<Builder>(name + "-stride-beyond-the-dilated-kernel",
                                "extent 3, stride 5, input 10: the total padding is -2 and must be clamped to 0",
                                {"C3", "C2"}, {"auto_pad", "stride", "dilation", "1d", "power-same-stride"})
                    .x(make::uint8({1, 1, 10}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}))
                    .w(make::int8({1, 1, 2}, {1, 10}))
                    .strides({5})
                    .dilations({2})
                    .auto_pad(side),
                {1, 1, 2}, {31, 86});
    topic.computed(wide_vector<Builder>(10, name + "-clamped-down-padded-across",
                                        "down the total padding is -1 and clamped, across it is 3 and odd",
                                        {"C3", "C4"}, {"auto_pad", "stride", "power-same-stride"})
                       .x(pattern(ElementType::uint8, {1, 1, 5, 4}, 33, 93))
                       .x_zero_point(70)
                       .w(pattern(ElementType::int8, {2, 1, 1, 4}, -90, 61))
                       .w_zero_point(11)
                       .strides({3, 1})
                       .auto_pad(side));
  }
}

template <typename Builder>
void write(Topic& topic) {
  write_same<Builder>(topic);
  topic.computed(wide_vector<Builder>(11, "same-upper-not-square",
                                      "N=1, C=2, H=3, W=7 all differ: padding computed from N and C is wrong in both "
                                      "dimensions",
                                      {"C4"}, {"auto_pad", "stride"})
                     .x(pattern(ElementType::uint8, {1, 2, 3, 7}, 11, 67))
                     .x_zero_point(60)
                     .w(pattern(ElementType::int8, {2, 2, 3, 2}, -30, 37))
                     .w_zero_point(4)
                     .strides({2, 3})
                     .auto_pad("SAME_UPPER"));
  topic.computed(wide_vector<Builder>(11, "same-lower-not-square",
                                      "SAME_LOWER over a batch: padding computed from N and C is wrong in both "
                                      "dimensions",
                                      {"C4"}, {"auto_pad", "batch"})
                     .x(pattern(ElementType::int8, {2, 3, 4, 3}, -7, 51))
                     .x_zero_point(-128)
                     .w(pattern(ElementType::int8, {2, 3, 2, 4}, 66, -43))
                     .auto_pad("SAME_LOWER"));
  topic.known(vector<Builder>("same-upper-pads-the-zero-point",
                              "what SAME_UPPER pads is the zero point too, beside a nonzero one of w", {"C1"},
                              {"auto_pad", "padding", "1d", "power-padding-value"})
                  .x(make::uint8({1, 1, 3}, {255, 254, 252}))
                  .x_zero_point(255)
                  .w(make::uint8({1, 1, 3}, {4, 5, 9}))
                  .w_zero_point(3)
                  .auto_pad("SAME_UPPER"),
              {1, 1, 3}, {-6, -20, -7});
  topic.computed(wide_vector<Builder>(12, "valid-not-square",
                                      "VALID means no padding at all: the output is 2x3, not the input's 3x5", {"C4"},
                                      {"auto_pad"})
                     .x(pattern(ElementType::uint8, {2, 3, 3, 5}, 5, 59))
                     .x_zero_point(130)
                     .w(pattern(ElementType::int8, {4, 3, 2, 3}, 90, 71))
                     .auto_pad("VALID"));
  topic.known(
      vector<Builder>("notset-keeps-pads", "NOTSET in so many words: the pads count", {"C5"}, {"auto_pad", "1d"})
          .x(make::uint8({1, 1, 2}, {1, 2}))
          .w(make::int8({1, 1, 2}, {1, 10}))
          .auto_pad("NOTSET")
          .pads({1, 0}),
      {1, 1, 2}, {10, 21});
  topic.tolerated(vector<Builder>("same-upper-beside-zero-pads",
                                  "exporters write pads of 0 beside auto_pad: the value SAME_UPPER gives, or an error",
                                  {"C5"}, {"auto_pad", "1d"})
                      .x(make::uint8({1, 1, 3}, {1, 2, 3}))
                      .w(make::int8({1, 1, 2}, {1, 10}))
                      .auto_pad("SAME_UPPER")
                      .pads({0, 0}));
  topic.tolerated(vector<Builder>("same-lower-beside-zero-pads",
                                  "exporters write pads of 0 beside auto_pad: the value SAME_LOWER gives, or an error",
                                  {"C5"}, {"auto_pad", "1d"})
                      .x(make::uint8({1, 1, 3}, {1, 2, 3}))
                      .w(make::int8({1, 1, 2}, {1, 10}))
                      .auto_pad("SAME_LOWER")
                      .pads({0, 0}));
  topic.tolerated(vector<Builder>("valid-beside-zero-pads", "VALID and pads of 0 mean the same: the value, or an error",
                                  {"C5"}, {"auto_pad", "1d"})
                      .x(make::uint8({1, 1, 3}, {1, 2, 3}))
                      .w(make::int8({1, 1, 2}, {1, 10}))
                      .auto_pad("VALID")
                      .pads({0, 0}));
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    topic.refused(vector<Builder>(std::string("pads-beside-") + mode,
                                  "pads and auto_pad contradict each other: nothing tells which one was meant", {"C5"},
                                  {"auto_pad", "1d"})
                      .x(make::uint8({1, 1, 3}, {1, 2, 3}))
                      .w(make::int8({1, 1, 2}, {1, 10}))
                      .auto_pad(mode)
                      .pads({0, 1}));
  }
}

}  // namespace

void write_auto_pad(Topics& topics) {
  write_both(topics, "auto_pad", []<typename Builder>(Topic& topic) { write<Builder>(topic); });
}

}  // namespace qconform::author
