#include "harness/model/sweep/contract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "harness/base/text.h"

namespace qconform::sweep {
namespace {

std::vector<std::string> names_of(std::uint32_t classes, const Parameter& parameter) {
  std::vector<std::string> names;
  for (; classes != 0; classes &= classes - 1) {
    names.push_back(parameter.classes[static_cast<std::size_t>(std::countr_zero(classes))]);
  }
  return names;
}

std::string line_of(std::uint32_t taken, const Parameter& parameter) {
  return fmt::format("{}: {}; not {}", parameter.name, fmt::join(names_of(taken, parameter), ", "),
                     fmt::join(names_of(parameter.all() & ~taken, parameter), ", "));
}

// "M = 2 or 3 | 4 mod 8", or "M other than 1" where that is shorter; of the classes that are taken.
std::string text_of(const Term& term, std::uint32_t taken, const Parameter& parameter) {
  const std::uint32_t others = taken & ~term.classes;
  if (std::popcount(others) < std::popcount(term.classes) && others != 0) {
    return fmt::format("{} other than {}", parameter.name, fmt::join(names_of(others, parameter), " | "));
  }
  return fmt::format("{} = {}", parameter.name, fmt::join(names_of(term.classes, parameter), " | "));
}

std::string line_of(const Combination& combination, const Contract& contract, const Model& model) {
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

bool Contract::takes_anything() const {
  return !taken.empty() && std::all_of(taken.begin(), taken.end(), [](std::uint32_t classes) { return classes != 0; });
}

bool Contract::takes(const Row& row) const {
  for (std::size_t p = 0; p < row.size(); ++p) {
    if ((taken[p] >> row[p] & 1U) == 0) return false;
  }
  return std::none_of(declined.begin(), declined.end(), [&](const Combination& c) { return has(row, c); });
}

Contract whole_contract(const Model& model) {
  Contract contract;
  for (const Parameter& parameter : model.parameters) contract.taken.push_back(parameter.all());
  return contract;
}

bool is_whole(const Contract& contract, const Model& model) {
  return contract == whole_contract(model);
}

Model restricted(const Model& model, const Contract& contract) {
  Model result = model;
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    const std::uint32_t taken = contract.taken[p];
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

std::vector<std::string> lines_of(const Contract& contract, const Model& model) {
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

Result<Contract> parse_contract(std::string_view text, const Model& model) {
  Contract contract = whole_contract(model);
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
      contract.taken[p] |= 1U << c;
    }
  }
  return contract;
}

}  // namespace qconform::sweep
