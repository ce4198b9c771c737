// The variants of QLinearConv and ConvInteger, and probes of QLinearConv's requantization.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "harness/model/case_builder.h"
#include "harness/model/defects/arithmetic.h"
#include "harness/model/draws/draws.h"
#include "harness/operators/convolution/description.h"
#include "harness/operators/convolution/diagnosis.h"
#include "harness/operators/convolution/pipeline.h"
#include "reference/numerics/integers.h"
#include "reference/numerics/requantize.h"

namespace qconform::diagnose {

namespace {

bool always(const Lowered&) {
  return true;
}

// The expressions that a defect model stands for.
std::string_view defect_of(std::string_view expression) {
  if (expression == "multiplier-sw-by-sy") return "scale-associate-right";
  if (expression == "f64") return "scale-double";
  return expression == "multiplier-reciprocal" ? "reciprocal" : std::string_view();
}

using Multiplier = float (*)(const reference::FloatArithmetic& f, const Requantization& p);
using Multiply = std::int32_t (*)(std::int32_t sum, const reference::FixedPointMultiplier& multiplier);

float left_first(const reference::FloatArithmetic& f, const Requantization& p) {
  return reference::ort_f32_multiplier(f, p.x_scale, p.w_scale, p.y_scale);
}

float w_by_y_first(const reference::FloatArithmetic& f, const Requantization& p) {
  return f.multiply(p.x_scale, f.divide(p.w_scale, p.y_scale));
}

float x_by_y_first(const reference::FloatArithmetic& f, const Requantization& p) {
  return f.multiply(f.divide(p.x_scale, p.y_scale), p.w_scale);
}

float narrowed(const reference::FloatArithmetic& f, const Requantization& p) {
  return f.narrow(static_cast<double>(p.x_scale) * static_cast<double>(p.w_scale) / static_cast<double>(p.y_scale));
}

// Fixed point whose multiplier was formed in float32. Beyond float32 it is none.
template <Multiplier form, Multiply multiply>
Quotient fixed_point_of_float32(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*) {
  const float multiplier = form(reference::FloatArithmetic(reference::Subnormals::kept), p);
  if (!std::isfinite(multiplier)) return quotient_of_float(static_cast<double>(accumulator) * multiplier);
  return quotient_of_float(multiply(reference::wrap_to_int32(accumulator),
                                    reference::fixed_point_multiplier(static_cast<double>(multiplier))));
}

// Says that the product is an integer before the stage `round`, so that it settles the rounding.
Variant settling_rounding(Variant product, std::string settled_as) {
  product.settles = "rounding";
  product.settled_as = std::move(settled_as);
  return product;
}

constexpr const char* kTwice = "Q31: the product rounds twice, high half and shift";
constexpr const char* kOnce = "Q31: the product rounds once, half up";

template <Multiplier form>
void add_fixed_point_of_float32(std::vector<Variant>& variants, const std::string& suffix, const std::string& formula) {
  const auto add = [&](const char* id, const char* roundings, const char* settled_as, auto by) {
    variants.push_back(settling_rounding({id + suffix, "31-bit integer of the multiplier " + formula + ", " + roundings,
                                          [by](Stages& s) { s.set(stage::product, {by}); }},
                                         settled_as));
  };
  add("q31-double-round-", "two roundings", kTwice, fixed_point_of_float32<form, reference::multiply_rounding_twice>);
  add("q31-single-round-", "one rounding of 64 bits", kOnce,
      fixed_point_of_float32<form, reference::multiply_rounding_once>);
}

std::vector<Variant> product_variants() {
  std::vector<Variant> variants{plain_variant("exact", "A * sx * sw / sy, exactly")};
  for (const reference::FloatExpression& expression : reference::float_expressions()) {
    variants.push_back({std::string(expression.name), std::string(expression.formula),
                        [&expression](Stages& s) { use_expression(s, expression); }, defect_of(expression.name)});
  }
  variants.push_back(settling_rounding(
      variant_of_defect("q31-double-round", "31-bit integer multiplier, doubling high multiplication, rounding shift",
                        "double-round"),
      kTwice));
  variants.push_back(settling_rounding(
      variant_of_defect("q31-single-round", "31-bit integer multiplier, one rounding of 64 bits", "q31-single-round"),
      kOnce));
  add_fixed_point_of_float32<left_first>(variants, "f32", "f32(f32(sx * sw) / sy)");
  add_fixed_point_of_float32<w_by_y_first>(variants, "f32-sw-by-sy", "f32(sx * f32(sw / sy))");
  add_fixed_point_of_float32<x_by_y_first>(variants, "f32-sx-by-sy", "f32(f32(sx / sy) * sw)");
  add_fixed_point_of_float32<narrowed>(variants, "f32-narrowed", "f32(f64(sx * sw / sy))");
  return variants;
}

template <reference::Subnormals subnormals>
Quotient flushed_product(std::int64_t accumulator, const Requantization& p,
                         const reference::FloatExpression* expression) {
  const reference::FloatArithmetic arithmetic(subnormals);
  return quotient_of_float(
      expression->product({arithmetic, accumulator, static_cast<float>(accumulator), p.x_scale, p.w_scale, p.y_scale}));
}

// Only a product in floating point has subnormals.
template <reference::Subnormals subnormals>
void flush(Stages& s) {
  const auto* expression = s.get(stage::product).expression;
  if (expression != nullptr) s.set(stage::product, {flushed_product<subnormals>, expression});
}

std::int64_t in_float32(std::int64_t value) {
  return static_cast<std::int64_t>(static_cast<float>(value));
}

std::vector<Variant> sum_variants() {
  return {plain_variant("exact", "every product counts in full"),
          variant_of_defect("pair-sat-i16", "pairs of raw u8*s8 products saturate to int16", "pair-sat-i16"),
          variant_of_defect("acc-wrap-i16-9tap", "each channel's raw products summed in a wrapping int16",
                            "acc-wrap-i16-9tap"),
          variant_of_defect("f32-accumulate", "summed in float32", "f32-accumulate"),
          {"f32-result", "summed exactly, then rounded to float32",
           [](Stages& s) { s.set(stage::accumulate, [](const Window& window) { return in_float32(window.sum()); }); }}};
}

Variant saturating_sum() {
  return variant_of_defect("saturate32", "the sum saturates to int32", "i32-sat");
}

std::vector<Variant> qlinear_overflow_variants() {
  // Adding the bias in float32 has replaced the reference's own stage.
  return {{"wrap32", "the sum wraps to int32", [](Stages& s) { s.set(stage::keep, wrap_sum); }},
          saturating_sum(),
          {"wide", "the sum has more than 32 bits",
           [](Stages& s) { s.set(stage::keep, [](std::int64_t sum) { return sum; }); }}};
}

std::vector<Variant> integer_overflow_variants() {
  return {plain_variant("wrap32", "the sum wraps to int32"), saturating_sum(),
          variant_of_defect("narrow-i8", "the sum wraps to int8", "acc-narrow-i8")};
}

}  // namespace

std::vector<Choice> convolution_choices() {
  constexpr std::string_view kQ = "QLinearConv";
  constexpr std::string_view kI = "ConvInteger";
  return {{"product", kQ, "how sum and scales are multiplied", always, product_variants()},
          {"rounding", kQ, "how the product becomes an integer", always, rounding_variants()},
          {"bias",
           kQ,
           "how the bias is added",
           always,
           {plain_variant("integer", "to the sum, in integers"),
            variant_of_defect("f32", "f32(f32(sum) + f32(B))", "bias-in-f32")}},
          {"sum", kQ, "how products are summed", always, sum_variants()},
          {"overflow", kQ, "sums beyond int32", always, qlinear_overflow_variants()},
          {"conversion", kQ, "scaled values beyond int32", always, conversion_variants()},
          {"subnormals",
           kQ,
           "float32 numbers below 2^-126 in the product",
           always,
           {plain_variant("kept", "computed with"),
            {"flushed", "replaced by zero, results after they are rounded (x86's FTZ and DAZ)",
             flush<reference::Subnormals::flushed_after_rounding>},
            {"flushed-before-rounding", "replaced by zero, results before they are rounded (Arm's FZ)",
             flush<reference::Subnormals::flushed_before_rounding>}}},
          {"sum", kI, "how products are summed", always, sum_variants()},
          {"overflow", kI, "sums beyond int32", always, integer_overflow_variants()}};
}

// Probes of QLinearConv between sum and output: kernels of any layout with one output position, whose value before
// rounding is put on a tie or beside one, as near as the candidates need it.

namespace {

constexpr int kAttempts = 48;  // draws for one element
// Weights and data stay where no pair of products saturates, and no channel's sum of 9 wraps in int16.
constexpr std::int64_t kSmallest = 8;
constexpr std::int64_t kLargestWeight = 63;
constexpr std::int64_t kLargestWeightOfNine = 15;

enum class ScaleFamily : std::uint8_t {
  near_tie,      // any scales
  odd_divisor,   // exact ties whose multiplier no float holds
  power_of_two,  // exact ties, and their neighbours in sums above 2^24
};

std::int64_t middle_of(ElementType type) {
  return type == ElementType::int8 ? 0 : 128;
}

struct ProbeScales {
  ScaleFamily family = ScaleFamily::near_tie;
  float x = 1;
  float w = 1;
  float y = 1;
  std::int64_t divisor = 1;  // odd_divisor alone: x / y is 1 / divisor, and a power of two
};

float power(std::int64_t exponent) {
  return std::ldexp(1.0F, static_cast<int>(exponent));
}

ProbeScales draw_scales(Rng& rng, int sum_exponent) {
  ProbeScales s;
  s.family =
      rng.pick({ScaleFamily::near_tie, ScaleFamily::near_tie, ScaleFamily::odd_divisor, ScaleFamily::power_of_two});
  if (s.family == ScaleFamily::near_tie) {
    s.x = random_float(rng, static_cast<int>(rng.between(-10, -2)) - 23);
    s.w = random_float(rng, static_cast<int>(rng.between(-10, -2)) - 23);
    // Sums of that size come to lie in the lower half of an output's range.
    s.y = random_float(rng, std::ilogb(s.x) + std::ilogb(s.w) + sum_exponent - 5 - 23);
    return s;
  }
  const std::int64_t a = rng.between(-10, -2);
  const std::int64_t e = rng.between(-10, -2);
  const std::int64_t b = a + e + sum_exponent - 5;
  s.divisor = s.family == ScaleFamily::odd_divisor ? 2 * rng.between(1, 200) + 1 : 1;
  const std::int64_t m = s.family == ScaleFamily::odd_divisor ? 2 * rng.between(0, (1 << 23) / s.divisor / 4) + 1 : 1;
  s.x = static_cast<float>(m) * power(a);
  s.w = power(e);
  s.y = static_cast<float>(m * s.divisor) * power(b - std::ilogb(s.divisor));
  return s;
}

// Values before rounding, in halves and odd: around 0, within the output's range.
struct Halves {
  std::int64_t lo;
  std::int64_t hi;
  [[nodiscard]] std::int64_t draw(Rng& rng) const { return 2 * rng.between(lo, hi) + 1; }
};

class RequantizationProbe {
 public:
  RequantizationProbe(Rng& rng, const ProbeForm& form, const CandidatePairs& pairs)
      : rng_(rng), form_(form), pairs_(pairs) {
    channels_ = form.bias || form.channel_scales ? 48 : 16;
    draw_layout();
    scales_ = draw_scales(rng, form.bias ? static_cast<int>(rng.between(9, 30)) : 11);
    const bool is_signed = form.y == ElementType::int8;
    range_ = is_signed ? reference::IntegerRange{-128, 127} : reference::IntegerRange{0, 255};
    if (form.y_zero_point) zero_point_ = static_cast<std::int32_t>(middle_of(form.y) + rng.between(-9, 9));
    node_.y_type = form.y;
    node_.y_zero_point = zero_point_;
    halves_ = {std::max<std::int64_t>(range_.lo - zero_point_, -100) + 1,
               std::min<std::int64_t>(range_.hi - zero_point_, 100) - 2};
    draw_data();
  }

