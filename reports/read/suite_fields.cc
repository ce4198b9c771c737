// Environment, times, suites and hazards of a report.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "reports/read/report_fields.h"

namespace qconform::report {

bool ReportFields::read_seconds(const Json& value, const std::string& where, double& out) {
  if (!read(value, where, out)) return false;
  return out >= 0 || refuse(where, "expected seconds, not negative, got " + brief(value));
}

bool ReportFields::sum(const Json& object, const std::string& where, const std::string& key, std::uint64_t expected) {
  std::uint64_t stated = 0;
  if (!read(object.at(key), json_path(where, key), stated)) return false;
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
  return record(value, where, to("version", out.version), to("commit", out.commit), to("compiler", out.compiler),
                to("cpu", out.cpu), to("operating_system", out.operating_system), to("started", out.started),
                to("kernels", out.kernels), to("kernels_not_run", out.kernels_not_run));
}

bool ReportFields::read(const Json& value, const std::string& where, StageTimes& out) {
  return record(value, where, seconds("generate", out.generate), seconds("reference", out.reference),
                seconds("survey", out.survey), seconds("backend", out.backend), seconds("judge", out.judge),
                seconds("diagnose", out.diagnose), seconds("total", out.total));
}

bool ReportFields::read(const Json& value, const std::string& where, CombinationCoverage& out) {
  return record(value, where, to("model", out.model), to("strength", out.strength), to("parameters", out.parameters),
                to("classes", out.classes), to("cases", out.cases), to("feasible", out.feasible),
                to("infeasible", out.infeasible), to("covered", out.covered));
}

bool ReportFields::read(const Json& value, const std::string& where, SuiteResult& out) {
  std::string digest;
  if (!record(value, where, to("name", out.name), to("cases", out.cases), to("digest", digest),
              to("expectations", out.expectations), to("elements", out.elements), to("exact_ties", out.exact_ties),
              to("near_ties", out.near_ties), to("skipped", out.skipped), to("disputed", out.disputed),
              to("coverage", out.coverage))) {
    return false;
  }
  const char* end = digest.data() + digest.size();
  const auto [stop, error] = std::from_chars(digest.data(), end, out.digest, 16);
  return (digest.size() == 16 && error == std::errc() && stop == end) ||
         refuse(json_path(where, "digest"), "expected 16 hexadecimal digits, got " + brief(value["digest"]));
}

bool ReportFields::hazard(const Json& value, const std::string& where, HazardCoverage& out) {
  std::string id;
  if (!record(value, where, to("id", id), ignored("cases"), ignored("elements"), ignored("by"))) return false;
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
    if (!record(entries[i], at, to("operator", op_type), to("types", types), to("cases", tally.cases),
                to("elements", tally.elements))) {
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
