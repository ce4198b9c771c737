#include "reports/gate/gate.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "harness/forms/archive/archive.h"
#include "harness/forms/archive/report_archive.h"
#include "reports/render/forms.h"
#include "reports/render/terminal.h"

namespace qconform::gate {
namespace {

// ln(n over k)
double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

}  // namespace

double chance_of_at_least(const Share& before, const Share& now) {
  const auto all = static_cast<double>(before.whole + now.whole);
  const auto whole = static_cast<double>(now.whole);
  const auto marked = static_cast<double>(before.part + now.part);
  const double most = std::min(marked, whole);
  const double total = log_choose(all, marked);
  double sum = 0;
  // From `now.part` upwards the terms grow until the mode and fall behind it.
  for (auto k = static_cast<double>(now.part); k <= most; ++k) {
    if (marked - k > all - whole) continue;
    const double term = std::exp(log_choose(whole, k) + log_choose(all - whole, marked - k) - total);
    sum += term;
    if (k > marked * whole / all && term < sum * 1e-15) break;
  }
  return std::min(sum, 1.0);
}

Trend trend(const Share& before, const Share& now, bool same_cases) {
  if (same_cases || before.whole == 0 || now.whole == 0) {
    return now.part > before.part ? Trend::higher : now.part < before.part ? Trend::lower : Trend::same;
  }
  if (chance_of_at_least(before, now) < kChance) return Trend::higher;
  if (chance_of_at_least(now, before) < kChance) return Trend::lower;
  return Trend::same;
}

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
      if (before.campaign) {
        for (KnownCause& known : before.campaign->causes) {
          if (known.backend == old.info.name) known.backend = backend.info.name;
        }
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
    change.text += " (the backend does not count: it is not named with --backend)";
  }
  add(std::move(change));
}

