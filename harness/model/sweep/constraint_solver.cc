#include "harness/model/sweep/constraint_solver.h"

#include <bit>
#include <cassert>
#include <utility>

namespace qconform::sweep {
namespace {

std::uint8_t nth_class(std::uint32_t classes, std::uint64_t n) {
  for (; n > 0; --n) classes &= classes - 1;
  return static_cast<std::uint8_t>(std::countr_zero(classes));
}

// The next tuple of classes of the parameters in `scope`, the first one fastest; false after the last.
bool advance(const Model& model, std::span<const std::size_t> scope, Row& row) {
  for (const std::size_t parameter : scope) {
    if (++row[parameter] < model.parameters[parameter].classes.size()) return true;
    row[parameter] = 0;
  }
  return false;
}

}  // namespace

ConstraintSolver::ConstraintSolver(const Model& model)
    : parameters_(model.parameters.size()), tables_of_(model.parameters.size()) {
  assert(parameters_ <= kMaxParameters);
  for (std::size_t p = 0, classes = 0; p < parameters_; ++p) {
    offset_.push_back(classes);
    classes += model.parameters[p].classes.size();
    classes_.push_back(model.parameters[p].classes.size());
    start_.possible[p] = model.parameters[p].all();
  }
  for (std::size_t i = 0; i < model.classes(); ++i) {
    for (const Parameter& parameter : model.parameters) together_.push_back(parameter.all());
  }
  for (const Constraint& constraint : model.constraints) {
    for (const std::size_t parameter : constraint.scope) tables_of_[parameter].push_back(tables_.size());
    tables_.push_back(tabulate(model, constraint));
    join_pairs(tables_.back());
  }
}

ConstraintSolver::Table ConstraintSolver::tabulate(const Model& model, const Constraint& constraint) {
  Table table;
  table.scope = constraint.scope;
  std::size_t tuples = 1;
  for (const std::size_t parameter : constraint.scope) {
    table.stride[parameter] = tuples;
    table.members |= 1U << parameter;
    tuples *= model.parameters[parameter].classes.size();
  }
  table.allowed.reserve(tuples);
  Row row(model.parameters.size(), 0);
  do table.allowed.push_back(constraint.holds(row) ? 1 : 0);
  while (advance(model, constraint.scope, row));
  return table;
}

// Keeps of every pair of classes what some allowed tuple has. A class beside itself stands for its own
// being possible at all.
void ConstraintSolver::join_pairs(const Table& table) {
  const std::size_t arity = table.scope.size();
  std::vector<std::uint8_t> digits(arity);
  std::vector<std::uint32_t> seen(together_.size(), 0);
  for (std::size_t tuple = 0; tuple < table.allowed.size(); ++tuple) {
    if (table.allowed[tuple] == 0) continue;
    for (std::size_t i = 0; i < arity; ++i) {
      const std::size_t p = table.scope[i];
      digits[i] = static_cast<std::uint8_t>(tuple / table.stride[p] % classes_[p]);
    }
    for (std::size_t i = 0; i < arity; ++i) {
      const std::size_t row = (offset_[table.scope[i]] + digits[i]) * parameters_;
      for (std::size_t j = 0; j < arity; ++j) seen[row + table.scope[j]] |= 1U << digits[j];
    }
  }
  for (const std::size_t p : table.scope) {
    for (std::uint32_t classes = start_.possible[p]; classes != 0; classes &= classes - 1) {
      const auto chosen = static_cast<std::uint8_t>(std::countr_zero(classes));
      const std::size_t row = (offset_[p] + chosen) * parameters_;
      for (const std::size_t q : table.scope) together_[row + q] &= seen[row + q];
      if (seen[row + p] == 0) start_.possible[p] &= ~(1U << chosen);
    }
  }
}

// With one parameter of the scope undecided, keeps its classes that the table allows; with none, asks
// the table.
bool ConstraintSolver::check(const Table& table, PartialRow& partial) {
  const std::uint32_t open = table.members & ~partial.decided;
  if (std::popcount(open) > 1) return true;
  std::size_t tuple = 0;
  std::size_t last = 0;
  for (const std::size_t parameter : table.scope) {
    if (partial.is_decided(parameter)) {
      tuple += partial.row[parameter] * table.stride[parameter];
    } else {
      last = parameter;
    }
  }
  if (open == 0) return table.allowed[tuple] != 0;
  for (std::uint32_t classes = partial.possible[last]; classes != 0; classes &= classes - 1) {
    const auto chosen = static_cast<std::size_t>(std::countr_zero(classes));
    if (table.allowed[tuple + chosen * table.stride[last]] == 0) partial.possible[last] &= ~(1U << chosen);
  }
  return partial.possible[last] != 0;
}

bool ConstraintSolver::decide(PartialRow& partial, std::size_t parameter, std::uint8_t chosen) const {
  if ((partial.possible[parameter] >> chosen & 1U) == 0) return false;
  partial.possible[parameter] = 1U << chosen;
  partial.decided |= 1U << parameter;
  partial.row[parameter] = chosen;
  const std::uint32_t* const beside = &together_[(offset_[parameter] + chosen) * parameters_];
  for (std::size_t p = 0; p < parameters_; ++p) {
    partial.possible[p] &= beside[p];
    if (partial.possible[p] == 0) return false;
  }
  for (const std::size_t table : tables_of_[parameter]) {
    if (!check(tables_[table], partial)) return false;
  }
  return true;
}

std::optional<Row> ConstraintSolver::complete(const PartialRow& partial) const {
  // The parameter with the fewest classes left.
  std::size_t next = parameters_;
  int fewest = 33;
  for (std::size_t p = 0; p < parameters_; ++p) {
    const int left = std::popcount(partial.possible[p]);
    if (left == 0) return std::nullopt;
    if (partial.is_decided(p) || left >= fewest) continue;
    next = p;
    fewest = left;
  }
  if (next == parameters_)
    return Row(partial.row.begin(), partial.row.begin() + static_cast<std::ptrdiff_t>(parameters_));
  for (std::uint32_t classes = partial.possible[next]; classes != 0; classes &= classes - 1) {
    PartialRow deeper = partial;
    if (!decide(deeper, next, static_cast<std::uint8_t>(std::countr_zero(classes)))) continue;
    if (auto row = complete(deeper)) return row;
  }
  return std::nullopt;
}

// Tries several random orders, since early choices may leave nothing for the rest; then solves completely.
std::optional<Row> ConstraintSolver::draw(const PartialRow& partial, Rng& rng) const {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    if (auto row = attempt(partial, rng)) return row;
  }
  return complete(partial);
}