  Case build() {
    const auto channels = static_cast<std::size_t>(channels_);
    node_.w_scale = ParameterValues(std::vector<float>(channels, scales_.w));
    if (form_.bias) {
      node_.bias.emplace(channels);
      for (std::size_t m = 0; m < channels; ++m) aim_by_bias(m);
    } else if (form_.channel_scales) {
      for (std::size_t m = 0; m < channels; ++m) aim_by_w_scale(m);
    } else {
      aim_by_y_scale();
    }
    if (!form_.channel_scales) node_.w_scale = scales_.w;
    node_.x_scale = scales_.x;
    node_.y_scale = scales_.y;
    return build_convolution(node_);
  }

 private:
  void draw_layout() {
    if (form_.layout == layout::pointwise) {
      inputs_ = rng_.pick({std::int64_t{1}, std::int64_t{2}, std::int64_t{4}, std::int64_t{16}, std::int64_t{33}});
      return;
    }
    kernel_ = form_.layout == layout::groups && rng_.chance(1, 2) ? 1 : 3;
    if (form_.layout == layout::windows) inputs_ = rng_.between(1, 4);
    if (form_.layout == layout::groups) {
      inputs_ = rng_.between(2, 4);
      groups_ = rng_.pick({std::int64_t{2}, std::int64_t{4}, std::int64_t{8}});
    }
    if (form_.layout == layout::depthwise) groups_ = channels_;
    if (form_.layout == layout::multiplied) groups_ = channels_ / rng_.pick({std::int64_t{2}, std::int64_t{4}});
  }

