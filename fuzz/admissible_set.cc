// Holds everything that decides about one output element of QLinearConv against everything else: the
// exact rounding, its fast form, the sets of every tier, the float expressions, the bulk judgement.
// The input is one element: sum, magnitude, number of products, scales, zero point and type, as they
// lie in memory; what is missing is zero.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "reference/kernels/requantize_fast.h"
#include "reference/numerics/admissible.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/requantize.h"

namespace {

using namespace qconform::reference;

struct ScaledElement {
  ElementSum sum;
  Requantization parameters;
};

void require(bool condition, const char* what, const ScaledElement& e) {
  if (condition) return;
  const Requantization& p = e.parameters;
  std::fprintf(stderr, "\n%s\n  A %lld, S %lld, K %lld, scales %a * %a / %a, zero point %d in [%d, %d]\n", what,
               static_cast<long long>(e.sum.accumulator), static_cast<long long>(e.sum.magnitude),
               static_cast<long long>(e.sum.products), static_cast<double>(p.x_scale), static_cast<double>(p.w_scale),
               static_cast<double>(p.y_scale), p.y_zero_point, p.y_range.lo, p.y_range.hi);
  std::abort();
}

class InputReader {
 public:
  InputReader(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  template <typename T>
  T take() {
    T value{};
    const std::size_t taken = std::min(sizeof(T), size_);
    if (taken > 0) std::memcpy(&value, data_, taken);
    data_ += taken;
    size_ -= taken;
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

constexpr std::int64_t kLargestSum = (std::int64_t{1} << 47) - 1;

// A scale as Requantization demands it; most inputs are brought into the domain of the tiers.
float take_scale(InputReader& reader, bool within_domain) {
  const auto bits = reader.take<std::uint32_t>();
  float scale = 0;
  std::memcpy(&scale, &bits, sizeof scale);
  if (!std::isfinite(scale)) scale = 1;
  if (!within_domain) return scale;
  int exponent = 0;
  const float mantissa = std::frexp(scale, &exponent);
  return std::ldexp(mantissa == 0 ? 0.5F : mantissa, exponent % 30);
}

ScaledElement take_element(InputReader& reader) {
  ScaledElement e{};
  const auto flags = reader.take<std::uint8_t>();
  const auto bits = static_cast<int>(reader.take<std::uint8_t>() % 48);
  const std::int64_t bound = (std::int64_t{1} << bits) - 1;
  e.sum.accumulator = std::clamp(reader.take<std::int64_t>() % (bound + 1), -bound, bound);
  const std::int64_t excess = static_cast<std::int64_t>(reader.take<std::uint32_t>());
  e.sum.magnitude = std::min(std::abs(e.sum.accumulator) + excess, kLargestSum);
  e.sum.products = reader.take<std::uint16_t>();
  const bool within = (flags & 3U) != 0;
  e.parameters = {take_scale(reader, within), take_scale(reader, within), take_scale(reader, within), 0, {}};
  if (e.parameters.y_scale == 0) e.parameters.y_scale = 1;
  const auto type = (flags & 4U) != 0 ? qconform::ElementType::int8 : qconform::ElementType::uint8;
  e.parameters.y_range = range_of(type);
  e.parameters.y_zero_point = load8(type, std::byte{reader.take<std::uint8_t>()});
  // Half of the time y_scale is solved for a tie, and then moved by some floats.
  if ((flags & 8U) != 0 && e.sum.accumulator != 0) {
    const Requantization& p = e.parameters;
    const double product = std::fabs(static_cast<double>(e.sum.accumulator) * p.x_scale * p.w_scale);
    const double solved = product / (static_cast<double>(reader.take<std::uint8_t>()) + 0.5);
    if (solved > 0x1p-29 && solved < 0x1p29) {
      e.parameters.y_scale = static_cast<float>(solved);
      const int steps = reader.take<std::int8_t>() / 16;
      for (int i = 0; i < std::abs(steps); ++i) {
        e.parameters.y_scale = std::nextafter(e.parameters.y_scale, steps > 0 ? 0x1p40F : 0.0F);
      }
    }
  }
  return e;
}

bool fits_int32(std::int64_t value) {
  return value == static_cast<std::int32_t>(value);
}

void check_exact(const ScaledElement& e, const AdmissibleSet& exact) {
  const std::int64_t a = e.sum.accumulator;
  const Requantization& p = e.parameters;
  const std::int32_t answer = requantize(RoundingProfile::correctly_rounded, a, p);
  require(exact.contains(answer), "the exact answer is not in E", e);
  require(exact.is_singleton() || !fits_int32(a), "E has several members without overflow", e);
  require(float_interval_set(a, p, 0) == exact, "F_0 is not E", e);
  const auto decided = decided_value(channel_test(p), a);
  require(!decided || *decided == answer, "the quick decision is not the exact answer", e);
  require(!decided || float_set(a, p) == AdmissibleSet(answer), "the quick decision leaves out members of F_5", e);
}

// Checks the arithmetic of the optimized kernels (requantize_fast.h) against the definition.
void check_fast(const ScaledElement& e) {
  if (!fits_int32(e.sum.accumulator)) return;
  const FastRequantization fast = fast_requantization(e.parameters);
  const double product = static_cast<double>(e.sum.accumulator) * fast.multiplier;
  const double bounded = std::clamp(product, -kRequantizationBound, kRequantizationBound);
  const double rounded = std::nearbyint(bounded);
  if (std::fabs(bounded - rounded) >= fast.needs_exact_from) return;
  const auto value = std::clamp(static_cast<std::int32_t>(rounded) + fast.zero_point, fast.lo, fast.hi);
  require(value == requantize(RoundingProfile::correctly_rounded, e.sum.accumulator, e.parameters),
          "the fast path is sure of another value than the exact one", e);
}

void check_expressions(const ScaledElement& e, const AdmissibleSet& float32) {
  const std::int64_t a = e.sum.accumulator;
  if (!fits_int32(a)) return;  // F_5 is then the union with the wrapped sum's set
  if (e.parameters.x_scale == 0 || e.parameters.w_scale == 0) return;  // {zero point}, whatever 0 / 0 gives
  const bool within = within_domain(e.parameters);
  for (const FloatExpression& expression : float_expressions()) {
    for (const Subnormals subnormals : kAllSubnormals) {
      const std::int32_t value = evaluate(expression, a, e.parameters, subnormals);
      require(float32.contains(value), "a float expression's value is not in F_5", e);
      if (within) require(value == evaluate(expression, a, e.parameters), "subnormals matter within the domain", e);
    }
  }
  const std::int32_t pinned = requantize(RoundingProfile::ort_f32, a, e.parameters);
  require(pinned == evaluate(float_expressions().front(), a, e.parameters), "ort-f32 has two definitions", e);
  const std::int32_t reference = requantize(RoundingProfile::onnx_reference, a, e.parameters);
  for (const RoundingProfile profile : {RoundingProfile::tflite, RoundingProfile::tflite_single_rounding}) {
    require(fixed_point_set(a, e.parameters).contains(requantize(profile, a, e.parameters)), "tflite is not in Q31", e);
  }
  require(reference >= e.parameters.y_range.lo && reference <= e.parameters.y_range.hi, "outside the type", e);
}

void check_tiers(const ScaledElement& e) {
  constexpr std::array kAccuracies{FloatAccuracy::ieee, FloatAccuracy::directml};
  for (const FloatAccuracy accuracy : kAccuracies) {
    std::vector<AdmissibleSet> sets;
    for (const Tier tier : kSumTiers) sets.push_back(admissible_set(tier, e.sum, e.parameters, accuracy));
    const auto of = [&](Tier tier) -> const AdmissibleSet& { return sets[static_cast<std::size_t>(tier)]; };
    for (const AdmissibleSet& set : sets) require(set.contains(of(Tier::exact)), "E is not in a looser tier", e);
    require(of(Tier::float_convolution).contains(of(Tier::float32)), "F_5 is not in D", e);
    require(of(Tier::fixed_point_float32).contains(of(Tier::fixed_point)), "Q31 is not in Q31-f32", e);
    for (std::int32_t got = e.parameters.y_range.lo; got <= e.parameters.y_range.hi; got += 17) {
      const std::int32_t nearest = of(Tier::float32).nearest(got);
      require(of(Tier::float32).contains(nearest), "the nearest member is no member", e);
      const TierSet tiers = tiers_of(nearest, e.sum, e.parameters, accuracy);
      for (const Tier tier : kSumTiers) {
        require(tiers.contains(tier) == of(tier).contains(nearest), "tiers_of() and the sets disagree", e);
      }
    }
  }
}

void check_nesting(const ScaledElement& e) {
  if (!within_domain(e.parameters)) return;
  AdmissibleSet looser = float_interval_set(e.sum.accumulator, e.parameters, 0);
  for (int k = 1; k <= 6; ++k) {
    const AdmissibleSet stricter = looser;
    looser = float_interval_set(e.sum.accumulator, e.parameters, k);
    require(looser.contains(stricter), "F_k is not in F_(k+1)", e);
  }
}

// Rounding decides a tie, unless saturation does.
void check_tie(const ScaledElement& e, const AdmissibleSet& exact) {
  const Requantization& p = e.parameters;
  if (exact.smallest() <= p.y_range.lo || exact.largest() >= p.y_range.hi) return;
  if (tie_distance(e.sum.accumulator, p.x_scale, p.w_scale, p.y_scale) != TieDistance::exact) return;
  require(!decided_value(channel_test(p), e.sum.accumulator), "a tie was decided quickly", e);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputReader reader(data, size);
  const ScaledElement e = take_element(reader);
  const AdmissibleSet exact = exact_set(e.sum.accumulator, e.parameters);
  const AdmissibleSet float32 = float_set(e.sum.accumulator, e.parameters);
  check_exact(e, exact);
  check_fast(e);
  check_expressions(e, float32);
  check_tiers(e);
  check_nesting(e);
  check_tie(e, exact);
  return 0;
}
