// How far a campaign has come, and how it went.
#include <bit>
#include <limits>

#include "reports/read/report_fields.h"

namespace qconform::report {

bool ReportFields::read(const Json& value, const std::string& where, CampaignState::Range& out) {
  std::vector<std::uint64_t> ends;
  if (!read(value, where, ends)) return false;
  if (ends.size() != 2 || ends[0] >= ends[1]) return refuse(where, "expected [first, end), got " + brief(value));
  out = {ends[0], ends[1]};
  return true;
}

bool ReportFields::read(const Json& value, const std::string& where, CampaignState::Part& out) {
  return record(value, where, to("block", out.block), to("cases", out.cases));
}

bool ReportFields::read(const Json& value, const std::string& where, CampaignRun& out) {
  std::uint64_t jobs = 0;
  if (!record(value, where, to("machine", out.machine), to("started", out.started), seconds("seconds", out.seconds),
              to("jobs", jobs), to("shard", out.shard), to("cases", out.cases), to("ended", out.ended))) {
    return false;
  }
  if (jobs < 1 || jobs > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    return refuse(json_path(where, "jobs"), "expected a number of processes, got " + brief(value.at("jobs")));
  }
  out.jobs = static_cast<int>(jobs);
  return true;
}

bool ReportFields::read(const Json& value, const std::string& where, CampaignProgress& out) {
  return record(value, where, seconds("seconds", out.seconds), to("cases", out.cases), to("failures", out.failures),
                to("findings", out.findings), optional(to("edges", out.edges)), optional(to("features", out.features)));
}

bool ReportFields::read(const Json& value, const std::string& where, EngineState& out) {
  return record(value, where, to("name", out.name), to("executions", out.executions), to("edges", out.edges),
                to("features", out.features), to("kept", out.kept), to("crashes", out.crashes));
}

bool ReportFields::read(const Json& value, const std::string& where, CampaignCourse::Group& out) {
  return record(value, where, to("first", out.first), to("cases", out.cases), to("failures", out.failures),
                seconds("seconds", out.seconds));
}

bool ReportFields::read(const Json& value, const std::string& where, CampaignCourse::Reached& out) {
  if (!record(value, where, to("id", out.hazard), to("case", out.first_case))) return false;
  return hazard_with_id(out.hazard) != nullptr || refuse(json_path(where, "id"), "no hazard " + brief(value["id"]));
}

bool ReportFields::read(const Json& value, const std::string& where, CampaignCourse& out) {
  if (!record(value, where, to("group_blocks", out.group_blocks), to("groups", out.groups),
              to("hazards", out.hazards))) {
    return false;
  }
  if (!std::has_single_bit(out.group_blocks)) {
    return refuse(json_path(where, "group_blocks"), "expected a power of two, got " + brief(value["group_blocks"]));
  }
  for (std::size_t i = 0; i < out.groups.size(); ++i) {
    const std::uint64_t first = out.groups[i].first;
    if (first % out.group_blocks == 0 && (i == 0 || first > out.groups[i - 1].first)) continue;
    return refuse(json_path(json_path(json_path(where, "groups"), i), "first"),
                  "expected multiples of group_blocks, ascending, got " + std::to_string(first));
  }
  return true;
}

bool ReportFields::read(const Json& value, const std::string& where, CampaignState& out) {
  return record(value, where, to("block_cases", out.block_cases), to("blocks", out.blocks), to("parts", out.parts),
                to("runs", out.runs), to("progress", out.progress), optional(to("engine", out.engine)),
                optional(to("course", out.course)));
}

}  // namespace qconform::report
