#include "reports/render/terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "harness/base/text.h"
#include "harness/engine/waivers.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/model/text.h"

namespace qconform::report {
namespace {

// "37 runs, shrinking 3 ms"; what ended it, unless it is as small as can be found.
std::string shrinking_text(const Shrinking& shrinking) {
  return fmt::format("{}, {}, {}", plural(shrinking.runs, "run"), duration("shrinking", shrinking.seconds),
                     shrinking.ending == "minimal"          ? "no single step makes it smaller"
                     : shrinking.ending == "not-reproduced" ? "not reproduced: the case as it was met"
                                                            : "ended by the limit on " + shrinking.ending);
}

// A library's last words tell most.
std::string last_line(std::string_view log) {
  const std::size_t end = log.find_last_not_of('\n');
  if (end == std::string_view::npos) return {};
  const std::size_t begin = log.rfind('\n', end);
  return std::string(log.substr(begin == std::string_view::npos ? 0 : begin + 1, end - (begin + 1) + 1));
}

// Two models may have one library, or one stage, in common.
void add_once(std::vector<std::string>& list, const std::string& entry) {
  if (!entry.empty() && std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
}

// "MatMulInteger, 2 Mul", or "nothing".
std::string nodes_text(const Counts& nodes) {
  std::vector<std::string> texts;
  for (const auto& [name, count] : nodes) {
    texts.push_back((count == 1 ? "" : with_thousands(count) + " ") + shown(name));
  }
  return texts.empty() ? "nothing" : fmt::format("{}", fmt::join(texts, ", "));
}

// The nodes that the switched off parts take out of the example, and those that they put there.
std::string rewriting_text(const Diagnosis& diagnosis) {
  if (diagnosis.went.empty() && diagnosis.came.empty()) return "";
  return fmt::format("without these settings the library computes {} in the place of {}", nodes_text(diagnosis.came),
                     nodes_text(diagnosis.went));
}

}  // namespace

std::string large_outputs_text(std::uint32_t elements) {
  return elements == 0 ? "" : fmt::format("of outputs of {} elements and more: ", with_thousands(elements));
}

std::string place_counts_text(std::uint64_t wrong, std::uint64_t right, std::uint64_t elsewhere) {
  if (wrong == 0) return "";
  const std::string there = right == 0
                                ? "exactly: all " + with_thousands(wrong) + " elements there are wrong"
                                : with_thousands(wrong) + " wrong and " + with_thousands(right) + " right ones there";
  return fmt::format("   ({}, none of {} elsewhere)", there, with_thousands(elsewhere));
}

namespace {

// "explained: a padded tap is raw 0, not the zero point; with it 304 of 304 trial cases come out alike".
void add_diagnosis(std::vector<Fact>& facts, const Diagnosis& diagnosis) {
  std::string why = diagnosis.status;
  std::vector<std::string> known;
  std::vector<std::string> look_at;
  std::vector<std::string> avoided_by;
  for (const DiagnosedDefect& defect : diagnosis.defects) {
    why += (why == diagnosis.status ? ": " : "; and ") + defect.description;
    add_once(known, defect.evidence);
    add_once(look_at, defect.stages);
    add_once(avoided_by, defect.avoided_by);
  }
  if (diagnosis.is_of_values()) facts.push_back({"why", why});
  if (!diagnosis.cured_by.empty()) {
    const std::string beside =
        diagnosis.beside.empty() ? ""
                                 : fmt::format("; in some of them off as well: {}", fmt::join(diagnosis.beside, ", "));
    const std::string own = diagnosis.own_elements == 0 ? ""
                                                        : fmt::format("; with the others off, the example has {}",
                                                                      plural(diagnosis.own_elements, "wrong element"));
    facts.push_back(
        {"cured", "each of these cases that was tried is right with @" + diagnosis.cured_by + beside + own});
  }
  if (const std::string rewriting = rewriting_text(diagnosis); !rewriting.empty())
    facts.push_back({"rewrites", rewriting});
  if (!avoided_by.empty())
    facts.push_back({"avoid", fmt::format("on purpose; switched off by {}", fmt::join(avoided_by, ", "))});
  const bool has_all = diagnosis.trial_reproduced == diagnosis.trial_cases;
  const std::string contradicted =
      diagnosis.contradicting == 0
          ? ""
          : fmt::format("; gets {} wrong, so the backend has the defect in some of its paths only",
                        plural(diagnosis.contradicting, "passing case"));
  if (diagnosis.status == "reproduced" && !(has_all && diagnosis.trial_cases > 0)) {
    const std::string others = contradicted.empty() ? "; no passing case that was tried contradicts it" : contradicted;
    facts.push_back(
        {"support", fmt::format("reproduces every byte of {}{}", plural(diagnosis.examined, "failing case"), others)});
  } else if (!diagnosis.defects.empty()) {
    facts.push_back(
        {"support", fmt::format("reproduces {} of {} made to test it, {} of them failing{}{}",
                                with_thousands(diagnosis.trial_reproduced), plural(diagnosis.trial_cases, "case"),
                                with_thousands(diagnosis.trial_failing),
                                diagnosis.status == "reproduced" ? ": too few, or other models were not tried" : "",
                                contradicted)});
  }
  if (diagnosis.experiment) {
    facts.push_back({"shown by", experiment_text(*diagnosis.experiment)});
    if (!diagnosis.experiment->replay.empty()) facts.push_back({"repeat", shown_command(diagnosis.experiment->replay)});
  }
  if (!diagnosis.when.empty()) {
    const std::string shown = diagnosis.when_shown == 0
                                  ? ""
                                  : fmt::format(", {} of them with other data", with_thousands(diagnosis.when_shown));
    facts.push_back(
        {"when", fmt::format("{}   ({}{} failing{}, {} of {} passing cases; cross-validated: precision {:.2f}, "
                             "recall {:.2f})",
                             fmt::join(diagnosis.when, ", "), large_outputs_text(diagnosis.when_elements),
                             with_thousands(diagnosis.failing), shown, with_thousands(diagnosis.passing_inside),
                             with_thousands(diagnosis.passing), diagnosis.precision, diagnosis.recall)});
  }
  if (diagnosis.has_place())
    facts.push_back({"where", diagnosis.where + place_counts_text(diagnosis.wrong_there, diagnosis.right_there,
                                                                  diagnosis.right_elsewhere)});
  if (!diagnosis.behaves.empty()) facts.push_back({"there", "behaves as: " + diagnosis.behaves});
  if (!diagnosis.thresholds.empty())
    facts.push_back({"fails for", fmt::format("{}", fmt::join(diagnosis.thresholds, "; "))});
  if (!look_at.empty()) facts.push_back({"look at", fmt::format("{}", fmt::join(look_at, ", "))});
  // A report by somebody else is no likeness of what is not certain.
  if (!known.empty() && diagnosis.status == "explained")
    facts.push_back({"resembles", fmt::format("{}", fmt::join(known, ", "))});
}

}  // namespace

std::string shown_command(const std::string& command) {
  constexpr std::size_t kWhole = 320;
  constexpr std::size_t kShown = 200;
  return command.size() <= kWhole ? command : cut_to(shown(command), kShown) + " (whole in report.json)";
}

std::vector<Fact> facts_of(const Finding& finding) {
  std::vector<Fact> facts;
  if (finding.diagnosis) add_diagnosis(facts, *finding.diagnosis);
  if (finding.suspects && !finding.suspects->lines.empty())
    facts.push_back({"source", suspect_text(*finding.suspects, 0)});
  const auto& worst = finding.verdict.worst;
  facts.push_back({"smallest", example_summary(finding) + (worst ? "; " + element_text(*worst) : "")});
  facts.push_back({"what", finding.verdict.detail});
  if (!finding.verdict.place.empty()) facts.push_back({"place", finding.verdict.place});
  if (!finding.verdict.log.empty()) facts.push_back({"printed", last_line(finding.verdict.log)});
  const Case& example = finding.example;
  facts.push_back({"case", example.id + (example.note.empty() ? "" : ": " + example.note)});
  if (!finding.met_while_shrinking.empty())
    facts.push_back(
        {"met", fmt::format("while shrinking {}; it is not a case of the suites", finding.met_while_shrinking)});
  if (finding.shrinking) facts.push_back({"shrunk", shrinking_text(*finding.shrinking)});
  if (!finding.history.empty()) facts.push_back({"since", fmt::format("{}", fmt::join(finding.history, "; "))});
  if (!finding.replay.empty()) facts.push_back({"replay", shown_command(finding.replay)});
  const std::size_t options = finding.replay.find(" --backend ");
  const bool is_of_one_case = finding.replay.find(" --relation ") == std::string::npos;
  if (!finding.line.empty() && options != std::string::npos && is_of_one_case) {
    constexpr std::size_t kShort = 80;  // what is longer stands in the line above
    const std::string with = finding.replay.substr(options);
    const std::string command = "qconform run --case " + copied_word(finding.line);
    facts.push_back({"vary", command + (with.size() <= kShort ? with : " with the --backend of replay")});
  }
  return facts;
}

std::string suspect_text(const Suspects& suspects, std::size_t number) {
  const SuspectLines& lines = suspects.lines[number];
  const std::string range =
      lines.first == lines.last ? fmt::format("{}", lines.first) : fmt::format("{}-{}", lines.first, lines.last);
  return fmt::format("{}:{} in {}: {} of {} failing cases execute it, and {} of {} passing ones", lines.file, range,
                     lines.function, lines.failing, suspects.failing, lines.passing, suspects.passing);
}

bool is_lossy_by_design(const Finding& finding) {
  return finding.diagnosis && finding.diagnosis->is_lossy_by_design();
}

std::string subject_of(const Finding& finding) {
  std::string rules;
  if (finding.diagnosis && finding.diagnosis->is_of_values()) {
    for (const DiagnosedDefect& defect : finding.diagnosis->defects) {
      rules += (rules.empty() ? "" : ", ") + defect.rule;
    }
  } else {
    rules = finding.verdict.rule;
  }
  const bool is_named = finding.diagnosis && finding.diagnosis->is_of_values();
  const bool is_cured = finding.diagnosis && !finding.diagnosis->cured_by.empty();
  std::string name = is_named || is_cured ? ", " + finding.signature : "";
  if (is_lossy_by_design(finding)) name = ", lossy by design" + name;
  if (finding.diagnosis && !finding.diagnosis->base.empty()) name += " on " + finding.diagnosis->base;
  return name + (rules.empty() ? "" : " (" + rules + ")");
}

std::string undetermined_text(std::uint64_t cases) {
  if (cases == 0) return "";
  return plural(cases, "further failing case") + ", not examined far enough to name a cause";
}

std::string cases_text(const Finding& finding) {
  std::string text = plural(finding.cases, "case");
  const auto& diagnosis = finding.diagnosis;
  const bool names_a_cause = diagnosis && (diagnosis->is_of_values() || !diagnosis->cured_by.empty());
  if (names_a_cause && diagnosis->examined != finding.cases && diagnosis->examined > 0)
    text += fmt::format(", {} of them examined", with_thousands(diagnosis->examined));
  if (finding.between && finding.between->most > finding.cases)
    text +=
        fmt::format(", in all {} to {}", with_thousands(finding.between->least), with_thousands(finding.between->most));
  return text;
}

std::string example_summary(const Finding& finding) {
  return finding.example_summary.empty() ? summary_of(finding.example) : finding.example_summary;
}

std::string original_summary(const Shrinking& shrinking) {
  return shrinking.original_summary.empty() ? summary_of(shrinking.original) : shrinking.original_summary;
}

// The lines that a run ends with.

namespace {

// Why a backend comes to that, behind its name; empty where there is nothing to add.
std::string reason_for(const BackendResult& backend, Conclusion conclusion) {
  switch (conclusion) {
    case Conclusion::does_not_conform: {
      const std::string terms = looser_terms_of(backend);
      return terms.empty() ? "" : ": " + terms;
    }
    case Conclusion::judged_in_part: return ": " + backend.stopped;
    case Conclusion::not_fused:
      return backend.fusion->graphs == 0
                 ? ": it does not show what it computes"
                 : fmt::format(": it computes {} as stated", plural(backend.fusion->graphs, "graph"));
    case Conclusion::conforms:
    case Conclusion::agrees_in_part: {
      const std::string scope = scope_of(backend);
      return scope.empty() ? "" : " " + scope;
    }
    case Conclusion::too_few_nodes: return fmt::format(": --min-judged {}", *backend.min_judged);
    case Conclusion::nothing_judged: return ": " + why_not_judged(backend);
    case Conclusion::disputed: break;
  }
  return "";
}

std::string painted(Conclusion conclusion, bool counts, const std::string& text, const Painter& paint) {
  if (conclusion == Conclusion::conforms) return paint.good(text);
  return counts && conclusion != Conclusion::agrees_in_part ? paint.bad(text) : paint.aside(text);
}

std::string line_of(const BackendResult& backend, bool is_part, const Painter& paint) {
  const std::string name =
      shown(backend.info.name) + (backend.decides ? "" : ", not named with --backend and not counted");
  const Conclusion conclusion = backend.conclusion();
  const bool counts = backend.decides && !(is_part && conclusion == Conclusion::nothing_judged);
  return fmt::format("{}: {}{}\n", painted(conclusion, counts, conclusion_text(backend), paint), name,
                     shown(reason_for(backend, conclusion)));
}

// The run as a whole.
std::string line_of(const Report& report, const Painter& paint) {
  const Conclusion conclusion = report.conclusion();
  const std::string words = painted(conclusion, true, conclusion_text(report), paint);
  if (conclusion == Conclusion::disputed) {
    return words + ": a suite states what the rules do not admit: the suite or qconform is wrong\n";
  }
  std::size_t counted = 0;
  std::size_t alike = 0;
  for (const BackendResult& backend : report.backends) {
    counted += backend.decides ? 1 : 0;
    alike += backend.decides && backend.conclusion() == conclusion ? 1 : 0;
  }
  return fmt::format("{}: {} of {}\n", words, alike, plural(counted, "backend"));
}

}  // namespace

std::string conclusions(const Report& report, bool colour) {
  const Painter paint(colour);
  const bool is_part = report.campaign && report.campaign->is_part();
  std::string text;
  for (const BackendResult& backend : report.backends) text += line_of(backend, is_part, paint);
  const bool says_all = report.backends.size() == 1 && report.backends.front().decides &&
                        report.backends.front().conclusion() == report.conclusion();
  return says_all ? text : text + line_of(report, paint);
}

namespace {

// "sweep: 4,213 cases cover 182,340 of 182,340 feasible triples (strength 3)", and a line for each model.
std::string coverage_lines(const SuiteResult& suite, const Painter& paint) {
  CombinationCoverage all;
  std::string parts;
  const auto combinations = [](const CombinationCoverage& part) {
    return part.strength == 3 ? "triples" : "combinations";
  };
  for (const CombinationCoverage& part : suite.coverage) {
    all.strength = part.strength;
    all.cases += part.cases;
    all.covered += part.covered;
    all.feasible += part.feasible;
    parts += fmt::format("    {:<17} {:>3} parameters, {:>3} classes: {} cases, {} of {} {}; {} proved infeasible\n",
                         shown(part.model), part.parameters, part.classes, with_thousands(part.cases),
                         with_thousands(part.covered), with_thousands(part.feasible), combinations(part),
                         with_thousands(part.infeasible));
  }
  const std::string covered = fmt::format("{} of {}", with_thousands(all.covered), with_thousands(all.feasible));
  return fmt::format("  {}: {} cases cover {} feasible {} (strength {})\n", shown(suite.name),
                     with_thousands(all.cases), all.covered == all.feasible ? paint.good(covered) : paint.bad(covered),
                     combinations(all), all.strength) +
         parts;
}

// One line for each kind of dispute, with the first case of it.
std::string dispute_lines(const SuiteResult& suite, const Painter& paint) {
  struct DisputeLine {
    std::string first;
    std::uint64_t cases = 0;
  };
  std::map<std::string, DisputeLine> kinds;
  for (const std::string& dispute : suite.disputed) {
    const std::size_t end = dispute.find(": ");
    DisputeLine& kind = kinds[end == std::string::npos ? dispute : dispute.substr(end + 2)];
    if (kind.cases++ == 0) kind.first = dispute.substr(0, end);
  }
  std::string text;
  for (const auto& [what, kind] : kinds) {
    text += fmt::format("  {} {}: {}, first {}\n", paint.aside("disputed"), shown(what), plural(kind.cases, "case"),
                        shown(kind.first));
  }
  return text;
}

std::string skipped_lines(const SuiteResult& suite, bool verbose) {
  std::string text;
  for (const std::string& line : reason_lines(suite.skipped, verbose)) text += fmt::format("  skipped {}\n", line);
  return text;
}

std::string suite_lines(const SuiteResult& suite, const Painter& paint, bool verbose) {
  const std::string aside = skipped_lines(suite, verbose);
  if (!verbose) {
    return fmt::format("suite {:<28} {:>10} cases\n", shown(suite.name), with_thousands(suite.cases)) + aside +
           dispute_lines(suite, paint);
  }
  std::string text = fmt::format("suite {:<28} {:>10} cases   digest {:016x}\n", shown(suite.name),
                                 with_thousands(suite.cases), suite.digest);
  if (!suite.coverage.empty()) text += coverage_lines(suite, paint);
  if (suite.exact_ties + suite.near_ties > 0) {
    text += fmt::format("  of {} elements {} on an exact tie, {} near one\n", with_thousands(suite.elements),
                        with_thousands(suite.exact_ties), with_thousands(suite.near_ties));
  }
  return text + aside + dispute_lines(suite, paint);
}

// Up to this many corner cases are shown with their counts, in the list's order; the JSON report has all.
constexpr std::size_t kShownCornerCases = 6;

// "corner cases reached 27 of 31: positive ties 1,904, ..." and those that were not.
std::string corner_case_lines(const CornerCaseCoverage& coverage, const Painter& paint) {
  std::vector<std::string> reached;
  std::vector<std::string_view> missed;
  for (const CornerCaseInfo& info : corner_cases()) {
    if (!coverage.is_applicable(info.corner_case)) continue;
    const CornerCaseTotal total = coverage.total(info.corner_case);
    if (total.cases == 0) {
      missed.push_back(info.id);
    } else {
      reached.push_back(fmt::format("{} {}", info.label, with_thousands(total.elements)));
    }
  }
  if (reached.empty() && missed.empty()) return "";
  std::string text = fmt::format("corner cases reached {} of {}", reached.size(), reached.size() + missed.size());
  const bool all_shown = reached.size() <= kShownCornerCases;
  if (!all_shown) reached.resize(kShownCornerCases);
  if (!reached.empty()) text += fmt::format(": {}{}", fmt::join(reached, ", "), all_shown ? "" : " ...");
  text += "\n";
  if (!missed.empty()) text += fmt::format("  {} {}\n", paint.aside("not reached:"), fmt::join(missed, ", "));
  return text;
}

// One row for each relation; what never happened is left out.
std::string relation_lines(const BackendResult& backend, const Painter& paint) {
  if (backend.relations.empty()) return "";
  std::string text = fmt::format("{:<34} relations between its own answers\n", shown(backend.info.name));
  for (const RelationResult& relation : backend.relations) {
    text += fmt::format("  {:<26} {:>9} held", shown(relation.id), with_thousands(relation.held));
    if (relation.broken > 0) text += "  " + paint.bad(with_thousands(relation.broken) + " broken");
    if (relation.failed > 0) text += "  " + paint.bad(with_thousands(relation.failed) + " failed");
    if (relation.implementation_defined > 0)
      text +=
          "  " + paint.aside(with_thousands(relation.implementation_defined) + " skipped as implementation-defined");
    if (relation.refused > 0) text += "  " + with_thousands(relation.refused) + " refused";
    text += "  " + with_thousands(relation.not_applicable) + " not applicable\n";
  }
  if (backend.failed_bases > 0) text += "  " + paint.bad(plural(backend.failed_bases, "base case")) + " failed\n";
  return text;
}

std::string finding_lines(const Finding& finding, const Painter& paint) {
  std::string text =
      fmt::format("  {} {}{}   {} on {}   {}\n", shown(finding.id), paint.bad(std::string(name_of(finding.kind))),
                  shown(subject_of(finding)), shown(finding.op_type), shown(finding.backend), cases_text(finding));
  for (const Fact& fact : facts_of(finding)) text += fmt::format("    {:<9} {}\n", fact.label, shown(fact.value));
  return text;
}

// Lists the findings that waivers cover, one line each: there is nothing to find out.
std::string waived_lines(const Report& report) {
  std::string text;
  for (const Finding& finding : report.findings) {
    if (!finding.waiver) continue;
    text += fmt::format("  {} {}   {} on {}   {}   {}: {} ({})\n", shown(finding.id), name_of(finding.kind),
                        shown(finding.op_type), shown(finding.backend), plural(finding.cases, "case"),
                        shown(finding.waiver->id), shown(finding.waiver->reason), shown(finding.waiver->reference));
  }
  return text.empty() ? text : "\nwaived, known discrepancies\n" + text;
}

// Lists the waivers of which there is something to say: they waive nothing, not all of what they name, or too much.
std::string waiver_notes(const Report& report) {
  constexpr std::size_t kShown = 12;
  std::string text;
  std::size_t count = 0;
  for (const bool is_idle : {false, true}) {
    for (const WaiverUse& use : report.waivers) {
      if (!use.note.empty() && is_idle == (use.note == kWaivesNothing) && count++ < kShown)
        text += fmt::format("  waiver {} of {}: {}\n", shown(use.id), shown(use.backend), shown(use.note));
    }
  }
  if (count > kShown) text += fmt::format("  and {} more waivers: the report has them\n", count - kShown);
  return text;
}

std::string stage_line(const Report& report) {
  const StageTimes& times = report.times;
  std::uint64_t cases = 0;
  for (const SuiteResult& suite : report.suites) cases += suite.cases;
  std::string text = "stages: ";
  for (const auto& [what, seconds] :
       std::initializer_list<std::pair<const char*, double>>{{"generate", times.generate},
                                                             {"reference", times.reference},
                                                             {"statistics", times.statistics},
                                                             {"backends", times.backend},
                                                             {"judge", times.judge}}) {
    text += duration(what, seconds) + ", ";
  }
  if (times.diagnose >= 0.1) text += duration("diagnose", times.diagnose) + ", ";
  text += duration(report.campaign ? "all jobs together" : "all", times.total);
  if (times.total > 1) {
    const auto rate = static_cast<std::uint64_t>(static_cast<double>(cases) / times.total);
    text += fmt::format("   {} cases/s{}", with_thousands(rate), report.campaign ? " in each job" : "");
  }
  return text + "\n";
}

}  // namespace

std::string plural(std::uint64_t count, const std::string& noun) {
  return with_thousands(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string duration(std::string_view what, double seconds) {
  return seconds < 0.1 ? fmt::format("{} {:.0f} ms", what, seconds * 1000) : fmt::format("{} {:.1f} s", what, seconds);
}

std::string experiment_text(const SeparatingCase& experiment) {
  const std::string second = experiment.second.empty()
                                 ? "no other name has any of the wrong elements"
                                 : fmt::format("{} computes {}", experiment.second, experiment.predicted_otherwise);
  return fmt::format("{} of {}: right {}; {} computes {}, the backend answers {}; {}", experiment.element,
                     experiment.summary.empty() ? summary_of(experiment.test_case) : experiment.summary,
                     experiment.right, experiment.name, experiment.predicted, experiment.answered, second);
}

std::string element_text(const ElementReport& element) {
  const std::string output = element.output == 0 ? "y" : fmt::format("output {} ", element.output);
  return shown(fmt::format("{}[{}] got {}, {}admissible {}", output, fmt::join(element.index, ","), element.got,
                           element.exact.empty() ? "" : "exact " + element.exact + ", ", element.admissible));
}

std::string headline(const Report& report) {
  const auto names = [](const std::vector<std::string>& list) {
    return shown(fmt::format("{}", fmt::join(list, " ")));
  };
  std::string text = fmt::format("qconform {}   seed {}   kernels {}   profile {}\n", shown(report.environment.version),
                                 report.seed, names(report.environment.kernels), shown(report.profile));
  if (!report.environment.kernels_not_run.empty()) {
    text += fmt::format("not run, this CPU lacks them: {}\n", names(report.environment.kernels_not_run));
  }
  return text;
}

std::string summary(const Report& report, const SummaryStyle& style) {
  const Painter paint(style.colour);
  std::string text;
  if (!report.stopped.empty()) text += paint.bad("stopped") + ": " + shown(report.stopped) + "\n";
  if (report.model) text += layer_lines(*report.model);
  text += node_lines(report, paint);
  if (style.brief) {
    for (const SuiteResult& suite : report.suites) text += skipped_lines(suite, false);
    return text + brief_table(report, paint, style.columns) + finding_rows(report, paint);
  }
  for (const SuiteResult& suite : report.suites) text += suite_lines(suite, paint, style.verbose);
  text += backend_table(report, paint, style.verbose, style.columns);
  for (const BackendResult& backend : report.backends) text += relation_lines(backend, paint);
  if (style.verbose) text += corner_case_lines(report.corner_cases, paint) + stage_line(report);
  std::string findings;
  std::size_t count = 0;
  for (const Finding& finding : report.findings) {
    if (finding.waiver) continue;
    ++count;
    findings += finding_lines(finding, paint);
  }
  text += waived_lines(report);
  text += waiver_notes(report);
  if (!report.findings.empty()) {
    text += "\n" + plural(count, "finding") + (count == report.findings.size() ? "" : " beyond the waived") + "\n" +
            findings + "\n";
  }
  return text;
}

}  // namespace qconform::report
