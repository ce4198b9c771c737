// Reads the parts of a report: one function for each type of harness/core/report.h. Internal to reports/read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/report.h"
#include "harness/json/json_fields.h"

namespace qconform::report {

class ReportFields : public JsonFields {
 public:
  using JsonFields::read;

  bool read(const Json& value, const std::string& where, Environment& out);
  bool read(const Json& value, const std::string& where, StageTimes& out);
  bool read(const Json& value, const std::string& where, SuiteResult& out);
  /// The list of hazards. Those that this version does not know are errors.
  bool read(const Json& value, const std::string& where, HazardCoverage& out);
  bool read(const Json& value, const std::string& where, BackendResult& out);
  bool read(const Json& value, const std::string& where, Finding& out);
  bool read(const Json& value, const std::string& where, CampaignState& out);

  /// A list whose elements one of the functions above reads.
  template <typename T>
  bool list(const Json& object, const std::string& where, const std::string& key, std::vector<T>& out);
  /// The same of strings and numbers.
  template <typename T>
  bool plain_list(const Json& object, const std::string& where, const std::string& key, std::vector<T>& out) {
    return read_list(object.at(key), json_path(where, key), kMostEntries, out);
  }

  /// A member that may be absent, of a type that is optional in the report.
  template <typename T>
  bool maybe(const Json& object, const std::string& where, const std::string& key, std::optional<T>& out) {
    return !object.contains(key) || member(object, where, key, out.emplace());
  }

 private:
  static constexpr std::size_t kMostEntries = std::size_t{1} << 20;
  using Counts = std::map<std::string, std::uint64_t>;

  bool read(const Json& value, const std::string& where, CombinationCoverage& out);
  bool read(const Json& value, const std::string& where, CampaignState::Range& out);
  bool read(const Json& value, const std::string& where, CampaignState::Part& out);
  bool read(const Json& value, const std::string& where, CampaignRun& out);
  bool read(const Json& value, const std::string& where, CampaignProgress& out);
  bool read(const Json& value, const std::string& where, EngineState& out);
  bool read(const Json& value, const std::string& where, OperatorResult& out);
  bool read(const Json& value, const std::string& where, RelationResult& out);
  bool read(const Json& value, const std::string& where, WorstElement& out);
  bool read(const Json& value, const std::string& where, ElementReport& out);
  bool read(const Json& value, const std::string& where, DiagnosedDefect& out);
  bool read(const Json& value, const std::string& where, Diagnosis& out);
  bool read(const Json& value, const std::string& where, Shrinking& out);
  bool read(const Json& value, const std::string& where, WaivedBy& out);
  bool read(const Json& value, const std::string& where, VerdictKind& out);
  bool read(const Json& value, const std::string& where, VerdictCounts& out);
  bool read(const Json& value, const std::string& where, TierTally& out);
  bool read(const Json& value, const std::string& where, Counts& out);

  bool element_members(const Json& value, const std::string& where, ElementReport& out);
  bool tier(const Json& value, const std::string& where, reference::Tier& out);
  bool common_tiers(const Json& object, const std::string& where, TierTally& out);
  bool hazard(const Json& value, const std::string& where, HazardCoverage& out);
  bool relations(const Json& value, const std::string& where, BackendResult& out);
  bool example(const Json& value, const std::string& where, Finding& out);
  bool related(const Json& value, const std::string& where, Finding& out);
  bool original(const Json& value, const std::string& where, Shrinking& out);
  bool trial(const Json& value, const std::string& where, Diagnosis& out);
  bool region(const Json& value, const std::string& where, Diagnosis& out);
  bool seconds(const Json& object, const std::string& where, const std::string& key, double& out);
  /// A sum that stands beside its parts.
  bool sum(const Json& object, const std::string& where, const std::string& key, std::uint64_t expected);

  template <typename T>
  bool member(const Json& object, const std::string& where, const std::string& key, T& out) {
    return read(object.at(key), json_path(where, key), out);
  }
};

template <typename T>
bool ReportFields::list(const Json& object, const std::string& where, const std::string& key, std::vector<T>& out) {
  const Json& values = object.at(key);
  const std::string path = json_path(where, key);
  if (!array(values, path, kMostEntries)) return false;
  out.resize(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!read(values[i], json_path(path, i), out[i])) return false;
  }
  return true;
}

}  // namespace qconform::report
