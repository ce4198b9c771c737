// Finds the defects that are new, that became wider, that are gone, and that a waiver excuses.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "reports/gate/gate.h"
#include "reports/render/terminal.h"

namespace qconform::gate {
namespace {

using report::plural;
using report::with_thousands;

// A crash where there was a wrong value is another finding, so the verdict belongs to the key.
using Key = std::tuple<std::string, std::string, std::string, VerdictKind>;

Key key_of(const Finding& finding) {
  return {finding.backend, finding.op_type, finding.signature, finding.kind};
}

std::string region_of(const Finding& finding) {
  return finding.diagnosis ? fmt::format("{}", fmt::join(finding.diagnosis->when, ", ")) : "";
}

// Whether the new region has all conditions of the old one: it is no wider then. A region without conditions
// is everywhere; where nothing was learnt, nothing is known.
bool is_within(const Finding& now, const Finding& before) {
  if (!now.diagnosis || !before.diagnosis) return true;
  const auto& conditions = now.diagnosis->when;
  return std::all_of(before.diagnosis->when.begin(), before.diagnosis->when.end(), [&](const std::string& condition) {
    return std::find(conditions.begin(), conditions.end(), condition) != conditions.end();
  });
}

// Whether the report asked the finding's backend for cases of its operator.
bool is_tested(const Report& report, const std::string& name, const std::string& op_type) {
  const BackendResult* backend = backend_named(report, name);
  return backend != nullptr && (backend->operators.contains(op_type) || !backend->relations.empty());
}

std::string described(const Finding& finding) {
  const std::string region = region_of(finding);
  return fmt::format("{}{} in {}{}", name_of(finding.kind), report::subject_of(finding), report::cases_text(finding),
                     region.empty() ? "" : ", when " + region);
}

KnownCause known_from(const Finding& finding, const Report& report) {
  const std::string& when = report.environment.started;
  return {.backend = finding.backend,
          .op_type = finding.op_type,
          .kind = finding.kind,
          .signature = finding.signature,
          .text = described(finding),
          .first_seen = when,
          .last_seen = when};
}

}  // namespace

/// Findings of one report that say the same of the same backend: those of a model's nodes, say.
struct ReportParts::Group {
  std::vector<const Finding*> findings;

