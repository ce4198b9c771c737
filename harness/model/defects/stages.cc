#include "harness/model/defects/stages.h"

#include <algorithm>
#include <cmath>

#include "reference/numerics/round.h"
#include "reference/numerics/small_float.h"

namespace qconform::diagnose {
namespace {

// Every output is saturated beyond 2^40.
constexpr int kSaturatingExponent = 40;

}  // namespace

std::vector<const StageInfo*> Stages::replaced() const {
  std::vector<const StageInfo*> stages;
  for (const Replaced& replaced : replaced_) stages.push_back(replaced.stage);
  return stages;
}

Stages::Replaced& Stages::at(const StageInfo& stage) {
  const auto found = std::find_if(replaced_.begin(), replaced_.end(),
                                  [&](const Replaced& replaced) { return replaced.stage == &stage; });
  return found != replaced_.end() ? *found : replaced_.emplace_back(Replaced{&stage, {}});
}

Neighbours neighbours_of(const Quotient& value) {
  const std::int64_t sign = value.value.negative ? -1 : 1;
  constexpr std::int64_t kHuge = std::int64_t{1} << kSaturatingExponent;
  if (value.kind == Quotient::Kind::nan || value.is_zero()) return {sign, 0, 0, false, true};
  if (value.kind == Quotient::Kind::infinite || leading_exponent(value.value) >= kSaturatingExponent) {
    return {sign, kHuge, kHuge, false, true};
  }
  const reference::RoundedMagnitude magnitude = round_to_unit(value.value, 0);
  return {sign, static_cast<std::int64_t>(magnitude.floor), static_cast<std::int64_t>(magnitude.units),
          magnitude.is_tie, magnitude.is_whole};
}

Quotient quotient_of_float(double value) {
  if (std::isfinite(value)) return {Quotient::Kind::finite, reference::ratio_of(value)};
  return {Quotient::Kind::infinite, reference::Ratio{.negative = !(value > 0)}};
}

double float64_of(const Quotient& value) {
  constexpr double kHuge = 0x1p40;
  static_assert(kHuge == std::int64_t{1} << kSaturatingExponent);
  if (value.kind == Quotient::Kind::nan) return 0;
  if (value.kind == Quotient::Kind::infinite) return value.value.negative ? -kHuge : kHuge;
  return std::clamp(rounded_to(reference::float_format(ElementType::float64), value.value), -kHuge, kHuge);
}

}  // namespace qconform::diagnose
