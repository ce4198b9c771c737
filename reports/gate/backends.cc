// Compares what backends did with the cases: computed, refused, how exactly, and whether their answers agree.
#include <fmt/format.h>
#include <algorithm>
#include <map>

#include "harness/core/profile.h"
#include "reports/gate/gate.h"
#include "reports/render/terminal.h"

namespace qconform::gate {

namespace {

using report::plural;
using report::with_thousands;

Change change_of(Effect effect, std::string what, const std::string& op_type, std::string signature, std::string text) {
  Change change;
  change.effect = effect;
  change.what = std::move(what);
  change.op_type = op_type;
  change.signature = std::move(signature);
  change.text = std::move(text);
  return change;
}

std::string tier_name(std::optional<reference::Tier> tier) {
  return tier ? std::string(name_of(*tier)) : "none";
}

// The looser, the greater.
int rank(std::optional<reference::Tier> tier) {
  return tier ? static_cast<int>(*tier) : static_cast<int>(std::size(reference::kAllTiers));
}

}  // namespace

void ReportParts::compare_tiers(const BackendResult& backend, const std::string& op_type, const TierCounts& before,
                                const TierCounts& now) {
  if (before.elements() == 0 || now.elements() == 0) return;
  const auto old_tier = before.common.strictest();
  const auto new_tier = now.common.strictest();
  if (rank(old_tier) == rank(new_tier)) return;
  const bool fell = rank(new_tier) > rank(old_tier);
  add(backend, change_of(fell ? Effect::worse : Effect::better, fell ? "tier-fell" : "tier-rose", op_type, "",
                         fmt::format("tier {}, before {}", tier_name(new_tier), tier_name(old_tier))));
}

void ReportParts::compare_operator(const BackendResult& backend, const std::string& op_type,
                                   const OperatorResult& before, const OperatorResult& now) {
  if (now.cases() < before.cases()) {
    add(backend, change_of(less(), "fewer-cases", op_type, "",
                           fmt::format("{}, before {}", plural(now.cases(), "case"), with_thousands(before.cases()))));
  }
  const auto compare_share = [&](VerdictKind kind) {
    const Share old_share{before.count(kind), before.cases()};
    const Share new_share{now.count(kind), now.cases()};
    const Trend change = trend(old_share, new_share, same_cases_);
    if (change == Trend::same) return;
    const bool rose = change == Trend::higher;
    add(backend, change_of(rose ? Effect::worse : Effect::better,
                           fmt::format("{}-{}", rose ? "more" : "less", name_of(kind)), op_type, "",
                           fmt::format("{} of {} {}, before {} of {}", with_thousands(new_share.part),
                                       with_thousands(new_share.whole), name_of(kind), with_thousands(old_share.part),
                                       with_thousands(old_share.whole))));
  };
  compare_share(VerdictKind::unsupported);
  compare_share(VerdictKind::vacuous);
  // No finding grows by these.
  const auto rose = [&](std::uint64_t old_part, std::uint64_t new_part) {
    return trend({old_part, before.cases()}, {new_part, now.cases()}, same_cases_) == Trend::higher;
  };
  if (rose(before.undetermined, now.undetermined) && rose(before.failing(), now.failing())) {
    add(backend, change_of(Effect::worse, "more-undetermined", op_type, "",
                           fmt::format("no cause is determined of {}, before {}",
                                       plural(now.undetermined, "failing case"), with_thousands(before.undetermined))));
  }
  if (before.count(VerdictKind::pass) > 0 && now.count(VerdictKind::pass) == 0) {
    add(backend, change_of(Effect::worse, "nothing-passed", op_type, "",
                           fmt::format("no case passed, before {}", with_thousands(before.count(VerdictKind::pass)))));
  }
  compare_tiers(backend, op_type, before.tiers, now.tiers);
  for (const auto& [corner_case, cases] : before.corner_cases) {
    if (now.corner_cases.contains(corner_case)) continue;
    add(backend, change_of(less(), "corner-case-not-computed", op_type, corner_case,
                           fmt::format("corner case {}: computes no case that reaches it, before {}", corner_case,
                                       with_thousands(cases))));
  }
}

void ReportParts::compare_relations(const BackendResult& before, const BackendResult& now) {
  for (const RelationResult& old : before.relations) {
    const auto same = std::find_if(now.relations.begin(), now.relations.end(),
                                   [&](const RelationResult& relation) { return relation.id == old.id; });
    if (same == now.relations.end()) {
      add(now, change_of(Effect::worse, "relation-vanished", "", old.id, "relation " + old.id + ": not checked"));
      continue;
    }
    const auto bases = [](const RelationResult& r) { return r.checked() + r.refused + r.failed + r.not_applicable; };
    if (trend({old.checked(), bases(old)}, {same->checked(), bases(*same)}, same_cases_) == Trend::lower ||
        (old.checked() > 0 && same->checked() == 0)) {
      add(now, change_of(Effect::worse, "relation-less-checked", "", old.id,
                         fmt::format("relation {}: checked in {}, before in {}", old.id,
                                     plural(same->checked(), "case"), with_thousands(old.checked()))));
    }
    if (trend({old.broken + old.failed, bases(old)}, {same->broken + same->failed, bases(*same)}, same_cases_) ==
        Trend::higher) {
      add(now, change_of(Effect::worse, "relation-broken", "", old.id,
                         fmt::format("relation {}: {} broken and {} failed, before {} and {}", old.id,
                                     with_thousands(same->broken), with_thousands(same->failed),
                                     with_thousands(old.broken), with_thousands(old.failed))));
    }
  }
  if (!before.relations.empty() && now.failed_bases > before.failed_bases) {
    add(now, change_of(Effect::worse, "relation-failed-bases", "", "",
                       fmt::format("{} of relations failed by themselves, before {}",
                                   plural(now.failed_bases, "base case"), with_thousands(before.failed_bases))));
  }
}

void ReportParts::compare_backend(const BackendResult& before, const BackendResult& now) {
  if (before.decides && !now.decides) {
    // Not by way of add(backend, ...), which would make a note of it.
    Change change = change_of(Effect::worse, "no-longer-decides", "", "",
                              "is not named with --backend any more, so its failures do not count");
    change.backend = now.info.name;
    add(std::move(change));
  }
  if (before.info.version != now.info.version) {
    add(now, change_of(Effect::note, "other-version", "", "",
                       fmt::format("version {}, before {}", now.info.version, before.info.version)));
  }
  for (const auto& [op_type, old] : before.operators) {
    const auto same = now.operators.find(op_type);
    if (same != now.operators.end()) {
      compare_operator(now, op_type, old, same->second);
    } else if (old.cases() > 0) {
      add(now, change_of(Effect::worse, "operator-vanished", op_type, "",
                         fmt::format("no case, before {}", with_thousands(old.cases()))));
    }
  }
  compare_relations(before, now);
}

void ReportParts::compare_backends() {
  for (const BackendResult& old : before_.backends) {
    if (const BackendResult* same = backend_named(now_, old.info.name)) {
      compare_backend(old, *same);
    } else {
      add(old, change_of(Effect::worse, "backend-vanished", "", "",
                         fmt::format("not judged; it had {}", plural(old.cases(), "case"))));
    }
  }
  for (const BackendResult& backend : now_.backends) {
    if (backend_named(before_, backend.info.name) != nullptr) continue;
    add(backend, change_of(Effect::note, "new-backend", "", "", plural(backend.cases(), "case")));
    // Failures of a new backend are findings; that it computes nothing is none.
    if (!backend.conforms() && backend.count(VerdictKind::pass) == 0) {
      add(backend, change_of(Effect::worse, "nothing-passed", "", "", "new, and no case passed"));
    }
  }
}

// Whether as much was asked as before: cases, coverage, corner cases.

namespace {

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

void ReportParts::compare_suites() {
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

void ReportParts::compare_corner_cases() {
  const auto reached = [](const CornerCaseCoverage& coverage, const std::string& op_type, CornerCase corner_case) {
    std::uint64_t cases = 0;
    const auto found = coverage.by_operator().find(op_type);
    if (found == coverage.by_operator().end()) return cases;
    for (const auto& [types, totals] : found->second) cases += totals[static_cast<std::size_t>(corner_case)].cases;
    return cases;
  };
  for (const std::string_view name : operator_names()) {
    const std::string op_type(name);
    for (const CornerCaseInfo& info : corner_cases()) {
      const std::uint64_t before = reached(before_.corner_cases, op_type, info.corner_case);
      const std::uint64_t now = reached(now_.corner_cases, op_type, info.corner_case);
      if ((before > 0) == (now > 0)) continue;
      Change change;
      change.effect = now > 0 ? Effect::better : less();
      change.what = now > 0 ? "corner-case-reached" : "corner-case-lost";
      change.op_type = op_type;
      change.signature = info.id;
      change.text = fmt::format("corner case {} in {}: reached by {}, before by {}", info.id, op_type,
                                plural(now, "case"), with_thousands(before));
      add(std::move(change));
    }
  }
}

}  // namespace qconform::gate
