#include "reference/graph/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace qconform::reference::graph {
namespace {

using Numbers = std::vector<double>;

// A program of one step on these operands, the first ones stated.
Program one_step(decltype(Step::what) what, const std::vector<Value>& operands, Value result) {
  Program program;
  Step step{.what = std::move(what), .operands = {}, .result = operands.size()};
  for (std::size_t i = 0; i < operands.size(); ++i) step.operands.push_back(i);
  program.values = operands;
  program.values.push_back(std::move(result));
  program.steps.push_back(std::move(step));
  program.outputs = {operands.size()};
  return program;
}

Numbers run(const Program& program, const InterpreterArithmetic& arithmetic = {}) {
  return interpret(program, arithmetic)[program.outputs[0]];
}

Value floats(Shape shape, Numbers numbers = {}) {
  return {ElementType::float32, std::move(shape), std::move(numbers)};
}

Numbers apply(Function function, const Numbers& x, double alpha = 0, double beta = 0) {
  const Shape shape{static_cast<std::int64_t>(x.size())};
  return run(one_step(Elementwise{.function = function, .index = {{}}, .alpha = alpha, .beta = beta},
                      {floats(shape, x)}, floats(shape)));
}

Numbers apply2(Function function, const Numbers& a, const Numbers& b) {
  const Shape shape{static_cast<std::int64_t>(a.size())};
  return run(one_step(Elementwise{.function = function}, {floats(shape, a), floats(shape, b)}, floats(shape)));
}

SpatialAxis axis(std::int64_t input, std::int64_t kernel, std::int64_t pad, std::int64_t stride, std::int64_t output) {
  return {.input = input,
          .kernel = kernel,
          .stride = stride,
          .dilation = 1,
          .pad_begin = pad,
          .pad_end = pad,
          .output = output};
}

TEST(Interpreter, QuantizesAndDequantizes) {
  QuantizeLinear q{
      .layout = {.inner = 3}, .y_type = ElementType::uint4, .version = 21, .y_scale = {0.5}, .y_zero_point = {3}};
  EXPECT_EQ(run(one_step(Quantize{q}, {floats({3}, {1.25, -9, 100})}, {ElementType::uint4, {3}})), (Numbers{5, 0, 15}));
  DequantizeLinear dq{
      .layout = {.inner = 3}, .x_type = ElementType::int4, .version = 21, .x_scale = {0.25}, .x_zero_point = {-1}};
  EXPECT_EQ(run(one_step(Dequantize{dq}, {{ElementType::int4, {3}, {-8, 7, -1}}}, floats({3}))),
            (Numbers{-1.75, 2, 0}));
}

TEST(Interpreter, Convolves) {
  const ConvolutionGeometry geometry{
      .batch = 1, .input_channels = 1, .output_channels = 2, .group = 1, .axes = {axis(3, 2, 1, 1, 4)}};
  WeightedSum sum{.taps = ConvolutionTaps{geometry}, .c_index = {0, 0, 0, 0, 1, 1, 1, 1}};
  const auto program =
      one_step(sum, {floats({1, 1, 3}, {1, 2, 3}), floats({2, 1, 2}, {1, 10, -1, 0}), floats({2}, {0.5, -0.5})},
               floats({1, 2, 4}));
  EXPECT_EQ(run(program), (Numbers{10.5, 21.5, 32.5, 3.5, -0.5, -1.5, -2.5, -3.5}));
}

TEST(Interpreter, ConvolvesTransposed) {
  const ConvolutionGeometry geometry{
      .batch = 1, .input_channels = 1, .output_channels = 1, .group = 1, .axes = {axis(2, 3, 0, 2, 5)}};
  const auto program = one_step(WeightedSum{.taps = TransposedTaps{geometry}},
                                {floats({1, 1, 2}, {1, 10}), floats({1, 1, 3}, {1, 2, 3})}, floats({1, 1, 5}));
  EXPECT_EQ(run(program), (Numbers{1, 2, 13, 20, 30}));
}

TEST(Interpreter, MultipliesMatrices) {
  WeightedSum sum{.taps = MatrixTaps{.m = 2, .n = 2, .k = 2, .a_row = 2, .b_inner = 2},
                  .c_index = {0, 1, 0, 1},
                  .alpha = 0.5,
                  .beta = 2};
  const auto program =
      one_step(sum, {floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {5, 6, 7, 8}), floats({2}, {1, -1})}, floats({2, 2}));
  EXPECT_EQ(run(program), (Numbers{11.5, 9, 23.5, 23}));
}

