// What a report says of one finding.
#include "reports/read/report_fields.h"

namespace qconform::report {

bool ReportFields::read(const Json& value, const std::string& where, WaivedBy& out) {
  return record(value, where, to("id", out.id), to("reason", out.reason), to("reference", out.reference));
}

bool ReportFields::read(const Json& value, const std::string& where, DiagnosedDefect& out) {
  return record(value, where, to("id", out.id), to("description", out.description), to("rule", out.rule),
                to("stages", out.stages), to("evidence", out.evidence));
}

bool ReportFields::read(const Json& value, const std::string& where, Diagnosis& out) {
  const auto trial = [&](const Json& json, const std::string& path) {
    return record(json, path, to("cases", out.trial_cases), to("failing", out.trial_failing),
                  to("reproduced", out.trial_reproduced));
  };
  const auto region = [&](const Json& json, const std::string& path) {
    return record(json, path, to("conditions", out.when), to("failing", out.failing), to("passing", out.passing),
                  to("passing_inside", out.passing_inside));
  };
  return record(value, where, to("status", out.status), to("defects", out.defects), to("arithmetic", out.arithmetic),
                to("examined", out.examined), part("trial", trial), to("where", out.where), part("region", region));
}

bool ReportFields::read(const Json& value, const std::string& where, Shrinking& out) {
  const auto original = [&](const Json& json, const std::string& path) {
    return record(json, path, to("id", out.original.id), to("summary", out.original_summary),
                  to("file", out.original_file), optional(to("picture", out.picture)));
  };
  if (!record(value, where, to("ending", out.ending), to("runs", out.runs), to("steps", out.steps),
              seconds("seconds", out.seconds), optional(part("original", original)))) {
    return false;
  }
  return value.contains("original") == (out.steps > 0) ||
         refuse(json_path(where, "original"), "expected where steps > 0, and only there");
}

bool ReportFields::read(const Json& value, const std::string& where, TellingCase& out) {
  return record(value, where, to("id", out.test_case.id), to("summary", out.summary),
                optional(to("right_elements", out.right_elements)), optional(to("wrong_elements", out.wrong_elements)),
                to("file", out.file), optional(to("picture", out.picture)));
}

bool ReportFields::read(const Json& value, const std::string& where, Finding& out) {
  const auto example = [&](const Json& json, const std::string& path) {
    return record(json, path, to("id", out.example.id), to("summary", out.example_summary), to("file", out.case_file),
                  to("model", out.model_file), to("folder", out.test_folder), optional(to("note", out.example.note)));
  };
  const auto related = [&](const Json& json, const std::string& path) {
    std::vector<std::string> ids;
    if (!record(json, path, to("ids", ids), to("file", out.related_file))) return false;
    for (std::string& id : ids) out.related.emplace_back().id = std::move(id);
    return true;
  };
  Verdict& verdict = out.verdict;
  if (!record(value, where, to("id", out.id), to("backend", out.backend), to("operator", out.op_type),
              to("verdict", out.kind), to("signature", out.signature), to("cases", out.cases),
              to("detail", verdict.detail), to("elements", verdict.elements),
              to("wrong_elements", verdict.wrong_elements), part("example", example), to("replay", out.replay),
              optional(part("related", related)), optional(to("first_case", out.first_case)),
              optional(to("log", verdict.log)), optional(to("rule", verdict.rule)),
              optional(to("worst", verdict.worst)), optional(to("waiver", out.waiver)),
              optional(to("diagnosis", out.diagnosis)), optional(to("shrinking", out.shrinking)),
              optional(to("picture", out.picture)), optional(to("telling", out.telling)))) {
    return false;
  }
  verdict.kind = out.kind;
  out.example.op_type = out.op_type;
  return true;
}

}  // namespace qconform::report
