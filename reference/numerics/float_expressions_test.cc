#include "reference/numerics/requantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "harness/tests/test_scale.h"
#include "reference/oracle/definitions.h"
#include "reference/tests/admissible.h"

namespace qconform::reference {
namespace {

using oracle::exact;
using oracle::Random;

// Evaluates an expression's formula text by definition, on rationals, and counts its roundings.
class Formula {
 public:
  Formula(std::string_view text, const SummedElement& element) : text_(text), element_(element) {}

  mpq_class value() {
    const mpq_class result = product(Precision::f32);
    EXPECT_TRUE(text_.empty()) << "left over: " << text_;
    return result;
  }
  [[nodiscard]] int roundings() const { return roundings_; }

 private:
  enum class Precision { f32, f64 };

  bool take(std::string_view token) {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
    if (text_.substr(0, token.size()) != token) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  mpq_class rounded(const mpq_class& value, Precision precision) {
    if (precision == Precision::f64) return exact(oracle::rn64(value));
    ++roundings_;
    return exact(oracle::rn32(value));
  }

  mpq_class product(Precision precision) {
    mpq_class left = factor(precision);
    for (;;) {
      if (take("*")) {
        left = rounded(left * factor(precision), precision);
      } else if (take("/")) {
        left = rounded(left / factor(precision), precision);
      } else {
        return left;
      }
    }
  }

  mpq_class enclosed(Precision precision) {
    const mpq_class result = product(precision);
    EXPECT_TRUE(take(")"));
    return result;
  }

  mpq_class factor(Precision precision) {
    if (take("f32(f64(")) {
      const mpq_class wide = enclosed(Precision::f64);
      EXPECT_TRUE(take(")"));
      return rounded(wide, Precision::f32);
    }
    if (take("f32(")) return enclosed(Precision::f32);
    if (take("f64(")) return enclosed(Precision::f64);
    if (take("(")) return enclosed(precision);
    if (take("sx")) return exact(element_.parameters.x_scale);
    if (take("sw")) return exact(element_.parameters.w_scale);
    if (take("sy")) return exact(element_.parameters.y_scale);
    if (take("1")) return 1;
    EXPECT_TRUE(take("A")) << text_;
    const mpq_class a(mpz_class(static_cast<long>(element_.accumulator)));
    return precision == Precision::f64 ? a : rounded(a, Precision::f32);
  }

  std::string_view text_;
  const SummedElement& element_;
  int roundings_ = 0;
};

std::int32_t to_output(const mpq_class& value, const Requantization& p) {
  const mpz_class shifted = oracle::rne(value) + p.y_zero_point;
  if (shifted < p.y_range.lo) return p.y_range.lo;
  return shifted > p.y_range.hi ? p.y_range.hi : static_cast<std::int32_t>(shifted.get_si());
}

TEST(FloatExpressions, HaveDistinctNamesAndFormulas) {
  std::set<std::string_view> names;
  std::set<std::string_view> formulas;
  int in_float32 = 0;
  for (const FloatExpression& e : float_expressions()) {
    EXPECT_TRUE(names.insert(e.name).second) << e.name;
    EXPECT_TRUE(formulas.insert(e.formula).second) << e.formula;
    if (e.formula.find("f64") == std::string_view::npos) ++in_float32;
  }
  EXPECT_EQ(float_expressions().front().name, "ort-f32");
  EXPECT_GE(in_float32, 9);
}

TEST(FloatExpressions, EqualTheirFormulas) {
  Random random(41);
  for (int i = 0; i < testing::scaled(3'000); ++i) {
    const SummedElement e = adversarial_element(random);
    for (const FloatExpression& expression : float_expressions()) {
      Formula formula(expression.formula, e);
      ASSERT_EQ(evaluate(expression, e.accumulator, e.parameters), to_output(formula.value(), e.parameters))
          << expression.name << ": " << describe(e);
      ASSERT_EQ(expression.roundings, formula.roundings()) << expression.name;
    }
  }
}

TEST(FloatExpressions, AreInsideF5) {
  check_float_expressions(testing::scaled(200'000));
}

// Each is told from each other by some element: otherwise one of them is superfluous.
TEST(FloatExpressions, AreDistinguishable) {
  Random random(43);
  const auto all = float_expressions();
  std::set<std::pair<std::size_t, std::size_t>> alike;
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) alike.emplace(a, b);
  }
  for (int i = 0; i < 100'000 && !alike.empty(); ++i) {
    const SummedElement e = adversarial_element(random);
    for (auto pair = alike.begin(); pair != alike.end();) {
      const bool same = evaluate(all[pair->first], e.accumulator, e.parameters) ==
                        evaluate(all[pair->second], e.accumulator, e.parameters);
      pair = same ? std::next(pair) : alike.erase(pair);
    }
  }
  for (const auto& [a, b] : alike) ADD_FAILURE() << all[a].name << " and " << all[b].name;
}

// Products and quotients at and below 2^-126.
TEST(FloatArithmetic, FlushesByItsRule) {
  const FloatArithmetic kept(Subnormals::kept);
  const FloatArithmetic x86(Subnormals::flushed_after_rounding);
  const FloatArithmetic arm(Subnormals::flushed_before_rounding);
  constexpr float kSmallest = 0x1p-126F;
  EXPECT_EQ(kept.multiply(kSmallest, 0.5F), 0x1p-127F);
  EXPECT_EQ(x86.multiply(kSmallest, 0.5F), 0.0F);
  EXPECT_TRUE(std::signbit(arm.multiply(-kSmallest, 0.5F)));
  EXPECT_EQ(x86.multiply(0x1p-127F, 4.0F), 0.0F) << "a subnormal operand is zero";
  // 1.fffffep-1 * 1.000002p-126 = 2^-126 (1 + 2^-24 - 2^-47): above 2^-126 and rounds to it.
  for (const FloatArithmetic& f : {kept, x86, arm}) EXPECT_EQ(f.multiply(0x1.fffffep-1F, 0x1.000002p-126F), kSmallest);
  // (1 + 2^-23)(1 - 2^-23) * 2^-126 = 2^-126 (1 - 2^-46): below 2^-126, and rounds to it at 24 bits.
  EXPECT_EQ(kept.multiply(0x1.000002p-1F, 0x1.fffffcp-126F), kSmallest);
  EXPECT_EQ(x86.multiply(0x1.000002p-1F, 0x1.fffffcp-126F), kSmallest);
  EXPECT_EQ(arm.multiply(0x1.000002p-1F, 0x1.fffffcp-126F), 0.0F);
  // 2^-126 (1 - 2^-24) is a 24-bit number; only the subnormals' coarser grid rounds it to 2^-126.
  EXPECT_EQ(kept.multiply(0x1.fffffep-100F, 0x1p-27F), kSmallest);
  EXPECT_EQ(x86.multiply(0x1.fffffep-100F, 0x1p-27F), 0.0F);
  EXPECT_EQ(arm.multiply(0x1.fffffep-100F, 0x1p-27F), 0.0F);
  EXPECT_EQ(x86.divide(0x1.fffffep-100F, 0x1p27F), 0.0F);
  EXPECT_EQ(x86.narrow(0x1p-126 - 0x1p-151), kSmallest);
  EXPECT_EQ(x86.narrow(std::nextafter(0x1p-126 - 0x1p-151, 0)), 0.0F);
  EXPECT_TRUE(std::isnan(x86.multiply(0x1p-130F, INFINITY)));
}

#if defined(__SSE2__) || defined(__aarch64__)

// Switches the processor itself to flushing while it lives.
class HardwareFlushing {
 public:
#if defined(__SSE2__)
  static constexpr Subnormals kRule = Subnormals::flushed_after_rounding;
  HardwareFlushing() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | 0x8040U);
  }  // FTZ, DAZ
  ~HardwareFlushing() {
    _mm_setcsr(before_);
  }
#else
  static constexpr Subnormals kRule = Subnormals::flushed_before_rounding;
  HardwareFlushing() : before_(read()) {
    write(before_ | std::uint64_t{1} << 24);
  }  // FZ
  ~HardwareFlushing() {
    write(before_);
  }
#endif
  HardwareFlushing(const HardwareFlushing&) = delete;
  HardwareFlushing& operator=(const HardwareFlushing&) = delete;

