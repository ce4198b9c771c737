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
                          {"C13"}, {"per-channel"})
              .x(make::uint8({1, 1, 1, 3}, {1, 2, 3}))
              .w(make::int8({3, 1, 1, 3}, {3, 3, 3, 3, 3, 3, 3, 3, 3})),
          {1, 2, 3}),
      {1, 3, 1, 1}, {12, 6, 0});
  topic.known(per_channel(vector<Builder>(
                              "w-zero-point-of-groups",
                              "two groups of two channels: the zero point's index is the channel, not its place in the "
                              "group",
                              {"C13"}, {"per-channel", "group"})
                              .x(make::uint8({1, 2, 1, 1}, {10, 20}))
                              .w(make::int8({4, 1, 1, 1}, {5, 5, 5, 5}))
                              .group(2),
                          {0, 1, 2, 3}),
              {1, 4, 1, 1}, {50, 40, 60, 40});
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
void write(Topic& topic) {
  write_per_channel<Builder>(topic);
  write_types<Builder>(topic);
  write_shapes<Builder>(topic);
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
}

void write_omitted(Topic& topic) {
  topic.known(vector<ConvIntegerBuilder>("x-zero-point-empty-beside-w-zero-point",
                                         "input 2 is the empty string, input 3 is there: x's zero point is 0", {"C15"},
                                         {"omitted"})
                  .x(make::uint8({1, 1, 2}, {13, 15}))
                  .w(make::int8({1, 1, 1}, {4}))
                  .w_zero_point(1),
              {1, 1, 2}, {39, 45});
  topic.known(vector<ConvIntegerBuilder>("both-zero-points-omitted", "two inputs alone: both zero points are 0",
                                         {"C15"}, {"omitted"})
                  .x(make::uint8({1, 1, 2}, {13, 15}))
                  .w(make::int8({1, 1, 1}, {4})),
              {1, 1, 2}, {52, 60});
}

}  // namespace

void write_zero_points(Topics& topics) {
  write_both(topics, "zero_points", []<typename Builder>(Topic& topic) { write<Builder>(topic); });
  write_omitted(topics.back());
  write_mixed_granularity(topics[topics.size() - 2]);
}

}  // namespace qconform::author
