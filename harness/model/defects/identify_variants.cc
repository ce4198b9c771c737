#include "harness/model/defects/identify_variants.h"

#include <algorithm>
#include <cmath>

#include "harness/model/family.h"
#include "reference/numerics/round.h"
#include "reference/numerics/small_float.h"

namespace qconform::diagnose {
namespace {

using Round = std::int64_t (*)(const Quotient& value, std::int32_t zero_point);

Variant rounding(std::string id, std::string formula, Round round) {
  return {std::move(id), std::move(formula), [round](Stages& s) { s.set(stage::round, round); }};
}

std::int64_t half_down(const Quotient& value, std::int32_t) {
  const Neighbours n = neighbours_of(value);
  if (!n.is_tie) return n.even();
  return n.sign > 0 ? n.lower : -n.lower - 1;
}

double as_float32(double value) {
  return static_cast<double>(static_cast<float>(value));
}

// Adds the zero point in the arithmetic of `narrow`, rounds with `round`, and takes it off again: the next
// stage adds it.
template <double (*narrow)(double), double (*round)(double)>
std::int64_t with_zero_point(const Quotient& value, std::int32_t zero_point) {
  return static_cast<std::int64_t>(round(narrow(float64_of(value) + zero_point))) - zero_point;
}

double in_float64(double value) {
  return value;
}

double nearest_even(double value) {
  return reference::round_half_even(value);
}

double nearest_away(double value) {
  return std::round(value);
}

std::int64_t add_half_and_floor(const Quotient& value, std::int32_t) {
  return static_cast<std::int64_t>(std::floor(as_float32(float64_of(value) + 0.5)));
}

std::int64_t add_half_and_truncate(const Quotient& value, std::int32_t) {
  const double v = float64_of(value);
  return static_cast<std::int64_t>(std::trunc(as_float32(v + std::copysign(0.5, v))));
}

std::vector<Choice> all_choices() {
  std::vector<Choice> all;
  for (const Family* family : families()) {
    if (family->choices == nullptr) continue;
    std::vector<Choice> own = family->choices();
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<std::string_view> all_ids() {
  std::vector<std::string_view> ids;
  for (const Choice& choice : choices()) {
    if (std::find(ids.begin(), ids.end(), choice.id) == ids.end()) ids.push_back(choice.id);
  }
  return ids;
}

}  // namespace

Variant variant_of_defect(std::string id, std::string formula, std::string_view defect) {
  return {std::move(id), std::move(formula), [model = find_defect(defect)](Stages& s) { model->apply(s); }, defect};
}

Variant plain_variant(std::string id, std::string formula) {
  return {std::move(id), std::move(formula), [](Stages&) {}};
}

std::vector<Variant> rounding_variants() {
  return {
      plain_variant("half-even", "to nearest, ties to even, then the zero point"),
      variant_of_defect("half-away", "to nearest, ties away from zero, then the zero point", "half-away"),
      variant_of_defect("half-up", "to nearest, ties upward, then the zero point", "half-up"),
      rounding("half-down", "to nearest, ties downward, then the zero point", half_down),
      variant_of_defect("truncate", "toward zero, then the zero point", "truncate"),
      variant_of_defect("zero-point-first", "the zero point, then to nearest, ties to even", "zp-before-round"),
      variant_of_defect("zero-point-first-f32", "f32(value + zero point), then to nearest, ties to even", "zp-in-f32"),
      rounding("zero-point-first-f64", "f64(value + zero point), then to nearest, ties to even",
               with_zero_point<in_float64, nearest_even>),
      rounding("zero-point-first-f32-half-away", "f32(value + zero point), then to nearest, ties away from zero",
               with_zero_point<as_float32, nearest_away>),
      rounding("half-added-f32", "floor(f32(value + 0.5)), then the zero point", add_half_and_floor),
      rounding("half-added-f32-truncated", "f32(value +- 0.5) toward zero, then the zero point", add_half_and_truncate),
  };
}

std::vector<Variant> conversion_variants() {
  return {plain_variant("saturates", "values beyond int32 saturate by their sign"),
          variant_of_defect("lowest", "values beyond int32, of either sign, give the lowest int32 (x86's cvtps2dq)",
                            "int32-before-clamp")};
}

std::span<const Choice> choices() {
  static const std::vector<Choice> all = all_choices();
  return all;
}

const Choice* find_choice(std::string_view op_type, std::string_view id) {
  const auto all = choices();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Choice& a) { return a.op_type == op_type && a.id == id; });
  return found == all.end() ? nullptr : &*found;
}

const Variant* find_variant(const Choice& choice, std::string_view id) {
  const auto found = std::find_if(choice.variants.begin(), choice.variants.end(),
                                  [&](const Variant& variant) { return variant.id == id; });
  return found == choice.variants.end() ? nullptr : &*found;
}

}  // namespace qconform::diagnose

std::span<const std::string_view> qconform::choice_ids() {
  static const std::vector<std::string_view> all = diagnose::all_ids();
  return all;
}
