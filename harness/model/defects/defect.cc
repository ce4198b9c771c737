#include "harness/model/defects/defect.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <stdexcept>
#include <string>

#include "harness/model/defects/expression.h"
#include "harness/model/family.h"
#include "harness/model/operator.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

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

// Defects between a scaled value and the stored integer.

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

namespace {

// Returns null where the entry has a function.
const Expression* expression_of(const Defect& entry) {
  static std::deque<Expression> all;
  if (entry.slot.empty()) return nullptr;
  for (const std::string_view op_type : entry.operators) {
    const ExpressionSlot* slot = find_slot(op_type, entry.slot);
    if (slot == nullptr) continue;
    auto parsed = Expression::parse(*slot, entry.computes);
    if (!parsed) throw std::logic_error(std::string(entry.id) + ": " + parsed.error().text());
    return &all.emplace_back(*std::move(parsed));
  }
  throw std::logic_error(std::string(entry.id) + ": no operator has the stage " + std::string(entry.slot));
}

void add_to(std::vector<Defect>& all, const Defect& added) {
  const Expression* expression = expression_of(added);
  const auto present =
      std::find_if(all.begin(), all.end(), [&](const Defect& defect) { return defect.id == added.id; });
  if (present == all.end()) {
    all.push_back(added);
    all.back().expression = expression;
    return;
  }
  present->operators.add(added.operators);
  present->admitted.add(added.admitted);
  if (expression != nullptr) {
    present->also_computes.add(expression);
  } else {
    present->also.add(added.replace);
  }
}

std::vector<Defect> all_defects() {
  const std::vector<Defect> common = common_defects();
  std::vector<DefectList> lists;
  for (const Family* family : families()) {
    if (family->diagnosis.defects == nullptr) continue;
    const auto of_family = family->diagnosis.defects();
    lists.insert(lists.end(), of_family.begin(), of_family.end());
  }
  lists.push_back({DefectTopic::output, common});
  std::stable_sort(lists.begin(), lists.end(),
                   [](const DefectList& a, const DefectList& b) { return a.topic < b.topic; });
  std::vector<Defect> all;
  for (const DefectList& list : lists) {
    for (const Defect& defect : list.defects) add_to(all, defect);
  }
  return all;
}

}  // namespace

void Defect::apply(Stages& stages) const {
  if (expression != nullptr) {
    expression->slot().set(stages, *expression);
  } else {
    replace(stages);
  }
  for (const auto further : also) further(stages);
  for (const Expression* further : also_computes) further->slot().set(stages, *further);
}

namespace {

// With room for those that are added: others know defects by their addresses.
std::vector<Defect>& registered_defects() {
  static std::vector<Defect> registered = [] {
    std::vector<Defect> all = all_defects();
    all.reserve(all.size() + kMostAddedDefects);
    return all;
  }();
  return registered;
}

}  // namespace

std::span<const Defect> defects() {
  return registered_defects();
}

Result<void> add_defects(std::span<const Defect> added) {
  std::vector<Defect>& all = registered_defects();
  if (added.size() > all.capacity() - all.size())
    return fail("defects", "expected " + std::to_string(kMostAddedDefects) + " at most in all files");
  for (std::size_t i = 0; i < added.size(); ++i) {
    const auto has_id = [&](const Defect& other) { return other.id == added[i].id; };
    const auto before = added.first(i);
    if (find_defect(added[i].id) != nullptr || std::any_of(before.begin(), before.end(), has_id)) {
      return fail("defects[" + std::to_string(i) + "].id",
                  "expected an id that no other defect has, got \"" + std::string(added[i].id) + "\"");
    }
  }
  all.insert(all.end(), added.begin(), added.end());
  return {};
}

std::vector<const Defect*> defects_in(std::string_view op_type) {
  std::vector<const Defect*> known;
  for (const Defect& defect : defects()) {
    if (defect.operators.contains(op_type)) known.push_back(&defect);
  }
  return known;
}

const Defect* find_defect(std::string_view id) {
  const auto all = defects();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Defect& defect) { return defect.id == id; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<const StageInfo*> replaced_stages(const Defect& defect) {
  Stages stages;
  defect.apply(stages);
  return stages.replaced();
}

std::vector<std::string_view> stages_of(const Defect& defect) {
  std::vector<std::string_view> names;
  for (const StageInfo* stage : replaced_stages(defect)) names.push_back(stage->name);
  return names;
}

DefectModel::DefectModel(reference::RoundingProfile profile) {
  for (const Family* family : families()) {
    if (family->diagnosis.use_profile != nullptr) family->diagnosis.use_profile(profile, original_);
  }
}

Result<void> DefectModel::add(const Defect& defect) {
  const std::vector<const StageInfo*> added = replaced_stages(defect);
  for (const Defect* present : defects_) {
    for (const StageInfo* stage : replaced_stages(*present)) {
      if (std::find(added.begin(), added.end(), stage) == added.end()) continue;
      return fail("", "defects " + std::string(present->id) + " and " + std::string(defect.id) +
                          " do not combine: both replace the stage " + std::string(stage->name));
    }
  }
  defects_.push_back(&defect);
  return {};
}

Stages DefectModel::stages(std::string_view op_type) const {
  Stages stages = original_;
  for (const Defect* defect : defects_) {
    if (defect->operators.contains(op_type)) defect->apply(stages);
  }
  return stages;
}

Result<DefectModel> pair_of(const Defect& a, const Defect& b) {
  DefectModel model;
  for (const Defect* defect : {&a, &b}) QCONFORM_TRY(model.add(*defect));
  return model;
}

}  // namespace qconform::diagnose