  void draw_data() {
    make::Shape x_shape{1, groups_ * inputs_};
    make::Shape w_shape{channels_, inputs_};
    x_shape.resize(static_cast<std::size_t>(form_.rank), kernel_);
    w_shape.resize(static_cast<std::size_t>(form_.rank), kernel_);
    const std::int64_t x_room = form_.x_zero_point ? 20 : 0;
    const std::int64_t x_zero = form_.x_zero_point ? middle_of(form_.x) + rng_.between(-x_room, x_room) : 0;
    const bool is_centred = form_.x == ElementType::int8 || form_.x_zero_point;
    std::vector<std::int64_t> x(static_cast<std::size_t>(elements_of(x_shape)));
    for (std::int64_t& value : x) value = x_zero + (is_centred ? rng_.between(-60, 60) : rng_.between(kSmallest, 60));
    const bool is_signed = form_.w == ElementType::int8;
    const std::int64_t largest = kernel_ > 1 ? kLargestWeightOfNine : kLargestWeight;
    std::vector<std::int64_t> w_zeros(static_cast<std::size_t>(channels_));
    for (std::int64_t& zero : w_zeros) {
      zero = form_.w_zero_point ? (is_signed ? 0 : (largest + 1) / 2) + rng_.between(-5, 5) : 0;
    }
    std::vector<std::int64_t> w(static_cast<std::size_t>(elements_of(w_shape)));
    for (std::int64_t& value : w) value = rng_.between(is_signed ? -largest : 0, largest);
    node_.x = make::integers(form_.x, x_shape, x);
    node_.x_zero_point = x_zero;
    node_.w = make::integers(form_.w, w_shape, w);
    node_.w_zero_point = w_zeros[0];
    if (form_.channel_scales) node_.w_zero_point = ParameterValues(w_zeros);
    if (groups_ > 1) node_.group = groups_;
    sums_ = exact_sums(node_).values;
  }

