// Out of contract by types, shapes and absence of inputs: a clear error is required.
#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

// A right convolution with two output channels.
template <typename Builder>
Builder right(std::string id, std::string note, std::string rule) {
  return vector<Builder>(std::move(id), std::move(note), {std::move(rule)}, {"refusal"})
      .x(make::uint8({1, 1, 2}, {13, 15}))
      .w(make::int8({2, 1, 1}, {4, 6}));
}

// Input positions.
struct QLinear {
  static constexpr std::size_t x_scale = 1, x_zero_point = 2, w = 3, w_scale = 4, w_zero_point = 5, y_scale = 6,
                               y_zero_point = 7, bias = 8;
};
struct Integer {
  static constexpr std::size_t w = 1, x_zero_point = 2, w_zero_point = 3;
};

template <typename Builder, typename Inputs>
void write_zero_points_of(Topic& topic) {
  const auto start = right<Builder>;
  topic.refused(start("x-zero-point-of-two", "x's parameters are scalars", "C11")
                    .input(Inputs::x_zero_point, make::uint8({2}, {1, 2})));
  topic.refused(start("x-zero-point-of-rank-two", "one value, but of shape [1, 1]", "C11")
                    .input(Inputs::x_zero_point, make::uint8({1, 1}, {1})));
  topic.refused(start("w-zero-point-of-three", "three values for two output channels", "C11")
                    .input(Inputs::w_zero_point, make::int8({3}, {1, 2, 3})));
  topic.refused(start("w-zero-point-of-rank-two", "two values, but of shape [2, 1]", "C11")
                    .input(Inputs::w_zero_point, make::int8({2, 1}, {1, 2})));
  topic.refused(
      start("w-zero-point-empty-list", "no value at all", "C11").input(Inputs::w_zero_point, make::int8({0}, {})));
  topic.refused(
      start("x-zero-point-empty-list", "no value at all", "C11").input(Inputs::x_zero_point, make::uint8({0}, {})));
  topic.refused(start("x-omitted", "the empty string is no tensor", "C15").input(0, std::nullopt));
  topic.refused(start("w-omitted", "the empty string is no tensor", "C15").input(Inputs::w, std::nullopt));
  topic.refused(start("x-zero-point-of-another-type", "int8 zero point for uint8 x", "C16")
                    .input(Inputs::x_zero_point, make::integer(ElementType::int8, 1)));
  topic.refused(start("x-zero-point-of-a-wider-type", "int32 zero point for uint8 x", "C16")
                    .input(Inputs::x_zero_point, make::integer(ElementType::int32, 1)));
  topic.refused(start("w-zero-point-of-another-type", "uint8 zero point for int8 w", "C16")
                    .input(Inputs::w_zero_point, make::integer(ElementType::uint8, 1)));
}

void write_qlinear(Topic& topic) {
  write_zero_points_of<QLinearConvBuilder, QLinear>(topic);
  const auto start = right<QLinearConvBuilder>;
  topic.refused(start("x-scale-of-two", "x's parameters are scalars", "C11")
                    .input(QLinear::x_scale, make::float32({2}, {1.0F, 2.0F})));
  topic.refused(start("y-scale-of-two", "y's parameters are scalars, for two output channels too", "C11")
                    .input(QLinear::y_scale, make::float32({2}, {1.0F, 2.0F})));
  topic.refused(start("y-zero-point-of-two", "y's parameters are scalars, for two output channels too", "C11")
                    .input(QLinear::y_zero_point, make::int8({2}, {1, 2})));
  for (const auto& [name, position] : {std::pair{"x-scale", QLinear::x_scale}, std::pair{"y-scale", QLinear::y_scale},
                                       std::pair{"w-scale", QLinear::w_scale}}) {
    const std::string id = name;
    topic.refused(start(id + "-of-rank-two", "one value, but of shape [1, 1]", "C11")
                      .input(position, make::float32({1, 1}, {1.0F})));
    topic.refused(start(id + "-empty-list", "no value at all", "C11").input(position, make::float32({0}, {})));
    topic.refused(start(id + "-omitted", "the empty string is no scale", "C15").input(position, std::nullopt));
    topic.refused(start(id + "-integer", "scales are float", "signature").input(position, make::int32({}, {1})));
  }
  topic.refused(start("w-scale-of-shape-2-1", "two values, but of shape [2, 1]", "C11")
                    .input(QLinear::w_scale, make::float32({2, 1}, {1.0F, 2.0F})));
  topic.refused(start("y-zero-point-of-rank-two", "one value, but of shape [1, 1]", "C11")
                    .input(QLinear::y_zero_point, make::int8({1, 1}, {1})));
  topic.refused(
      start("y-zero-point-empty-list", "no value at all", "C11").input(QLinear::y_zero_point, make::int8({0}, {})));
  topic.refused(start("y-zero-point-int32", "y is int8 or uint8, as its zero point says", "C14")
                    .input(QLinear::y_zero_point, make::int32({}, {0})));
  topic.refused(start("bias-empty-list", "no value at all", "C16").input(QLinear::bias, make::int32({0}, {})));
  topic.refused(start("w-scale-of-three", "three values for two output channels", "C11")
                    .input(QLinear::w_scale, make::float32({3}, {1.0F, 2.0F, 4.0F})));
  topic.refused(start("x-zero-point-omitted", "QLinearConv requires it: the empty string is no zero point", "C15")
                    .input(QLinear::x_zero_point, std::nullopt));
  topic.refused(start("w-zero-point-omitted", "QLinearConv requires it: the empty string is no zero point", "C15")
                    .input(QLinear::w_zero_point, std::nullopt));
  topic.refused(start("y-zero-point-omitted", "QLinearConv requires it: nothing else tells y's type", "C15")
                    .input(QLinear::y_zero_point, std::nullopt));
  topic.refused(start("y-zero-point-omitted-beside-bias", "the empty string before B", "C15")
                    .input(QLinear::y_zero_point, std::nullopt)
                    .bias({1, 2}));
  topic.refused(
      start("bias-of-one", "one value for two output channels", "C16").input(QLinear::bias, make::int32({1}, {5})));
  topic.refused(start("bias-scalar", "a scalar for two output channels", "C16")
                    .input(QLinear::bias, make::integer(ElementType::int32, 5)));
  topic.refused(start("bias-of-rank-two", "two values, but of shape [1, 2]", "C16")
                    .input(QLinear::bias, make::int32({1, 2}, {5, 6})));
  topic.refused(start("bias-int8", "B is int32", "C16").input(QLinear::bias, make::int8({2}, {5, 6})));
  topic.refused(start("bias-float", "B is int32", "C16").input(QLinear::bias, make::float32({2}, {5.0F, 6.0F})));
}

void write_integer(Topic& topic) {
  write_zero_points_of<ConvIntegerBuilder, Integer>(topic);
}

}  // namespace

void write_input_refusals(Topics& topics) {
  write_qlinear(topics.emplace_back("qlinear_conv/input_refusals.json"));
  write_integer(topics.emplace_back("conv_integer/input_refusals.json"));
}

}  // namespace qconform::author
