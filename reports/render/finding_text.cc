#include "reports/render/finding_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/text.h"
#include "harness/model/text.h"
#include "reports/render/terminal.h"

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
  facts.push_back({"why", why});
  if (!avoided_by.empty())
    facts.push_back({"avoid", fmt::format("on purpose; switched off by {}", fmt::join(avoided_by, ", "))});
  const bool has_all = diagnosis.trial_reproduced == diagnosis.trial_cases;
  if (diagnosis.status == "reproduced" && !(has_all && diagnosis.trial_cases > 0)) {
    facts.push_back({"support", fmt::format("reproduces every byte of {}; cases that are right may speak against it",
                                            plural(diagnosis.examined, "failing case"))});
  } else if (!diagnosis.defects.empty()) {
    facts.push_back(
        {"support", fmt::format("reproduces {} of {} made to test it, {} of them failing{}",
                                with_thousands(diagnosis.trial_reproduced), plural(diagnosis.trial_cases, "case"),
                                with_thousands(diagnosis.trial_failing),
                                diagnosis.status == "reproduced" ? ": too few, or other models were not tried" : "")});
  }
  if (!diagnosis.when.empty()) {
    facts.push_back({"when", fmt::format("{}   ({} failing, {} of {} passing cases)", fmt::join(diagnosis.when, ", "),
                                         with_thousands(diagnosis.failing), with_thousands(diagnosis.passing_inside),
                                         with_thousands(diagnosis.passing))});
  }
  facts.push_back({"where", diagnosis.where});
  if (!look_at.empty()) facts.push_back({"look at", fmt::format("{}", fmt::join(look_at, ", "))});
  if (!known.empty()) facts.push_back({"known", fmt::format("{}", fmt::join(known, ", "))});
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
  const auto& worst = finding.verdict.worst;
  facts.push_back({"smallest", example_summary(finding) + (worst ? "; " + element_text(*worst) : "")});
  facts.push_back({"what", finding.verdict.detail});
  if (!finding.verdict.place.empty()) facts.push_back({"place", finding.verdict.place});
  if (!finding.verdict.log.empty()) facts.push_back({"printed", last_line(finding.verdict.log)});
  const Case& example = finding.example;
  facts.push_back({"case", example.id + (example.note.empty() ? "" : ": " + example.note)});
  if (!finding.met_while_shrinking.empty())
    facts.push_back({"met", fmt::format("while shrinking {}; no case of the suites", finding.met_while_shrinking)});
  if (finding.shrinking) facts.push_back({"shrunk", shrinking_text(*finding.shrinking)});
  if (!finding.replay.empty()) facts.push_back({"replay", shown_command(finding.replay)});
  return facts;
}

bool is_lossy_by_design(const Finding& finding) {
  return finding.diagnosis && finding.diagnosis->is_lossy_by_design();
}

std::string subject_of(const Finding& finding) {
  std::string rules;
  if (finding.diagnosis) {
    for (const DiagnosedDefect& defect : finding.diagnosis->defects) {
      rules += (rules.empty() ? "" : ", ") + defect.rule;
    }
  } else {
    rules = finding.verdict.rule;
  }
  std::string name = finding.diagnosis ? ", " + finding.signature : "";
  if (is_lossy_by_design(finding)) name = ", lossy by design" + name;
  if (finding.diagnosis && !finding.diagnosis->base.empty()) name += " on " + finding.diagnosis->base;
  return name + (rules.empty() ? "" : " (" + rules + ")");
}

std::string undetermined_text(std::uint64_t cases) {
  if (cases == 0) return "";
  return plural(cases, "further failing case") + ", not examined far enough to name a cause";
}

std::string cases_text(const Finding& finding) {
  const std::string all = plural(finding.cases, "case");
  if (!finding.diagnosis || finding.diagnosis->examined == finding.cases) return all;
  return fmt::format("{}, {} of them examined", all, with_thousands(finding.diagnosis->examined));
}

std::string example_summary(const Finding& finding) {
  return finding.example_summary.empty() ? summary_of(finding.example) : finding.example_summary;
}

std::string original_summary(const Shrinking& shrinking) {
  return shrinking.original_summary.empty() ? summary_of(shrinking.original) : shrinking.original_summary;
}

}  // namespace qconform::report