TEST(Interpreter, Pools) {
  const std::vector<SpatialAxis> axes{axis(3, 2, 1, 1, 4)};
  const Value x = floats({1, 1, 3}, {1, 4, -6});
  EXPECT_EQ(run(one_step(WeightedSum{.taps = WindowTaps{axes}, .has_factor = false, .divisor = {1, 2, 2, 1}}, {x},
                         floats({1, 1, 4}))),
            (Numbers{1, 2.5, -1, -6}));
  EXPECT_EQ(run(one_step(Extreme{.taps = WindowTaps{axes}}, {x}, floats({1, 1, 4}))), (Numbers{1, 4, 4, -6}));
  EXPECT_EQ(run(one_step(Extreme{.taps = ListedTaps{{0, 3}, {0, 1, 2}}, .smallest = true}, {x}, floats({1}))),
            Numbers{-6});
}

TEST(Interpreter, Moves) {
  const Value a = floats({2}, {1, 2});
  const Value b = floats({1}, {3});
  EXPECT_EQ(run(one_step(Move{{0, 1, -1, 0}, {1, 0, 0, 0}}, {a, b}, floats({4}))), (Numbers{2, 3, 0, 1}));
  EXPECT_EQ(run(one_step(Move{}, {a}, floats({1, 2}))), (Numbers{1, 2}));
  EXPECT_EQ(run(one_step(Move{}, {a}, floats({0}))), Numbers{});
}

TEST(Interpreter, ComputesElements) {
  EXPECT_EQ(apply2(Function::add, {0x1p24}, {1}), Numbers{0x1p24});
  EXPECT_EQ(apply2(Function::sub, {1}, {3}), Numbers{-2});
  EXPECT_EQ(apply2(Function::mul, {3}, {-0.5}), Numbers{-1.5});
  EXPECT_EQ(apply2(Function::div, {1}, {3}), Numbers{1.0F / 3.0F});
  EXPECT_EQ(apply2(Function::max, {1, 5}, {3, 2}), (Numbers{3, 5}));
  EXPECT_EQ(apply2(Function::min, {1, 5}, {3, 2}), (Numbers{1, 2}));
  EXPECT_EQ(apply(Function::neg, {2}), Numbers{-2});
  EXPECT_EQ(apply(Function::abs, {-2}), Numbers{2});
  EXPECT_EQ(apply(Function::relu, {-2, 2}), (Numbers{0, 2}));
  EXPECT_EQ(apply(Function::leaky_relu, {-2, 2}, 0.5), (Numbers{-1, 2}));
  EXPECT_EQ(apply(Function::hard_sigmoid, {-9, 1, 9}, 0.25, 0.5), (Numbers{0, 0.75, 1}));
  EXPECT_EQ(apply(Function::clip, {-9, 1, 9}, -2, 3), (Numbers{-2, 1, 3}));
  EXPECT_EQ(apply(Function::clip, {-9, 9}, 3, -2), (Numbers{-2, -2}));
  EXPECT_EQ(apply(Function::sigmoid, {0, 100}), (Numbers{0.5, 1}));
  EXPECT_EQ(apply(Function::tanh, {0, 1}), (Numbers{0, static_cast<float>(std::tanh(1.0))}));
  EXPECT_EQ(apply(Function::erf, {1}), Numbers{static_cast<float>(std::erf(1.0))});
  EXPECT_NEAR(apply(Function::gelu, {1})[0], 0.841344746, 1e-7);
  EXPECT_NEAR(apply(Function::gelu_tanh, {1})[0], 0.841191990, 1e-7);
}

