// No right rewriting of a quantized graph may leave its sets, and sets of exact values have one value.
#include "reference/graph/sets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "harness/tests/test_scale.h"
#include "reference/graph/evaluation.h"
#include "reference/numerics/integers.h"

namespace qconform::reference::graph {
namespace {

// y = Q(DQ(x) . DQ(w) + DQ(b)), a sum of K products.
struct ProductUnit {
  std::vector<int> x;
  std::vector<int> w;
  int bias = 0;
  int x_zero_point = 0;
  int w_zero_point = 0;
  int y_zero_point = 0;
  float sx = 1;
  float sw = 1;
  float sb = 1;
  float sy = 1;

  [[nodiscard]] std::size_t terms() const { return x.size(); }
  [[nodiscard]] float x_at(std::size_t i) const { return static_cast<float>(x[i] - x_zero_point) * sx; }
  [[nodiscard]] float w_at(std::size_t i) const { return static_cast<float>(w[i] - w_zero_point) * sw; }
  [[nodiscard]] float b() const { return static_cast<float>(bias) * sb; }
  [[nodiscard]] std::int64_t accumulator() const {
    std::int64_t sum = bias;
    for (std::size_t i = 0; i < terms(); ++i) sum += std::int64_t{x[i] - x_zero_point} * (w[i] - w_zero_point);
    return sum;
  }
  [[nodiscard]] long double exact() const {
    return static_cast<long double>(accumulator()) * static_cast<long double>(sx) * static_cast<long double>(sw) /
           static_cast<long double>(sy);
  }
  template <typename Float>
  [[nodiscard]] int quantized(Float quotient) const {
    const double rounded = static_cast<double>(round_half_even(quotient)) + y_zero_point;
    return static_cast<int>(std::clamp(rounded, 0.0, 255.0));
  }
};

QuantizationLayout whole(std::int64_t elements) {
  return {.outer = 1, .channels = 1, .inner = elements};
}

Dequantize dequantize(ElementType type, std::int64_t elements, float scale, int zero_point) {
  return {{.layout = whole(elements),
           .x_type = type,
           .x_scale = {static_cast<double>(scale)},
           .x_zero_point = {static_cast<double>(zero_point)}}};
}

template <typename Integer>
std::vector<double> doubles(const std::vector<Integer>& values) {
  return {values.begin(), values.end()};
}

Program program_of(const ProductUnit& unit, bool may_be_exact) {
  const auto k = static_cast<std::int64_t>(unit.terms());
  Program program;
  program.values = {{ElementType::uint8, {1, k}, doubles(unit.x)},
                    {ElementType::int8, {k, 1}, doubles(unit.w)},
                    {ElementType::int32, {1}, {static_cast<double>(unit.bias)}},
                    {ElementType::float32, {1, k}},
                    {ElementType::float32, {k, 1}},
                    {ElementType::float32, {1}},
                    {ElementType::float32, {1, 1}},
                    {ElementType::uint8, {1, 1}}};
  const WeightedSum sum{.taps = MatrixTaps{.m = 1, .n = 1, .k = k, .a_row = k, .b_inner = 1}, .c_index = {0}};
  const Quantize quantize{{.layout = whole(1),
                           .y_type = ElementType::uint8,
                           .y_scale = {static_cast<double>(unit.sy)},
                           .y_zero_point = {unit.y_zero_point}}};
  program.steps = {{dequantize(ElementType::uint8, k, unit.sx, unit.x_zero_point), {0}, 3},
                   {dequantize(ElementType::int8, k, unit.sw, unit.w_zero_point), {1}, 4},
                   {dequantize(ElementType::int32, 1, unit.sb, 0), {2}, 5},
                   {sum, {3, 4, 5}, 6},
                   {quantize, {6}, 7}};
  program.outputs = {7};
  program.may_be_exact = may_be_exact;
  return program;
}

Interval ends_of(const Program& program, Tier tier) {
  return bounds_of(program, tier).back().at(0);
}

// Right ways to compute a unit: none may leave the set.
struct Rewriting {
  const char* name;
  int (*compute)(const ProductUnit&);
  bool as_written;  // within the narrower set too
};

template <typename Float>
Float summed(const ProductUnit& u, bool backward, bool fused) {
  Float sum = 0;
  for (std::size_t i = 0; i < u.terms(); ++i) {
    const std::size_t at = backward ? u.terms() - 1 - i : i;
    const Float a = u.x_at(at);
    const Float b = u.w_at(at);
    sum = fused ? std::fma(a, b, sum) : sum + a * b;
  }
  return sum + static_cast<Float>(u.b());
}

float pairwise(const ProductUnit& u, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return u.x_at(begin) * u.w_at(begin);
  const std::size_t middle = begin + (end - begin) / 2;
  return pairwise(u, begin, middle) + pairwise(u, middle, end);
}

const Rewriting kRewritings[] = {
    {"forward", [](const ProductUnit& u) { return u.quantized(summed<float>(u, false, false) / u.sy); }, true},
    {"backward", [](const ProductUnit& u) { return u.quantized(summed<float>(u, true, false) / u.sy); }, true},
    {"fused multiply-add", [](const ProductUnit& u) { return u.quantized(summed<float>(u, false, true) / u.sy); },
     true},
    {"pairwise", [](const ProductUnit& u) { return u.quantized((pairwise(u, 0, u.terms()) + u.b()) / u.sy); }, true},
    {"bias first",
     [](const ProductUnit& u) {
       float sum = u.b();
       for (std::size_t i = 0; i < u.terms(); ++i) sum += u.x_at(i) * u.w_at(i);
       return u.quantized(sum / u.sy);
     },
     true},
    {"binary64",
     [](const ProductUnit& u) { return u.quantized(summed<double>(u, false, false) / static_cast<double>(u.sy)); },
     true},
    {"exact", [](const ProductUnit& u) { return u.quantized(u.exact()); }, true},
    {"reciprocal", [](const ProductUnit& u) { return u.quantized(summed<float>(u, false, false) * (1 / u.sy)); },
     false},
    {"pre-divided weights",
     [](const ProductUnit& u) {
       float sum = u.b() / u.sy;
       for (std::size_t i = 0; i < u.terms(); ++i) sum += u.x_at(i) * (u.w_at(i) / u.sy);
       return u.quantized(sum);
     },
     false},
    {"integer sum, one multiplier",
     [](const ProductUnit& u) { return u.quantized(static_cast<float>(u.accumulator()) * (u.sx * u.sw / u.sy)); },
     false},
    {"integer sum, scales one by one",
     [](const ProductUnit& u) { return u.quantized(static_cast<float>(u.accumulator()) * u.sx * u.sw / u.sy); }, false},
    {"integer sum, multiplier by reciprocal",
     [](const ProductUnit& u) {
       return u.quantized(static_cast<float>(u.accumulator()) * (u.sx * (u.sw * (1 / u.sy))));
     },
     false},
    {"scale of x folded into w",
     [](const ProductUnit& u) {
       float sum = u.b();
       for (std::size_t i = 0; i < u.terms(); ++i) {
         sum += static_cast<float>(u.x[i] - u.x_zero_point) * (u.w_at(i) * u.sx);
       }
       return u.quantized(sum / u.sy);
     },
     false},
};

using Random = std::mt19937_64;

int between(Random& random, int lo, int hi) {
  return lo + static_cast<int>(random() % static_cast<std::uint64_t>(hi - lo + 1));
}

float scale(Random& random, bool is_power) {
  const float mantissa = is_power ? 1.0F : 1 + static_cast<float>(random() >> 41) * 0x1p-23F;
  return std::ldexp(mantissa, between(random, -8, 0));
}

// y's scale puts the exact value beside a tie: there a rounding more or less shows.
ProductUnit draw(Random& random, bool is_exact) {
  ProductUnit unit;
  const int terms = between(random, 1, 40);
  for (int i = 0; i < terms; ++i) {
    unit.x.push_back(between(random, 0, 255));
    unit.w.push_back(between(random, -128, 127));
  }
  unit.bias = between(random, -3000, 3000);
  unit.x_zero_point = between(random, 0, 255);
  unit.w_zero_point = between(random, -5, 5);
  unit.y_zero_point = between(random, 0, 255);
  unit.sx = scale(random, is_exact);
  unit.sw = scale(random, is_exact);
  unit.sb = unit.sx * unit.sw;
  unit.sy = scale(random, is_exact);
  if (is_exact) return unit;
  const double real = static_cast<double>(unit.exact()) * static_cast<double>(unit.sy);
  const int whole = between(random, -254, 254);
  const double wanted = real / (whole + 0.5);
  if (wanted > 0x1p-20 && wanted < 0x1p20) unit.sy = static_cast<float>(wanted);
  return unit;
}

TEST(GraphSets, HoldEveryRightRewriting) {
  Random random(1);
  const int units = testing::scaled(60000);
  int wide = 0;
  for (int n = 0; n < units; ++n) {
    const ProductUnit unit = draw(random, false);
    const Program program = program_of(unit, false);
    const Interval any = ends_of(program, Tier::any_association);
    const Interval as_written = ends_of(program, Tier::as_written);
    const Interval exact = ends_of(program, Tier::exact);
    EXPECT_LE(any.lo, as_written.lo);
    EXPECT_GE(any.hi, as_written.hi);
    EXPECT_LE(as_written.lo, exact.lo);
    EXPECT_GE(as_written.hi, exact.hi);
    wide += any.hi - any.lo > 1 ? 1 : 0;
    for (const Rewriting& rewriting : kRewritings) {
      const int y = rewriting.compute(unit);
      EXPECT_TRUE(any.lo <= y && y <= any.hi) << rewriting.name << ": " << y << " outside " << any.lo << ".." << any.hi;
      if (!rewriting.as_written) continue;
      EXPECT_TRUE(as_written.lo <= y && y <= as_written.hi)
          << rewriting.name << ": " << y << " outside " << as_written.lo << ".." << as_written.hi << " as written";
    }
  }
  EXPECT_LT(wide, units / 100) << "sets of more than two values prove little";
}

TEST(GraphSets, LeaveOutWrongOnes) {
  Random random(2);
  int outside = 0;
  for (int n = 0; n < 20000; ++n) {
    const ProductUnit unit = draw(random, false);
    const Interval any = ends_of(program_of(unit, false), Tier::any_association);
    // A bias that is rounded to the scale of y first.
    const float biased = summed<float>(unit, false, false) - unit.b() + std::nearbyint(unit.b() / unit.sy) * unit.sy;
    const int y = unit.quantized(biased / unit.sy);
    outside += y < any.lo || y > any.hi ? 1 : 0;
  }
  EXPECT_GT(outside, 300) << "of 20,000: most biases are small beside y_scale";
}

TEST(GraphSets, HaveOneValueWhereNothingRounds) {
  Random random(3);
  int ties = 0;
  for (int n = 0; n < testing::scaled(60000); ++n) {
    const ProductUnit unit = draw(random, true);
    const Interval any = ends_of(program_of(unit, true), Tier::any_association);
    EXPECT_EQ(any.lo, any.hi);
    const auto exact = static_cast<double>(unit.exact());
    ties += std::fabs(exact - std::floor(exact) - 0.5) == 0 && std::fabs(exact) < 200 ? 1 : 0;
    for (const Rewriting& rewriting : kRewritings) EXPECT_EQ(rewriting.compute(unit), any.lo) << rewriting.name;
  }
  EXPECT_GT(ties, testing::scaled(100)) << "ties show a value that is not exact";
}

TEST(GraphSets, HaveSeveralValuesWhereASumIsTooLong) {
  ProductUnit unit;
  unit.x.assign(600, 255);
  unit.w.assign(600, -128);  // 600 * 255 * 128 exceeds 2^24
  unit.sy = std::ldexp(1.0F, 20);
  const auto [lo, hi] = ends_of(program_of(unit, true), Tier::any_association);
  EXPECT_LE(lo, hi);
  const Bounds sum = bounds_of(program_of(unit, true), Tier::any_association)[6];
  EXPECT_LT(sum.lo[0], sum.hi[0]);
}

TEST(GraphSets, AreOpenWhereAFloatMayOverflow) {
  Program program;
  program.values = {{ElementType::float32, {2}, {1e30, 2}}, {ElementType::float32, {2}}};
  program.steps = {{Elementwise{.function = Function::mul, .index = {}}, {0, 0}, 1}};
  program.outputs = {1};
  const Bounds product = bounds_of(program, Tier::any_association)[1];
  EXPECT_TRUE(product.is_open(0));
  EXPECT_FALSE(product.is_open(1));
}

// A flushed square leaves a variance of 0, where epsilon is 0 too.
TEST(GraphSets, AreOpenWhereSquaresMayOverflowOrBeFlushed) {
  for (const auto& [largest, is_open] : {std::pair(0x1p64, true), {0x1p63, false}, {0x1p-61, false}, {0x1p-64, true}}) {
    Program program;
    program.values = {{ElementType::float32, {2}, {largest, 0}}, {ElementType::float32, {2}}};
    program.steps = {{Normalize{.length = 2, .epsilon = 0, .centred = true}, {0}, 1}};
    program.outputs = {1};
    EXPECT_EQ(bounds_of(program, Tier::any_association)[1].is_open(0), is_open) << largest;
  }
}

// Returns the bounds of y = DQ(x) for one element.
Interval of_dequantized(Dequantize what, double x, Tier tier) {
  Program program;
  program.values = {{what.node.x_type, {1}, {x}}, {what.node.y_type, {1}}};
  program.steps = {{std::move(what), {0}, 1}};
  program.outputs = {1};
  program.may_be_exact = true;
  return bounds_of(program, tier)[1].at(0);
}

TEST(GraphSets, HoldADifferenceOfInt32ThatWrapsAndOneThatWidens) {
  for (const Tier tier : kGraphTiers) {
    const Interval y = of_dequantized(dequantize(ElementType::int32, 1, 0.5F, -1), 0x7FFFFFFF, tier);
    EXPECT_NEAR(y.hi, 0x1p30, 0x1p10);
    EXPECT_NEAR(y.lo, tier == Tier::exact ? 0x1p30 : -0x1p30, 0x1p10) << static_cast<int>(tier);
    const Interval inside = of_dequantized(dequantize(ElementType::int32, 1, 0.5F, 1), 0x7FFFFFFF, tier);
    EXPECT_GT(inside.lo, 0x1p29) << static_cast<int>(tier);
  }
}

TEST(GraphSets, AreOpenWhereADequantizedValueMayOverflow) {
  for (const Tier tier : kGraphTiers) {
    EXPECT_TRUE(of_dequantized(dequantize(ElementType::int8, 1, 3.4e38F, 0), 7, tier).is_open());
    EXPECT_FALSE(of_dequantized(dequantize(ElementType::int8, 1, 3.4e38F, 0), 1, tier).is_open());
    if (tier == Tier::exact) continue;
    // The difference alone overflows where rule D2 rounds it first.
    Dequantize narrow = dequantize(ElementType::int32, 1, 0.0625F, 0);
    narrow.node.scale_type = narrow.node.y_type = ElementType::float16;
    EXPECT_TRUE(of_dequantized(narrow, 70000, tier).is_open()) << static_cast<int>(tier);
  }
}

// Returns the bounds of y = operation(a, b) for one element of stated numbers.
Interval of_two(decltype(Step::what) operation, ElementType type, double a, double b, Tier tier) {
  Program program;
  program.values = {{type, {1, 1}, {a}}, {type, {1, 1}, {b}}, {type, {1, 1}}};
  program.steps = {{std::move(operation), {0, 1}, 2}};
  program.outputs = {2};
  program.may_be_exact = true;
  return bounds_of(program, tier)[2].at(0);
}

TEST(GraphSets, HoldProductsBelowTheSmallestNormalFloat16) {
  const double factor = 3 * 0x1p-13;  // the product, 2.25 * 2^-24, is no float16
  for (const Tier tier : {Tier::as_written, Tier::any_association}) {
    for (const decltype(Step::what)& operation :
         {decltype(Step::what)(WeightedSum{.taps = MatrixTaps{}}), decltype(Step::what)(Elementwise{Function::mul})}) {
      const Interval y = of_two(operation, ElementType::float16, factor, factor, tier);
      EXPECT_LE(y.lo, 0x1p-23) << static_cast<int>(tier);
      EXPECT_GE(y.hi, factor * factor) << static_cast<int>(tier);
    }
  }
}

TEST(GraphSets, HoldZeroForWhatMayBeFlushed) {
  const Tier any = Tier::any_association;
  EXPECT_EQ(of_dequantized(dequantize(ElementType::int8, 1, 1e-45F, 0), 7, any).lo, 0);
  EXPECT_EQ(of_dequantized(dequantize(ElementType::int16, 1, 0x1p-130F, 0), 1024, any).lo, 0)
      << "the scale is subnormal";
  EXPECT_EQ(of_dequantized(dequantize(ElementType::int8, 1, 0x1p-126F, 0), 1, any).lo, 0x1p-126);
  EXPECT_EQ(of_two(Elementwise{Function::div}, ElementType::float32, 1, 0x1.fp127, any).lo, 0);
  EXPECT_LE(of_two(Elementwise{Function::mul}, ElementType::float32, 0x1p-70, 0x1p-70, any).lo, 0);
  EXPECT_LE(of_two(WeightedSum{.taps = MatrixTaps{}}, ElementType::float32, 0x1p-130, 2, any).lo, 0);
}

TEST(GraphSets, HoldAnOperandThatIsRoundedToTheDivisionsType) {
  Program program;
  program.values = {{ElementType::int16, {1}, {257}}, {ElementType::float32, {1}}, {ElementType::int16, {1}}};
  const Quantize quantize{{.layout = whole(1),
                           .scale_type = ElementType::bfloat16,
                           .y_type = ElementType::int16,
                           .version = 25,
                           .y_scale = {1},
                           .y_zero_point = {0}}};
  program.steps = {{dequantize(ElementType::int16, 1, 1, 0), {0}, 1}, {quantize, {1}, 2}};
  program.outputs = {2};
  program.may_be_exact = true;
  const Interval y = ends_of(program, Tier::any_association);
  EXPECT_EQ(y.lo, 256) << "257 has nine bits";
  EXPECT_EQ(y.hi, 257);
}

TEST(GraphSets, HoldADifferenceOfFloat8ThatIsRounded) {
  Dequantize what = dequantize(ElementType::float8e5m2, 1, 1, 0);
  what.node.x_zero_point = {0x1p-16};
  what.node.scale_type = what.node.y_type = ElementType::float16;
  for (const Tier tier : {Tier::as_written, Tier::any_association}) {
    EXPECT_GE(of_dequantized(what, 1, tier).hi, 1) << "1 - 2^-16 is no float16";
  }
}

TEST(GraphSets, AreOpenBehindAZeroPointThatIsNoNumber) {
  Dequantize what = dequantize(ElementType::float8e4m3fn, 1, 1, 0);
  what.node.x_zero_point = {std::nan("")};
  for (const Tier tier : kGraphTiers) EXPECT_TRUE(of_dequantized(what, 1, tier).is_open());
}

// Alpha, or the number of an average's elements, makes a sum small only after it has been added up.
TEST(GraphSets, AreOpenWhereASumMayOverflowBeforeItIsScaled) {
  for (const Tier tier : {Tier::as_written, Tier::any_association}) {
    const WeightedSum scaled{.taps = MatrixTaps{.k = 1}, .alpha = 0x1p-40};
    const WeightedSum averaged{.taps = MatrixTaps{.k = 1}, .divisor = {1 << 20}};
    for (const WeightedSum& step : {scaled, averaged}) {
      EXPECT_TRUE(of_two(step, ElementType::float32, 0x1p100, 0x1p30, tier).is_open());
      EXPECT_FALSE(of_two(step, ElementType::float32, 0x1p100, 0x1p20, tier).is_open());
    }
  }
}

TEST(GraphSets, AreOpenWhereASumMayOverflowByItsRoundings) {
  // The largest float32: as written, the node's own roundings may take the product beyond it.
  for (const Tier tier : {Tier::as_written, Tier::any_association}) {
    const Interval y = of_two(WeightedSum{.taps = MatrixTaps{}}, ElementType::float32, 0x1.fffffep127, 0x1.8p0, tier);
    EXPECT_TRUE(y.is_open());
    const Interval close = of_two(WeightedSum{.taps = MatrixTaps{.k = 1}, .alpha = 0.999999999}, ElementType::float32,
                                  0x1.fffffep127, 1, tier);
    EXPECT_TRUE(close.is_open()) << static_cast<int>(tier);
  }
}

}  // namespace
}  // namespace qconform::reference::graph
