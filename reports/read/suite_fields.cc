// Environment, times, suites and hazards of a report.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "reports/read/report_fields.h"

namespace qconform::report {

bool ReportFields::seconds(const Json& object, const std::string& where, const std::string& key, double& out) {
  if (!member(object, where, key, out)) return false;
  return out >= 0 || refuse(json_path(where, key), "expected seconds, not negative, got " + brief(object.at(key)));
}

bool ReportFields::sum(const Json& object, const std::string& where, const std::string& key, std::uint64_t expected) {
  std::uint64_t stated = 0;
  if (!member(object, where, key, stated)) return false;
  return stated == expected ||
         refuse(json_path(where, key), fmt::format("{}, but its parts are {} together", stated, expected));
}

bool ReportFields::read(const Json& value, const std::string& where, Counts& out) {
  if (!value.is_object()) return refuse(where, "expected an object, got " + brief(value));
  for (auto entry = value.begin(); entry != value.end(); ++entry) {
    if (!read(*entry, json_path(where, entry.key()), out[entry.key()])) return false;
  }
  return true;
}

bool ReportFields::read(const Json& value, const std::string& where, Environment& out) {
  return object(
             value, where,
             {"version", "commit", "compiler", "cpu", "operating_system", "started", "kernels", "kernels_not_run"}) &&
         member(value, where, "version", out.version) && member(value, where, "commit", out.commit) &&
         member(value, where, "compiler", out.compiler) && member(value, where, "cpu", out.cpu) &&
         member(value, where, "operating_system", out.operating_system) &&
         member(value, where, "started", out.started) && plain_list(value, where, "kernels", out.kernels) &&
         plain_list(value, where, "kernels_not_run", out.kernels_not_run);
}

bool ReportFields::read(const Json& value, const std::string& where, StageTimes& out) {
  return object(value, where, {"generate", "reference", "survey", "backend", "judge", "diagnose", "total"}) &&
         seconds(value, where, "generate", out.generate) && seconds(value, where, "reference", out.reference) &&
         seconds(value, where, "survey", out.survey) && seconds(value, where, "backend", out.backend) &&
         seconds(value, where, "judge", out.judge) && seconds(value, where, "diagnose", out.diagnose) &&
         seconds(value, where, "total", out.total);
}

bool ReportFields::read(const Json& value, const std::string& where, CombinationCoverage& out) {
  return object(value, where,
                {"model", "strength", "parameters", "classes", "cases", "feasible", "infeasible", "covered"}) &&
         member(value, where, "model", out.model) && member(value, where, "strength", out.strength) &&
         member(value, where, "parameters", out.parameters) && member(value, where, "classes", out.classes) &&
         member(value, where, "cases", out.cases) && member(value, where, "feasible", out.feasible) &&
         member(value, where, "infeasible", out.infeasible) && member(value, where, "covered", out.covered);
}

bool ReportFields::read(const Json& value, const std::string& where, SuiteResult& out) {
  std::string digest;
  if (!object(value, where,
              {"name", "cases", "digest", "expectations", "elements", "exact_ties", "near_ties", "skipped", "disputed",
               "coverage"}) ||
      !member(value, where, "name", out.name) || !member(value, where, "cases", out.cases) ||
      !member(value, where, "digest", digest) || !member(value, where, "expectations", out.expectations) ||
      !member(value, where, "elements", out.elements) || !member(value, where, "exact_ties", out.exact_ties) ||
      !member(value, where, "near_ties", out.near_ties) || !member(value, where, "skipped", out.skipped) ||
      !plain_list(value, where, "disputed", out.disputed) || !list(value, where, "coverage", out.coverage)) {
    return false;
  }
  const char* end = digest.data() + digest.size();
  const auto [stop, error] = std::from_chars(digest.data(), end, out.digest, 16);
  return (digest.size() == 16 && error == std::errc() && stop == end) ||
         refuse(json_path(where, "digest"), "expected 16 hexadecimal digits, got " + brief(value["digest"]));
}

bool ReportFields::hazard(const Json& value, const std::string& where, HazardCoverage& out) {
  std::string id;
  if (!object(value, where, {"id", "cases", "elements", "by"}) || !member(value, where, "id", id)) return false;
  const HazardInfo* info = hazard_with_id(id);
  if (info == nullptr) return refuse(json_path(where, "id"), "no hazard " + brief(value["id"]));
  const Json& entries = value["by"];
  const std::string path = json_path(where, "by");
  if (!array(entries, path, kMostEntries)) return false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string at = json_path(path, i);
    std::string op_type;
    std::string types;
    HazardTally tally;
    if (!object(entries[i], at, {"operator", "types", "cases", "elements"}) ||
        !member(entries[i], at, "operator", op_type) || !member(entries[i], at, "types", types) ||
        !member(entries[i], at, "cases", tally.cases) || !member(entries[i], at, "elements", tally.elements)) {
      return false;
    }
    if (!info->concerns(op_type)) return refuse(json_path(at, "operator"), id + " does not concern " + op_type);
    HazardCoverage::Tallies tallies{};
    tallies[static_cast<std::size_t>(info->hazard)] = tally;
    out.add(op_type, types, tallies);
  }
  const HazardTally total = out.total(info->hazard);
  return sum(value, where, "cases", total.cases) && sum(value, where, "elements", total.elements);
}

bool ReportFields::read(const Json& value, const std::string& where, HazardCoverage& out) {
  if (!array(value, where, kHazards)) return false;
  HazardCounts listed;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = json_path(where, i);
    if (!hazard(value[i], at, out)) return false;
    const Hazard found = hazard_with_id(value[i]["id"].get_ref<const std::string&>())->hazard;
    if (listed[found] > 0) return refuse(json_path(at, "id"), brief(value[i]["id"]) + " is listed twice");
    listed.add(found);
  }
  // An operator whose cases reached nothing shows by its hazards being listed.
  for (const std::string_view op_type : kHazardOperators) {
    const auto is_listed = [&](const HazardInfo& info) { return !info.concerns(op_type) || listed[info.hazard] > 0; };
    if (std::all_of(hazards().begin(), hazards().end(), is_listed)) out.note(std::string(op_type));
  }
  return true;
}

}  // namespace qconform::report
