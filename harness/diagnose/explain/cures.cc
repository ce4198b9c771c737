#include "harness/diagnose/explain/cures.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "harness/backends/select.h"
#include "harness/base/text.h"
#include "harness/core/verdict.h"
#include "harness/engine/execute.h"
#include "harness/model/operator.h"

namespace qconform::diagnose {

namespace {

std::string text_of(const Switch& part) {
  return part.is_listed ? std::string(part.value) : std::string(part.key) + "=" + std::string(part.value);
}

Counts nodes_by_operator(const CaseGraph& graph) {
  Counts counts;
  for (const CaseGraph::Node& node : graph.nodes) ++counts[operator_name(node.domain, node.op_type)];
  return counts;
}

// The nodes of `one` beyond those of `other`.
Counts beyond(const Counts& one, const Counts& other) {
  Counts result;
  for (const auto& [name, count] : one) {
    const auto found = other.find(name);
    const std::uint64_t there = found == other.end() ? 0 : found->second;
    if (count > there) result[name] = count - there;
  }
  return result;
}

// Without domains: a layout of the library's own has the names of the others.
std::set<std::string> kinds_of(const Counts& counts) {
  std::set<std::string> kinds;
  for (const auto& [name, count] : counts) kinds.insert(name.substr(name.rfind(':') + 1));
  return kinds;
}

}  // namespace

std::string Rewriting::name() const {
  std::set<std::string> made = kinds_of(came);
  std::set<std::string> lost = kinds_of(went);
  for (const std::string& kind : kinds_of(came)) {
    if (lost.erase(kind) != 0) made.erase(kind);
  }
  const auto is_taken_along = [](const std::string& kind) {
    return kind == "QuantizeLinear" || kind == "DequantizeLinear";
  };
  if (!made.empty()) std::erase_if(lost, is_taken_along);
  if (made.empty() && lost.empty()) return {};
  const auto text = [](const std::set<std::string>& kinds) {
    return kinds.empty() ? std::string("nothing") : fmt::format("{}", fmt::join(kinds, "+"));
  };
  return text(made) + " for " + text(lost);
}

Rewriting rewriting_between(const CaseGraph& off, const CaseGraph& on) {
  const Counts with = nodes_by_operator(on);
  const Counts without = nodes_by_operator(off);
  return {beyond(without, with), beyond(with, without)};
}

namespace {

// The positions of the parts that a signature of cure_of() names, ascending.
std::vector<std::size_t> parts_in(std::string_view signature, std::span<const Switch> all) {
  if (!signature.starts_with(Cures::kPrefix)) return {};
  signature.remove_prefix(Cures::kPrefix.size());
  const auto names = split(signature.substr(0, signature.find_first_of(" ,:")), "+");
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::find(names.begin(), names.end(), text_of(all[i])) != names.end()) parts.push_back(i);
  }
  return parts;
}

}  // namespace

std::vector<Switch> switches_in(std::string_view signature, std::span<const Switch> all) {
  std::vector<Switch> off;
  for (const std::size_t part : parts_in(signature, all)) off.push_back(all[part]);
  return off;
}

std::string cure_in(std::string_view signature, const Backend& backend) {
  const std::vector<Switch> off = switches_in(signature, backend.switches());
  if (off.empty()) return {};
  const std::string whole = backend::with_switches(backend.info().on_command_line(), off);
  return whole.substr(whole.find('@') + 1);
}

Backend* Cures::opened(const Set& set, bool shows_graphs) {
  const auto found = std::find_if(opened_.begin(), opened_.end(), [&](const Opened& one) {
    return one.set == set && one.shows_graphs == shows_graphs;
  });
  if (found != opened_.end()) {
    opened_.splice(opened_.begin(), opened_, found);
    return opened_.front().backend.get();
  }
  std::vector<Switch> off;
  for (const std::size_t position : set) off.push_back(switches_[position]);
  opened_.push_front({set, shows_graphs, backend_.without(off, shows_graphs)});
  if (opened_.size() > kOpened) opened_.pop_back();
  return opened_.front().backend.get();
}

// A backend that does not open is no cure.
Verdict Cures::verdict_without(const Set& off, const Case& test_case, const Policy& policy) {
  Backend* const backend = off.empty() ? &backend_ : opened(off);
  if (backend == nullptr) {
    Verdict none;
    none.kind = VerdictKind::unsupported;
    return none;
  }
  GuardedOutput output;
  const Outcome outcome = execute(*backend, test_case, output);
  return judge(expect(test_case, policy), outcome);
}

bool Cures::is_right(const Set& off, const Case& test_case, const Policy& policy) {
  return verdict_without(off, test_case, policy).kind == VerdictKind::pass;
}

// The parts of a cure that the failure as it is comes from: where one refuses or crashes, the others are not reached.
Cures::Set Cures::telling_parts(const Set& cure, const Case& test_case, const Policy& policy) {
  if (cure.size() == 1) return cure;
  const Verdict whole = verdict_without({}, test_case, policy);
  Set telling;
  for (const std::size_t part : cure) {
    const Verdict verdict = verdict_without({part}, test_case, policy);
    if (verdict.kind != whole.kind || verdict.detail != whole.detail) telling.push_back(part);
  }
  return telling.empty() ? cure : telling;
}

