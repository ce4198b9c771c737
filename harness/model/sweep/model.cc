#include "harness/model/sweep/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "harness/base/text.h"

namespace qconform::sweep {

std::size_t Model::classes() const {
  std::size_t count = 0;
  for (const Parameter& parameter : parameters) count += parameter.classes.size();
  return count;
}

bool Model::allows(const Row& row) const {
  return std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& c) { return c.holds(row); });
}

std::optional<Row> row_of(const SweptModel& swept, const Case& test_case, const Asked& asked) {
  const Model& model = swept.model();
  const auto is_empty = [](const std::optional<Tensor>& input) { return input && input->elements() == 0; };
  if (std::any_of(test_case.inputs.begin(), test_case.inputs.end(), is_empty)) return std::nullopt;
  Row row = swept.classify(test_case, asked);
  if (row.size() != model.parameters.size()) return std::nullopt;
  for (std::size_t p = 0; p < row.size(); ++p) {
    const Parameter& parameter = model.parameters[p];
    if (row[p] < parameter.classes.size()) continue;
    if (parameter.role != ParameterRole::value && parameter.role != ParameterRole::extent) return std::nullopt;
    row[p] = parameter.plain;
  }
  return row;
}

std::uint8_t zero_point_class(ElementType type, std::int64_t value) {
  const auto [lo, hi] = ends_of(type);
  if (value == lo) return 0;
  if (value == (lo + hi + 1) / 2) return 1;
  return value == hi ? 2 : 3;
}

std::int64_t draw_zero_point(Rng& rng, ElementType type, std::uint8_t zero_point) {
  const auto [lo, hi] = ends_of(type);
  switch (zero_point) {
    case 0: return lo;
    case 1: return (lo + hi + 1) / 2;
    case 2: return hi;
    default: break;
  }
  // Every type has a value that is neither.
  for (;;) {
    const std::int64_t value = rng.between(lo, hi);
    if (zero_point_class(type, value) == 3) return value;
  }
}

