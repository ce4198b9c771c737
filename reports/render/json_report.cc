#include "reports/render/json_report.h"

#include <fmt/format.h>

#include <limits>

#include "harness/json/json_text.h"
#include "harness/operators/case_text.h"
#include "reports/render/environment_json.h"
#include "reports/render/finding_text.h"
#include "reports/render/picture_json.h"

namespace qconform::report {
namespace {

using Json = nlohmann::ordered_json;

Json coverage_json(const CombinationCoverage& coverage) {
  return {{"model", coverage.model},           {"strength", coverage.strength}, {"parameters", coverage.parameters},
          {"classes", coverage.classes},       {"cases", coverage.cases},       {"feasible", coverage.feasible},
          {"infeasible", coverage.infeasible}, {"covered", coverage.covered}};
}

Json suite_json(const SuiteResult& suite) {
  Json coverage = Json::array();
  for (const CombinationCoverage& part : suite.coverage) coverage.push_back(coverage_json(part));
  return {{"name", suite.name},
          {"cases", suite.cases},
          {"digest", fmt::format("{:016x}", suite.digest)},
          {"expectations", suite.expectations},
          {"elements", suite.elements},
          {"exact_ties", suite.exact_ties},
          {"near_ties", suite.near_ties},
          {"skipped", suite.skipped},
          {"disputed", suite.disputed},
          {"coverage", std::move(coverage)}};
}

Json tally_json(const HazardTally& tally) {
  return {{"cases", tally.cases}, {"elements", tally.elements}};
}

// Where a hazard was reached: operator, element types, counts.
Json reached_by_json(const HazardCoverage& coverage, Hazard hazard) {
  Json list = Json::array();
  for (const auto& [op_type, by_types] : coverage.by_operator()) {
    for (const auto& [types, tallies] : by_types) {
      const HazardTally& tally = tallies[static_cast<std::size_t>(hazard)];
      if (tally.cases == 0) continue;
      Json entry{{"operator", op_type}, {"types", types}};
      entry.update(tally_json(tally));
      list.push_back(std::move(entry));
    }
  }
  return list;
}

// Every hazard of the operators that were run, reached or not.
Json hazards_json(const HazardCoverage& coverage) {
  Json list = Json::array();
  for (const HazardInfo& info : hazards()) {
    if (!coverage.is_applicable(info.hazard)) continue;
    Json entry{{"id", info.id}};
    entry.update(tally_json(coverage.total(info.hazard)));
    entry["by"] = reached_by_json(coverage, info.hazard);
    list.push_back(std::move(entry));
  }
  return list;
}

// Only the kinds that were waived.
Json waived_json(const VerdictCounts& counts) {
  Json result = Json::object();
  for (int kind = 0; kind < kVerdictKinds; ++kind) {
    const std::uint64_t count = counts[static_cast<std::size_t>(kind)];
    if (count > 0) result[std::string(name_of(static_cast<VerdictKind>(kind)))] = count;
  }
  return result;
}

// Only the kinds that occurred; pass always, so that its absence is never read as success.
Json verdicts_json(const VerdictCounts& counts) {
  Json result = Json::object();
  for (int kind = 0; kind < kVerdictKinds; ++kind) {
    const std::uint64_t count = counts[static_cast<std::size_t>(kind)];
    const auto name = name_of(static_cast<VerdictKind>(kind));
    if (count > 0 || kind == 0) result[std::string(name)] = count;
  }
  return result;
}

// Elements by the strictest tier that they meet, and the strictest that all of them meet.
Json tiers_json(const TierTally& tally) {
  if (tally.elements() == 0) return nullptr;
  Json elements = Json::object();
  for (const reference::Tier tier : reference::kAllTiers) {
    elements[std::string(name_of(tier))] = tally.by_tier[static_cast<std::size_t>(tier)];
  }
  elements["none"] = tally.none;
  const auto reached = tally.common.strictest();
  Json common = Json::array();
  for (const reference::Tier tier : reference::kAllTiers) {
    if (tally.common.contains(tier)) common.push_back(name_of(tier));
  }
  return {{"reached", reached ? Json(name_of(*reached)) : Json(nullptr)},
          {"common", std::move(common)},
          {"elements", std::move(elements)}};
}

Json operator_json(const OperatorResult& result) {
  Json json{{"cases", result.cases()},
            {"verdicts", verdicts_json(result.verdicts)},
            {"waived", waived_json(result.waived)},
            {"elements", result.elements},
            {"wrong_elements", result.wrong_elements},
            {"tiers", tiers_json(result.tiers)},
            {"unsupported_reasons", result.unsupported_reasons},
            {"mistrusted_reasons", result.mistrusted_reasons}};
  if (result.errors.elements() > 0) json["errors"] = errors_json(result.errors);
  return json;
}

// Distances may be infinite, which JSON has no number for.
Json element_json(const ElementReport& element) {
  Json result{{"index", element.index}, {"got", element.got}, {"admissible", element.admissible}};
  if (!element.exact.empty()) result["exact"] = element.exact;
  const bool finite = element.distance <= std::numeric_limits<double>::max();
  result["distance"] = finite ? Json(element.distance) : Json("inf");
  return result;
}

// Null where no relations were asked for.
Json relations_json(const BackendResult& backend) {
  if (backend.relations.empty()) return nullptr;
  Json list = Json::array();
  for (const RelationResult& relation : backend.relations) {
    list.push_back({{"id", relation.id},
                    {"checked", relation.checked()},
                    {"held", relation.held},
                    {"broken", relation.broken},
                    {"latitude", relation.latitude},
                    {"refused", relation.refused},
                    {"failed", relation.failed},
                    {"not_applicable", relation.not_applicable}});
  }
  return {{"failed_bases", backend.failed_bases}, {"by_relation", std::move(list)}};
}

Json backend_json(const BackendResult& backend) {
  Json operators = Json::object();
  for (const auto& [name, result] : backend.operators) operators[name] = operator_json(result);
  Json worst = Json::array();
  for (const auto& [case_id, element] : backend.worst) {
    Json entry{{"case", case_id}};
    entry.update(element_json(element));
    worst.push_back(std::move(entry));
  }
  return {
      {"name", backend.info.name},         {"version", backend.info.version}, {"kind", backend.info.kind},
      {"seconds", backend.seconds},        {"conforms", backend.conforms()},  {"decides", backend.decides},
      {"operators", std::move(operators)}, {"worst", std::move(worst)},       {"relations", relations_json(backend)}};
}

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
  if (!finding.related_file.empty()) {
    Json ids = Json::array();
    for (const Case& related : finding.related) ids.push_back(related.id);
    result["related"] = {{"ids", std::move(ids)}, {"file", finding.related_file}};
  }
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
    result["telling"] = {
        {"id", telling->test_case.id}, {"summary", summary_of(telling->test_case)}, {"file", telling->file}};
    if (telling->picture) result["telling"]["picture"] = picture_json(*telling->picture);
  }
  return result;
}

