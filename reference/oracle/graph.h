// The exact values of a quantized graph, in ball arithmetic: they check the sets of reference/graph/sets.h.
#pragma once

#include <arb.h>
#include <arb_hypgeom.h>

#include <optional>
#include <utility>
#include <vector>

#include "reference/graph/program.h"

namespace qconform::oracle {

// Real numbers in FLINT's ball arithmetic: a midpoint, and a radius that holds every error made on the way.

/// Contains the number that it stands for. What has at most kPrecision bits is exact: its radius is 0.
class Ball {
 public:
  static constexpr slong kPrecision = 640;

  Ball(double value = 0) {  // NOLINT(google-explicit-constructor): numbers stand for themselves
    arb_init(ball_);
    arb_set_d(ball_, value);
  }
  Ball(const Ball& other) : Ball() { arb_set(ball_, other.ball_); }
  Ball(Ball&& other) noexcept : Ball() { arb_swap(ball_, other.ball_); }
  Ball& operator=(const Ball& other) {
    arb_set(ball_, other.ball_);
    return *this;
  }
  Ball& operator=(Ball&& other) noexcept {
    arb_swap(ball_, other.ball_);
    return *this;
  }
  ~Ball() { arb_clear(ball_); }

  [[nodiscard]] arb_ptr get() { return ball_; }
  [[nodiscard]] arb_srcptr get() const { return ball_; }
  [[nodiscard]] bool is_finite() const { return arb_is_finite(ball_) != 0; }
  [[nodiscard]] bool is_exact() const { return arb_is_exact(ball_) != 0; }
  /// Whether some number of the ball lies in [lo, hi], which may be infinite.
  [[nodiscard]] bool meets(double lo, double hi) const { return !(Ball(lo) > *this) && !(*this > Ball(hi)); }
  /// For messages.
  [[nodiscard]] double nearest() const { return arf_get_d(arb_midref(ball_), ARF_RND_NEAR); }

  friend Ball operator+(const Ball& a, const Ball& b) { return apply(arb_add, a, b); }
  friend Ball operator-(const Ball& a, const Ball& b) { return apply(arb_sub, a, b); }
  friend Ball operator*(const Ball& a, const Ball& b) { return apply(arb_mul, a, b); }
  friend Ball operator/(const Ball& a, const Ball& b) { return apply(arb_div, a, b); }
  Ball& operator+=(const Ball& b) { return *this = *this + b; }
  /// Certainly greater: false also where the balls overlap.
  friend bool operator>(const Ball& a, const Ball& b) { return arb_gt(a.ball_, b.ball_) != 0; }
  /// Both exact and the same.
  friend bool operator==(const Ball& a, const Ball& b) { return a.is_exact() && arb_equal(a.ball_, b.ball_) != 0; }

  friend Ball abs(const Ball& a) {
    Ball result;
    arb_abs(result.ball_, a.ball_);
    return result;
  }
  friend Ball max(const Ball& a, const Ball& b) { return apply(arb_max, a, b); }
  friend Ball min(const Ball& a, const Ball& b) { return apply(arb_min, a, b); }
  friend Ball exp(const Ball& a) { return apply(arb_exp, a); }
  friend Ball log(const Ball& a) { return apply(arb_log, a); }
  friend Ball pow(const Ball& a, const Ball& b) { return apply(arb_pow, a, b); }
  friend Ball tanh(const Ball& a) { return apply(arb_tanh, a); }
  friend Ball sqrt(const Ball& a) { return apply(arb_sqrt, a); }
  friend Ball erf(const Ball& a) { return apply(arb_hypgeom_erf, a); }
  static Ball pi() {
    Ball result;
    arb_const_pi(result.ball_, kPrecision);
    return result;
  }
  /// The decimal number, as text has it.
  static Ball decimal(const char* text) {
    Ball result;
    arb_set_str(result.ball_, text, kPrecision);
    return result;
  }

 private:
  static Ball apply(void (*function)(arb_t, const arb_t, const arb_t, slong), const Ball& a, const Ball& b) {
    Ball result;
    function(result.ball_, a.ball_, b.ball_, kPrecision);
    return result;
  }
  static Ball apply(void (*function)(arb_t, const arb_t, slong), const Ball& a) {
    Ball result;
    function(result.ball_, a.ball_, kPrecision);
    return result;
  }

  arb_t ball_;
};

// The values of a program.

/// By element; nothing where there is no number: behind a division by 0, and behind a comparison or a rounding that the
/// balls do not decide.
using Balls = std::vector<std::optional<Ball>>;

/// Every value of the program, by ValueId: the real value of the formula, which each Q rounds once, to integers alone.
[[nodiscard]] std::vector<Balls> exact_values(const reference::graph::Program& program);

/// The sum of the magnitudes of the terms of element `i` of a WeightedSum, bias included.
[[nodiscard]] Ball magnitude_of(const reference::graph::WeightedSum& sum, const std::vector<const Balls*>& operands,
                                std::size_t i);

}  // namespace qconform::oracle
