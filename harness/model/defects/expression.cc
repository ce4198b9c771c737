#include "harness/model/defects/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "harness/base/text.h"
#include "harness/model/family.h"
#include "harness/model/operator.h"

namespace qconform::diagnose {
namespace {

constexpr std::size_t kMostNodes = 64;
constexpr int kDeepest = 32;

struct NamedOperation {
  std::string_view name;
  Operation operation;
};
constexpr NamedOperation kFunctions[] = {{"wrap8", Operation::wrap8},
                                         {"wrap16", Operation::wrap16},
                                         {"wrap32", Operation::wrap32},
                                         {"saturate16", Operation::saturate16},
                                         {"saturate32", Operation::saturate32},
                                         {"saturate", Operation::saturate},
                                         {"min", Operation::minimum},
                                         {"max", Operation::maximum},
                                         {"int32_or_lowest", Operation::int32_or_lowest}};

// By how tightly they bind; those of one strength go from left to right.
struct Infix {
  std::string_view sign;
  Operation operation;
  int strength;
};
constexpr Infix kInfixes[] = {
    {"==", Operation::equal, 1},       {"!=", Operation::unequal, 1}, {"<", Operation::less, 1},
    {"^", Operation::exclusive_or, 2}, {"+", Operation::add, 3},      {"-", Operation::subtract, 3},
    {"*", Operation::multiply, 4},     {"/", Operation::divide, 4},   {"%", Operation::remainder, 4}};
constexpr int kOfChoice = 0;
constexpr int kOfSign = 5;
constexpr int kTightest = 6;

const Infix* infix_of(Operation operation) {
  const auto* found =
      std::find_if(std::begin(kInfixes), std::end(kInfixes), [&](const Infix& i) { return i.operation == operation; });
  return found == std::end(kInfixes) ? nullptr : found;
}

}  // namespace

int operands_of(Operation operation) {
  if (operation <= Operation::variable) return 0;
  if (operation <= Operation::int32_or_lowest) return 1;
  return operation == Operation::choose ? 3 : 2;
}

std::int64_t Expression::evaluate(const StageContext& context) const {
  if (observer_ != nullptr) observer_->see(context);
  std::array<std::int64_t, kMostNodes> stack;
  std::size_t size = 0;
  for (const Node& node : nodes_) {
    if (node.operation == Operation::constant) {
      stack[size++] = node.value;
    } else if (node.operation == Operation::variable) {
      const Variable& variable = slot_->variables[static_cast<std::size_t>(node.value)];
      stack[size++] = variable.read(context, variable.which);
    } else {
      const auto count = static_cast<std::size_t>(operands_of(node.operation));
      size -= count;
      stack[size] = apply(node.operation, std::span(stack).subspan(size, count), context.range);
      ++size;
    }
  }
  return stack[0];
}

namespace {

struct Written {
  std::string text;
  int strength;

  [[nodiscard]] std::string within(int least) const { return strength < least ? "(" + text + ")" : text; }
};

Written written(const Expression::Node& node, std::span<const Written> operands) {
  if (const Infix* infix = infix_of(node.operation)) {
    return {fmt::format("{} {} {}", operands[0].within(infix->strength), infix->sign,
                        operands[1].within(infix->strength + 1)),
            infix->strength};
  }
  if (node.operation == Operation::choose) {
    return {fmt::format("{} ? {} : {}", operands[0].within(kOfChoice + 1), operands[1].within(kOfChoice + 1),
                        operands[2].within(kOfChoice)),
            kOfChoice};
  }
  // "-5" is a number.
  if (node.operation == Operation::negate) {
    const bool is_number = operands[0].text.find_first_of("0123456789") == 0;
    return {"-" + (is_number ? "(" + operands[0].text + ")" : operands[0].within(kTightest)), kOfSign};
  }
  const auto* function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                      [&](const NamedOperation& named) { return named.operation == node.operation; });
  std::vector<std::string> texts;
  for (const Written& operand : operands) texts.push_back(operand.text);
  return {fmt::format("{}({})", function->name, fmt::join(texts, ", ")), kTightest};
}

}  // namespace

std::string Expression::text() const {
  std::vector<Written> stack;
  for (const Node& node : nodes_) {
    if (node.operation == Operation::constant) {
      stack.push_back({std::to_string(node.value), node.value < 0 ? kOfSign : kTightest});
      continue;
    }
    if (node.operation == Operation::variable) {
      stack.push_back({std::string(slot_->variables[static_cast<std::size_t>(node.value)].name), kTightest});
      continue;
    }
    const auto count = static_cast<std::ptrdiff_t>(operands_of(node.operation));
    Written whole = written(node, {stack.end() - count, stack.end()});
    stack.erase(stack.end() - count, stack.end());
    stack.push_back(std::move(whole));
  }
  return stack.front().text;
}

namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

// By recursive descent; appends nodes in their order.
class Parser {
 public:
  Parser(const ExpressionSlot& slot, std::string_view text) : slot_(slot), rest_(text) {}

  Result<std::vector<Expression::Node>> run() {
    QCONFORM_TRY(choice());
    skip_spaces();
    if (!rest_.empty()) return error("expected an operator or the end");
    if (nodes_.size() > kMostNodes) return error(fmt::format("more than {} operands and operators", kMostNodes));
    return std::move(nodes_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> error(const std::string& expected) const {
    const std::string at = rest_.empty() ? "the end" : "\"" + printable(rest_) + "\"";
    return fail(std::string(slot_.name), fmt::format("{}, got {}", expected, at));
  }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  bool take(std::string_view sign) {
    skip_spaces();
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(sign.size());
    return true;
  }

  std::string_view take_of(std::string_view characters) {
    const std::string_view taken = rest_.substr(0, std::min(rest_.find_first_not_of(characters), rest_.size()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  void add(Operation operation, std::int64_t value = 0) { nodes_.push_back({operation, value}); }

  Result<void> choice() {
    if (++depth_ > kDeepest) return error(fmt::format("expected parentheses no deeper than {}", kDeepest));
    QCONFORM_TRY(infix(1));
    if (take("?")) {
      QCONFORM_TRY(infix(1));
      if (!take(":")) return error("expected : behind the value of a condition");
      QCONFORM_TRY(choice());
      add(Operation::choose);
    }
    --depth_;
    return {};
  }

  Result<void> infix(int strength) {
    if (strength == kOfSign) return sign();
    QCONFORM_TRY(infix(strength + 1));
    for (;;) {
      const auto* found = std::find_if(std::begin(kInfixes), std::end(kInfixes),
                                       [&](const Infix& i) { return i.strength == strength && take(i.sign); });
      if (found == std::end(kInfixes)) return {};
      QCONFORM_TRY(infix(strength + 1));
      add(found->operation);
    }
  }

  Result<void> sign() {
    if (!take("-")) return primary();
    skip_spaces();
    if (!rest_.empty() && kDigits.find(rest_.front()) != std::string_view::npos) return number("-");
    QCONFORM_TRY(primary());
    add(Operation::negate);
    return {};
  }

  Result<void> number(std::string sign) {
    const std::string text = std::move(sign) + std::string(take_of(kDigits));
    std::int64_t value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc() || end != text.data() + text.size())
      return error(fmt::format("expected a number of 64 bits, got \"{}\" before what follows", printable(text)));
    add(Operation::constant, value);
    return {};
  }

  Result<void> primary() {
    skip_spaces();
    if (take("(")) {
      QCONFORM_TRY(choice());
      if (!take(")")) return error("expected )");
      return {};
    }
    if (rest_.empty()) return error("expected a name, a number or (");
    if (kDigits.find(rest_.front()) != std::string_view::npos) return number("");
    const std::string_view before = rest_;
    const std::string_view name = take_of(kNameCharacters);
    for (std::size_t i = 0; i < slot_.variables.size(); ++i) {
      if (slot_.variables[i].name != name) continue;
      add(Operation::variable, static_cast<std::int64_t>(i));
      return {};
    }
    for (const NamedOperation& function : kFunctions) {
      if (function.name == name) return call(function.operation);
    }
    rest_ = before;
    return unknown();
  }

  Result<void> call(Operation operation) {
    if (!take("(")) return error("expected ( behind a function's name");
    const int count = operands_of(operation);
    for (int i = 0; i < count; ++i) {
      if (i > 0 && !take(",")) return error("expected a comma and one operand more");
      QCONFORM_TRY(choice());
    }
    if (!take(")")) return error("expected ) behind the operands");
    add(operation);
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> unknown() const {
    std::vector<std::string_view> names;
    for (const Variable& variable : slot_.variables) names.push_back(variable.name);
    return error(fmt::format("expected a name out of {}, a number or (", fmt::join(names, ", ")));
  }

  const ExpressionSlot& slot_;
  std::string_view rest_;
  std::vector<Expression::Node> nodes_;
  int depth_ = 0;
};

}  // namespace

Result<Expression> Expression::parse(const ExpressionSlot& slot, std::string_view text) {
  QCONFORM_ASSIGN(auto nodes, Parser(slot, text).run());
  if (slot.allowed == Operators::none && (nodes.size() != 1 || nodes[0].operation != Operation::variable))
    return fail(std::string(slot.name), "expected one name alone, got \"" + printable(text) + "\"");
  return Expression(slot, std::move(nodes));
}

std::vector<const ExpressionSlot*> slots_of(std::string_view op_type) {
  std::vector<const ExpressionSlot*> slots;
  const auto add = [&](std::span<const ExpressionSlot> all) {
    for (const ExpressionSlot& slot : all) {
      if (slot.operators.contains(op_type)) slots.push_back(&slot);
    }
  };
  const Family* family = family_of("", op_type);
  if (family == nullptr || family->diagnosis.run == nullptr) return slots;
  if (family->diagnosis.expressions != nullptr) add(family->diagnosis.expressions());
  add(common_slots());
  return slots;
}

const ExpressionSlot* find_slot(std::string_view op_type, std::string_view name) {
  for (const ExpressionSlot* slot : slots_of(op_type)) {
    if (slot->name == name) return slot;
  }
  return nullptr;
}

Result<Expression> expression_in(std::span<const std::string> op_types, std::string_view slot, std::string_view text) {
  std::vector<const ExpressionSlot*> shared = slots_of(op_types.front());
  std::erase_if(shared, [&](const ExpressionSlot* one) {
    return std::any_of(op_types.begin(), op_types.end(),
                       [&](const std::string& op_type) { return find_slot(op_type, one->name) != one; });
  });
  const auto found =
      std::find_if(shared.begin(), shared.end(), [&](const ExpressionSlot* one) { return one->name == slot; });
  if (found != shared.end()) return in_context("expression", Expression::parse(**found, text));
  const std::string operators = fmt::format("{}", fmt::join(op_types, " and "));
  if (shared.empty()) return fail("stage", fmt::format("expected no expression for {}: no stage takes one", operators));
  std::vector<std::string_view> names;
  for (const ExpressionSlot* one : shared) names.push_back(one->name);
  return fail("stage",
              fmt::format("expected one of {} of {}, got \"{}\"", fmt::join(names, ", "), operators, printable(slot)));
}

// The slots in which expressions may stand between a scaled value and the stored integer.

namespace {

struct RoundContext : StageContext {
  const Quotient& value;
  std::int32_t zero_point;
};

enum class RoundingWay : std::uint8_t {
  even,
  odd,
  toward_zero,
  away,
  down,
  up,
  half_up,
  half_down,
  half_away,
  half_to_zero
};

std::int64_t rounded(const StageContext& context, std::int64_t which) {
  const Neighbours n = neighbours_of(static_cast<const RoundContext&>(context).value);
  const std::int64_t near_zero = n.sign * n.lower;
  const std::int64_t far = n.is_whole ? near_zero : n.sign * (n.lower + 1);
  const bool is_positive = n.sign > 0;
  switch (static_cast<RoundingWay>(which)) {
    case RoundingWay::even: return n.even();
    case RoundingWay::odd: return n.odd();
    case RoundingWay::toward_zero: return near_zero;
    case RoundingWay::away: return far;
    case RoundingWay::down: return is_positive ? near_zero : far;
    case RoundingWay::up: return is_positive ? far : near_zero;
    case RoundingWay::half_up: return !n.is_tie ? n.even() : is_positive ? far : near_zero;
    case RoundingWay::half_down: return !n.is_tie ? n.even() : is_positive ? near_zero : far;
    case RoundingWay::half_away: return n.is_tie ? far : n.even();
    case RoundingWay::half_to_zero: break;
  }
  return n.is_tie ? near_zero : n.even();
}

constexpr std::int64_t index_of(RoundingWay way) {
  return static_cast<std::int64_t>(way);
}

constexpr Variable kRounding[] = {{"half_even", rounded, index_of(RoundingWay::even), false},
                                  {"half_odd", rounded, index_of(RoundingWay::odd), false},
                                  {"toward_zero", rounded, index_of(RoundingWay::toward_zero), false},
                                  {"away_from_zero", rounded, index_of(RoundingWay::away), false},
                                  {"down", rounded, index_of(RoundingWay::down), false},
                                  {"up", rounded, index_of(RoundingWay::up), false},
                                  {"half_up", rounded, index_of(RoundingWay::half_up), false},
                                  {"half_down", rounded, index_of(RoundingWay::half_down), false},
                                  {"half_away", rounded, index_of(RoundingWay::half_away), false},
                                  {"half_to_zero", rounded, index_of(RoundingWay::half_to_zero), false},
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