TEST(Interpreter, CastsAndChooses) {
  EXPECT_EQ(
      run(one_step(Elementwise{.function = Function::cast}, {floats({2}, {2049, 1e9})}, {ElementType::float16, {2}})),
      (Numbers{2048, std::numeric_limits<double>::infinity()}));
  const Value condition{ElementType::undefined, {2}, {1, 0}};
  const auto program = one_step(Elementwise{.function = Function::where, .index = {{}, {0, 0}, {}}},
                                {condition, floats({1}, {7}), floats({2}, {1, 2})}, floats({2}));
  EXPECT_EQ(run(program), (Numbers{7, 2}));
}

TEST(Interpreter, FindsTheLargestOfARow) {
  const Value x = floats({2, 3}, {1, 5, 5, 7, 0, 0});
  const auto arg = [&](const ArgMax& what) { return run(one_step(what, {x}, {ElementType::undefined, {2, 1}})); };
  EXPECT_EQ(arg({.length = 3}), (Numbers{1, 0}));
  EXPECT_EQ(arg({.length = 3, .select_last_index = true}), (Numbers{2, 0}));
  EXPECT_EQ(arg({.length = 3, .smallest = true}), (Numbers{0, 1}));
  EXPECT_EQ(run(one_step(ArgMax{.length = 2, .inner = 3}, {x}, {ElementType::undefined, {1, 3}})), (Numbers{1, 0, 0}));
}

TEST(Interpreter, MakesProbabilitiesOfRows) {
  const auto y = run(one_step(Softmax{.length = 2, .inner = 2}, {floats({2, 2}, {0, 1, 0, 1000})}, floats({2, 2})));
  EXPECT_EQ(y, (Numbers{0.5, 0, 0.5, 1}));
}

// 2^24, then ones: each is lost where it is added to the large sum alone.
Program long_sum() {
  Numbers x(17, 1);
  x[0] = 0x1p24;
  ListedTaps taps{{0, 17}, {}};
  for (std::int64_t i = 0; i < 17; ++i) taps.index.push_back(i);
  return one_step(WeightedSum{.taps = taps, .has_factor = false}, {floats({17}, x)}, floats({1}));
}

TEST(Interpreter, AddsInTheOrderAskedFor) {
  const Program program = long_sum();
  EXPECT_EQ(run(program, {.order = SumOrder::forward}), Numbers{0x1p24});
  EXPECT_EQ(run(program, {.order = SumOrder::backward}), Numbers{0x1p24 + 16});
  EXPECT_EQ(run(program, {.order = SumOrder::pairwise}), Numbers{0x1p24 + 16});
  EXPECT_EQ(run(program, {.order = SumOrder::blocked}), Numbers{0x1p24 + 14});
  EXPECT_EQ(run(program, {.double_sums = true}), Numbers{0x1p24 + 16});
}

TEST(Interpreter, FusesAndFlushesWhereAskedTo) {
  const double odd = 1 + 0x1p-23;
  const auto square = one_step(WeightedSum{.taps = MatrixTaps{.k = 2, .b_inner = 1}},
                               {floats({1, 2}, {-1, odd}), floats({2, 1}, {1 + 0x1p-22, odd})}, floats({1, 1}));
  EXPECT_EQ(run(square), Numbers{0});
  EXPECT_EQ(run(square, {.fma = true}), Numbers{0x1p-46});
  const auto small = one_step(Elementwise{.function = Function::mul},
                              {floats({2}, {0x1p-100, 0x1p-130}), floats({2}, {-0x1p-40, 0x1p20})}, floats({2}));
  EXPECT_EQ(run(small), (Numbers{-0x1p-140, 0x1p-110}));
  EXPECT_EQ(run(small, {.flush_subnormals = true}), (Numbers{-0.0, 0}));
}

