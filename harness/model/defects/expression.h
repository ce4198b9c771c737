// A small language of what a stage may compute: integer expressions over what the stage sees.
//
//     w_scale.index = channel % group_channels        x_difference = wrap8(x - zero_point)
//     pads.end = axes == 1 ? begin : end              output = saturate(rounded) + zero_point
//
// A family states its slots (Family::diagnosis.expressions): where an expression may stand, the names it may use, and
// what the reference has there. docs/explain.md describes the language, explain() learns such expressions, and
// `defect:FILE` runs one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/small_set.h"
#include "harness/model/defects/defect.h"

namespace qconform::diagnose {

/// The values that an expression sees at one call of its stage. Slots derive their own contexts from it.
struct StageContext {
  IntegerRange range{INT32_MIN, INT32_MAX};  ///< the range of the type at hand, to which `saturate` saturates
};

struct Variable {
  std::string_view name;  ///< letters, digits and _
  std::int64_t (*read)(const StageContext& context, std::int64_t which);
  std::int64_t which = 0;         ///< tells variables apart that one function reads
  bool is_for_conditions = true;  ///< worth a trial there
};

/// The operators that expressions of a slot may use beside its variables.
enum class Operators : std::uint8_t {
  none,     ///< one name, which is read before there is a context
  choices,  ///< names under conditions
  indices,  ///< + - * / % min max
  values,   ///< these, ^ and the widths
};

/// A place in a pipeline where an expression may stand in for what the reference does.
struct ExpressionSlot {
  std::string_view name;       ///< "w_scale.index"
  std::string_view describes;  ///< "which w_scale an output channel has"
  SmallSet<std::string_view> operators;
  std::string_view reference;  ///< "channel"
  Operators allowed;
  std::span<const Variable> variables;
  SmallSet<std::int64_t> constants;  ///< constants that are tried beside 0 and 1
  void (*set)(Stages& stages, const Expression& expression);
  bool wraps_in_range = false;  ///< the stage holds the value in StageContext::range, where it wraps
};

/// Operations on int64 that give int64; sums and products wrap there. `/` rounds down, by 0 it gives 0; `%` is never
/// negative. Comparisons give 0 or 1, and a condition holds where it is not 0.
enum class Operation : std::uint8_t {
  constant,
  variable,
  // One operand.
  negate,
  wrap8,
  wrap16,
  wrap32,
  saturate16,
  saturate32,
  saturate,         ///< saturates to StageContext::range
  int32_or_lowest,  ///< as x86 converts: the lowest number stands for all that int32 does not hold
  // Two operands.
  add,
  subtract,
  multiply,
  divide,
  remainder,
  minimum,
  maximum,
  exclusive_or,
  equal,
  unequal,
  less,
  // Three operands: condition, then, else.
  choose,
};

[[nodiscard]] int operands_of(Operation operation);

/// Sees the contexts of an expression's calls.
class ContextObserver {
 public:
  virtual void see(const StageContext& context) = 0;

 protected:
  ~ContextObserver() = default;
};

class Expression {
 public:
  struct Node {
    Operation operation;
    std::int64_t value = 0;  ///< the value of a constant, or a variable's position in the slot's list
    bool operator==(const Node&) const = default;
  };

  /// Operands before what joins them. The slot outlives the expression.
  Expression(const ExpressionSlot& slot, std::vector<Node> nodes) : slot_(&slot), nodes_(std::move(nodes)) {}

  /// Errors name the slot as field, what was not understood, and what there is.
  [[nodiscard]] static Result<Expression> parse(const ExpressionSlot& slot, std::string_view text);

  [[nodiscard]] std::int64_t evaluate(const StageContext& context) const;
  /// The text that parses to it, with as few parentheses as possible.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const ExpressionSlot& slot() const { return *slot_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  /// Tells the observer of each call from now on.
  void observe(ContextObserver& observer) { observer_ = &observer; }

  bool operator==(const Expression& other) const { return slot_ == other.slot_ && nodes_ == other.nodes_; }

 private:
  const ExpressionSlot* slot_;
  std::vector<Node> nodes_;
  ContextObserver* observer_ = nullptr;
};

/// The slots of an operator's family that concern the operator.
[[nodiscard]] std::vector<const ExpressionSlot*> slots_of(std::string_view op_type);
/// Returns the operator's slot of that name, or null.
[[nodiscard]] const ExpressionSlot* find_slot(std::string_view op_type, std::string_view name);

/// Parses an expression for the slot of that name that all these operators have. Errors have the field "stage", and
/// name the slots that there are, or "expression".
[[nodiscard]] Result<Expression> expression_in(std::span<const std::string> op_types, std::string_view slot,
                                               std::string_view text);

/// The slots in every operator that quantizes.
[[nodiscard]] std::span<const ExpressionSlot> common_slots();

// The operations. Inline: learning applies them millions of times.

[[nodiscard]] constexpr std::int64_t as_signed(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

[[nodiscard]] constexpr std::uint64_t as_bits(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

[[nodiscard]] constexpr std::int64_t rounded_down(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return as_signed(0 - as_bits(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

[[nodiscard]] constexpr std::int64_t remainder_of(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest >= 0 ? rest : b > 0 ? rest + b : rest - b;
}

/// Applies `operation` to as many operands as operands_of() says.
[[nodiscard]] inline std::int64_t apply(Operation operation, std::span<const std::int64_t> operands,
                                        IntegerRange range) {
  const std::int64_t a = operands[0];
  const std::int64_t b = operands.size() > 1 ? operands[1] : 0;
  switch (operation) {
    case Operation::negate: return as_signed(0 - as_bits(a));
    case Operation::wrap8: return static_cast<std::int8_t>(as_bits(a) & 0xFFU);
    case Operation::wrap16: return static_cast<std::int16_t>(as_bits(a) & 0xFFFFU);
    case Operation::wrap32: return static_cast<std::int32_t>(as_bits(a) & 0xFFFF'FFFFU);
    case Operation::saturate16: return std::clamp<std::int64_t>(a, INT16_MIN, INT16_MAX);
    case Operation::saturate32: return std::clamp<std::int64_t>(a, INT32_MIN, INT32_MAX);
    case Operation::saturate: return std::clamp<std::int64_t>(a, range.lo, range.hi);
    case Operation::int32_or_lowest: return a >= INT32_MIN && a <= INT32_MAX ? a : INT32_MIN;
    case Operation::add: return as_signed(as_bits(a) + as_bits(b));
    case Operation::subtract: return as_signed(as_bits(a) - as_bits(b));
    case Operation::multiply: return as_signed(as_bits(a) * as_bits(b));
    case Operation::divide: return rounded_down(a, b);
    case Operation::remainder: return remainder_of(a, b);
    case Operation::minimum: return std::min(a, b);
    case Operation::maximum: return std::max(a, b);
    case Operation::exclusive_or: return a ^ b;
    case Operation::equal: return a == b ? 1 : 0;
    case Operation::unequal: return a != b ? 1 : 0;
    case Operation::less: return a < b ? 1 : 0;
    case Operation::choose: return a != 0 ? b : operands[2];
    case Operation::constant:
    case Operation::variable: break;
  }
  return 0;
}

/// The value as a type of that range holds it.
[[nodiscard]] inline std::int64_t wrapped_in(IntegerRange range, std::int64_t value) {
  const std::int64_t count = std::int64_t{range.hi} - range.lo + 1;
  return range.lo + remainder_of(as_signed(as_bits(value) - as_bits(range.lo)), count);
}

}  // namespace qconform::diagnose
