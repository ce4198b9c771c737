#include "reports/render/json_report.h"

#include <fmt/format.h>

#include "harness/json/json_text.h"
#include "reports/render/campaign_json.h"
#include "reports/render/environment_json.h"
#include "reports/render/finding_json.h"
#include "reports/render/results_json.h"
#include "reports/render/verdict_json.h"

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

}  // namespace qconform::report
