#include "harness/diagnose/explain/cures.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/backends/select.h"
#include "harness/base/text.h"
#include "harness/core/verdict.h"
#include "harness/engine/execute.h"

namespace qconform::diagnose {

namespace {

std::string text_of(const backend::Switch& part) {
  return part.is_listed ? std::string(part.value) : std::string(part.key) + "=" + std::string(part.value);
}

}  // namespace

std::string cure_in(std::string_view signature, const std::string& backend) {
  if (!signature.starts_with(Cures::kPrefix)) return {};
  signature.remove_prefix(Cures::kPrefix.size());
  std::vector<backend::Switch> off;
  for (const std::string_view name : split(signature.substr(0, signature.find_first_of(" ,")), "+")) {
    for (const backend::Switch& part : backend::switches_of(backend)) {
      if (text_of(part) == name) off.push_back(part);
    }
  }
  if (off.empty()) return {};
  const std::string whole = backend::with_switches(backend, off);
  return whole.substr(whole.find('@') + 1);
}

Cures::Cures(std::string backend) : backend_(std::move(backend)), switches_(backend::switches_of(backend_)) {}

Backend* Cures::opened(const Set& set) {
  const auto found = std::find_if(opened_.begin(), opened_.end(), [&](const Opened& one) { return one.set == set; });
  if (found != opened_.end()) {
    opened_.splice(opened_.begin(), opened_, found);
    return opened_.front().backend.get();
  }
  std::vector<backend::Switch> off;
  for (const std::size_t position : set) off.push_back(switches_[position]);
  auto backend = backend::select(backend::with_switches(backend_, off), RoundingProfile::correctly_rounded);
  opened_.push_front({set, backend ? std::move(*backend) : nullptr});
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

bool Cures::is_broad(std::string_view name) const {
  const Known* const cure = known(name);
  return cure != nullptr && std::any_of(cure->set.begin(), cure->set.end(),
                                        [&](std::size_t position) { return !switches_[position].is_listed; });
}

}  // namespace qconform::diagnose