// Delta debugging: halves, then quarters and what they leave, while one of them still cures the case.
Cures::Set Cures::smallest_cure(Set set, const Case& test_case, const Policy& policy) {
  std::size_t parts = 2;
  while (set.size() > 1) {
    std::optional<Set> smaller;
    for (const bool is_rest : {false, true}) {
      if (is_rest && parts == 2) break;
      for (std::size_t part = 0; part < parts && !smaller; ++part) {
        const std::size_t begin = set.size() * part / parts;
        const std::size_t end = set.size() * (part + 1) / parts;
        Set tried;
        for (std::size_t i = 0; i < set.size(); ++i) {
          if ((i >= begin && i < end) != is_rest) tried.push_back(set[i]);
        }
        if (is_right(tried, test_case, policy)) smaller = std::move(tried);
      }
      if (smaller) {
        parts = is_rest ? std::max<std::size_t>(2, parts - 1) : 2;
        break;
      }
    }
    if (!smaller && parts >= set.size()) break;
    if (!smaller) parts = std::min(set.size(), 2 * parts);
    if (smaller) set = std::move(*smaller);
  }
  return set;
}

std::string Cures::name_of(const Set& set) const {
  std::string name(kPrefix);
  for (const std::size_t position : set) {
    if (name.size() > kPrefix.size()) name += "+";
    name += text_of(switches_[position]);
  }
  return name;
}

Cures::Set Cures::fewest_off(const Case& test_case, const Policy& policy) {
  for (const bool is_part : {true, false}) {  // an optimizer's name says more than an option of the session
    for (const std::size_t part : known_) {
      if (switches_[part].is_part == is_part && is_right({part}, test_case, policy)) return {part};
    }
  }
  Set off = known_;
  if (off.size() < 2 || !is_right(off, test_case, policy)) {
    if (searches_ >= kSearches) return {};
    ++searches_;
    off.resize(switches_.size());
    std::iota(off.begin(), off.end(), std::size_t{0});
    if (!is_right(off, test_case, policy)) return {};
  }
  off = smallest_cure(std::move(off), test_case, policy);
  known_.insert(known_.end(), off.begin(), off.end());
  std::sort(known_.begin(), known_.end());
  known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
  return off;
}

std::optional<std::string> Cures::cure_of(const Case& test_case, const Policy& policy) {
  const Set cure = fewest_off(test_case, policy);
  return cure.empty() ? std::nullopt : std::optional(name_of(cure));
}

std::optional<Cures::Cause> Cures::cause_of(const Case& test_case, const Policy& policy) {
  const std::uint64_t digest = digest_of(test_case);
  if (const auto told = told_.find(digest); told != told_.end()) return told->second;
  const Set cure = fewest_off(test_case, policy);
  if (cure.empty()) return told_[digest] = std::nullopt;
  const Set telling = telling_parts(cure, test_case, policy);
  const auto is_new = [&](std::size_t part) { return !counted_.contains(part); };
  const auto first = std::find_if(telling.begin(), telling.end(), is_new);
  const std::size_t part = first != telling.end() ? *first : telling[digest % telling.size()];
  counted_.insert(part);
  Cause& cause = told_[digest].emplace();
  cause.name = name_of({part});
  for (const std::size_t other : cure) {
    if (other != part) cause.beside.push_back(text_of(switches_[other]));
  }
  return cause;
}

bool Cures::cures(std::string_view signature, const Case& test_case, const Policy& policy) {
  const Set own = parts_in(signature, switches_);
  if (own.empty()) return false;
  if (is_right(own, test_case, policy)) return true;
  Set all;
  Set others;
  std::set_union(known_.begin(), known_.end(), own.begin(), own.end(), std::back_inserter(all));
  std::set_difference(known_.begin(), known_.end(), own.begin(), own.end(), std::back_inserter(others));
  return !others.empty() && is_right(all, test_case, policy) && !is_right(others, test_case, policy);
}

std::uint64_t Cures::own_elements(std::string_view signature, const Case& test_case, const Policy& policy) {
  const Set own = parts_in(signature, switches_);
  const Set cure = fewest_off(test_case, policy);
  Set others;
  std::set_difference(cure.begin(), cure.end(), own.begin(), own.end(), std::back_inserter(others));
  return others.empty() ? 0 : verdict_without(others, test_case, policy).wrong_elements;
}

std::optional<Rewriting> Cures::rewriting_by(std::string_view signature, const Case& test_case) {
  const Set off = parts_in(signature, switches_);
  if (off.empty()) return std::nullopt;
  std::optional<CaseGraph> graphs[2];  // on, off
  for (const bool is_off : {false, true}) {
    Backend* const backend = opened(is_off ? off : Set(), true);
    if (backend != nullptr) graphs[is_off ? 1 : 0] = backend->rewritten(test_case);
  }
  if (!graphs[0] || !graphs[1]) return std::nullopt;
  return rewriting_between(*graphs[1], *graphs[0]);
}

bool Cures::is_broad(std::string_view signature) const {
  const Set set = parts_in(signature, switches_);
  return std::any_of(set.begin(), set.end(), [&](std::size_t position) { return !switches_[position].is_part; });
}

}  // namespace qconform::diagnose
