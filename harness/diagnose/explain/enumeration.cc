#include "harness/diagnose/explain/learning.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "harness/model/defects/expression.h"

namespace qconform::diagnose {
namespace {

using Node = Expression::Node;

constexpr Operation kWidths[] = {Operation::negate,   Operation::wrap8,          Operation::wrap16,
                                 Operation::wrap32,   Operation::saturate16,     Operation::saturate32,
                                 Operation::saturate, Operation::int32_or_lowest};
constexpr Operation kOfIndices[] = {Operation::add,       Operation::subtract, Operation::multiply, Operation::divide,
                                    Operation::remainder, Operation::minimum,  Operation::maximum};
constexpr Operation kOfValues[] = {Operation::add,     Operation::subtract, Operation::multiply,    Operation::divide,
                                   Operation::minimum, Operation::maximum,  Operation::exclusive_or};
constexpr Operation kOfConditions[] = {Operation::remainder, Operation::multiply, Operation::equal, Operation::unequal,
                                       Operation::less};

std::span<const Operation> binary_of(Operators allowed) {
  if (allowed == Operators::indices) return kOfIndices;
  if (allowed == Operators::values) return kOfValues;
  return {};
}

bool commutes(Operation operation) {
  constexpr Operation kCommuting[] = {Operation::add,   Operation::multiply, Operation::minimum,     Operation::maximum,
                                      Operation::equal, Operation::unequal,  Operation::exclusive_or};
  return std::find(std::begin(kCommuting), std::end(kCommuting), operation) != std::end(kCommuting);
}

// One operation on all rows.
using Fill = void (*)(const std::array<const std::int64_t*, 3>& operands, const std::vector<ExpressionInputs>& rows,
                      std::vector<std::int64_t>& values);
template <std::size_t kOperation>
void fill(const std::array<const std::int64_t*, 3>& operands, const std::vector<ExpressionInputs>& rows,
          std::vector<std::int64_t>& values) {
  constexpr auto kApplied = static_cast<Operation>(kOperation);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::array<std::int64_t, 3> of_row{};
    for (std::size_t o = 0; o < operands.size(); ++o) of_row[o] = operands[o] == nullptr ? 0 : operands[o][i];
    values[i] = apply(kApplied, of_row, rows[i].range);
  }
}
constexpr std::size_t kOperations = static_cast<std::size_t>(Operation::choose) + 1;
constexpr auto kFills = []<std::size_t... kAll>(std::index_sequence<kAll...>) {
  return std::array<Fill, kOperations>{fill<kAll>...};
}
(std::make_index_sequence<kOperations>());

// Names before there is a context are told apart by themselves.
std::vector<ExpressionInputs> rows_of_names(const ExpressionSlot& slot) {
  ExpressionInputs row{{}, {INT32_MIN, INT32_MAX}};
  for (const Variable& variable : slot.variables) row.variables.push_back(variable.which);
  return {row};
}

}  // namespace

