#include "reports/render/finding_json.h"

#include "reports/render/finding_text.h"
#include "reports/render/picture_json.h"
#include "reports/render/verdict_json.h"

namespace qconform::report {
namespace {

using Json = nlohmann::ordered_json;

Json shrinking_json(const Shrinking& shrinking) {
  Json result{{"ending", shrinking.ending},
              {"runs", shrinking.runs},
              {"steps", shrinking.steps},
              {"seconds", shrinking.seconds}};
  if (shrinking.steps > 0) {
    result["original"] = {
        {"id", shrinking.original.id}, {"summary", original_summary(shrinking)}, {"file", shrinking.original_file}};
    if (shrinking.picture) result["original"]["picture"] = picture_json(*shrinking.picture);
  }
  return result;
}

Json diagnosis_json(const Diagnosis& diagnosis) {
  Json defects = Json::array();
  for (const DiagnosedDefect& defect : diagnosis.defects) {
    defects.push_back({{"id", defect.id},
                       {"description", defect.description},
                       {"rule", defect.rule},
                       {"stages", defect.stages},
                       {"evidence", defect.evidence}});
  }
  return {{"status", diagnosis.status},
          {"defects", std::move(defects)},
          {"arithmetic", diagnosis.arithmetic},
          {"examined", diagnosis.examined},
          {"trial",
           {{"cases", diagnosis.trial_cases},
            {"failing", diagnosis.trial_failing},
            {"reproduced", diagnosis.trial_reproduced}}},
          {"where", diagnosis.where},
          {"region",
           {{"conditions", diagnosis.when},
            {"failing", diagnosis.failing},
            {"passing", diagnosis.passing},
            {"passing_inside", diagnosis.passing_inside}}}};
}

}  // namespace

Json finding_json(const Finding& finding) {
  Json result{{"id", finding.id},
              {"backend", finding.backend},
              {"operator", finding.op_type},
              {"verdict", name_of(finding.kind)},
              {"signature", finding.signature},
              {"cases", finding.cases},
              {"detail", finding.verdict.detail},
              {"elements", finding.verdict.elements},
              {"wrong_elements", finding.verdict.wrong_elements},
              {"example",
               {{"id", finding.example.id},
                {"summary", example_summary(finding)},
                {"file", finding.case_file},
                {"model", finding.model_file},
                {"folder", finding.test_folder}}},
              {"replay", finding.replay}};
  if (!finding.example.note.empty()) result["example"]["note"] = finding.example.note;
  if (!finding.related_file.empty()) {
    Json ids = Json::array();
    for (const Case& related : finding.related) ids.push_back(related.id);
    result["related"] = {{"ids", std::move(ids)}, {"file", finding.related_file}};
  }
  if (finding.first_case) result["first_case"] = *finding.first_case;
  if (!finding.verdict.log.empty()) result["log"] = finding.verdict.log;
  if (!finding.verdict.rule.empty()) result["rule"] = finding.verdict.rule;
  if (finding.verdict.worst) result["worst"] = element_json(*finding.verdict.worst);
  if (const auto& waiver = finding.waiver) {
    result["waiver"] = {{"id", waiver->id}, {"reason", waiver->reason}, {"reference", waiver->reference}};
  }
  if (finding.diagnosis) result["diagnosis"] = diagnosis_json(*finding.diagnosis);
  if (finding.shrinking) result["shrinking"] = shrinking_json(*finding.shrinking);
  if (finding.picture) result["picture"] = picture_json(*finding.picture);
  if (const auto& telling = finding.telling) {
    result["telling"] = {{"id", telling->test_case.id},
                         {"summary", telling_summary(*telling)},
                         {"right_elements", telling->right_elements},
                         {"wrong_elements", telling->wrong_elements},
                         {"file", telling->file}};
    if (telling->picture) result["telling"]["picture"] = picture_json(*telling->picture);
  }
  return result;
}

}  // namespace qconform::report
