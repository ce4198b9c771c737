// Defects between a scaled value and the stored integer.
#include "harness/model/defects/defect.h"

#include "harness/model/operator.h"
#include "reference/numerics/round.h"

namespace qconform::diagnose {
namespace {

// Converts to int32 as x86 does: the lowest number stands for every value that int32 does not hold, NaN too.
std::int64_t convert_to_int32(const Quotient& value, std::int64_t rounded) {
  const bool fits = value.kind != Quotient::Kind::nan && rounded >= INT32_MIN && rounded <= INT32_MAX;
  return fits ? rounded : INT32_MIN;
}

std::int64_t keep(std::int64_t value, IntegerRange) {
  return value;
}

constexpr Defect kCommonDefects[] = {
    {.id = "half-away",
     .description = "ties round away from zero",
     .trigger = "exact ties beside an even integer",
     .rule = "C19",
     .evidence = "onnxruntime#25045, tract#2850",
     .corner_cases = {CornerCase::tie_positive, CornerCase::tie_negative},
     .slot = "round",
     .computes = "half_away"},
    {.id = "half-up",
     .description = "floor(v + 1/2)",
     .trigger = "exact ties above an even integer",
     .rule = "C19",
     .evidence = "tensorflow#50290",
     .corner_cases = {CornerCase::tie_positive, CornerCase::tie_negative},
     .slot = "round",
     .computes = "half_up"},
    {.id = "truncate",
     .description = "fractions cut off, toward zero",
     .trigger = "a fraction of one half or more",
     .rule = "C19",
     .evidence = "onnxruntime#18576, onnxruntime#32452",
     .slot = "round",
     .computes = "toward_zero"},
    {.id = "zp-before-round",
     .description = "the zero point is added before rounding",
     .trigger = "exact ties with an odd zero point",
     .rule = "C19",
     .evidence = "onnx-mlir (Xilinx)#138, webnn-baseline#101",
     .corner_cases = {CornerCase::tie_odd_zero_point},
     .slot = "round",
     .computes = "zero_point % 2 == 0 ? half_even : half_odd"},
    {.id = "zp-in-f32",
     .description = "the zero point is added in float32 before rounding",
     .trigger = "ties with an odd zero point, and values that the float32 sum rounds to one",
     .rule = "C19",
     .evidence = "oneDNN 2.6.3",
     .corner_cases = {CornerCase::tie_odd_zero_point, CornerCase::near_tie_above, CornerCase::near_tie_below},
     .replace = add_zero_point_in_float32},
    {.id = "int32-before-clamp",
     .description = "converted to int32 before it is saturated: what that does not hold becomes its lowest number",
     .trigger = "values of 2^31 and more",
     .rule = "Q4",
     .evidence = "ONNX Runtime 1.30.0, OpenCV 4.6.0",
     .corner_cases = {CornerCase::conversion_overflow},
     .replace = [](Stages& s) { s.set(stage::convert, convert_to_int32); }},
    {.id = "zp-wraps-int32",
     .description = "the zero point is added to the int32 that the value saturates to, and wraps",
     .trigger = "values near the ends of int32 or beyond, a zero point of their sign",
     .rule = "Q4",
     .evidence = "ONNX Runtime 1.30.0",
     .corner_cases = {CornerCase::conversion_overflow},
     .replace = [](Stages& s) { s.set(stage::zero_point, add_zero_point_in_int32); }},
    {.id = "clamp-before-zp",
     .description = "saturated before the zero point is added, which then wraps",
     .trigger = "values that reach a bound with or without the zero point",
     .rule = "C19",
     .corner_cases = {CornerCase::clamp_low, CornerCase::clamp_high},
     .slot = "output",
     .computes = "saturate(rounded) + zero_point"},
    {.id = "wrap-not-saturate",
     .description = "the low bits are kept in place of saturating",
     .trigger = "values outside the output's type",
     .rule = "C19",
     .evidence = "onnx#7835",
     .corner_cases = {CornerCase::clamp_low, CornerCase::clamp_high},
     .replace = [](Stages& s) { s.set(stage::clamp, keep); }},
};

}  // namespace

std::int64_t round_half_away(const Quotient& value, std::int32_t) {
  const Neighbours n = neighbours_of(value);
  return n.is_tie ? n.sign * (n.lower + 1) : n.even();
}

std::int32_t hold_as_int8(IntegerRange range) {
  return range.lo == 0 && range.hi == UINT8_MAX ? 128 : 0;
}

// rne(RN32(v + zero point)): nothing is left to add.
void add_zero_point_in_float32(Stages& s) {
  s.set(stage::round, [](const Quotient& value, std::int32_t zero_point) {
    const double sum = static_cast<float>(float64_of(value) + zero_point);
    return static_cast<std::int64_t>(reference::round_half_even(sum));
  });
  s.set(stage::zero_point, [](std::int64_t sum, const OutputParameters&) { return sum; });
}

std::int64_t add_zero_point_in_int32(std::int64_t rounded, const OutputParameters& p) {
  constexpr IntegerRange kInt32{INT32_MIN, INT32_MAX};
  return reference::wrap_to_int32(std::int64_t{reference::saturate(rounded, kInt32)} + p.zero_point);
}

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
