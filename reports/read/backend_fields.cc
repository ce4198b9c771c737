// What a report says of one backend.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "harness/core/verdict_named.h"
#include "reports/read/report_fields.h"

namespace qconform::report {

bool ReportFields::read(const Json& value, const std::string& where, VerdictKind& out) {
  std::string name;
  if (!read(value, where, name)) return false;
  const auto kind = verdict_named(name);
  if (kind) out = *kind;
  return kind || refuse(where, "no verdict " + brief(value));
}

bool ReportFields::read(const Json& value, const std::string& where, VerdictCounts& out) {
  Counts counts;
  if (!read(value, where, counts)) return false;
  for (const auto& [name, count] : counts) {
    const auto kind = verdict_named(name);
    if (!kind) return refuse(where, "no verdict \"" + name + "\"");
    out[static_cast<std::size_t>(*kind)] = count;
  }
  return true;
}

bool ReportFields::tier(const Json& value, const std::string& where, reference::Tier& out) {
  for (const reference::Tier tier : reference::kAllTiers) {
    if (value == name_of(tier)) {
      out = tier;
      return true;
    }
  }
  return refuse(where, "no tier " + brief(value));
}

// Reports of before "common" was added state only the strictest; an element of E is of every tier.
bool ReportFields::common_tiers(const Json& object, const std::string& where, TierTally& out) {
  const Json& reached = object["reached"];
  out.common = {};
  if (object.contains("common")) {
    const Json& names = object["common"];
    const std::string path = json_path(where, "common");
    if (!array(names, path, std::size(reference::kAllTiers))) return false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      reference::Tier named{};
      if (!tier(names[i], json_path(path, i), named)) return false;
      out.common.insert(named);
    }
  } else if (!reached.is_null()) {
    reference::Tier strictest{};
    if (!tier(reached, json_path(where, "reached"), strictest)) return false;
    out.common.insert(strictest);
    if (strictest == reference::Tier::exact) out.common = reference::TierSet::all();
  }
  const auto strictest = out.common.strictest();
  return reached == (strictest ? Json(name_of(*strictest)) : Json()) ||
         refuse(json_path(where, "reached"), brief(reached) + " is not the strictest of the common tiers");
}

bool ReportFields::read(const Json& value, const std::string& where, TierTally& out) {
  if (value.is_null()) return true;
  const std::string path = json_path(where, "elements");
  if (!object(value, where, {"reached", "elements"}, {"common"}) || !common_tiers(value, where, out) ||
      !object(value["elements"], path, {"E", "F_5", "Q31", "D", "none"})) {
    return false;
  }
  for (const reference::Tier tier : reference::kAllTiers) {
    const auto i = static_cast<std::size_t>(tier);
    if (!member(value["elements"], path, std::string(name_of(tier)), out.by_tier[i])) return false;
  }
  return member(value["elements"], path, "none", out.none);
}

bool ReportFields::read(const Json& value, const std::string& where, OperatorResult& out) {
  if (!object(value, where,
              {"cases", "verdicts", "waived", "elements", "wrong_elements", "tiers", "unsupported_reasons",
               "mistrusted_reasons"},
              {"errors"}) ||
      !member(value, where, "verdicts", out.verdicts) || !sum(value, where, "cases", out.cases()) ||
      !member(value, where, "waived", out.waived) || !member(value, where, "elements", out.elements) ||
      !member(value, where, "wrong_elements", out.wrong_elements) || !member(value, where, "tiers", out.tiers) ||
      !member(value, where, "unsupported_reasons", out.unsupported_reasons) ||
      !member(value, where, "mistrusted_reasons", out.mistrusted_reasons)) {
    return false;
  }
  for (std::size_t kind = 0; kind < out.waived.size(); ++kind) {
    if (out.waived[kind] <= out.verdicts[kind]) continue;
    return refuse(json_path(where, "waived"), fmt::format("{} {} waived, of {}", out.waived[kind],
                                                          name_of(static_cast<VerdictKind>(kind)), out.verdicts[kind]));
  }
  return true;
}

bool ReportFields::element_members(const Json& value, const std::string& where, ElementReport& out) {
  if (!plain_list(value, where, "index", out.index) || !member(value, where, "got", out.got) ||
      !member(value, where, "admissible", out.admissible) || !read_optional(value, where, "exact", out.exact)) {
    return false;
  }
  if (value["distance"] != "inf") return seconds(value, where, "distance", out.distance);
  out.distance = std::numeric_limits<double>::infinity();
  return true;
}

bool ReportFields::read(const Json& value, const std::string& where, ElementReport& out) {
  return object(value, where, {"index", "got", "admissible", "distance"}, {"exact"}) &&
         element_members(value, where, out);
}

bool ReportFields::read(const Json& value, const std::string& where, WorstElement& out) {
  return object(value, where, {"case", "index", "got", "admissible", "distance"}, {"exact"}) &&
         member(value, where, "case", out.case_id) && element_members(value, where, out.element);
}

bool ReportFields::read(const Json& value, const std::string& where, RelationResult& out) {
  return object(value, where, {"id", "checked", "held", "broken", "latitude", "refused", "failed", "not_applicable"}) &&
         member(value, where, "id", out.id) && member(value, where, "held", out.held) &&
         member(value, where, "broken", out.broken) && member(value, where, "latitude", out.latitude) &&
         sum(value, where, "checked", out.checked()) && member(value, where, "refused", out.refused) &&
         member(value, where, "failed", out.failed) && member(value, where, "not_applicable", out.not_applicable);
}

bool ReportFields::relations(const Json& value, const std::string& where, BackendResult& out) {
  return value.is_null() ||
         (object(value, where, {"failed_bases", "by_relation"}) &&
          member(value, where, "failed_bases", out.failed_bases) && list(value, where, "by_relation", out.relations));
}

bool ReportFields::read(const Json& value, const std::string& where, BackendResult& out) {
  bool conforms = false;
  if (!object(value, where,
              {"name", "version", "kind", "seconds", "conforms", "decides", "operators", "worst", "relations"}) ||
      !member(value, where, "name", out.info.name) || !member(value, where, "version", out.info.version) ||
      !member(value, where, "kind", out.info.kind) || !seconds(value, where, "seconds", out.seconds) ||
      !member(value, where, "conforms", conforms) || !member(value, where, "decides", out.decides) ||
      !list(value, where, "worst", out.worst) || !relations(value["relations"], json_path(where, "relations"), out)) {
    return false;
  }
  const Json& operators = value["operators"];
  const std::string path = json_path(where, "operators");
  if (!operators.is_object()) return refuse(path, "expected an object, got " + brief(operators));
  for (auto entry = operators.begin(); entry != operators.end(); ++entry) {
    if (!read(*entry, json_path(path, entry.key()), out.operators[entry.key()])) return false;
  }
  return conforms == out.conforms() ||
         refuse(json_path(where, "conforms"), fmt::format("{}, but the verdicts say {}", conforms, out.conforms()));
}

}  // namespace qconform::report
