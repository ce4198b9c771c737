#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

std::string short_name(ElementType type) {
  return type == ElementType::uint8 ? "u8" : "s8";
}

template <typename Builder>
void write_per_channel(Topic& topic) {
  topic.known(
      per_channel(
          vector<Builder>("w-zero-point-differs-by-channel",
                          "three channels of equal weights and zero points 1, 2, 3; M equals the kernel's width, so "
                          "that a wrong broadcast still fits",
                          {"C13"}, {"per-channel", "power-channel-zero-point"})
              .x(make::uint8({1, 1, 1, 3}, {1, 2, 3}))
              .w(make::int8({3, 1, 1, 3}, {3, 3, 3, 3, 3, 3, 3, 3, 3})),
          {1, 2, 3}),
      {1, 3, 1, 1}, {12, 6, 0});
  topic.known(per_channel(vector<Builder>(
                              "w-zero-point-of-groups",
                              "two groups of two channels: the zero point's index is the channel, not its place in the "
                              "group",
                              {"C13"}, {"per-channel", "group", "power-channel-zero-point"})
                              .x(make::uint8({1, 2, 1, 1}, {10, 20}))
                              .w(make::int8({4, 1, 1, 1}, {5, 5, 5, 5}))
                              .group(2),
                          {0, 1, 2, 3}),
              {1, 4, 1, 1}, {50, 40, 60, 40});
  topic.known(per_channel(vector<Builder>("w-zero-point-at-both-ends",
                                          "int8 zero points -128, 127, 0: differences of up to 255 in either direction",
                                          {"C13"}, {"per-channel", "power-channel-zero-point"})
                              .x(make::int8({1, 1, 1}, {2}))
                              .x_zero_point(1)
                              .w(make::int8({3, 1, 1}, {-1, 0, -128})),
                          {-128, 127, 0}),
              {1, 3, 1}, {127, -127, -128});
  topic.known(per_channel(vector<Builder>("unsigned-w-zero-point-differs-by-channel",
                                          "uint8 weights and zero points 0, 128, 255, with padding and x's zero point",
                                          {"C13", "C1"}, {"per-channel", "padding", "power-channel-zero-point"})
                              .x(make::uint8({1, 1, 2}, {201, 203}))
                              .x_zero_point(200)
                              .w(make::uint8({3, 1, 2}, {1, 2, 129, 126, 254, 250}))
                              .w_zero_point(0)
                              .pads({1, 1}),
                          {0, 128, 255}),
              {1, 3, 3}, {2, 7, 3, -2, -5, 3, -5, -16, -3});
  topic.known(
      vector<Builder>("both-zero-points", "x - 100 and w - 50 for two taps: the cross term K * x_zp * w_zp is 10000",
                      {"C13"}, {"zero-point"})
          .x(make::uint8({1, 1, 2}, {103, 98}))
          .x_zero_point(100)
          .w(make::int8({1, 1, 2}, {60, 54}))
          .w_zero_point(50),
      {1, 1, 1}, {22});
}

// (100 * 1) + (-20 * 2) = 60 for every mix of types: the bytes cross 128 wherever a type allows it.
template <typename Builder>
Builder type_mix(ElementType x, ElementType w, const std::string& suffix) {
  const bool x_unsigned = x == ElementType::uint8;
  const bool w_unsigned = w == ElementType::uint8;
  const std::int64_t x_zero = x_unsigned ? 128 : -3;
  const std::int64_t w_zero = w_unsigned ? 200 : -100;
  return vector<Builder>("types-" + short_name(x) + "-" + short_name(w) + suffix,
                         "each tensor has its own signedness; bytes of 128 and more tell", {"C14"}, {"types"})
      .x(make::integers(x, {1, 2, 1, 1}, {x_zero + 100, x_zero - 20}))
      .x_zero_point(x_zero)
      .w(make::integers(w, {1, 2, 1, 1}, {w_zero + 1, w_zero + 2}))
      .w_zero_point(w_zero);
}

template <typename Builder>
void write_types(Topic& topic) {
  for (const ElementType x : {ElementType::uint8, ElementType::int8}) {
    for (const ElementType w : {ElementType::uint8, ElementType::int8}) {
      if constexpr (kIsQLinearConv<Builder>) {
        topic.known(type_mix<Builder>(x, w, "-u8").y_type(ElementType::uint8).y_zero_point(190), {1, 1, 1, 1}, {250});
        topic.known(type_mix<Builder>(x, w, "-s8").y_type(ElementType::int8).y_zero_point(-80), {1, 1, 1, 1}, {-20});
      } else {
        topic.known(type_mix<Builder>(x, w, ""), {1, 1, 1, 1}, {60});
      }
    }
  }
}

template <typename Builder>
void write_shapes(Topic& topic) {
  const auto base = [](const char* id, const char* note, const char* rule) {
    return vector<Builder>(id, note, {rule}, {"shapes"})
        .x(make::uint8({1, 1, 2}, {13, 15}))
        .x_zero_point(10)
        .w(make::int8({2, 1, 1}, {4, 6}))
        .w_zero_point(1);
  };
  constexpr std::size_t x_zero_point = 2;  // of either operator
  topic.tolerated(base("x-zero-point-of-shape-1", "shape [1] where a scalar is meant: its value, or an error", "C11")
                      .input(x_zero_point, make::uint8({1}, {10})));
  topic.tolerated(per_channel(
      base("w-zero-point-of-shape-1", "shape [1] beside M=2: one value for all channels, or an error", "C11"),
      {std::int64_t{1}}));
  const auto single =
      per_channel(vector<Builder>("w-zero-point-of-shape-1-with-one-channel",
                                  "M=1: shape [1] is one value per channel, and must work", {"C11"}, {"shapes"})
                      .x(make::uint8({1, 1, 2}, {13, 15}))
                      .w(make::int8({1, 1, 1}, {4})),
                  {std::int64_t{1}});
  topic.known(single, {1, 1, 2}, {39, 45});
}

