// Sets against ball arithmetic: no exact value lies outside, radii are those of the proofs, and no order of a small sum
// leaves them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <set>

#include "harness/tests/test_scale.h"
#include "reference/graph/interpreter.h"
#include "reference/numerics/admissible.h"
#include "reference/numerics/integers.h"
#include "reference/oracle/graph_check.h"

namespace qconform::reference::graph {
namespace {

using oracle::Ball;
using Random = std::mt19937_64;

int draw(Random& random, int lo, int hi) {
  return lo + static_cast<int>(random() % static_cast<std::uint64_t>(hi - lo + 1));
}
double draw_scale(Random& random, bool is_power) {
  const double mantissa = is_power ? 1 : 1 + std::ldexp(static_cast<double>(random() >> 41), -23);
  return std::ldexp(mantissa, draw(random, -8, 0));
}
std::vector<double> draw_list(Random& random, std::int64_t count, int lo, int hi) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = draw(random, lo, hi);
  return values;
}

struct Sizes {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

QuantizationLayout layout(std::int64_t elements) {
  return {.outer = 1, .channels = 1, .inner = elements};
}
Dequantize dequantize(ElementType type, std::int64_t elements, double scale, double zero_point,
                      ElementType y_type = ElementType::float32) {
  return {{.layout = layout(elements),
           .x_type = type,
           .scale_type = y_type,
           .y_type = y_type,
           .x_scale = {scale},
           .x_zero_point = {zero_point}}};
}

// Q(alpha * DQ(a) . DQ(b) + beta * DQ(c)). Values 3, 4 and 5 are the operands of the sum, which is 6; 7 is y.
Program gemm(Random& random, Sizes s, bool is_exact, bool has_factors) {
  const double sa = draw_scale(random, is_exact);
  const double sb = draw_scale(random, is_exact);
  const double sc = static_cast<double>(static_cast<float>(sa) * static_cast<float>(sb));
  const double alpha = has_factors ? draw_scale(random, is_exact) : 1;
  const double beta = has_factors ? -draw_scale(random, is_exact) : 1;
  const double sy = std::ldexp(draw_scale(random, is_exact), 4);
  Program p;
  p.values = {{ElementType::uint8, {s.m, s.k}, draw_list(random, s.m * s.k, 0, 255)},
              {ElementType::int8, {s.k, s.n}, draw_list(random, s.k * s.n, -128, 127)},
              {ElementType::int32, {s.n}, draw_list(random, s.n, -4000, 4000)},
              {ElementType::float32, {s.m, s.k}},
              {ElementType::float32, {s.k, s.n}},
              {ElementType::float32, {s.n}},
              {ElementType::float32, {s.m, s.n}},
              {ElementType::uint8, {s.m, s.n}}};
  WeightedSum sum{
      .taps = MatrixTaps{.m = s.m, .n = s.n, .k = s.k, .a_row = s.k, .b_inner = s.n}, .alpha = alpha, .beta = beta};
  for (std::int64_t i = 0; i < s.m * s.n; ++i) sum.c_index.push_back(i % s.n);
  const Quantize quantize{{.layout = layout(s.m * s.n),
                           .y_type = ElementType::uint8,
                           .y_scale = {sy},
                           .y_zero_point = {draw(random, 0, 255)}}};
  p.steps = {{dequantize(ElementType::uint8, s.m * s.k, sa, draw(random, 0, 255)), {0}, 3},
             {dequantize(ElementType::int8, s.k * s.n, sb, draw(random, -5, 5)), {1}, 4},
             {dequantize(ElementType::int32, s.n, sc, 0), {2}, 5},
             {std::move(sum), {3, 4, 5}, 6},
             {quantize, {6}, 7}};
  p.outputs = {7};
  p.may_be_exact = is_exact;
  return p;
}

void check_sums(int programs, Sizes most, oracle::SetCheck& check) {
  Random random(11);
  for (int i = 0; i < programs; ++i) {
    const Sizes sizes{draw(random, 1, static_cast<int>(most.m)), draw(random, 1, static_cast<int>(most.n)),
                      draw(random, 0, static_cast<int>(most.k))};
    check_sets(gemm(random, sizes, draw(random, 0, 2) == 0, draw(random, 0, 1) == 0), check);
  }
}

TEST(GraphBalls, ExactSumsLieInEverySet) {
  oracle::SetCheck check;
  check_sums(testing::scaled(400), {4, 4, 24}, check);
  EXPECT_EQ(check.outside, 0) << check.first_outside;
  EXPECT_EQ(check.narrower, 0) << check.first_outside;
  EXPECT_EQ(check.undecided, 0);
}

// An int32 beyond 2^24 is rounded to float32, and its product with the scale again (rule D2).
TEST(GraphBalls, HoldDifferencesThatAreRounded) {
  Random random(23);
  oracle::SetCheck check;
  for (int n = 0; n < testing::scaled(50); ++n) {
    Program p;
    p.values = {{ElementType::int32, {64}, std::vector<double>(64)}, {ElementType::float32, {64}}};
    for (double& x : p.values[0].stated) x = static_cast<std::int32_t>(static_cast<std::uint32_t>(random()));
    p.steps = {{dequantize(ElementType::int32, 64, draw_scale(random, false), 0), {0}, 1}};
    p.outputs = {1};
    check_sets(p, check);
  }
  EXPECT_EQ(check.outside, 0) << check.first_outside;
  EXPECT_EQ(check.narrower, 0) << check.first_outside;
}

TEST(GraphBallsSlow, AMillionSums) {
  oracle::SetCheck check;
  check_sums(16000, {10, 10, 40}, check);
  EXPECT_EQ(check.outside, 0) << check.first_outside;
  EXPECT_EQ(check.undecided, 0);
  EXPECT_GT(check.elements, 1'000'000);
}

// lo and hi are c -+ m/(2^24-m) * T, and hardly more.
TEST(GraphBalls, RadiiAreThoseOfTheProof) {
  Random random(12);
  for (int n = 0; n < testing::scaled(1500); ++n) {
    const bool has_factors = draw(random, 0, 1) == 0;
    const Sizes sizes{1, draw(random, 1, 3), draw(random, 1, 60)};
    const Program program = gemm(random, sizes, false, has_factors);
    const auto exact = oracle::exact_values(program);
    const auto bounds = bounds_of(program, Tier::any_association)[6];
    const auto& sum = std::get<WeightedSum>(program.steps[3].what);
    const double m = static_cast<double>(sizes.k) + 5 + (has_factors ? (sum.alpha != 1) + (sum.beta != 1) : 0);
    for (std::size_t i = 0; i < exact[6].size(); ++i) {
      const Ball magnitude = oracle::magnitude_of(sum, {&exact[3], &exact[4], &exact[5]}, i);
      const Ball radius = Ball(m) / Ball(0x1p24 - m) * magnitude;
      const Ball wider = radius * Ball(1 + 0x1p-20) + Ball(0x1p-100);
      const Ball& c = *exact[6][i];
      EXPECT_FALSE(Ball(bounds.lo[i]) > c - radius || c + radius > Ball(bounds.hi[i])) << n << ": narrower";
      EXPECT_TRUE(Ball(bounds.lo[i]) > c - wider && c + wider > Ball(bounds.hi[i])) << n << ": wider";
    }
  }
}

// A term of a squared sum passes through the roundings of both: 2 (K + 3), its product, and two of the quotient.
TEST(GraphBalls, CountTheRoundingsOfBothFactors) {
  Random random(19);
  for (int n = 0; n < 100; ++n) {
    const Sizes sizes{1, 1, draw(random, 2, 20)};
    Program program = gemm(random, sizes, false, false);
    program.values[7] = {ElementType::float32, {1, 1}, {}};
    program.steps[4] = {Elementwise{.function = Function::mul, .index = {}}, {6, 6}, 7};
    const auto exact = oracle::exact_values(program);
    const auto& sum = std::get<WeightedSum>(program.steps[3].what);
    const Ball magnitude = oracle::magnitude_of(sum, {&exact[3], &exact[4], &exact[5]}, 0);
    const double m = 2 * (static_cast<double>(sizes.k) + 3) + 3;
    const Ball radius = Ball(m) / Ball(0x1p24 - m) * magnitude * magnitude;
    const auto product = bounds_of(program, Tier::any_association)[7];
    EXPECT_FALSE(Ball(product.lo[0]) > *exact[7][0] - radius || *exact[7][0] + radius > Ball(product.hi[0])) << n;
  }
}

// fused-q31 adds to a unit without a bias the numbers that tier Q31 of QLinearConv has, and nothing else.
TEST(GraphBalls, FixedPointIsThatOfTheSingleOperator) {
  Random random(18);
  int wider = 0;
  for (int n = 0; n < testing::scaled(4000); ++n) {
    Program program = gemm(random, {1, 1, draw(random, 1, 20)}, n % 2 == 0, false);
    program.values[2].stated = {0};
    const auto parameters_of = [&](std::size_t step) { return std::get<Dequantize>(program.steps[step].what).node; };
    const auto a = parameters_of(0);
    const auto b = parameters_of(1);
    auto& y = std::get<Quantize>(program.steps[4].what).node;
    double sum = 0;
    for (std::size_t i = 0; i < program.values[0].stated.size(); ++i) {
      sum += (program.values[0].stated[i] - a.x_zero_point[0]) * (program.values[1].stated[i] - b.x_zero_point[0]);
    }
    // Beside a tie, where sets have two members.
    const double wanted = std::fabs(sum) * a.x_scale[0] * b.x_scale[0] / (draw(random, 0, 200) + 0.5);
    if (n % 4 > 1 && wanted > 0x1p-20) y.y_scale = {static_cast<double>(static_cast<float>(wanted))};
    const Requantization parameters{static_cast<float>(a.x_scale[0]),
                                    static_cast<float>(b.x_scale[0]),
                                    static_cast<float>(y.y_scale[0]),
                                    y.y_zero_point[0],
                                    {0, 255}};
    const AdmissibleSet single = fixed_point_set(static_cast<std::int64_t>(sum), parameters);
    const Bounds any = bounds_of(program, Tier::any_association)[7];
    const Bounds fused = bounds_of(program, Tier::fused_fixed_point)[7];
    EXPECT_EQ(fused.lo[0], std::min(any.lo[0], static_cast<double>(single.smallest()))) << n;
    EXPECT_EQ(fused.hi[0], std::max(any.hi[0], static_cast<double>(single.largest()))) << n;
    wider += fused.lo[0] < any.lo[0] || fused.hi[0] > any.hi[0] ? 1 : 0;
  }
  EXPECT_GT(wider, 50);
}

// Every float32 that some order of adding the terms of `subset` gives, with each product rounded or fused.
class EveryOrder {
 public:
  EveryOrder(std::vector<float> a, std::vector<float> b) : a_(std::move(a)), b_(std::move(b)) {}

