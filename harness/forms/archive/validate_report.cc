// Checks between the members of a report, beyond those made while reading them.
#include <fmt/format.h>

#include <bit>

#include "harness/forms/archive/report_archive.h"
#include "harness/forms/json/json_fields.h"

namespace qconform {
namespace {

Result<void> validate(const TensorBox& box, const std::string& where) {
  if (box.begin.size() != box.shape.size() || box.extent.size() != box.shape.size()) {
    return fail(where, fmt::format("shape, begin and extent have {}, {} and {} dimensions", box.shape.size(),
                                   box.begin.size(), box.extent.size()));
  }
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < box.shape.size(); ++d) {
    if (box.begin[d] < 0 || box.extent[d] < 0 || box.extent[d] > box.shape[d] ||
        box.begin[d] > box.shape[d] - box.extent[d]) {
      return fail(where, fmt::format("dimension {}: the box [{}, +{}) is not within {}", d, box.begin[d], box.extent[d],
                                     box.shape[d]));
    }
    if (__builtin_mul_overflow(elements, box.extent[d], &elements)) return fail(where, "the box is too large");
  }
  if (static_cast<std::size_t>(elements) == box.values.size()) return {};
  return fail(json_path(where, "values"), fmt::format("{} values for {} elements", box.values.size(), elements));
}

Result<void> validate(const ElementMap& map, const std::string& where) {
  if (auto box = validate(map.got, json_path(where, "got")); !box) return box;
  for (const std::size_t size : {map.expected.size(), map.exact.size(), map.admissible.size()}) {
    if (size == map.got.values.size()) continue;
    return fail(where, fmt::format("got has {} values, another of its lists {}", map.got.values.size(), size));
  }
  if (!map.parameter.empty() && map.parameter.size() != map.got.values.size()) {
    return fail(json_path(where, "parameter"),
                fmt::format("{} positions for {} elements", map.parameter.size(), map.got.values.size()));
  }
  for (std::size_t i = 0; i < map.inputs.size(); ++i) {
    if (auto box = validate(map.inputs[i], json_path(json_path(where, "inputs"), i)); !box) return box;
  }
  return {};
}

Result<void> validate(const Finding& finding, const std::string& where) {
  const auto check = [&](const std::optional<ElementMap>& map, const char* key) -> Result<void> {
    return map ? validate(*map, json_path(where, key)) : Result<void>();
  };
  if (auto own = check(finding.element_map, "picture"); !own) return own;
  if (finding.shrinking) {
    if (auto of = check(finding.shrinking->element_map, "shrinking.original.picture"); !of) return of;
  }
  return finding.representative ? check(finding.representative->element_map, "telling.picture") : Result<void>();
}

Result<void> validate(const CampaignTimeline& timeline, const std::string& where) {
  if (!std::has_single_bit(timeline.group_blocks)) {
    return fail(json_path(where, "group_blocks"),
                fmt::format("expected a power of two, got {}", timeline.group_blocks));
  }
  for (std::size_t i = 0; i < timeline.groups.size(); ++i) {
    const std::uint64_t first = timeline.groups[i].first;
    if (first % timeline.group_blocks == 0 && (i == 0 || first > timeline.groups[i - 1].first)) continue;
    return fail(json_path(json_path(json_path(where, "groups"), i), "first"),
                fmt::format("expected multiples of group_blocks, ascending, got {}", first));
  }
  for (std::size_t i = 0; i < timeline.hazards.size(); ++i) {
    if (hazard_with_id(timeline.hazards[i].hazard) != nullptr) continue;
    return fail(json_path(json_path(json_path(where, "hazards"), i), "id"),
                fmt::format("no hazard \"{}\"", timeline.hazards[i].hazard));
  }
  return {};
}

}  // namespace

Result<void> validate(const Report& report) {
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    if (auto valid = validate(report.findings[i], json_path("findings", i)); !valid) return valid;
  }
  return report.campaign ? validate(report.campaign->timeline, "campaign.course") : Result<void>();
}

}  // namespace qconform
