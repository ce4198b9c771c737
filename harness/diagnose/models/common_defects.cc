// Defects between a scaled value and the stored integer.
#include "harness/diagnose/models/defect.h"

#include "harness/operators/operator.h"
#include "reference/numerics/saturate.h"

namespace qconform::diagnose {
namespace {

std::int64_t round_half_away(const Quotient& value, std::int32_t) {
  const Neighbours n = neighbours_of(value);
  return n.is_tie ? n.sign * (n.lower + 1) : n.even();
}

std::int64_t round_half_up(const Quotient& value, std::int32_t) {
  const Neighbours n = neighbours_of(value);
  if (!n.is_tie) return n.even();
  return n.sign > 0 ? n.lower + 1 : -n.lower;
}

std::int64_t truncate(const Quotient& value, std::int32_t) {
  const Neighbours n = neighbours_of(value);
  return n.sign * n.lower;
}

// rne(v + zero point) - zero point: an odd zero point turns every tie round.
std::int64_t round_with_zero_point(const Quotient& value, std::int32_t zero_point) {
  const Neighbours n = neighbours_of(value);
  return zero_point % 2 == 0 ? n.even() : n.odd();
}

std::int64_t keep(std::int64_t value, IntegerRange) {
  return value;
}

void clamp_before_zero_point(Stages& s) {
  s.set(stage::zero_point, [](std::int64_t rounded, const OutputParameters& p) {
    return std::int64_t{reference::saturate(rounded, p.range)} + p.zero_point;
  });
  s.set(stage::clamp, keep);
}

constexpr Defect kCommonDefects[] = {
    {.id = "half-away",
     .description = "ties round away from zero",
     .trigger = "exact ties beside an even integer",
     .rule = "C19",
     .evidence = "onnxruntime#25045, tract#2850",
     .hazards = {Hazard::tie_positive, Hazard::tie_negative},
     .replace = [](Stages& s) { s.set(stage::round, round_half_away); }},
    {.id = "half-up",
     .description = "floor(v + 1/2)",
     .trigger = "exact ties above an even integer",
     .rule = "C19",
     .evidence = "tensorflow#50290",
     .hazards = {Hazard::tie_positive, Hazard::tie_negative},
     .replace = [](Stages& s) { s.set(stage::round, round_half_up); }},
    {.id = "truncate",
     .description = "fractions cut off, toward zero",
     .trigger = "a fraction of one half or more",
     .rule = "C19",
     .evidence = "onnxruntime#18576, onnxruntime#32452",
     .replace = [](Stages& s) { s.set(stage::round, truncate); }},
    {.id = "zp-before-round",
     .description = "the zero point is added before rounding",
     .trigger = "exact ties with an odd zero point",
     .rule = "C19",
     .evidence = "onnx-mlir (Xilinx)#138, webnn-baseline#101",
     .hazards = {Hazard::tie_odd_zero_point},
     .replace = [](Stages& s) { s.set(stage::round, round_with_zero_point); }},
    {.id = "clamp-before-zp",
     .description = "saturated before the zero point is added, which then wraps",
     .trigger = "values that reach a bound with or without the zero point",
     .rule = "C19",
     .hazards = {Hazard::clamp_low, Hazard::clamp_high},
     .replace = clamp_before_zero_point},
    {.id = "wrap-not-saturate",
     .description = "the low bits are kept in place of saturating",
     .trigger = "values outside the output's type",
     .rule = "C19",
     .evidence = "onnx#7835",
     .hazards = {Hazard::clamp_low, Hazard::clamp_high},
     .replace = [](Stages& s) { s.set(stage::clamp, keep); }},
};

}  // namespace

std::vector<Defect> common_defects() {
  OpSet quantizing;
  for (const Operator& known : operators()) {
    if (known.quantizes) quantizing.add(known.name);
  }
  std::vector<Defect> all(std::begin(kCommonDefects), std::end(kCommonDefects));
  for (Defect& defect : all) defect.operators = quantizing;
  return all;
}

}  // namespace qconform::diagnose
