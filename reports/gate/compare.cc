#include "reports/gate/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "reports/gate/parts.h"

namespace qconform::gate {
namespace {

bool have_same_cases(const Report& a, const Report& b) {
  const auto cases = [](const Report& report) {
    std::multiset<std::tuple<std::string, std::uint64_t, std::uint64_t>> result;
    for (const SuiteResult& suite : report.suites) result.emplace(suite.name, suite.cases, suite.digest);
    return result;
  };
  return cases(a) == cases(b);
}

// Calls the baseline's backends as the new report does, where both were opened alike: an alias may be new.
void call_as(const Report& now, Report& before) {
  for (const BackendResult& backend : now.backends) {
    if (backend_named(before, backend.info.name) != nullptr) continue;
    for (BackendResult& old : before.backends) {
      const bool is_same = old.info.on_command_line() == backend.info.on_command_line();
      if (!is_same || backend_named(now, old.info.name) != nullptr) continue;
      for (Finding& finding : before.findings) {
        if (finding.backend == old.info.name) finding.backend = backend.info.name;
      }
      old.info.name = backend.info.name;
      break;
    }
  }
}

}  // namespace

const BackendResult* backend_named(const Report& report, const std::string& name) {
  const auto found = std::find_if(report.backends.begin(), report.backends.end(),
                                  [&](const BackendResult& backend) { return backend.info.name == name; });
  return found == report.backends.end() ? nullptr : &*found;
}

ReportParts::ReportParts(const Report& before, const Report& now, const Waivers* waivers)
    : before_(before), now_(now), waivers_(waivers), same_cases_(have_same_cases(before, now)) {}

void ReportParts::add(const BackendResult& backend, Change change) {
  change.backend = backend.info.name;
  if (!backend.decides && change.effect == Effect::worse) {
    change.effect = Effect::note;
    change.text += " (the backend does not decide)";
  }
  add(std::move(change));
}

Result<GateResult> compare(Side baseline, Side current, const Waivers* waivers) {
  call_as(current.report, baseline.report);
  const Report& before = baseline.report;
  const Report& now = current.report;
  const auto refuse = [](const char* what, const std::string& old_one, const std::string& new_one) {
    return fail(what, fmt::format("{} in the baseline, {} in the new report: what is right differs", old_one, new_one));
  };
  if (before.profile != now.profile) return refuse("profile", before.profile, now.profile);
  if (before.overflow != now.overflow) return refuse("overflow", before.overflow, now.overflow);
  ReportParts parts(before, now, waivers);
  parts.compare_suites();
  parts.compare_corner_cases();
  parts.compare_backends();
  parts.compare_findings();
  std::vector<Change> changes = parts.take();
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.effect < b.effect; });
  std::vector<ComparedCause> causes = parts.causes();  // taken here: the reports are moved from below
  return GateResult{std::move(baseline), std::move(current), parts.same_cases(), std::move(changes), std::move(causes)};
}

}  // namespace qconform::gate
