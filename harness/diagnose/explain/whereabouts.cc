#include "harness/diagnose/explain/whereabouts.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/diagnose/explain/candidates.h"
#include "harness/diagnose/explain/like_cases.h"
#include "harness/model/defects/expression.h"
#include "harness/model/family.h"
#include "harness/model/text.h"

namespace qconform::diagnose {
namespace {

constexpr std::size_t kFewestFailures = 6;
constexpr std::uint64_t kFewestWrongElements = 24;

// A formula that may stand in a slot, and how it is told.
struct OtherFormula {
  std::string expression;
  std::string told;
};

// Indices: a neighbour, one that is cut off, the first one. Values: one of several terms alone, or fewer bits.
std::vector<OtherFormula> formulas_of(const ExpressionSlot& slot) {
  std::vector<OtherFormula> all;
  const auto add = [&](const std::string& text) { all.push_back({text, fmt::format("{} = {}", slot.name, text)}); };
  if (slot.allowed == Operators::indices || slot.allowed == Operators::values) add("0");
  const auto add_cut_off = [&](std::string_view value) {
    for (int bits = 12; bits < 32; ++bits) {
      const std::int64_t half = std::int64_t{1} << (bits - 1);
      all.push_back({fmt::format("({} + {}) % {} - {}", value, half, 2 * half, half),
                     fmt::format("{} = {} in {} bits", slot.name, value, bits)});
    }
  };
  for (const Variable& variable : slot.variables) {
    const std::string name(variable.name);
    if (slot.allowed == Operators::values) add(name);
    if (slot.allowed != Operators::indices) continue;
    for (const char* form : {"{} - 1", "{} + 1", "{} / 2"}) add(fmt::format(fmt::runtime(form), name));
    for (std::int64_t count = 256; count > 1; count /= 2) add(fmt::format("{} % {}", name, count));
  }
  if (slot.allowed == Operators::values) add_cut_off(slot.reference);
  return all;
}

// Whether the model has all wrong elements of the failures. Where they are right it may be wrong, but for `is_whole`.
bool has_every_wrong_element(const DefectModel& model, const std::vector<const Observation*>& failures, bool is_whole) {
  return std::none_of(failures.begin(), failures.end(),
                      [&](const Observation* failure) { return is_refuted(*failure, model); }) &&
         std::all_of(failures.begin(), failures.end(), [&](const Observation* failure) {
           const Match found = match(*failure, failure->modelled().run(model));
           return found.explained == failure->wrong_elements() && (!is_whole || found.broken == 0);
         });
}

}  // namespace

std::string find_behaviour(const std::vector<const Observation*>& failures, const Policy& policy) {
  std::uint64_t wrong = 0;
  for (const Observation* failure : failures) wrong += failure->wrong_elements();
  if (failures.size() < kFewestFailures || wrong < kFewestWrongElements) return "";
  const Operator& op = failures.front()->modelled().op();
  const CandidateTest test(op, policy);
  for (const ExpressionSlot* slot : slots_of(op.name)) {
    // How many elements are written says something of each of them.
    const bool is_whole = slot->name == "count";
    for (const OtherFormula& formula : formulas_of(*slot)) {
      const auto expression = Expression::parse(*slot, formula.expression);
      if (!expression) continue;
      for (const Arithmetic& arithmetic : test.known_arithmetics()) {
        Stages stages = arithmetic.models.common.original();
        slot->set(stages, *expression);
        if (has_every_wrong_element(DefectModel(std::move(stages)), failures, is_whole)) return formula.told;
      }
    }
  }
  return "";
}

Whereabouts locate(const Case& failing, const Runner& run, const Policy& policy,
                   const std::vector<const Observation*>& further, const LocatingLimits& limits) {
  constexpr double kForThresholds = 0.6;
  Whereabouts result;
  const Family* const family = family_of(failing);
  if (family == nullptr || family->diagnosis.sizes == nullptr) return result;
  LikeCases cases(failing, run, policy, limits);
  if (cases.fails_often()) {
    cases.spend_up_to(kForThresholds);
    result.thresholds = find_thresholds(cases);
    cases.spend_up_to(1);
    find_place(cases, result);
  }
  std::vector<const Observation*> failures;
  for (const auto& failure : cases.failures()) failures.push_back(failure.get());
  failures.insert(failures.end(), further.begin(), further.end());
  result.behaves = find_behaviour(failures, policy);
  return result;
}

}  // namespace qconform::diagnose