template <typename Builder>
void write_zero_point_vectors(Topic& topic) {
  write_per_channel<Builder>(topic);
  write_types<Builder>(topic);
  write_shapes<Builder>(topic);
}

// Rule C11 for the parameters that QLinearConv alone has.
void write_shapes_of_scales(Topic& topic) {
  const auto base = [](const char* id, const char* note) {
    return vector<QLinearConvBuilder>(id, note, {"C11"}, {"shapes"})
        .x(make::uint8({1, 1, 2}, {13, 15}))
        .x_zero_point(10)
        .w(make::int8({2, 1, 1}, {4, 6}));
  };
  constexpr std::size_t x_scale = 1, w_scale = 4, y_scale = 6, y_zero_point = 7;
  const char* note = "shape [1] where a scalar is meant: its value, or an error";
  topic.tolerated(base("x-scale-of-shape-1", note).input(x_scale, make::float32({1}, {2.0F})));
  topic.tolerated(base("y-scale-of-shape-1", note).input(y_scale, make::float32({1}, {2.0F})));
  topic.tolerated(base("y-zero-point-of-shape-1", note).input(y_zero_point, make::int8({1}, {7})));
  topic.tolerated(base("w-scale-of-shape-1", "shape [1] beside M=2 and a scalar zero point: its value, or an error")
                      .rules({"C11", "C12"})
                      .input(w_scale, make::float32({1}, {2.0F})));
}

void write_mixed_granularity(Topic& topic) {
  const auto base = [](const char* id, const char* note) {
    return vector<QLinearConvBuilder>(id, note, {"C12"}, {"shapes", "per-channel"})
        .x(make::uint8({1, 1, 2}, {13, 15}))
        .x_zero_point(10)
        .w(make::int8({2, 1, 1}, {4, 6}));
  };
  topic.tolerated(base("w-scale-per-channel-with-scalar-zero-point", "the scalar holds for every channel, or an error")
                      .w_scale({1.0F, 2.0F})
                      .w_zero_point(1));
  topic.tolerated(base("w-zero-point-per-channel-with-scalar-scale", "the scalar holds for every channel, or an error")
                      .w_scale(1.0F)
                      .w_zero_point({1, 2}));
  const auto one_channel = [&base](const char* id) {
    return base(id, "M=1: shape [1] beside a scalar: the same value either way, or an error")
        .w(make::int8({1, 1, 1}, {4}));
  };
  topic.tolerated(one_channel("w-scale-of-shape-1-with-scalar-zero-point").w_scale(std::vector<float>{2.0F}));
  topic.tolerated(one_channel("w-zero-point-of-shape-1-with-scalar-scale").w_zero_point(std::vector<std::int64_t>{1}));
}

void write_omitted(Topic& topic) {
  topic.known(vector<ConvIntegerBuilder>("x-zero-point-empty-beside-w-zero-point",
                                         "input 2 is the empty string, input 3 is there: x's zero point is 0", {"C15"},
                                         {"omitted"})
                  .x(make::uint8({1, 1, 2}, {13, 15}))
                  .w(make::int8({1, 1, 1}, {4}))
                  .w_zero_point(1),
              {1, 1, 2}, {39, 45});
  topic.known(vector<ConvIntegerBuilder>("x-zero-point-empty-beside-per-channel-w-zero-point",
                                         "input 2 is the empty string, input 3 has one value per channel",
                                         {"C15", "C13"}, {"omitted", "per-channel"})
                  .x(make::int8({1, 1, 2}, {-13, 15}))
                  .w(make::int8({2, 1, 1}, {4, 4}))
                  .w_zero_point({1, 5}),
              {1, 2, 2}, {-39, 45, 13, -15});
  topic.known(
      vector<ConvIntegerBuilder>("w-zero-point-omitted", "three inputs: w's zero point is 0", {"C15"}, {"omitted"})
          .x(make::uint8({1, 1, 2}, {13, 15}))
          .x_zero_point(10)
          .w(make::int8({1, 1, 1}, {4})),
      {1, 1, 2}, {12, 20});
  topic.known(vector<ConvIntegerBuilder>("both-zero-points-omitted", "two inputs alone: both zero points are 0",
                                         {"C15"}, {"omitted"})
                  .x(make::uint8({1, 1, 2}, {13, 15}))
                  .w(make::int8({1, 1, 1}, {4})),
              {1, 1, 2}, {52, 60});
}

}  // namespace

void write_zero_points(Topics& topics) {
  write_both(topics, "zero_points", []<typename Builder>(Topic& topic) { write_zero_point_vectors<Builder>(topic); });
  write_omitted(topics.back());
  write_shapes_of_scales(topics[topics.size() - 2]);
  write_mixed_granularity(topics[topics.size() - 2]);
}

}  // namespace qconform::author