  [[nodiscard]] const Finding& first() const { return *findings.front(); }
  [[nodiscard]] std::uint64_t cases() const {
    std::uint64_t sum = 0;
    for (const Finding* finding : findings) sum += finding->cases;
    return sum;
  }
};

Change ReportParts::about(const Finding& finding, Effect effect, std::string what, std::string text) const {
  Change change;
  change.effect = effect;
  change.what = std::move(what);
  change.backend = finding.backend;
  change.op_type = finding.op_type;
  change.signature = finding.signature;
  change.region = region_of(finding);
  change.text = std::move(text);
  change.finding = finding.id;
  return change;
}

bool ReportParts::is_waived(const Finding& finding) {
  const BackendResult* backend = backend_named(now_, finding.backend);
  if (backend == nullptr) return false;
  const std::string what = described(finding);
  if (waivers_ == nullptr) {
    if (!finding.waiver) return false;
    add(about(finding, Effect::waived, "waived",
              fmt::format("{}; waived in the run by {}: {}", what, finding.waiver->id, finding.waiver->reason)));
    return true;
  }
  const Waiver* expired = nullptr;
  for (const Waiver* waiver : waivers_->speaking_of(backend->info, finding)) {
    if (!waivers_->is_expired(*waiver)) {
      add(about(finding, Effect::waived, "waived",
                fmt::format("{}; {}: {} ({})", what, waiver->id, waiver->reason, waiver->reference)));
      return true;
    }
    expired = waiver;
  }
  if (expired != nullptr) {
    add(*backend, about(finding, Effect::worse, "waiver-expired",
                        fmt::format("{}; the waiver {} expired on {}: {}", what, expired->id, *expired->expires,
                                    expired->reason)));
    return true;
  }
  if (!finding.waiver) return false;
  add(*backend,
      about(
          finding, Effect::worse, "waiver-unknown",
          fmt::format("{}; the run waived it by {}, but the waivers that the gate reads have no such waiver for {} {}",
                      what, finding.waiver->id, backend->info.name, backend->info.version)));
  return true;
}

void ReportParts::add_new(const Finding& finding) {
  const BackendResult* backend = backend_named(now_, finding.backend);
  std::string instead;
  for (const Finding& old : before_.findings) {
    if (old.backend != finding.backend || old.op_type != finding.op_type || old.signature != finding.signature)
      continue;
    instead = old.kind == finding.kind ? fmt::format("; it was waived by {}", old.waiver ? old.waiver->id : "")
                                       : fmt::format("; before it was {}", name_of(old.kind));
  }
  Change change = about(finding, Effect::worse, "new-finding", described(finding) + instead);
  backend == nullptr ? add(std::move(change)) : add(*backend, std::move(change));
}

void ReportParts::compare_group(const Group& before, const Group& now) {
  const Finding& finding = now.first();
  const BackendResult* backend = backend_named(now_, finding.backend);
  const BackendResult* old_backend = backend_named(before_, finding.backend);
  if (backend == nullptr || old_backend == nullptr) return;
  const auto share = [&](const Group& group, const BackendResult& of) {
    const auto found = of.operators.find(finding.op_type);
    const std::uint64_t whole = found == of.operators.end() ? 0 : found->second.cases();
    return Share{group.cases(), whole < group.cases() ? 0 : whole};
  };
  const Share old_share = share(before, *old_backend);
  const Share new_share = share(now, *backend);
  const Trend change = trend(old_share, new_share, same_cases_);
  const std::string counts = fmt::format("{}: {}, before {}", described(finding),
                                         plural(new_share.part, "failing case"), with_thousands(old_share.part));
  if (change == Trend::higher || now.findings.size() > before.findings.size()) {
    add(*backend, about(finding, Effect::worse, "finding-grew", counts));
  } else if (change == Trend::lower) {
    add(*backend, about(finding, Effect::better, "finding-shrank", counts));
  } else if (now.findings.size() == 1 && !is_within(finding, before.first())) {
    // Other cases may teach other conditions, so the change is a mere note then.
    add(*backend, about(finding, same_cases_ ? Effect::worse : Effect::note, "region-moved",
                        fmt::format("{}; before when {}", described(finding), region_of(before.first()))));
  }
}

void ReportParts::add_gone(const Group& before) {
  const Finding& finding = before.first();
  // A finding that was not tested is not repaired; other changes say that it was not.
  if (!is_tested(now_, finding.backend, finding.op_type)) return;
  Change change = about(finding, Effect::better, "finding-gone", described(finding));
  change.finding.clear();
  add(*backend_named(now_, finding.backend), std::move(change));
}

std::vector<ComparedCause> ReportParts::causes() const {
  std::map<Key, ComparedCause> by_key;
  std::vector<Key> order;
  const auto cause_of = [&](const KnownCause& known) -> ComparedCause& {
    const auto [entry, is_new] =
        by_key.try_emplace({known.backend, known.op_type, known.signature, known.kind}, ComparedCause{.known = known});
    if (is_new) order.push_back(entry->first);
    return entry->second;
  };
  const auto state_of_missing = [&](const KnownCause& known) {
    return is_tested(now_, known.backend, known.op_type) ? CauseState::gone : CauseState::not_tested;
  };
  for (const Finding& finding : now_.findings) {
    ComparedCause& cause = cause_of(known_from(finding, now_));
    cause.state = CauseState::appeared;
    cause.findings.push_back(finding.id);
    cause.cases += finding.cases;
  }
  for (const Finding& finding : before_.findings) {
    ComparedCause& cause = cause_of(known_from(finding, before_));
    cause.state = cause.findings.empty() ? state_of_missing(cause.known) : CauseState::stayed;
    cause.known.first_seen = before_.environment.started;
    cause.findings_before.push_back(finding.id);
    cause.cases_before += finding.cases;
  }
  for (const KnownCause& known : before_.campaign ? before_.campaign->causes : std::vector<KnownCause>()) {
    ComparedCause& cause = cause_of(known);
    cause.state = cause.findings.empty() ? state_of_missing(known) : CauseState::stayed;
    cause.known.first_seen = known.first_seen;
  }
  std::vector<ComparedCause> causes;
  for (const Key& key : order) causes.push_back(std::move(by_key.at(key)));
  std::stable_sort(causes.begin(), causes.end(),
                   [](const ComparedCause& a, const ComparedCause& b) { return a.state < b.state; });
  return causes;
}

// Other wrong values in the same cases show in no count of cases.
void ReportParts::compare_wrong_elements() {
  if (!same_cases_) return;
  for (const BackendResult& backend : now_.backends) {
    const BackendResult* old = backend_named(before_, backend.info.name);
    if (old == nullptr) continue;
    for (const auto& [op_type, result] : backend.operators) {
      const auto same = old->operators.find(op_type);
      if (same == old->operators.end() || result.wrong_elements <= same->second.wrong_elements) continue;
      const auto is_told = [&, name = backend.info.name, op = op_type](const Change& change) {
        return change.backend == name && change.op_type == op && !change.finding.empty() &&
               change.effect != Effect::better;
      };
      if (std::any_of(changes_.begin(), changes_.end(), is_told)) continue;
      Change change;
      change.effect = Effect::worse;
      change.what = "more-wrong-elements";
      change.op_type = op_type;
      change.text = fmt::format("{} wrong elements in the failing cases, before {}",
                                with_thousands(result.wrong_elements), with_thousands(same->second.wrong_elements));
      add(backend, std::move(change));
    }
  }
}

void ReportParts::compare_findings() {
  std::map<Key, Group> before;
  std::map<Key, Group> now;
  for (const Finding& finding : before_.findings) {
    if (!finding.waiver) before[key_of(finding)].findings.push_back(&finding);
  }
  for (const Finding& finding : now_.findings) {
    if (!is_waived(finding)) now[key_of(finding)].findings.push_back(&finding);
  }
  for (const auto& [key, group] : now) {
    const auto old = before.find(key);
    if (old != before.end()) {
      compare_group(old->second, group);
    } else {
      for (const Finding* finding : group.findings) add_new(*finding);
    }
  }
  for (const auto& [key, group] : before) {
    const bool is_there = std::any_of(now_.findings.begin(), now_.findings.end(),
                                      [&, same = key](const Finding& f) { return key_of(f) == same; });
    if (!is_there) add_gone(group);
  }
  compare_wrong_elements();
}

}  // namespace qconform::gate