  [[nodiscard]] std::int64_t output(const Stages& stages, std::int64_t sum, float w_scale, float y_scale) const {
    const reference::Requantization p{scales_.x, w_scale, y_scale, zero_point_, range_};
    return finish(stages, stages.get(stage::product)(sum, p), {zero_point_, range_, 0});
  }

  [[nodiscard]] bool disagree(const CandidatePairs::Pair& pair, std::int64_t sum, float w_scale, float y_scale) const {
    return pair.first == nullptr ||
           output(*pair.first, sum, w_scale, y_scale) != output(*pair.second, sum, w_scale, y_scale);
  }

  // The sum that lies on the tie of `halves` or nearest to it, or one beside.
  std::int64_t tie_sum(std::int64_t halves, float w_scale) {
    const double exact = static_cast<double>(halves) * 0.5 * double{scales_.y} / (double{scales_.x} * double{w_scale});
    const auto sum = static_cast<std::int64_t>(std::llround(std::clamp(exact, -0x1p30, 0x1p30)));
    return scales_.family == ScaleFamily::odd_divisor || rng_.chance(1, 2) ? sum : sum + rng_.between(-1, 1);
  }

  void aim_by_bias(std::size_t m) {
    const CandidatePairs::Pair pair = pairs_.next(rng_);
    std::int64_t sum = sums_[m];
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (form_.channel_scales && scales_.family == ScaleFamily::near_tie) {
        node_.w_scale.values[m] = random_float(rng_, std::ilogb(scales_.w) - static_cast<int>(rng_.below(2)) - 23);
      }
      sum = tie_sum(halves_.draw(rng_), node_.w_scale.values[m]);
      if (disagree(pair, sum, node_.w_scale.values[m], scales_.y)) break;
    }
    (*node_.bias)[m] = static_cast<std::int32_t>(sum - sums_[m]);
  }

