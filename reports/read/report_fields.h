// Reads the parts of a report: one function for each type of harness/core/report.h. Internal to reports/read.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/report.h"
#include "harness/json/json_fields.h"

namespace qconform::report {

class ReportFields : public JsonFields {
 public:
  using JsonFields::read;

  /// The whole report but `format` and `version`, which are read before.
  bool read(const Json& value, const std::string& where, Report& out);

 private:
  static constexpr std::size_t kMostEntries = std::size_t{1} << 20;
  using Counts = std::map<std::string, std::uint64_t>;

  /// A member of an object, and what reads its value: bool(const Json&, const std::string& path).
  template <typename Reader>
  struct Member {
    std::string_view key;
    bool is_optional;
    Reader reader;
  };
  template <typename Reader>
  static Member<Reader> part(std::string_view key, Reader reader) {
    return {key, false, std::move(reader)};
  }
  /// What may be absent: the value then stays as it is.
  template <typename Reader>
  static Member<Reader> optional(Member<Reader> member) {
    member.is_optional = true;
    return member;
  }
  template <typename T>
  auto to(std::string_view key, T& out) {
    return part(key, [this, &out](const Json& value, const std::string& path) { return read(value, path, out); });
  }
  /// A number that is not negative.
  auto seconds(std::string_view key, double& out) {
    return part(key,
                [this, &out](const Json& value, const std::string& path) { return read_seconds(value, path, out); });
  }
  /// A number that follows from others, which sum() checks.
  static auto ignored(std::string_view key) {
    return part(key, [](const Json& /*value*/, const std::string& /*path*/) { return true; });
  }

  /// An object that has these members, and no others.
  template <typename... Reader>
  bool record(const Json& value, const std::string& where, const Member<Reader>&... members) {
    std::vector<std::string_view> must;
    std::vector<std::string_view> may;
    ((members.is_optional ? may : must).push_back(members.key), ...);
    return object(value, where, std::span<const std::string_view>(must), std::span<const std::string_view>(may)) &&
           (take(value, where, members) && ...);
  }
  template <typename Reader>
  static bool take(const Json& value, const std::string& where, const Member<Reader>& member) {
    const auto found = value.find(member.key);
    return found == value.end() || member.reader(*found, json_path(where, member.key));
  }

  template <typename T>
  bool read(const Json& value, const std::string& where, std::vector<T>& out) {
    if (!array(value, where, kMostEntries)) return false;
    out.resize(value.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!read(value[i], json_path(where, i), out[i])) return false;
    }
    return true;
  }
  template <typename T>
  bool read(const Json& value, const std::string& where, std::optional<T>& out) {
    return read(value, where, out.emplace());
  }

  bool read_seconds(const Json& value, const std::string& where, double& out);
  /// A sum that stands beside its parts.
  bool sum(const Json& object, const std::string& where, const std::string& key, std::uint64_t expected);
  bool read(const Json& value, const std::string& where, Counts& out);

  bool read(const Json& value, const std::string& where, Environment& out);
  bool read(const Json& value, const std::string& where, StageTimes& out);
  bool read(const Json& value, const std::string& where, SuiteResult& out);
  bool read(const Json& value, const std::string& where, CombinationCoverage& out);
  /// The list of hazards. Those that this version does not know are errors.
  bool read(const Json& value, const std::string& where, HazardCoverage& out);
  bool hazard(const Json& value, const std::string& where, HazardCoverage& out);

  bool read(const Json& value, const std::string& where, BackendResult& out);
  bool read(const Json& value, const std::string& where, OperatorResult& out);
  bool read(const Json& value, const std::string& where, RelationResult& out);
  bool read(const Json& value, const std::string& where, WorstElement& out);
  bool read(const Json& value, const std::string& where, ElementReport& out);
  bool read(const Json& value, const std::string& where, VerdictKind& out);
  bool read(const Json& value, const std::string& where, VerdictCounts& out);
  bool read(const Json& value, const std::string& where, reference::Tier& out);
  bool read(const Json& value, const std::string& where, TierTally& out);
  bool read(const Json& value, const std::string& where, ErrorTally& out);
  bool common_tiers(const Json& object, const std::string& where, TierTally& out);
  bool error_bin(const Json& value, const std::string& where, ErrorTally& out);
  /// A number, or "inf".
  bool distance(const Json& value, const std::string& where, double& out);

  bool read(const Json& value, const std::string& where, Finding& out);
  bool read(const Json& value, const std::string& where, WaivedBy& out);
  bool read(const Json& value, const std::string& where, DiagnosedDefect& out);
  bool read(const Json& value, const std::string& where, Diagnosis& out);
  bool read(const Json& value, const std::string& where, Shrinking& out);
  bool read(const Json& value, const std::string& where, TellingCase& out);

  bool read(const Json& value, const std::string& where, Picture& out);
  bool read(const Json& value, const std::string& where, TensorBox& out);
  bool read(const Json& value, const std::string& where, PictureGeometry& out);
  bool read(const Json& value, const std::string& where, PictureGeometry::Axis& out);
  bool admissible(const Json& value, const std::string& where, Picture& out);
  bool wrong_elements(const Json& value, const std::string& where, Picture& out);

  bool read(const Json& value, const std::string& where, CampaignState& out);
  bool read(const Json& value, const std::string& where, CampaignState::Range& out);
  bool read(const Json& value, const std::string& where, CampaignState::Part& out);
  bool read(const Json& value, const std::string& where, CampaignRun& out);
  bool read(const Json& value, const std::string& where, CampaignProgress& out);
  bool read(const Json& value, const std::string& where, EngineState& out);
  bool read(const Json& value, const std::string& where, CampaignCourse& out);
  bool read(const Json& value, const std::string& where, CampaignCourse::Group& out);
  bool read(const Json& value, const std::string& where, CampaignCourse::Reached& out);

  struct ResultNames;
  /// The backends are those of the report.
  bool results(const Json& value, const std::string& where, const std::vector<BackendResult>& backends,
               CaseResults& out);
  bool result_rows(const Json& value, const std::string& where, const ResultNames& names, CaseResults& out);
  bool backend_results(const Json& value, const std::string& where, std::size_t backend, const ResultNames& names,
                       CaseResults& out);
  bool failures(const Json& value, const std::string& where, std::size_t backend, CaseResults& out);
};

}  // namespace qconform::report
