// Whether as much was asked as before: cases, coverage, hazards.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/core/profile.h"
#include "reports/gate/parts.h"
#include "reports/render/terminal.h"

namespace qconform::gate {
namespace {

using report::plural;
using report::with_thousands;

// Suites of the same name together.
std::map<std::string, SuiteResult> by_name(const Report& report) {
  std::map<std::string, SuiteResult> result;
  for (const SuiteResult& suite : report.suites) {
    SuiteResult& sum = result[suite.name];
    sum.cases += suite.cases;
    sum.digest += suite.digest;
    sum.disputed.insert(sum.disputed.end(), suite.disputed.begin(), suite.disputed.end());
    sum.coverage.insert(sum.coverage.end(), suite.coverage.begin(), suite.coverage.end());
  }
  return result;
}

Change suite_change(const std::string& suite, Effect effect, std::string what, std::string text) {
  Change change;
  change.effect = effect;
  change.what = std::move(what);
  change.signature = suite;
  change.text = fmt::format("suite {}: {}", suite, text);
  return change;
}

// Covered shares of the models of a suite, the same ones in both.
std::vector<Change> coverage_changes(const std::string& name, const SuiteResult& before, const SuiteResult& now) {
  std::vector<Change> changes;
  for (const CombinationCoverage& old : before.coverage) {
    const auto same = std::find_if(now.coverage.begin(), now.coverage.end(), [&](const CombinationCoverage& c) {
      return c.model == old.model && c.strength == old.strength;
    });
    if (same == now.coverage.end()) {
      changes.push_back(
          suite_change(name, Effect::worse, "coverage-lost", fmt::format("nothing covers {}", old.model)));
    } else if (same->feasible - same->covered > old.feasible - old.covered) {
      changes.push_back(suite_change(
          name, Effect::worse, "coverage-lost",
          fmt::format("{} of {}'s {} combinations are not covered, before {} of {}",
                      with_thousands(same->feasible - same->covered), old.model, with_thousands(same->feasible),
                      with_thousands(old.feasible - old.covered), with_thousands(old.feasible))));
    }
  }
  return changes;
}

}  // namespace

void Parts::compare_suites() {
  const auto before = by_name(before_);
  const auto now = by_name(now_);
  for (const auto& [name, old] : before) {
    const auto same = now.find(name);
    if (same == now.end()) {
      add(suite_change(name, Effect::worse, "suite-vanished", "not run; it had " + plural(old.cases, "case")));
      continue;
    }
    const SuiteResult& suite = same->second;
    if (suite.cases < old.cases) {
      add(suite_change(name, Effect::worse, "fewer-cases",
                       fmt::format("{}, before {}", plural(suite.cases, "case"), with_thousands(old.cases))));
    } else if (suite.cases > old.cases || suite.digest != old.digest) {
      add(suite_change(name, Effect::note, "other-cases",
                       fmt::format("{} cases, before {}: others, so shares are compared, not counts",
                                   with_thousands(suite.cases), with_thousands(old.cases))));
    }
    for (Change& change : coverage_changes(name, old, suite)) add(std::move(change));
    if (suite.disputed.size() > old.disputed.size()) {
      add(suite_change(name, Effect::worse, "disputed",
                       fmt::format("the source's own answer is not admissible in {}, before {}",
                                   plural(suite.disputed.size(), "case"), old.disputed.size())));
    }
  }
  for (const auto& [name, suite] : now) {
    if (!before.contains(name)) add(suite_change(name, Effect::note, "new-suite", plural(suite.cases, "case")));
  }
}

void Parts::compare_hazards() {
  const auto reached = [](const HazardCoverage& coverage, const std::string& op_type, Hazard hazard) {
    std::uint64_t cases = 0;
    const auto found = coverage.by_operator().find(op_type);
    if (found == coverage.by_operator().end()) return cases;
    for (const auto& [types, totals] : found->second) cases += totals[static_cast<std::size_t>(hazard)].cases;
    return cases;
  };
  for (const std::string_view name : operator_names()) {
    const std::string op_type(name);
    for (const HazardInfo& info : hazards()) {
      const std::uint64_t before = reached(before_.hazards, op_type, info.hazard);
      const std::uint64_t now = reached(now_.hazards, op_type, info.hazard);
      if ((before > 0) == (now > 0)) continue;
      Change change;
      change.effect = now > 0 ? Effect::better : less();
      change.what = now > 0 ? "hazard-reached" : "hazard-lost";
      change.op_type = op_type;
      change.signature = info.id;
      change.text = fmt::format("hazard {} in {}: reached by {}, before by {}", info.id, op_type, plural(now, "case"),
                                with_thousands(before));
      add(std::move(change));
    }
  }
}

}  // namespace qconform::gate