// Four at a time, which do not wait for each other.
std::uint64_t fingerprint_of(std::span<const std::int64_t> values) {
  constexpr std::uint64_t kFactor = 0xFF51'AFD7'ED55'8CCDU;
  std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t& lane = lanes[i % lanes.size()];
    lane = std::rotl((lane ^ static_cast<std::uint64_t>(values[i])) * kFactor, 31);
  }
  // Differences in one lane reach all bits before the next comes in.
  std::uint64_t all = values.size();
  for (const std::uint64_t lane : lanes) {
    all += lane;
    for (int round = 0; round < 2; ++round) all = (all ^ (all >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
    all ^= all >> 31U;
  }
  return all;
}

Enumeration::Enumeration(const ExpressionSlot& slot, std::vector<ExpressionInputs> rows)
    : slot_(slot), rows_(slot.allowed == Operators::none ? rows_of_names(slot) : std::move(rows)) {
  scratch_.resize(rows_.size());
  reference_ = entry_of(Expression::parse(slot, slot.reference)->nodes());
  if (slot.allowed != Operators::none) find_conditions();
}

Enumeration::EvaluatedExpression Enumeration::entry_of(std::vector<Node> nodes) const {
  EvaluatedExpression entry{std::move(nodes), {}};
  for (const ExpressionInputs& row : rows_) {
    std::vector<std::int64_t> stack;
    for (const Node& node : entry.nodes) {
      const auto count = static_cast<std::size_t>(operands_of(node.operation));
      std::int64_t value = node.value;
      if (node.operation == Operation::variable) value = row.variables[static_cast<std::size_t>(node.value)];
      if (count > 0) value = apply(node.operation, std::span(stack).last(count), row.range);
      stack.resize(stack.size() - count);
      stack.push_back(value);
    }
    entry.values.push_back(stack.front());
  }
  return entry;
}

void Enumeration::join(Operation operation, std::span<const EvaluatedExpression* const> operands) {
  if (joins_++ >= most_joins_) {
    complete_ = std::min(complete_, size() - 1);
    has_ended_ = true;
    return;
  }
  std::array<const std::int64_t*, 3> values{};
  for (std::size_t i = 0; i < operands.size(); ++i) values[i] = operands[i]->values.data();
  kFills[static_cast<std::size_t>(operation)](values, rows_, scratch_);
  if (seen_.contains(fingerprint(scratch_))) return;
  EvaluatedExpression entry{{}, scratch_};
  for (const EvaluatedExpression* operand : operands) {
    entry.nodes.insert(entry.nodes.end(), operand->nodes.begin(), operand->nodes.end());
  }
  entry.nodes.push_back({operation});
  add(std::move(entry));
}

// The values as the stage takes them.
std::vector<std::int64_t> Enumeration::stored(std::vector<std::int64_t> values) const {
  for (std::size_t i = 0; slot_.wraps_in_range && i < values.size(); ++i)
    values[i] = wrapped_in(rows_[i].range, values[i]);
  return values;
}

std::uint64_t Enumeration::fingerprint(const std::vector<std::int64_t>& values) const {
  return slot_.wraps_in_range ? fingerprint_of(stored(values)) : fingerprint_of(values);
}

void Enumeration::add(EvaluatedExpression entry) {
  if (has_ended_ || !seen_.insert(fingerprint(entry.values)).second) return;
  // An expression with the reference's values is no answer, and may be part of one.
  if (stored(entry.values) != stored(reference_.values))
    has_ended_ = !(*visit_)(Expression(slot_, entry.nodes), entry.values);
  if (entry.nodes.back().operation == Operation::choose) return;
  if (entries_.back().size() < kMostOfASize) {
    entries_.back().push_back(std::move(entry));
  } else {
    complete_ = std::min(complete_, size());
  }
}

void Enumeration::add_leaves() {
  std::vector<std::int64_t> constants{0, 1};
  constants.insert(constants.end(), slot_.constants.begin(), slot_.constants.end());
  std::vector<std::vector<Node>> leaves;
  for (std::size_t i = 0; i < slot_.variables.size(); ++i)
    leaves.push_back({{Operation::variable, static_cast<std::int64_t>(i)}});
  if (slot_.allowed == Operators::indices || slot_.allowed == Operators::values) {
    for (const std::int64_t constant : constants) leaves.push_back({{Operation::constant, constant}});
  }
  for (std::vector<Node>& nodes : leaves) {
    add(entry_of(std::move(nodes)));
  }
}

void Enumeration::add_joined(std::size_t size) {
  if (slot_.allowed == Operators::values) {
    for (const Operation operation : kWidths) {
      for (const EvaluatedExpression& operand : entries_[size - 1]) {
        const EvaluatedExpression* const operands[] = {&operand};
        join(operation, operands);
        if (has_ended_) return;
      }
    }
  }
  for (const Operation operation : binary_of(slot_.allowed)) {
    for (std::size_t first = 1; first + 1 < size; ++first) {
      if (commutes(operation) && first > size - 1 - first) continue;
      for (const EvaluatedExpression& a : entries_[first]) {
        for (const EvaluatedExpression& b : entries_[size - 1 - first]) {
          const EvaluatedExpression* const operands[] = {&a, &b};
          join(operation, operands);
          if (has_ended_) return;
        }
      }
    }
  }
}

// Adds expressions of the shape `condition ? something : what the reference does`.
void Enumeration::add_choices(std::size_t size) {
  for (std::size_t first = 1; first < conditions_.size() && first + 1 < size; ++first) {
    for (const EvaluatedExpression& condition : conditions_[first]) {
      for (const EvaluatedExpression& then : entries_[size - 1 - first]) {
        const EvaluatedExpression* const operands[] = {&condition, &then, &reference_};
        join(Operation::choose, operands);
        if (has_ended_) return;
      }
    }
  }
}

void Enumeration::find_conditions() {
  conditions_.resize(4);
  std::unordered_set<std::uint64_t> seen;
  const auto consider = [&](std::size_t size, EvaluatedExpression entry) {
    std::vector<std::int64_t> holds;
    for (const std::int64_t value : entry.values) holds.push_back(value != 0 ? 1 : 0);
    const bool is_constant = std::adjacent_find(holds.begin(), holds.end(), std::not_equal_to<>()) == holds.end();
    if (!is_constant && seen.insert(fingerprint_of(holds)).second) conditions_[size].push_back(std::move(entry));
  };
  Entries leaves;
  for (std::size_t i = 0; i < slot_.variables.size(); ++i) {
    if (!slot_.variables[i].is_for_conditions) continue;
    leaves.push_back(entry_of({{Operation::variable, static_cast<std::int64_t>(i)}}));
    consider(1, leaves.back());
  }
  std::vector<std::int64_t> constants{0, 1, 2};
  for (const std::int64_t constant : slot_.constants) {
    if (constant > 2) constants.push_back(constant);
  }
  for (const std::int64_t constant : constants) leaves.push_back(entry_of({{Operation::constant, constant}}));
  for (const Operation operation : kOfConditions) {
    for (std::size_t a = 0; a < leaves.size(); ++a) {
      for (std::size_t b = commutes(operation) ? a + 1 : 0; b < leaves.size(); ++b) {
        std::vector<Node> nodes{leaves[a].nodes[0], leaves[b].nodes[0], {operation}};
        consider(3, entry_of(std::move(nodes)));
      }
    }
  }
}

void Enumeration::next_size(const Visit& visit, std::uint64_t most_joins) {
  entries_.emplace_back();
  const std::size_t size = entries_.size() - 1;
  if (rows_.empty() || has_ended_) return;
  visit_ = &visit;
  most_joins_ = joins_ + most_joins;
  if (size == 1) {
    add_leaves();
  } else if (slot_.allowed != Operators::none) {
    add_joined(size);
    add_choices(size);
  }
  visit_ = nullptr;
}

}  // namespace qconform::diagnose
