// How far a campaign has come.
#include <limits>

#include "reports/read/report_fields.h"

namespace qconform::report {

bool ReportFields::read(const Json& value, const std::string& where, CampaignState::Range& out) {
  std::vector<std::uint64_t> ends;
  if (!read_list(value, where, 2, ends)) return false;
  if (ends.size() != 2 || ends[0] >= ends[1]) return refuse(where, "expected [first, end), got " + brief(value));
  out = {ends[0], ends[1]};
  return true;
}

bool ReportFields::read(const Json& value, const std::string& where, CampaignState::Part& out) {
  return object(value, where, {"block", "cases"}) && member(value, where, "block", out.block) &&
         member(value, where, "cases", out.cases);
}

bool ReportFields::read(const Json& value, const std::string& where, CampaignRun& out) {
  std::uint64_t jobs = 0;
  if (!object(value, where, {"machine", "started", "seconds", "jobs", "shard", "cases", "ended"}) ||
      !member(value, where, "machine", out.machine) || !member(value, where, "started", out.started) ||
      !seconds(value, where, "seconds", out.seconds) || !member(value, where, "jobs", jobs) ||
      !member(value, where, "shard", out.shard) || !member(value, where, "cases", out.cases) ||
      !member(value, where, "ended", out.ended)) {
    return false;
  }
  if (jobs < 1 || jobs > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return refuse(json_path(where, "jobs"), "expected a number of processes, got " + brief(value.at("jobs")));
  }
  out.jobs = static_cast<int>(jobs);
  return true;
}

bool ReportFields::read(const Json& value, const std::string& where, CampaignProgress& out) {
  const auto maybe_count = [&](const char* key, std::uint64_t& count) {
    return !value.contains(key) || member(value, where, key, count);
  };
  return object(value, where, {"seconds", "cases", "failures", "findings"}, {"edges", "features"}) &&
         seconds(value, where, "seconds", out.seconds) && member(value, where, "cases", out.cases) &&
         member(value, where, "failures", out.failures) && member(value, where, "findings", out.findings) &&
         maybe_count("edges", out.edges) && maybe_count("features", out.features);
}

bool ReportFields::read(const Json& value, const std::string& where, EngineState& out) {
  return object(value, where, {"name", "executions", "edges", "features", "kept", "crashes"}) &&
         member(value, where, "name", out.name) && member(value, where, "executions", out.executions) &&
         member(value, where, "edges", out.edges) && member(value, where, "features", out.features) &&
         member(value, where, "kept", out.kept) && member(value, where, "crashes", out.crashes);
}

bool ReportFields::read(const Json& value, const std::string& where, CampaignState& out) {
  return object(value, where, {"block_cases", "blocks", "parts", "runs", "progress"}, {"engine"}) &&
         member(value, where, "block_cases", out.block_cases) && list(value, where, "blocks", out.blocks) &&
         list(value, where, "parts", out.parts) && list(value, where, "runs", out.runs) &&
         list(value, where, "progress", out.progress) && maybe(value, where, "engine", out.engine);
}

}  // namespace qconform::report