std::optional<Row> ConstraintSolver::attempt(PartialRow partial, Rng& rng) const {
  std::vector<std::size_t> order;
  for (std::size_t p = 0; p < parameters_; ++p) {
    if (!partial.is_decided(p)) order.push_back(p);
  }
  rng.shuffle(order);
  for (const std::size_t p : order) {
    const auto classes = static_cast<std::uint32_t>(std::popcount(partial.possible[p]));
    if (classes == 0) return std::nullopt;
    PartialRow deeper = partial;
    if (decide(deeper, p, nth_class(partial.possible[p], rng.below(classes)))) partial = std::move(deeper);
  }
  return complete(partial);
}

// Goes over the tuples that have the classes: those of the scope that are not named count up, the first one fastest.
bool ConstraintSolver::excludes(std::size_t index,
                                std::span<const std::pair<std::size_t, std::uint8_t>> classes) const {
  const Table& table = tables_[index];
  std::uint32_t open = table.members;
  std::size_t tuple = 0;
  for (const auto& [parameter, chosen] : classes) {
    if ((table.members >> parameter & 1U) == 0) continue;
    open &= ~(1U << parameter);
    tuple += chosen * table.stride[parameter];
  }
  std::array<std::uint8_t, kMaxParameters> digit{};
  while (table.allowed[tuple] == 0) {
    std::uint32_t rest = open;
    for (; rest != 0; rest &= rest - 1) {
      const auto parameter = static_cast<std::size_t>(std::countr_zero(rest));
      tuple += table.stride[parameter];
      if (++digit[parameter] < classes_[parameter]) break;
      tuple -= digit[parameter] * table.stride[parameter];
      digit[parameter] = 0;
    }
    if (rest == 0) return true;
  }
  return false;
}

}  // namespace qconform::sweep