 private:
#if defined(__SSE2__)
  unsigned before_;
#else
  static std::uint64_t read() {
    std::uint64_t value = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void write(std::uint64_t value) {
    __asm__ volatile("msr fpcr, %0" : : "r"(value));
  }
  std::uint64_t before_;
#endif
};

// A scale that makes intermediates of float32 fall to the border of the normal numbers and below.
float tiny_scale(Random& random) {
  return random.one_in(4) ? moved(0x1p-126F, random.between(-3, 3)) : random.positive_float(-126, -40);
}

TEST(FloatExpressions, FlushAsTheProcessorDoes) {
  Random random(47);
  int flushing_matters = 0;
  for (int i = 0; i < testing::scaled(100'000); ++i) {
    SummedElement e{random.of_any_length(31), {tiny_scale(random), random.positive_float(-80, 20), 0, 0, {}}};
    const double product = std::fabs(static_cast<double>(e.accumulator)) * e.parameters.x_scale * e.parameters.w_scale;
    e.parameters.y_scale = static_cast<float>(product / (static_cast<double>(random.between(0, 200)) + 0.5));
    if (e.parameters.y_scale == 0) continue;
    choose_output(random, e.parameters);
    for (const FloatExpression& expression : float_expressions()) {
      const std::int32_t emulated = evaluate(expression, e.accumulator, e.parameters, HardwareFlushing::kRule);
      std::int32_t native = 0;
      {
        const HardwareFlushing flushing;
        native = evaluate(expression, e.accumulator, e.parameters, Subnormals::kept);
      }
      ASSERT_EQ(emulated, native) << expression.name << ": " << describe(e);
      if (native != evaluate(expression, e.accumulator, e.parameters, Subnormals::kept)) ++flushing_matters;
    }
  }
  EXPECT_GE(flushing_matters, testing::scaled(100'000));
}

#endif

}  // namespace
}  // namespace qconform::reference