TEST(Interpreter, RoundsFloat16AtTheEndOfAStep) {
  const Value x{ElementType::float16, {3}, {2048, 1, 1}};
  const auto sum = one_step(WeightedSum{.taps = ListedTaps{{0, 3}, {0, 1, 2}}, .has_factor = false}, {x},
                            {ElementType::float16, {1}});
  EXPECT_EQ(run(sum), Numbers{2050});
}

// Integers small enough that every order is exact, against loops over [batch, channel, ...] indices.
TEST(Interpreter, EqualsPlainLoopsOnIntegers) {
  std::mt19937 random(1);
  const auto draw = [&](std::int64_t count) {
    Numbers numbers(static_cast<std::size_t>(count));
    for (double& number : numbers) number = static_cast<double>(random() % 33) - 16;
    return numbers;
  };
  for (int round = 0; round < 100; ++round) {
    const auto positive = [&](int lo, int hi) {
      return lo + static_cast<std::int64_t>(random() % static_cast<unsigned>(hi - lo + 1));
    };
    const std::int64_t group = positive(1, 2);
    const std::int64_t c = positive(1, 2);
    const std::int64_t m = positive(1, 2);
    const std::int64_t in = positive(3, 7);
    const std::int64_t kernel = positive(1, 3);
    const std::int64_t stride = positive(1, 3);
    const std::int64_t pad = positive(0, 2);
    const std::int64_t out = (in + 2 * pad - kernel) / stride + 1;
    const ConvolutionGeometry geometry{.batch = 2,
                                       .input_channels = group * c,
                                       .output_channels = group * m,
                                       .group = group,
                                       .axes = {axis(in, kernel, pad, stride, out)}};
    const Numbers x = draw(2 * group * c * in);
    const Numbers w = draw(group * m * c * kernel);
    Numbers expected;
    for (std::int64_t n = 0; n < 2; ++n) {
      for (std::int64_t o = 0; o < group * m; ++o) {
        for (std::int64_t p = 0; p < out; ++p) {
          double sum = 0;
          for (std::int64_t k = 0; k < c * kernel; ++k) {
            const std::int64_t at = p * stride - pad + k % kernel;
            if (at < 0 || at >= in) continue;
            const std::int64_t channel = o / m * c + k / kernel;
            sum += x[static_cast<std::size_t>((n * group * c + channel) * in + at)] *
                   w[static_cast<std::size_t>(o * c * kernel + k)];
          }
          expected.push_back(sum);
        }
      }
    }
    const auto program =
        one_step(WeightedSum{.taps = ConvolutionTaps{geometry}},
                 {floats({2, group * c, in}, x), floats({group * m, c, kernel}, w)}, floats({2, group * m, out}));
    for (const SumOrder order : {SumOrder::forward, SumOrder::backward, SumOrder::pairwise, SumOrder::blocked}) {
      EXPECT_EQ(run(program, {.order = order, .fma = round % 2 == 0}), expected);
    }
  }
}

TEST(Interpreter, PacksElements) {
  EXPECT_EQ(to_bytes(ElementType::int4, {-1, 7, 3}), (std::vector<std::byte>{std::byte{0x7F}, std::byte{0x03}}));
  for (const ElementType type : {ElementType::int2, ElementType::uint8, ElementType::int16, ElementType::int32,
                                 ElementType::float16, ElementType::bfloat16, ElementType::float32,
                                 ElementType::float64, ElementType::float8e4m3fn, ElementType::float4e2m1}) {
    const Numbers numbers{1, 0, 1};
    EXPECT_EQ(from_bytes(type, to_bytes(type, numbers), 3), numbers);
  }
}

TEST(Interpreter, PacksWhatNoIntegerHoldsAsZero) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double value : {std::nan(""), infinite, -infinite, 0x1p63, -0x1p64}) {
    EXPECT_EQ(from_bytes(ElementType::int32, to_bytes(ElementType::int32, {value}), 1), Numbers{0}) << value;
  }
  EXPECT_EQ(from_bytes(ElementType::int32, to_bytes(ElementType::int32, {-0x1p31}), 1), Numbers{-0x1p31});
}

}  // namespace
}  // namespace qconform::reference::graph