Json campaign_json(const CampaignState& campaign) {
  Json blocks = Json::array();
  for (const auto& [first, end] : campaign.blocks) blocks.push_back(Json::array({first, end}));
  Json parts = Json::array();
  for (const auto& [block, cases] : campaign.parts) parts.push_back({{"block", block}, {"cases", cases}});
  Json runs = Json::array();
  for (const CampaignRun& run : campaign.runs) {
    runs.push_back({{"machine", run.machine},
                    {"started", run.started},
                    {"seconds", run.seconds},
                    {"jobs", run.jobs},
                    {"shard", run.shard},
                    {"cases", run.cases},
                    {"ended", run.ended}});
  }
  Json progress = Json::array();
  for (const CampaignProgress& at : campaign.progress) {
    Json entry{{"seconds", at.seconds}, {"cases", at.cases}, {"failures", at.failures}, {"findings", at.findings}};
    if (campaign.engine) entry.update({{"edges", at.edges}, {"features", at.features}});
    progress.push_back(std::move(entry));
  }
  Json result{{"block_cases", campaign.block_cases},
              {"blocks", std::move(blocks)},
              {"parts", std::move(parts)},
              {"runs", std::move(runs)},
              {"progress", std::move(progress)}};
  if (const auto& engine = campaign.engine) {
    result["engine"] = {{"name", engine->name},   {"executions", engine->executions},
                        {"edges", engine->edges}, {"features", engine->features},
                        {"kept", engine->kept},   {"crashes", engine->crashes}};
  }
  return result;
}

template <typename T>
Json list_json(const std::vector<T>& items, Json (*to)(const T&)) {
  Json result = Json::array();
  for (const T& item : items) result.push_back(to(item));
  return result;
}

}  // namespace

std::string to_json(const Report& report) {
  Json json{{"format", "qconform-report"},
            {"version", kJsonVersion},
            {"conforms", report.conforms()},
            {"environment", environment_json(report.environment)},
            {"command", report.command},
            {"seed", report.seed},
            {"profile", report.profile},
            {"overflow", report.overflow},
            {"suites", list_json(report.suites, suite_json)},
            {"hazards", hazards_json(report.hazards)},
            {"backends", list_json(report.backends, backend_json)},
            {"findings", list_json(report.findings, finding_json)},
            {"seconds",
             {{"generate", report.times.generate},
              {"reference", report.times.reference},
              {"survey", report.times.survey},
              {"backend", report.times.backend},
              {"judge", report.times.judge},
              {"diagnose", report.times.diagnose},
              {"total", report.times.total}}}};
  if (report.campaign) json["campaign"] = campaign_json(*report.campaign);
  if (report.results) json["results"] = results_json(*report.results, report.backends);
  return print_json(json);
}

std::string to_json(const Case& test_case, Expectation expectation, const std::string& remark,
                    const std::vector<Replayed>& results) {
  Json list = Json::array();
  for (const auto& [backend, verdict] : results) {
    Json entry{{"backend", backend},
               {"verdict", name_of(verdict.kind)},
               {"detail", verdict.detail},
               {"elements", verdict.elements},
               {"wrong_elements", verdict.wrong_elements},
               {"tiers", tiers_json(verdict.tiers)}};
    if (!verdict.log.empty()) entry["log"] = verdict.log;
    if (verdict.worst) entry["worst"] = element_json(*verdict.worst);
    list.push_back(std::move(entry));
  }
  const Json json{{"case", test_case.id},
                  {"operator", test_case.op_type},
                  {"expectation", name_of(expectation)},
                  {"remark", remark},
                  {"results", std::move(list)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_json(const shrink::Result& result, const Case& original, const std::string& file,
                    const std::string& replay) {
  Json reduced = Json::array();
  for (const auto& [name, count] : result.reduced) reduced.push_back({{"reduction", name}, {"steps", count}});
  Json json{{"case", original.id},
            {"operator", original.op_type},
            {"ending", name_of(result.ending)},
            {"runs", result.runs},
            {"steps", result.steps},
            {"seconds", result.seconds},
            {"reduced", std::move(reduced)},
            {"before", summary_of(original)},
            {"after", summary_of(result.smallest)},
            {"verdict", name_of(result.verdict.kind)},
            {"detail", result.verdict.detail}};
  if (result.verdict.worst) json["worst"] = element_json(*result.verdict.worst);
  if (!file.empty()) json["file"] = file;
  if (!replay.empty()) json["replay"] = replay;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qconform::report
