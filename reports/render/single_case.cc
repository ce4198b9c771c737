#include "reports/render/single_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "harness/forms/archive/archive.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/model/defects/expression.h"
#include "harness/model/family.h"
#include "harness/model/text.h"
#include "reports/render/terminal.h"

namespace qconform::report {
namespace {

using diagnose::Defect;
using diagnose::DefectSet;
using diagnose::ErrorDistribution;
using diagnose::Explanation;
using diagnose::Pattern;
using diagnose::Status;
using diagnose::Support;
using Json = nlohmann::ordered_json;

std::string line(std::string_view label, const std::string& value) {
  return value.empty() ? "" : fmt::format("  {:<12} {}\n", label, shown(value));
}

std::string stages_text(const Defect& defect) {
  return fmt::format("{}", fmt::join(diagnose::stages_of(defect), ", "));
}

// Describes the slot of a learnt expression: its meaning, what is right there, and where to look.
std::string learnt_lines(const Defect& defect) {
  const diagnose::ExpressionSlot& slot = defect.expression->slot();
  return line(slot.name, std::string(slot.describes)) + line("  right is", std::string(slot.reference)) +
         line("  look at", stages_text(defect));
}

std::string defect_lines(const Defect& defect) {
  if (defect.is_learnt) return learnt_lines(defect);
  return line(defect.id, std::string(defect.description)) + line("  rule", std::string(defect.rule)) +
         line("  shows on", std::string(defect.trigger)) + line("  look at", stages_text(defect)) +
         line("  known from", std::string(defect.evidence)) + line("  switched off by", std::string(defect.avoided_by));
}

std::string names(const std::vector<DefectSet>& candidates, const char* separator) {
  std::vector<std::string> all;
  for (const DefectSet& candidate : candidates) all.push_back(candidate.name());
  return fmt::format("{}", fmt::join(all, separator));
}

std::string support_text(const Support& support) {
  return fmt::format(
      "reproduces {} of {} cases ({} failing), {} of {} wrong elements; contradicted in {} of {} elements",
      with_thousands(support.reproduced_cases), with_thousands(support.cases), with_thousands(support.failing),
      with_thousands(support.explained), with_thousands(support.wrong),
      with_thousands(support.broken + support.wrong - support.explained), with_thousands(support.elements));
}

std::string pattern_text(const Pattern& pattern) {
  if (pattern.elements == 0) return std::string(pattern.description);
  return fmt::format("{}: {} wrong elements of {} there; {} in all", pattern.description, with_thousands(pattern.wrong),
                     with_thousands(pattern.there), with_thousands(pattern.elements));
}

std::string errors_text(const ErrorDistribution& errors) {
  if (errors.wrong == 0) return "";
  return fmt::format("off by {} to {}; {} too low, {} too high, {} by 1", errors.lowest, errors.highest,
                     with_thousands(errors.too_low), with_thousands(errors.too_high), with_thousands(errors.by_one));
}

std::string whereabouts_lines(const diagnose::Whereabouts& found) {
  std::string text;
  if (!found.place.empty()) {
    text +=
        line("exactly", found.place + place_counts_text(found.wrong_there, found.right_there, found.right_elsewhere));
  }
  if (!found.behaves.empty()) text += line("there", "behaves as: " + found.behaves);
  return text + line("fails for", fmt::format("{}", fmt::join(found.thresholds, "; ")));
}

std::string region_text(const diagnose::Region& region) {
  if (region.conditions.empty()) return "";
  return fmt::format(
      "{}   ({}all {} failing cases, {} of {} passing; cross-validated: precision {:.2f}, recall {:.2f})",
      region.text(), large_outputs_text(region.elements), with_thousands(region.failing),
      with_thousands(region.passing_inside), with_thousands(region.passing), region.precision, region.recall);
}

std::string learning_text(const Explanation& e) {
  return fmt::format(
      "{} expressions tried; the backend agrees with it on {} made to test it, where it differs from the right values",
      with_thousands(e.expressions), plural(e.agreed, "case"));
}

// " on ort-f32"
std::string on_base(const Explanation& e) {
  return e.base().empty() ? "" : " on " + e.base();
}

std::string verdict_line(const Explanation& e) {
  switch (e.status) {
    case Status::explained: return fmt::format("explained: {}{}\n", e.candidates.front().name(), on_base(e));
    case Status::learnt: return fmt::format("learnt: behaves as: {}\n", e.candidates.front().name());
    case Status::ambiguous:
      return fmt::format("ambiguous: {}; no case was found that tells them apart\n", names(e.candidates, " or "));
    case Status::reproduced:
      return fmt::format("reproduced: {}{}{} gives every byte of every case that was tried, but {}\n",
                         e.candidates.front().is_learnt() ? "behaves as: " : "", e.candidates.front().name(),
                         on_base(e),
                         e.support.failing < Support::kFewestFailing ? "too few of them fail to be certain"
                                                                     : "not every other model was tried");
    case Status::partial:
      return fmt::format(
          "partial: nearest is {}{}, which {}\n", e.candidates.front().name(), on_base(e),
          e.support.reproduces_case ? "reproduces this case, but not everything" : "does not reproduce this case");
    case Status::unexplained: break;
  }
  if (e.expressions == 0) return "unexplained: no defect model, and no two of them together, come near its outputs\n";
  return fmt::format(
      "unexplained: no defect model, and no two of them together, come near its outputs, and none of {} expressions "
      "fits\n",
      with_thousands(e.expressions));
}

std::string explanation_lines(const Explanation& e, const std::optional<diagnose::Whereabouts>& whereabouts) {
  std::string text = verdict_line(e);
  for (const DefectSet& candidate : e.candidates) {
    for (const Defect* defect : candidate.defects) text += defect_lines(*defect);
  }
  if (!e.candidates.empty()) text += line("support", support_text(e.support));
  if (!e.candidates.empty() && e.candidates.front().is_learnt()) text += line("learnt", learning_text(e));
  if (e.support.legal > 0) {
    text +=
        line("", fmt::format("{} admissible elements come from no known arithmetic", with_thousands(e.support.legal)));
  }
  if (e.op->quantizes && family_of("", e.op->name)->arithmetic.arithmetics != nullptr)
    text += line("arithmetic", e.arithmetic);
  text += line("not excluded", names(e.not_excluded, ", "));
  if (e.experiment) {
    text += line("shown by", experiment_text(*e.experiment)) + line("repeat", e.experiment->replay);
  }
  text += line("when", region_text(e.region));
  text += line("where", pattern_text(e.pattern));
  if (whereabouts) text += whereabouts_lines(*whereabouts);
  if (e.pattern_of_case.id != e.pattern.id) text += line("in this case", pattern_text(e.pattern_of_case));
  return text + line("how much", errors_text(e.errors)) +
         line("looked at", fmt::format("{}, {}", plural(e.support.cases, "case"), duration("explaining", e.seconds)));
}

std::string earlier_node_lines(const Case& test_case) {
  std::string text = "nothing in the node itself: alone in a new process it is right\n";
  for (const Case& before : test_case.before) text += line("run before", summary_of(before));
  text += line("this node", summary_of(test_case));
  return text + line("look at",
                     "what the code keeps from node to node: caches and their keys, buffers that grow, static "
                     "and thread-local variables");
}

Json candidate_json(const DefectSet& candidate) {
  Json defects = Json::array();
  for (const Defect* defect : candidate.defects) {
    defects.push_back({{"id", defect->id},
                       {"description", defect->description},
                       {"rule", defect->rule},
                       {"trigger", defect->trigger},
                       {"stages", diagnose::stages_of(*defect)},
                       {"evidence", defect->evidence}});
  }
  return defects;
}

Json candidates_json(const std::vector<DefectSet>& candidates) {
  Json list = Json::array();
  for (const DefectSet& candidate : candidates) list.push_back(candidate_json(candidate));
  return list;
}

Json pattern_json(const Pattern& pattern) {
  return {{"id", pattern.id},
          {"description", pattern.description},
          {"wrong", pattern.wrong},
          {"there", pattern.there},
          {"elements", pattern.elements}};
}

Json support_json(const Support& support) {
  return {{"cases", support.cases},
          {"failing", support.failing},
          {"elements", support.elements},
          {"wrong", support.wrong},
          {"reproduced_cases", support.reproduced_cases},
          {"explained", support.explained},
          {"broken", support.broken},
          {"legal", support.legal},
          {"reproduces_case", support.reproduces_case}};
}

Json whereabouts_json(const diagnose::Whereabouts& found) {
  return {{"thresholds", found.thresholds},
          {"place", found.place},
          {"wrong", found.wrong_there},
          {"right", found.right_there},
          {"right_elsewhere", found.right_elsewhere},
          {"behaves", found.behaves}};
}

// Distances to a NaN or an infinity are none.
Json number_json(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

void add_explanation(Json& json, const Explanation& e) {
  json["status"] = name_of(e.status);
  json["signature"] = e.signature();
  json["candidates"] = candidates_json(e.candidates);
  json["learning"] = {{"expressions", e.expressions}, {"agreed", e.agreed}};
  json["arithmetic"] = e.arithmetic;
  if (!e.base().empty()) json["base"] = e.base();
  json["not_excluded"] = candidates_json(e.not_excluded);
  json["support"] = support_json(e.support);
  json["pattern"] = pattern_json(e.pattern);
  json["pattern_of_case"] = pattern_json(e.pattern_of_case);
  json["errors"] = {{"wrong", e.errors.wrong},
                    {"lowest", number_json(e.errors.lowest)},
                    {"highest", number_json(e.errors.highest)},
                    {"too_low", e.errors.too_low},
                    {"too_high", e.errors.too_high},
                    {"by_one", e.errors.by_one}};
  json["region"] = {{"conditions", e.region.conditions},
                    {"failing", e.region.failing},
                    {"elements", e.region.elements},
                    {"passing", e.region.passing},
                    {"passing_inside", e.region.passing_inside},
                    {"precision", e.region.precision},
                    {"recall", e.region.recall}};
  if (e.experiment) {
    const SeparatingCase& experiment = *e.experiment;
    json["experiment"] = {{"case", summary_of(experiment.test_case)},
                          {"element", experiment.element},
                          {"right", experiment.right},
                          {"answered", experiment.answered},
                          {"name", experiment.name},
                          {"predicted", experiment.predicted},
                          {"second", experiment.second},
                          {"predicted_otherwise", experiment.predicted_otherwise},
                          {"file", experiment.file},
                          {"replay", experiment.replay}};
  }
  json["seconds"] = e.seconds;
}

std::string suspect_lines(const Suspects& suspects) {
  constexpr std::size_t kShown = 3;
  const std::string runs =
      fmt::format("{} and {}", plural(suspects.failing, "failing case"), plural(suspects.passing, "passing one"));
  if (suspects.passing == 0)
    return line("source", fmt::format("{}: without a passing case no line can be suspected", runs));
  if (suspects.lines.empty())
    return line("source",
                fmt::format("{}: no line is executed by more of the failing cases than of the passing ones", runs));
  std::string text;
  for (std::size_t i = 0; i < std::min(suspects.lines.size(), kShown); ++i)
    text += line(i == 0 ? "source" : "", suspect_text(suspects, i));
  return text;
}

}  // namespace

std::string text_of(const Explained& explained, const Painter& paint) {
  const Verdict& verdict = explained.verdict;
  std::string text = fmt::format(
      "{}   {} on {}: {}{}{}\n", shown(explained.test_case.id), shown(explained.test_case.op_types()),
      shown(explained.backend), paint.verdict(verdict.kind), verdict.detail.empty() ? "" : ", ", shown(verdict.detail));
  const bool is_known = !explained.failing_part.empty() || !explained.cured_by.empty() || explained.suspects;
  if (!explained.explanation && !is_known) {
    if (verdict.kind == VerdictKind::depends_on_earlier_node) return text + earlier_node_lines(explained.test_case);
    return text + "nothing to explain: no output with a wrong value or shape\n";
  }
  if (explained.explanation) text += explanation_lines(*explained.explanation, explained.whereabouts);
  if (!explained.failing_part.empty()) {
    text += line("failing part", explained.failing_part + " (the least part of the graph that fails too)");
  }
  if (!explained.cured_by.empty()) text += line("cured", "right with @" + explained.cured_by);
  if (explained.suspects) text += suspect_lines(*explained.suspects);
  if (explained.smallest) {
    const auto& worst = explained.smallest_verdict.worst;
    text += line("smallest", summary_of(*explained.smallest) + (worst ? "; " + element_text(*worst) : ""));
  }
  return text;
}

std::string to_json(const Explained& explained) {
  Json json{{"case", explained.test_case.id},     {"operator", explained.test_case.subject()},
            {"backend", explained.backend},       {"verdict", name_of(explained.verdict.kind)},
            {"detail", explained.verdict.detail}, {"status", nullptr}};
  if (explained.explanation) add_explanation(json, *explained.explanation);
  if (explained.whereabouts) json["whereabouts"] = whereabouts_json(*explained.whereabouts);
  if (!explained.failing_part.empty()) json["failing_part"] = explained.failing_part;
  if (!explained.cured_by.empty()) json["cured_by"] = explained.cured_by;
  if (explained.suspects) json["suspects"] = write_document(description_of(*explained.suspects));
  if (explained.smallest) {
    json["smallest"] = {{"summary", summary_of(*explained.smallest)}, {"detail", explained.smallest_verdict.detail}};
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

struct ReplayedBackend {
  QC_DESCRIBED();
  QC_FIELD(std::string, backend, {}, "backend");
  Verdict verdict;
  QC_PART("verdict", verdict.kind);
  QC_PART("detail", verdict.detail);
  QC_PART("rule", verdict.rule, .presence = Presence::omitted);
  QC_PART("elements", verdict.elements);
  QC_PART("wrong_elements", verdict.wrong_elements);
  QC_PART("tiers", verdict.tiers);
  QC_PART("log", verdict.log, .presence = Presence::omitted);
  QC_PART("worst", verdict.worst);
};

struct Replay {
  QC_DESCRIBED();
  QC_FIELD(std::string, test_case, {}, "case");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, expectation, {}, "expectation");
  QC_FIELD(std::string, remark, {}, "remark");
  QC_FIELD(std::vector<ReplayedBackend>, results, {}, "results");
};

struct ReductionSteps {
  QC_DESCRIBED();
  QC_FIELD(std::string, name, {}, "reduction");
  QC_FIELD(std::uint64_t, steps, {}, "steps");
};

struct Shrunk {
  QC_DESCRIBED();
  QC_FIELD(std::string, test_case, {}, "case");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, ending, {}, "ending");
  QC_FIELD(std::uint64_t, runs, {}, "runs");
  QC_FIELD(std::uint64_t, steps, {}, "steps");
  QC_FIELD(double, seconds, {}, "seconds", .form = Form::seconds);
  QC_FIELD(std::vector<ReductionSteps>, reduced, {}, "reduced");
  QC_FIELD(std::string, before, {}, "before");
  QC_FIELD(std::string, after, {}, "after");
  Verdict verdict;
  QC_PART("verdict", verdict.kind);
  QC_PART("detail", verdict.detail);
  QC_PART("worst", verdict.worst);
  QC_FIELD(std::string, file, {}, "file", .presence = Presence::omitted);
  QC_FIELD(std::string, replay, {}, "replay", .presence = Presence::omitted);
};

template <typename T>
std::string text_of(const T& value) {
  return write_document(description_of(value)).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const Case& test_case, Expectation expectation, const std::string& remark,
                    const std::vector<Replayed>& results) {
  Replay replay{test_case.id, test_case.node().op_type, std::string(name_of(expectation)), remark, {}};
  for (const auto& [backend, verdict] : results) replay.results.push_back({backend, verdict});
  return text_of(replay);
}

std::string to_json(const shrink::Result& result, const Case& original, const std::string& file,
                    const std::string& replay) {
  Shrunk shrunk{.test_case = original.id,
                .op_type = original.node().op_type,
                .ending = std::string(name_of(result.ending)),
                .runs = result.runs,
                .steps = result.steps,
                .seconds = result.seconds,
                .before = summary_of(original),
                .after = summary_of(result.smallest),
                .verdict = result.verdict,
                .file = file,
                .replay = replay};
  for (const auto& [name, count] : result.reduced) shrunk.reduced.push_back({std::string(name), count});
  return text_of(shrunk);
}

}  // namespace qconform::report
