// What a report says of one finding.
#include "reports/read/report_fields.h"

namespace qconform::report {

bool ReportFields::read(const Json& value, const std::string& where, WaivedBy& out) {
  return object(value, where, {"id", "reason", "reference"}) && member(value, where, "id", out.id) &&
         member(value, where, "reason", out.reason) && member(value, where, "reference", out.reference);
}

bool ReportFields::read(const Json& value, const std::string& where, DiagnosedDefect& out) {
  return object(value, where, {"id", "description", "rule", "stages", "evidence"}) &&
         member(value, where, "id", out.id) && member(value, where, "description", out.description) &&
         member(value, where, "rule", out.rule) && member(value, where, "stages", out.stages) &&
         member(value, where, "evidence", out.evidence);
}

bool ReportFields::trial(const Json& value, const std::string& where, Diagnosis& out) {
  return object(value, where, {"cases", "failing", "reproduced"}) && member(value, where, "cases", out.trial_cases) &&
         member(value, where, "failing", out.trial_failing) && member(value, where, "reproduced", out.trial_reproduced);
}

bool ReportFields::region(const Json& value, const std::string& where, Diagnosis& out) {
  return object(value, where, {"conditions", "failing", "passing", "passing_inside"}) &&
         plain_list(value, where, "conditions", out.when) && member(value, where, "failing", out.failing) &&
         member(value, where, "passing", out.passing) && member(value, where, "passing_inside", out.passing_inside);
}

bool ReportFields::read(const Json& value, const std::string& where, Diagnosis& out) {
  return object(value, where, {"status", "defects", "arithmetic", "examined", "trial", "where", "region"}) &&
         member(value, where, "status", out.status) && list(value, where, "defects", out.defects) &&
         member(value, where, "arithmetic", out.arithmetic) && member(value, where, "examined", out.examined) &&
         trial(value["trial"], json_path(where, "trial"), out) && member(value, where, "where", out.where) &&
         region(value["region"], json_path(where, "region"), out);
}

bool ReportFields::original(const Json& value, const std::string& where, Shrinking& out) {
  return object(value, where, {"id", "summary", "file"}, {"picture"}) && member(value, where, "id", out.original.id) &&
         member(value, where, "summary", out.original_summary) && member(value, where, "file", out.original_file);
}

bool ReportFields::read(const Json& value, const std::string& where, Shrinking& out) {
  if (!object(value, where, {"ending", "runs", "steps", "seconds"}, {"original"}) ||
      !member(value, where, "ending", out.ending) || !member(value, where, "runs", out.runs) ||
      !member(value, where, "steps", out.steps) || !seconds(value, where, "seconds", out.seconds)) {
    return false;
  }
  if (value.contains("original") != (out.steps > 0)) {
    return refuse(json_path(where, "original"), "expected where steps > 0, and only there");
  }
  return out.steps == 0 || original(value["original"], json_path(where, "original"), out);
}

bool ReportFields::example(const Json& value, const std::string& where, Finding& out) {
  out.example.op_type = out.op_type;
  return object(value, where, {"id", "summary", "file", "model", "folder"}) &&
         member(value, where, "id", out.example.id) && member(value, where, "summary", out.example_summary) &&
         member(value, where, "file", out.case_file) && member(value, where, "model", out.model_file) &&
         member(value, where, "folder", out.test_folder);
}

bool ReportFields::related(const Json& value, const std::string& where, Finding& out) {
  std::vector<std::string> ids;
  if (!object(value, where, {"ids", "file"}) || !plain_list(value, where, "ids", ids) ||
      !member(value, where, "file", out.related_file)) {
    return false;
  }
  for (std::string& id : ids) out.related.emplace_back().id = std::move(id);
  return true;
}

bool ReportFields::read(const Json& value, const std::string& where, Finding& out) {
  return object(value, where,
                {"id", "backend", "operator", "verdict", "signature", "cases", "detail", "elements", "wrong_elements",
                 "example", "replay"},
                {"related", "log", "rule", "worst", "waiver", "diagnosis", "shrinking", "picture", "telling"}) &&
         member(value, where, "id", out.id) && member(value, where, "backend", out.backend) &&
         member(value, where, "operator", out.op_type) && member(value, where, "verdict", out.kind) &&
         member(value, where, "signature", out.signature) && member(value, where, "cases", out.cases) &&
         member(value, where, "detail", out.verdict.detail) && member(value, where, "elements", out.verdict.elements) &&
         member(value, where, "wrong_elements", out.verdict.wrong_elements) &&
         example(value["example"], json_path(where, "example"), out) && member(value, where, "replay", out.replay) &&
         (!value.contains("related") || related(value["related"], json_path(where, "related"), out)) &&
         read_optional(value, where, "log", out.verdict.log) && read_optional(value, where, "rule", out.verdict.rule) &&
         maybe(value, where, "worst", out.verdict.worst) && maybe(value, where, "waiver", out.waiver) &&
         maybe(value, where, "diagnosis", out.diagnosis) && maybe(value, where, "shrinking", out.shrinking);
}

}  // namespace qconform::report