namespace {

std::uint8_t nth_class(ClassSet classes, std::uint64_t n) {
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
    assert(classes_.back() > 0 && classes_.back() <= kMaxClasses);
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
  std::vector<ClassSet> seen(together_.size(), 0);
  for (std::size_t tuple = 0; tuple < table.allowed.size(); ++tuple) {
    if (table.allowed[tuple] == 0) continue;
    for (std::size_t i = 0; i < arity; ++i) {
      const std::size_t p = table.scope[i];
      digits[i] = static_cast<std::uint8_t>(tuple / table.stride[p] % classes_[p]);
    }
    for (std::size_t i = 0; i < arity; ++i) {
      const std::size_t row = (offset_[table.scope[i]] + digits[i]) * parameters_;
      for (std::size_t j = 0; j < arity; ++j) seen[row + table.scope[j]] |= set_of(digits[j]);
    }
  }
  for (const std::size_t p : table.scope) {
    for (ClassSet classes = start_.possible[p]; classes != 0; classes &= classes - 1) {
      const auto chosen = static_cast<std::uint8_t>(std::countr_zero(classes));
      const std::size_t row = (offset_[p] + chosen) * parameters_;
      for (const std::size_t q : table.scope) together_[row + q] &= seen[row + q];
      if (seen[row + p] == 0) start_.possible[p] &= ~set_of(chosen);
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
  for (ClassSet classes = partial.possible[last]; classes != 0; classes &= classes - 1) {
    const auto chosen = static_cast<std::size_t>(std::countr_zero(classes));
    if (table.allowed[tuple + chosen * table.stride[last]] == 0) partial.possible[last] &= ~set_of(chosen);
  }
  return partial.possible[last] != 0;
}

bool ConstraintSolver::decide(PartialRow& partial, std::size_t parameter, std::uint8_t chosen) const {
  if ((partial.possible[parameter] >> chosen & 1U) == 0) return false;
  partial.possible[parameter] = set_of(chosen);
  partial.decided |= 1U << parameter;
  partial.row[parameter] = chosen;
  const ClassSet* const beside = &together_[(offset_[parameter] + chosen) * parameters_];
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
  int fewest = kMaxClasses + 1;
  for (std::size_t p = 0; p < parameters_; ++p) {
    const int left = std::popcount(partial.possible[p]);
    if (left == 0) return std::nullopt;
    if (partial.is_decided(p) || left >= fewest) continue;
    next = p;
    fewest = left;
  }
  if (next == parameters_)
    return Row(partial.row.begin(), partial.row.begin() + static_cast<std::ptrdiff_t>(parameters_));
  for (ClassSet classes = partial.possible[next]; classes != 0; classes &= classes - 1) {
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

namespace {

std::vector<std::string> names_of(ClassSet classes, const Parameter& parameter) {
  std::vector<std::string> names;
  for (; classes != 0; classes &= classes - 1) {
    names.push_back(parameter.classes[static_cast<std::size_t>(std::countr_zero(classes))]);
  }
  return names;
}

std::string line_of(ClassSet taken, const Parameter& parameter) {
  return fmt::format("{}: {}; not {}", parameter.name, fmt::join(names_of(taken, parameter), ", "),
                     fmt::join(names_of(parameter.all() & ~taken, parameter), ", "));
}

// "M = 2 or 3 | 4 mod 8", or "M other than 1" where that is shorter; of the classes that are taken.
std::string text_of(const Term& term, ClassSet taken, const Parameter& parameter) {
  const ClassSet others = taken & ~term.classes;
  if (std::popcount(others) < std::popcount(term.classes) && others != 0) {
    return fmt::format("{} other than {}", parameter.name, fmt::join(names_of(others, parameter), " | "));
  }
  return fmt::format("{} = {}", parameter.name, fmt::join(names_of(term.classes, parameter), " | "));
}

std::string line_of(const Combination& combination, const SweepContract& contract, const Model& model) {
  std::vector<std::string> terms;
  for (const Term& term : combination) {
    terms.push_back(text_of(term, contract.taken[term.parameter], model.parameters[term.parameter]));
  }
  return fmt::format("not {}", fmt::join(terms, " with "));
}

}  // namespace

bool has(const Row& row, const Combination& combination) {
  return std::all_of(combination.begin(), combination.end(), [&](const Term& term) { return term.has(row); });
}

bool SweepContract::takes_anything() const {
  return !taken.empty() && std::all_of(taken.begin(), taken.end(), [](ClassSet classes) { return classes != 0; });
}

bool SweepContract::takes(const Row& row) const {
  for (std::size_t p = 0; p < row.size(); ++p) {
    if ((taken[p] >> row[p] & 1U) == 0) return false;
  }
  return std::none_of(declined.begin(), declined.end(), [&](const Combination& c) { return has(row, c); });
}

bool SweepContract::tells_apart(std::size_t parameter, ClassSet classes) const {
  const auto splits = [&](ClassSet some) { return (some & classes) != 0 && (some & classes) != classes; };
  const auto has_such_term = [&](const Combination& combination) {
    return std::any_of(combination.begin(), combination.end(),
                       [&](const Term& term) { return term.parameter == parameter && splits(term.classes); });
  };
  return splits(taken[parameter]) || std::any_of(declined.begin(), declined.end(), has_such_term);
}

SweepContract whole_contract(const Model& model) {
  SweepContract contract;
  for (const Parameter& parameter : model.parameters) contract.taken.push_back(parameter.all());
  return contract;
}

bool is_whole(const SweepContract& contract, const Model& model) {
  return contract == whole_contract(model);
}

Model restricted(const Model& model, const SweepContract& contract) {
  Model result = model;
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    const ClassSet taken = contract.taken[p];
    if (taken == model.parameters[p].all()) continue;
    result.constraints.push_back({"the backend takes " + line_of(taken, model.parameters[p]),
                                  {p},
                                  [p, taken](const Row& row) { return (taken >> row[p] & 1U) != 0; }});
  }
  for (const Combination& combination : contract.declined) {
    Constraint constraint{"the backend does " + line_of(combination, contract, model), {}, {}};
    for (const Term& term : combination) constraint.scope.push_back(term.parameter);
    constraint.holds = [combination](const Row& row) { return !has(row, combination); };
    result.constraints.push_back(std::move(constraint));
  }
  return result;
}

std::vector<std::string> lines_of(const SweepContract& contract, const Model& model) {
  std::vector<std::string> lines;
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    if (contract.taken[p] != model.parameters[p].all()) {
      lines.push_back(line_of(contract.taken[p], model.parameters[p]));
    }
  }
  for (const Combination& combination : contract.declined) lines.push_back(line_of(combination, contract, model));
  return lines;
}

namespace {

template <typename Items, typename Name>
Result<std::size_t> position(const Items& items, std::string_view name, std::string_view kind, Name name_of) {
  std::vector<std::string_view> names;
  for (const auto& item : items) names.push_back(name_of(item));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const auto near = near_names(name, names);
  return fail("--only",
              fmt::format("no {} \"{}\"{}; there are {}", kind, name,
                          near.empty() ? "" : fmt::format("; is it {}?", near.front()), fmt::join(names, ", ")));
}

}  // namespace

Result<SweepContract> parse_contract(std::string_view text, const Model& model) {
  SweepContract contract = whole_contract(model);
  std::vector<bool> named(model.parameters.size());
  for (const std::string_view word : split(text, ",")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      return fail("--only", fmt::format("\"{}\": expected PARAMETER=CLASS[|CLASS]...", trimmed(word)));
    }
    const std::string_view name = trimmed(word.substr(0, equals));
    QCONFORM_ASSIGN(const auto p, position(model.parameters, name, "parameter", [](const Parameter& parameter) {
                      return std::string_view(parameter.name);
                    }));
    if (named[p]) return fail("--only", fmt::format("\"{}\" is stated twice", name));
    named[p] = true;
    contract.taken[p] = 0;
    for (const std::string_view part : split(word.substr(equals + 1), "|")) {
      const std::string_view chosen = trimmed(part);
      QCONFORM_ASSIGN(const auto c, position(model.parameters[p].classes, chosen, fmt::format("class of {}", name),
                                             [](const std::string& s) { return std::string_view(s); }));
      contract.taken[p] |= set_of(c);
    }
  }
  return contract;
}

}  // namespace qconform::sweep
