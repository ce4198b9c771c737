// The slots in which expressions may stand between a scaled value and the stored integer.
#include "harness/model/defects/expression.h"
#include "harness/model/operator.h"

namespace qconform::diagnose {
namespace {

struct RoundContext : StageContext {
  const Quotient& value;
  std::int32_t zero_point;
};

enum class Way : std::uint8_t { even, odd, toward_zero, away, down, up, half_up, half_down, half_away, half_to_zero };

std::int64_t rounded(const StageContext& context, std::int64_t which) {
  const Neighbours n = neighbours_of(static_cast<const RoundContext&>(context).value);
  const std::int64_t near_zero = n.sign * n.lower;
  const std::int64_t far = n.is_whole ? near_zero : n.sign * (n.lower + 1);
  const bool is_positive = n.sign > 0;
  switch (static_cast<Way>(which)) {
    case Way::even: return n.even();
    case Way::odd: return n.odd();
    case Way::toward_zero: return near_zero;
    case Way::away: return far;
    case Way::down: return is_positive ? near_zero : far;
    case Way::up: return is_positive ? far : near_zero;
    case Way::half_up: return !n.is_tie ? n.even() : is_positive ? far : near_zero;
    case Way::half_down: return !n.is_tie ? n.even() : is_positive ? near_zero : far;
    case Way::half_away: return n.is_tie ? far : n.even();
    case Way::half_to_zero: break;
  }
  return n.is_tie ? near_zero : n.even();
}

constexpr std::int64_t index_of(Way way) {
  return static_cast<std::int64_t>(way);
}

constexpr Variable kRounding[] = {{"half_even", rounded, index_of(Way::even), false},
                                  {"half_odd", rounded, index_of(Way::odd), false},
                                  {"toward_zero", rounded, index_of(Way::toward_zero), false},
                                  {"away_from_zero", rounded, index_of(Way::away), false},
                                  {"down", rounded, index_of(Way::down), false},
                                  {"up", rounded, index_of(Way::up), false},
                                  {"half_up", rounded, index_of(Way::half_up), false},
                                  {"half_down", rounded, index_of(Way::half_down), false},
                                  {"half_away", rounded, index_of(Way::half_away), false},
                                  {"half_to_zero", rounded, index_of(Way::half_to_zero), false},
                                  {"zero_point", [](const StageContext& c, std::int64_t) {
                                     return std::int64_t{static_cast<const RoundContext&>(c).zero_point};
                                   }}};

void set_rounding(Stages& stages, const Expression& expression) {
  stages.set(stage::round, {[](const Expression& e, const Quotient& value, std::int32_t zero_point) {
                              return e.evaluate(RoundContext{{}, value, zero_point});
                            },
                            expression});
}

struct OutputContext : StageContext {
  std::int64_t rounded;
  const OutputParameters& parameters;
};

const OutputContext& output_of(const StageContext& context) {
  return static_cast<const OutputContext&>(context);
}

constexpr Variable kOutput[] = {
    {"rounded", [](const StageContext& c, std::int64_t) { return output_of(c).rounded; }},
    {"zero_point",
     [](const StageContext& c, std::int64_t) { return std::int64_t{output_of(c).parameters.zero_point}; }},
    {"lowest", [](const StageContext& c, std::int64_t) { return std::int64_t{c.range.lo}; }},
    {"highest", [](const StageContext& c, std::int64_t) { return std::int64_t{c.range.hi}; }}};

void set_output(Stages& stages, const Expression& expression) {
  stages.set(stage::zero_point, {[](const Expression& e, std::int64_t converted, const OutputParameters& parameters) {
                                   return e.evaluate(OutputContext{{parameters.range}, converted, parameters});
                                 },
                                 expression});
  stages.set(stage::clamp, [](std::int64_t value, IntegerRange) { return value; });
}

SmallSet<std::string_view> quantizing() {
  SmallSet<std::string_view> names;
  for (const Operator& known : operators()) {
    if (known.quantizes) names.add(known.name);
  }
  return names;
}

}  // namespace

std::span<const ExpressionSlot> common_slots() {
  static const ExpressionSlot kSlots[] = {{"round",
                                           "the scaled value as an integer",
                                           quantizing(),
                                           "half_even",
                                           Operators::choices,
                                           kRounding,
                                           {2},
                                           set_rounding},
                                          {"output",
                                           "the rounded value as it is stored, low bits first",
                                           quantizing(),
                                           "saturate(rounded + zero_point)",
                                           Operators::values,
                                           kOutput,
                                           {},
                                           set_output,
                                           true}};
  return kSlots;
}

}  // namespace qconform::diagnose