  // Halves of the sign of `sum`, as a magnitude; 1 where the range has none on that side.
  std::int64_t magnitude_halves(std::int64_t sum) {
    const std::int64_t most = sum < 0 ? -halves_.lo : halves_.hi;
    return 2 * rng_.between(0, std::max<std::int64_t>(most, 0)) + 1;
  }

  void aim_by_w_scale(std::size_t m) {
    const CandidatePairs::Pair pair = pairs_.next(rng_);
    const std::int64_t sum = sums_[m];
    if (sum == 0) return;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const double solved = static_cast<double>(magnitude_halves(sum)) * 0.5 * double{scales_.y} /
                            (double{scales_.x} * std::fabs(static_cast<double>(sum)));
      node_.w_scale.values[m] = neighbour(static_cast<float>(solved), rng_.between(-1, 1));
      if (disagree(pair, sum, node_.w_scale.values[m], scales_.y)) return;
    }
  }

  void aim_by_y_scale() {
    const CandidatePairs::Pair pair = pairs_.next(rng_);
    for (int attempt = 0; attempt < kAttempts * 8; ++attempt) {
      const std::int64_t sum = sums_[rng_.below(static_cast<std::uint32_t>(channels_))];
      if (sum == 0) continue;
      scales_.y = neighbour(tie_scale(sum, scales_.x, scales_.w, magnitude_halves(sum)), rng_.between(-1, 1));
      if (disagree(pair, sum, scales_.w, scales_.y)) return;
    }
  }

  Rng& rng_;
  const ProbeForm& form_;
  const CandidatePairs& pairs_;
  std::int64_t channels_ = 1;
  std::int64_t inputs_ = 1;  // channels of a group
  std::int64_t groups_ = 1;
  std::int64_t kernel_ = 1;
  ProbeScales scales_;
  reference::IntegerRange range_{};
  std::int32_t zero_point_ = 0;
  Halves halves_{};
  Convolution node_;
  std::vector<std::int64_t> sums_;  // without bias
};

}  // namespace

Case draw_requantization(Rng& rng, const ProbeForm& form, const CandidatePairs& pairs) {
  return RequantizationProbe(rng, form, pairs).build();
}

}  // namespace qconform::diagnose
