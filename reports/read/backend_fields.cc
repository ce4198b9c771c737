// What a report says of one backend.
#include <fmt/format.h>

#include <cmath>
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

bool ReportFields::read(const Json& value, const std::string& where, reference::Tier& out) {
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
    std::vector<reference::Tier> tiers;
    if (!read(object["common"], json_path(where, "common"), tiers)) return false;
    for (const reference::Tier tier : tiers) out.common.insert(tier);
  } else if (!reached.is_null()) {
    reference::Tier strictest{};
    if (!read(reached, json_path(where, "reached"), strictest)) return false;
    out.common.insert(strictest);
    if (strictest == reference::Tier::exact) out.common = reference::TierSet::all();
  }
  const auto strictest = out.common.strictest();
  return reached == (strictest ? Json(name_of(*strictest)) : Json()) ||
         refuse(json_path(where, "reached"), brief(reached) + " is not the strictest of the common tiers");
}

bool ReportFields::read(const Json& value, const std::string& where, TierTally& out) {
  if (value.is_null()) return true;
  const auto tier = [&](std::size_t i) { return to(name_of(reference::kAllTiers[i]), out.by_tier[i]); };
  static_assert(std::size(reference::kAllTiers) == 4);
  const auto elements = [&](const Json& json, const std::string& path) {
    return record(json, path, tier(0), tier(1), tier(2), tier(3), to("none", out.none));
  };
  return record(value, where, ignored("reached"), optional(ignored("common")), part("elements", elements)) &&
         common_tiers(value, where, out);
}

bool ReportFields::error_bin(const Json& value, const std::string& where, ErrorTally& out) {
  ErrorTally bin;
  if (!record(value, where, ignored("up_to"), to("low", bin.low[0]), to("high", bin.high[0]))) return false;
  for (std::size_t i = 0; i < ErrorTally::kBins; ++i) {
    const bool is_last = i + 1 == ErrorTally::kBins;
    if (value["up_to"] != (is_last ? Json(nullptr) : Json(std::ldexp(0.5, static_cast<int>(i))))) continue;
    out.low[i] += bin.low[0];
    out.high[i] += bin.high[0];
    return true;
  }
  return refuse(json_path(where, "up_to"), "expected 0.5, 1, 2, 4, ... or null, got " + brief(value["up_to"]));
}

bool ReportFields::read(const Json& value, const std::string& where, ErrorTally& out) {
  const auto bins = [&](const Json& json, const std::string& path) {
    if (!array(json, path, ErrorTally::kBins)) return false;
    for (std::size_t i = 0; i < json.size(); ++i) {
      if (!error_bin(json[i], json_path(path, i), out)) return false;
    }
    return true;
  };
  return record(value, where, to("incomparable", out.incomparable), part("bins", bins));
}

bool ReportFields::read(const Json& value, const std::string& where, OperatorResult& out) {
  if (!record(value, where, ignored("cases"), to("verdicts", out.verdicts), to("waived", out.waived),
              to("elements", out.elements), to("wrong_elements", out.wrong_elements), to("tiers", out.tiers),
              to("unsupported_reasons", out.unsupported_reasons), to("mistrusted_reasons", out.mistrusted_reasons),
              optional(to("errors", out.errors))) ||
      !sum(value, where, "cases", out.cases())) {
    return false;
  }
  for (std::size_t kind = 0; kind < out.waived.size(); ++kind) {
    if (out.waived[kind] <= out.verdicts[kind]) continue;
    return refuse(json_path(where, "waived"), fmt::format("{} {} waived, of {}", out.waived[kind],
                                                          name_of(static_cast<VerdictKind>(kind)), out.verdicts[kind]));
  }
  return true;
}

bool ReportFields::distance(const Json& value, const std::string& where, double& out) {
  if (value != "inf") return read_seconds(value, where, out);
  out = std::numeric_limits<double>::infinity();
  return true;
}

bool ReportFields::read(const Json& value, const std::string& where, ElementReport& out) {
  const auto far = [&](const Json& json, const std::string& path) { return distance(json, path, out.distance); };
  return record(value, where, to("index", out.index), to("got", out.got), to("admissible", out.admissible),
                part("distance", far), optional(to("exact", out.exact)));
}

// An element with one member more.
bool ReportFields::read(const Json& value, const std::string& where, WorstElement& out) {
  if (!value.contains("case")) return refuse(where, "misses the key \"case\"");
  if (!read(value["case"], json_path(where, "case"), out.case_id)) return false;
  Json element = value;
  element.erase("case");
  return read(element, where, out.element);
}

bool ReportFields::read(const Json& value, const std::string& where, RelationResult& out) {
  return record(value, where, to("id", out.id), ignored("checked"), to("held", out.held), to("broken", out.broken),
                to("latitude", out.latitude), to("refused", out.refused), to("failed", out.failed),
                to("not_applicable", out.not_applicable)) &&
         sum(value, where, "checked", out.checked());
}

bool ReportFields::read(const Json& value, const std::string& where, BackendResult& out) {
  bool conforms = false;
  const auto relations = [&](const Json& json, const std::string& path) {
    return json.is_null() || record(json, path, to("failed_bases", out.failed_bases), to("by_relation", out.relations));
  };
  const auto operators = [&](const Json& json, const std::string& path) {
    if (!json.is_object()) return refuse(path, "expected an object, got " + brief(json));
    for (auto entry = json.begin(); entry != json.end(); ++entry) {
      if (!read(*entry, json_path(path, entry.key()), out.operators[entry.key()])) return false;
    }
    return true;
  };
  if (!record(value, where, to("name", out.info.name), to("version", out.info.version), to("kind", out.info.kind),
              seconds("seconds", out.seconds), to("conforms", conforms), to("decides", out.decides),
              part("operators", operators), to("worst", out.worst), part("relations", relations))) {
    return false;
  }
  return conforms == out.conforms() ||
         refuse(json_path(where, "conforms"), fmt::format("{}, but the verdicts say {}", conforms, out.conforms()));
}

}  // namespace qconform::report