Result<GateResult> compare(ReportSide baseline, ReportSide current, const Waivers* waivers) {
  call_as(current.report, baseline.report);
  const Report& before = baseline.report;
  const Report& now = current.report;
  const auto refuse = [](const char* what, const std::string& old_one, const std::string& new_one) {
    return fail(
        what,
        fmt::format(
            "the baseline has {}, the new report {}: reports that admit different right values cannot be compared",
            old_one, new_one));
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

namespace {

// "fails: 2 worse, 1 better, 1 waived"
std::string verdict(const GateResult& comparison) {
  std::string counts;
  for (const Effect effect : {Effect::worse, Effect::better, Effect::waived, Effect::note}) {
    const std::size_t count = comparison.count(effect);
    if (count == 0) continue;
    const std::string named =
        effect == Effect::note ? report::plural(count, "note") : fmt::format("{} {}", count, name_of(effect));
    counts += (counts.empty() ? "" : ", ") + named;
  }
  return fmt::format("{}: {}", comparison.passes() ? "passes" : "fails", counts.empty() ? "nothing changed" : counts);
}

// "avx2 QLinearConv pad-raw-zero"
std::string subject(const Change& change) {
  std::string text;
  for (const std::string* part : {&change.backend, &change.op_type, &change.signature}) {
    if (!part->empty()) text += (text.empty() ? "" : " ") + *part;
  }
  return text;
}

// Padded before it is painted.
std::string painted(Effect effect, const report::Painter& paint) {
  const std::string name = fmt::format("{:<6}", name_of(effect));
  switch (effect) {
    case Effect::worse: return paint.bad(name);
    case Effect::better: return paint.good(name);
    case Effect::waived: return paint.aside(name);
    case Effect::note: break;
  }
  return name;
}

const Finding* finding_of(const Change& change, const GateResult& comparison) {
  for (const Finding& finding : comparison.current.report.findings) {
    if (!change.finding.empty() && finding.id == change.finding) return &finding;
  }
  return nullptr;
}

// "Your commit `abc` against the baseline of 2026-11-26T07:04:31Z (your commit `def`), both judged by qconform 0.1.0."
std::string sides(const GateResult& comparison) {
  const Environment& current = comparison.current.report.environment;
  const Environment& baseline = comparison.baseline.report.environment;
  const auto named = [](const std::string& commit) {
    return commit.empty() ? "" : fmt::format("your commit {}", report::code(commit));
  };
  std::string now = named(current.judged_commit);
  now = now.empty() ? "This run" : "Y" + now.substr(1);
  const std::string before = baseline.judged_commit.empty() ? "" : fmt::format(" ({})", named(baseline.judged_commit));
  const std::string by =
      current.version == baseline.version
          ? fmt::format("both judged by qconform {}", current.version)
          : fmt::format("judged by qconform {}, the baseline by {}", current.version, baseline.version);
  return fmt::format("{} against the baseline of {}{}, {}.", now, baseline.started, before, report::escaped(by));
}

std::string change_line(const Change& change) {
  const std::string about = subject(change);
  return fmt::format("- **{}** {}{}\n", report::escaped(change.what), about.empty() ? "" : report::code(about) + ": ",
                     report::escaped(report::shortened(change.text, 1000)));
}

}  // namespace

std::string to_text(const GateResult& comparison, const report::Painter& paint) {
  const std::string conclusion = verdict(comparison);
  std::string text = "gate " + (comparison.passes() ? paint.good(conclusion) : paint.bad(conclusion)) + "\n";
  for (const Change& change : comparison.changes) {
    text += fmt::format("  {} {}{}{}\n", painted(change.effect, paint), shown(change.what),
                        subject(change).empty() ? "" : "   " + shown(subject(change)), "   " + shown(change.text));
    const Finding* finding = change.effect == Effect::worse ? finding_of(change, comparison) : nullptr;
    if (finding != nullptr && !finding->replay.empty())
      text += fmt::format("         replay {}\n", shown(report::shown_command(finding->replay)));
  }
  const Report& current = comparison.current.report;
  const auto known = static_cast<std::size_t>(
      std::count_if(current.findings.begin(), current.findings.end(), [](const Finding& f) { return !f.waiver; }));
  if (comparison.passes() && !current.conforms()) {
    text += fmt::format("the report does not conform: it has {} that the baseline has too, or that a waiver covers\n",
                        report::plural(known, "finding"));
  }
  return text;
}

std::string to_json(const GateResult& comparison) {
  return write_document(description_of(comparison)).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_sarif(const GateResult& comparison, const std::string& source) {
  report::SarifOptions options{.source = source, .states = {}};
  for (const ComparedCause& cause : comparison.causes) {
    for (const std::string& finding : cause.findings)
      options.states[finding] = cause.state == CauseState::appeared ? "new" : "unchanged";
  }
  return report::to_sarif(comparison.current.report, options);
}

namespace {

// As workflow commands take it: a line break would end the command.
std::string for_workflow(std::string_view text, bool is_property) {
  std::string escaped;
  for (const char c : text) {
    const bool is_special = c == '%' || c == '\n' || c == '\r' || (is_property && (c == ',' || c == ':'));
    escaped += is_special ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return escaped;
}

}  // namespace

std::string to_annotations(const GateResult& comparison, const std::string& source) {
  std::string text;
  for (const Change& change : comparison.changes) {
    if (change.effect != Effect::worse) continue;
    const Finding* finding = finding_of(change, comparison);
    const report::SourcePlace at =
        finding == nullptr ? report::source_place(source) : report::source_place(*finding, source);
    std::string place = at.file.empty() ? "" : fmt::format("file={},", for_workflow(at.file, true));
    if (at.line > 0) place += fmt::format("line={},", at.line);
    const std::string title =
        fmt::format("qconform {}{}{}", change.what, subject(change).empty() ? "" : " ", subject(change));
    text += fmt::format("::error {}title={}::{}\n", place, for_workflow(shown(title), true),
                        for_workflow(shown(change.text), false));
  }
  return text;
}

std::string to_markdown(const GateResult& comparison, std::size_t limit, const std::string& link) {
  const std::string where = link.empty() ? "" : fmt::format(" [The report]({}).", link);
  report::LimitedText text(
      fmt::format("### qconform gate {}\n\n{}{}\n\n", verdict(comparison), sides(comparison), where), limit);
  for (const Change& change : comparison.changes) {
    if (change.effect == Effect::worse) text.add(change_line(change));
  }
  std::set<std::string> shown;
  for (const Change& change : comparison.changes) {
    const Finding* finding = change.effect == Effect::worse ? finding_of(change, comparison) : nullptr;
    if (finding == nullptr || !shown.insert(finding->id).second) continue;
    text.add("\n" + report::finding_markdown(*finding));
  }
  bool is_first = true;
  for (const Change& change : comparison.changes) {
    if (change.effect == Effect::worse) continue;
    text.add((is_first ? "\n" : "") + fmt::format("- {}: ", name_of(change.effect)) + change_line(change).substr(2));
    is_first = false;
  }
  return text.close("changes", "see what the job printed");
}

std::string to_junit(const GateResult& comparison) {
  using report::junit::TestResult;
  report::junit::TestSuite suite;
  suite.name = "gate";
  suite.properties = {{"baseline", comparison.baseline.file}, {"report", comparison.current.file}};
  std::set<std::string> names;
  for (const Change& change : comparison.changes) {
    const std::string name = fmt::format("{}{}{}", change.what, subject(change).empty() ? "" : " ", subject(change));
    std::string unique = name;
    for (int number = 2; !names.insert(unique).second; ++number) unique = fmt::format("{} #{}", name, number);
    report::junit::TestCase test{"qconform.gate", unique, TestResult::passed, "", "", change.text};
    if (change.effect == Effect::worse || change.effect == Effect::waived) {
      test.result = change.effect == Effect::worse ? TestResult::failed : TestResult::skipped;
      test.type = change.what;
      test.message = change.text;
      test.text.clear();
      const Finding* finding = finding_of(change, comparison);
      if (finding != nullptr) test.text = finding->replay + "\n";
    }
    suite.cases.push_back(std::move(test));
  }
  if (suite.cases.empty()) suite.cases.push_back({"qconform.gate", "unchanged", TestResult::passed, "", "", ""});
  return report::junit::document("qconform gate", {suite});
}

}  // namespace qconform::gate
