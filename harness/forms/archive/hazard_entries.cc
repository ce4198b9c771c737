// Hazards of a report: counts by operator and element types in C++, a list of hazards with the same in JSON.
#include <fmt/format.h>

#include <algorithm>

#include "harness/core/profile.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/model/operator.h"

namespace qconform {
namespace {

// The cases and elements of one operator, with these element types, that reach a hazard.
struct HazardPlace {
  QC_DESCRIBED();
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, types, {}, "types", .doc = "Element types of data, weights and output, separated by spaces.");
  QC_FIELD(std::uint64_t, cases, {}, "cases", .minimum = 1);
  QC_FIELD(std::uint64_t, elements, {}, "elements", .minimum = 1);
};

struct HazardEntry {
  std::vector<HazardPlace> by;

  [[nodiscard]] std::uint64_t sum_of(std::uint64_t HazardPlace::*member) const {
    std::uint64_t sum = 0;
    for (const HazardPlace& place : by) sum += place.*member;
    return sum;
  }

  QC_DESCRIBED(.name = "hazard");
  QC_FIELD(std::string, id, {}, "id", .pattern = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$");
  QC_LINE(describe_derived(archive, "cases", [&self] { return self.sum_of(&HazardPlace::cases); },
                           {.doc = "Cases with an element that reaches it, by value."}));
  QC_LINE(
      describe_derived(archive, "elements", [&self] { return self.sum_of(&HazardPlace::elements); },
                       {.doc = "Elements that reach it; of the hazards of int16 sums, windows among those examined."}));
  QC_PART("by", by);
};

std::vector<HazardEntry> entries_of(const HazardCoverage& coverage) {
  std::vector<HazardEntry> entries;
  for (const HazardInfo& info : hazards()) {
    if (!coverage.is_applicable(info.hazard)) continue;
    HazardEntry& entry = entries.emplace_back();
    entry.id = info.id;
    for (const auto& [op_type, by_types] : coverage.by_operator()) {
      for (const auto& [types, totals] : by_types) {
        const HazardTotal& total = totals[static_cast<std::size_t>(info.hazard)];
        if (total.cases > 0) entry.by.push_back({op_type, types, total.cases, total.elements});
      }
    }
  }
  return entries;
}

void take_entries(Archive& archive, const std::vector<HazardEntry>& entries, HazardCoverage& coverage) {
  HazardCounts listed;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const HazardEntry& entry = entries[i];
    const HazardInfo* info = hazard_with_id(entry.id);
    if (info == nullptr || listed[info->hazard] > 0) {
      return archive.refuse_member(fmt::format("[{}].id", i), info == nullptr
                                                                  ? fmt::format("no hazard \"{}\"", entry.id)
                                                                  : fmt::format("\"{}\" is listed twice", entry.id));
    }
    listed.add(info->hazard);
    for (std::size_t k = 0; k < entry.by.size(); ++k) {
      const HazardPlace& place = entry.by[k];
      if (!concerns(*info, place.op_type)) {
        return archive.refuse_member(fmt::format("[{}].by[{}].operator", i, k),
                                     entry.id + " does not concern " + place.op_type);
      }
      HazardCoverage::Totals totals{};
      totals[static_cast<std::size_t>(info->hazard)] = {place.cases, place.elements};
      coverage.add(place.op_type, place.types, totals);
    }
  }
  // An operator whose cases reached nothing shows by its hazards being listed.
  for (const std::string_view op_type : operator_names()) {
    const auto is_listed = [&](const HazardInfo& info) { return !concerns(info, op_type) || listed[info.hazard] > 0; };
    if (std::all_of(hazards().begin(), hazards().end(), is_listed)) coverage.note(std::string(op_type));
  }
}

}  // namespace

void describe(Archive& archive, HazardCoverage& coverage, const FieldRule& rule) {
  std::vector<HazardEntry> entries = entries_of(coverage);
  describe(archive, entries, rule);
  if (!archive.fills()) return;
  coverage = {};
  if (archive.is_sound()) take_entries(archive, entries, coverage);
}

}  // namespace qconform