  [[nodiscard]] std::set<float> sums() const { return of((1U << a_.size()) - 1); }

 private:
  [[nodiscard]] std::set<float> of(unsigned subset) const {
    std::set<float> result;
    if ((subset & (subset - 1)) == 0) {
      const auto i = static_cast<std::size_t>(std::countr_zero(subset));
      return {a_[i] * b_[i]};
    }
    for (unsigned part = (subset - 1) & subset; part != 0; part = (part - 1) & subset) {
      const std::set<float> left = of(part);
      for (const float other : of(subset & ~part)) {
        for (const float own : left) result.insert(own + other);
        if ((part & (part - 1)) != 0) continue;
        const auto i = static_cast<std::size_t>(std::countr_zero(part));
        result.insert(std::fma(a_[i], b_[i], other));
      }
    }
    return result;
  }

  std::vector<float> a_;
  std::vector<float> b_;
};

TEST(GraphBalls, HoldEveryOrderOfSmallSums) {
  Random random(13);
  std::int64_t results = 0;
  for (int n = 0; n < testing::scaled(1000); ++n) {
    const std::int64_t k = draw(random, 1, 4);
    const Program program = gemm(random, {1, 1, k}, false, false);
    const auto values = oracle::exact_values(program);
    std::vector<float> a;
    std::vector<float> b;
    for (std::size_t i = 0; i < static_cast<std::size_t>(k); ++i) {
      a.push_back(static_cast<float>(values[3][i]->nearest()));
      b.push_back(static_cast<float>(values[4][i]->nearest()));
    }
    a.push_back(static_cast<float>(values[5][0]->nearest()));
    b.push_back(1);
    const auto& q = std::get<Quantize>(program.steps[4].what).node;
    for (const Tier tier : {Tier::as_written, Tier::any_association}) {
      const auto bounds = bounds_of(program, tier);
      for (const float sum : EveryOrder(a, b).sums()) {
        ++results;
        const auto wide = static_cast<double>(sum);
        EXPECT_TRUE(bounds[6].rounded(0, ElementType::float32).contains({wide, wide}));
        const float quotient = sum / static_cast<float>(q.y_scale[0]);
        const double y = std::clamp(round_half_even(static_cast<double>(quotient)) + q.y_zero_point[0], 0.0, 255.0);
        EXPECT_TRUE(bounds[7].at(0).contains({y, y}));
      }
    }
  }
  EXPECT_GT(results, 1000);
}

// DQ(a) . DQ(b) in float16 or bfloat16.
Program narrow_product(Random& random, ElementType type, std::int64_t k) {
  const double sa = rounded_to_type(type, draw_scale(random, false) / 64);
  const double sb = rounded_to_type(type, draw_scale(random, false) / 64);
  Program p;
  p.values = {{ElementType::uint8, {1, k}, draw_list(random, k, 0, 255)},
              {ElementType::int8, {k, 1}, draw_list(random, k, -128, 127)},
              {type, {1, k}},
              {type, {k, 1}},
              {type, {1, 1}}};
  p.steps = {{dequantize(ElementType::uint8, k, sa, draw(random, 0, 255), type), {0}, 2},
             {dequantize(ElementType::int8, k, sb, draw(random, -5, 5), type), {1}, 3},
             {WeightedSum{.taps = MatrixTaps{.m = 1, .n = 1, .k = k, .a_row = k, .b_inner = 1}}, {2, 3}, 4}};
  p.outputs = {4};
  return p;
}

// Sums in float32, rounded once: the tier of it holds them in every order, and is narrower than the type's own unit.
TEST(GraphBalls, NarrowSumsInFloat32HaveATierOfTheirOwn) {
  Random random(17);
  oracle::SetCheck check;
  int tighter = 0;
  const int programs = testing::scaled(600);
  for (int n = 0; n < programs; ++n) {
    const ElementType type = n % 2 == 0 ? ElementType::float16 : ElementType::bfloat16;
    const Program program = narrow_product(random, type, draw(random, 1, 40));
    check_sets(program, check);
    const Bounds in_float32 = bounds_of(program, Tier::float32_sums)[4];
    const Bounds in_type = bounds_of(program, Tier::as_written)[4];
    tighter += in_float32.hi[0] - in_float32.lo[0] < in_type.hi[0] - in_type.lo[0] ? 1 : 0;
    for (const SumOrder order : {SumOrder::forward, SumOrder::backward, SumOrder::pairwise, SumOrder::blocked}) {
      const double sum = interpret(program, {.order = order, .fma = n % 3 == 0})[4][0];
      EXPECT_TRUE(in_float32.rounded(0, type).contains({sum, sum}))
          << n << ": " << sum << " outside " << in_float32.lo[0] << ".." << in_float32.hi[0];
    }
  }
  EXPECT_EQ(check.outside, 0) << check.first_outside;
  EXPECT_EQ(check.narrower, 0) << check.first_outside;
  EXPECT_GT(tighter * 2, programs);
}

constexpr Function kFunctions[] = {Function::sigmoid,      Function::tanh,      Function::erf,        Function::gelu,
                                   Function::hard_sigmoid, Function::gelu_tanh, Function::leaky_relu, Function::sqrt,
                                   Function::exp,          Function::log};

// One function of floats of many sizes. The real value, rounded, is a right answer too.
void check_function(Function function, std::int64_t count, std::uint64_t seed, oracle::SetCheck& check) {
  Random random(seed);
  Program p;
  p.values = {{ElementType::float32, {count}, {}}, {ElementType::float32, {count}, {}}};
  for (std::int64_t i = 0; i < count; ++i) {
    const double size = std::ldexp(draw_scale(random, false), draw(random, -12, 7));
    p.values[0].stated.push_back(draw(random, 0, 1) == 0 ? size : -size);
  }
  p.steps = {{Elementwise{.function = function, .index = {}, .alpha = 0.25, .beta = 0.375}, {0}, 1}};
  p.outputs = {1};
  check_sets(p, check);
}

TEST(GraphBalls, FunctionsLieInEverySet) {
  for (const Function function : kFunctions) {
    oracle::SetCheck check;
    check_function(function, testing::scaled(2000), 14, check);
    EXPECT_EQ(check.outside, 0) << static_cast<int>(function) << ": " << check.first_outside;
    // Numbers below 0 have no root and no logarithm.
    const bool is_partial = function == Function::sqrt || function == Function::log;
    EXPECT_TRUE(is_partial || check.undecided == 0) << static_cast<int>(function);
  }
}

// Returns `what` of rows of dequantized uint8, float32.
template <typename What>
Program of_rows(std::int64_t rows, std::int64_t length, const What& what, Random& random) {
  Program p;
  p.values = {{ElementType::uint8, {rows, length}, draw_list(random, rows * length, 0, 255)},
              {ElementType::float32, {rows, length}},
              {ElementType::float32, {rows, length}}};
  p.steps = {{dequantize(ElementType::uint8, rows * length, draw_scale(random, false), draw(random, 0, 255)), {0}, 1},
             {what, {1}, 2}};
  p.outputs = {2};
  return p;
}

// Rows of dequantized numbers with a mean of any size, which the variance may nearly vanish beside.
void check_normalizations(int programs, std::uint64_t seed, oracle::SetCheck& check) {
  Random random(seed);
  for (int n = 0; n < programs; ++n) {
    const std::int64_t length = draw(random, 1, 40);
    const std::int64_t rows = draw(random, 1, 3);
    check_sets(of_rows(rows, length, Normalize{.length = length, .epsilon = 1e-5, .centred = n % 3 != 0}, random),
               check);
  }
}

TEST(GraphBalls, NormalizationsLieInEverySet) {
  oracle::SetCheck check;
  check_normalizations(testing::scaled(200), 18, check);
  EXPECT_EQ(check.outside, 0) << check.first_outside;
}

TEST(GraphBallsSlow, AMillionOfNormalizations) {
  oracle::SetCheck check;
  check_normalizations(25'000, 19, check);
  EXPECT_EQ(check.outside, 0) << check.first_outside;
  EXPECT_GT(check.elements, 1'000'000);
}

TEST(GraphBallsSlow, AMillionOfEachFunction) {
  for (const Function function : kFunctions) {
    oracle::SetCheck check;
    for (std::uint64_t block = 0; block < 100; ++block) check_function(function, 10'000, 1000 + block, check);
    EXPECT_EQ(check.outside, 0) << static_cast<int>(function) << ": " << check.first_outside;
    EXPECT_EQ(check.elements, 1'000'000);
  }
}

void check_softmax(int rows, std::uint64_t seed, oracle::SetCheck& check) {
  Random random(seed);
  for (int row = 0; row < rows; ++row) {
    const std::int64_t length = draw(random, 1, 40);
    check_sets(of_rows(1, length, Softmax{.length = length, .inner = 1}, random), check);
  }
}

TEST(GraphBalls, SoftmaxLiesInEverySet) {
  oracle::SetCheck check;
  check_softmax(testing::scaled(100), 15, check);
  EXPECT_EQ(check.outside, 0) << check.first_outside;
}

TEST(GraphBallsSlow, AMillionOfSoftmax) {
  oracle::SetCheck check;
  check_softmax(25'000, 16, check);
  EXPECT_EQ(check.outside, 0) << check.first_outside;
  EXPECT_GT(check.elements, 1'000'000);
}

}  // namespace
}  // namespace qconform::reference::graph
