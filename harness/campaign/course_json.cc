#include "harness/campaign/course_json.h"

#include <bit>
#include <stdexcept>
#include <string>

namespace qconform::campaign {
namespace {

using nlohmann::json;

json of_backend_json(const CaseRow::OfBackend& of) {
  json entry{static_cast<int>(of.verdict), of.tier ? static_cast<int>(*of.tier) : -1};
  if (is_failure(of.verdict)) entry.insert(entry.end(), {of.wrong_elements, of.symptom, of.waiver});
  return entry;
}

CaseRow::OfBackend of_backend_from(const json& entry) {
  CaseRow::OfBackend of;
  of.verdict = verdict_numbered(entry.at(0).get<int>());
  const int tier = entry.at(1).get<int>();
  for (const reference::Tier known : reference::kAllTiers) {
    if (static_cast<int>(known) == tier) of.tier = known;
  }
  if (!is_failure(of.verdict)) return of;
  of.wrong_elements = entry.at(2).get<std::uint64_t>();
  of.symptom = entry.at(3).get<std::string>();
  of.waiver = entry.at(4).get<std::string>();
  return of;
}

}  // namespace

json course_json(const Course& course) {
  json groups = json::array();
  for (const auto& [first, group] : course.groups()) {
    groups.push_back({first, group.cases, group.failures, group.seconds});
  }
  json reached = json::array();
  for (const auto& [hazard, first] : course.reached()) reached.push_back({static_cast<int>(hazard), first});
  return {{"width", course.group_blocks()}, {"groups", std::move(groups)}, {"reached", std::move(reached)}};
}

Course course_from(const json& value) {
  const auto width = value.at("width").get<std::uint64_t>();
  if (!std::has_single_bit(width)) throw std::out_of_range("no power of two: " + std::to_string(width));
  std::map<std::uint64_t, Course::Group> groups;
  for (const json& group : value.at("groups")) {
    groups[group.at(0).get<std::uint64_t>()] = {group.at(1).get<std::uint64_t>(), group.at(2).get<std::uint64_t>(),
                                                group.at(3).get<double>()};
  }
  Course::Reached reached;
  for (const json& entry : value.at("reached")) {
    const auto hazard = entry.at(0).get<std::size_t>();
    if (hazard >= kHazards) throw std::out_of_range("no hazard has the number " + std::to_string(hazard));
    reached[static_cast<Hazard>(hazard)] = entry.at(1).get<std::uint64_t>();
  }
  return Course::of(width, std::move(groups), std::move(reached));
}

json case_rows_json(const CaseRows& rows) {
  json list = json::array();
  for (const auto& [index, row] : rows.rows()) {
    json backends = json::array();
    for (const CaseRow::OfBackend& of : row.backends) backends.push_back(of_backend_json(of));
    list.push_back({index, row.op_type, std::move(backends)});
  }
  json firsts = json::array();
  for (const auto& [kind, index] : rows.firsts()) {
    firsts.push_back({kind.backend, kind.op_type, kind.symptom, kind.waiver, index});
  }
  return {{"failing", rows.failing()}, {"firsts", std::move(firsts)}, {"rows", std::move(list)}};
}

CaseRows case_rows_from(const json& value) {
  std::map<std::uint64_t, CaseRow> rows;
  for (const json& entry : value.at("rows")) {
    CaseRow& row = rows[entry.at(0).get<std::uint64_t>()];
    row.op_type = entry.at(1).get<std::string>();
    for (const json& backend : entry.at(2)) row.backends.push_back(of_backend_from(backend));
  }
  CaseRows::Firsts firsts;
  for (const json& entry : value.at("firsts")) {
    firsts[{entry.at(0).get<std::size_t>(), entry.at(1).get<std::string>(), entry.at(2).get<std::string>(),
            entry.at(3).get<std::string>()}] = entry.at(4).get<std::uint64_t>();
  }
  return CaseRows::of(std::move(rows), std::move(firsts), value.at("failing").get<std::uint64_t>());
}

VerdictKind verdict_numbered(int number) {
  if (number < 0 || number >= kVerdictKinds) {
    throw std::out_of_range("no verdict has the number " + std::to_string(number));
  }
  return static_cast<VerdictKind>(number);
}

}  // namespace qconform::campaign
