#include "harness/diagnose/explain/cures.h"

#include <fmt/ranges.h>

#include <algorithm>
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

// The names of the parts in a signature of cure_of().
std::vector<std::string_view> parts_in(std::string_view signature) {
  if (!signature.starts_with(Cures::kPrefix)) return {};
  signature.remove_prefix(Cures::kPrefix.size());
  return split(signature.substr(0, signature.find_first_of(" ,:")), "+");
}

}  // namespace

std::vector<Switch> switches_in(std::string_view signature, std::span<const Switch> all) {
  std::vector<Switch> off;
  for (const std::string_view name : parts_in(signature)) {
    for (const Switch& part : all) {
      if (text_of(part) == name) off.push_back(part);
    }
  }
  return off;
}

std::string cure_in(std::string_view signature, const std::string& backend) {
  std::vector<Switch> off = switches_in(signature, backend::switches_of(backend));
  for (const std::string_view name :
       backend::is_plugin(backend) ? parts_in(signature) : std::vector<std::string_view>()) {
    const std::size_t end = name.find('=');
    if (end != std::string_view::npos) off.push_back({name.substr(0, end), name.substr(end + 1)});
  }
  if (off.empty()) return {};
  const std::string whole = backend::with_switches(backend, off);
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

bool Cures::is_right(const Set& set, const Case& test_case, const Policy& policy) {
  Backend* const backend = opened(set);
  if (backend == nullptr) return false;
  GuardedOutput output;
  const Outcome outcome = execute(*backend, test_case, output);
  return judge(expect(test_case, policy), outcome).kind == VerdictKind::pass;
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

const Cures::Known* Cures::known(std::string_view name) const {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const Known& one) { return one.name == name; });
  return found == known_.end() ? nullptr : &*found;
}

std::optional<std::string> Cures::cure_of(const Case& test_case, const Policy& policy) {
  // A set that cured another case may have more than this one needs.
  Set cure;
  for (std::size_t i = 0; i < known_.size() && cure.empty(); ++i) {
    if (is_right(known_[i].set, test_case, policy)) cure = known_[i].set;
  }
  if (cure.empty()) {
    if (searches_ >= kSearches) return std::nullopt;
    ++searches_;
    cure.resize(switches_.size());
    std::iota(cure.begin(), cure.end(), std::size_t{0});
    if (!is_right(cure, test_case, policy)) return std::nullopt;
  }
  cure = smallest_cure(std::move(cure), test_case, policy);
  std::string name = name_of(cure);
  if (known(name) == nullptr) known_.push_back({name, std::move(cure)});
  std::stable_sort(known_.begin(), known_.end(),
                   [](const Known& a, const Known& b) { return a.set.size() < b.set.size(); });
  return name;
}

bool Cures::cures(std::string_view name, const Case& test_case, const Policy& policy) {
  const Known* const cure = known(name);
  return cure != nullptr && is_right(Set(cure->set), test_case, policy);
}

std::optional<Rewriting> Cures::rewriting_by(std::string_view name, const Case& test_case) {
  const Known* const cure = known(name);
  if (cure == nullptr) return std::nullopt;
  std::optional<CaseGraph> graphs[2];  // on, off
  for (const bool is_off : {false, true}) {
    Backend* const backend = opened(is_off ? Set(cure->set) : Set(), true);
    if (backend != nullptr) graphs[is_off ? 1 : 0] = backend->rewritten(test_case);
  }
  if (!graphs[0] || !graphs[1]) return std::nullopt;
  return rewriting_between(*graphs[1], *graphs[0]);
}

bool Cures::is_broad(std::string_view name) const {
  if (backend_.info().kind == "plugin") return false;
  const Known* const cure = known(name);
  return cure != nullptr && std::any_of(cure->set.begin(), cure->set.end(),
                                        [&](std::size_t position) { return !switches_[position].is_listed; });
}

}  // namespace qconform::diagnose
