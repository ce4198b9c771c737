// The file of waivers: reading and drafting it.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/core/verdict.h"
#include "harness/engine/waivers.h"
#include "harness/forms/defects/defect_files.h"
#include "harness/forms/json/json_text.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/operator.h"

namespace qconform {
namespace {

constexpr std::string_view kWaiversFormat = "qconform-waivers";
constexpr std::uint64_t kWaiversVersion = 1;
constexpr std::size_t kMostEntries = 65536;

class WaiverReader : public JsonFields {
 public:
  bool recorded(const Json& value, const std::string& where, RecordedLibrary& out) {
    return object(value, where, {"backend", "version", "cpu"}) && text(value, where, "backend", out.backend) &&
           text(value, where, "version", out.version) && text(value, where, "cpu", out.cpu);
  }

  bool waiver(const Json& value, const std::string& where, Waiver& out) {
    return object(value, where,
                  {"id", "backends", "versions", "operator", "verdict", "signature", "reason", "reference"},
                  {"expires"}) &&
           text(value, where, "id", out.id) && names(value["backends"], json_path(where, "backends"), out.backends) &&
           versions(value["versions"], json_path(where, "versions"), out) && operator_name(value, where, out.op_type) &&
           verdict(value["verdict"], json_path(where, "verdict"), out.verdict) &&
           signature(value["signature"], json_path(where, "signature"), out) &&
           text(value, where, "reason", out.reason) && text(value, where, "reference", out.reference) &&
           (!value.contains("expires") || date(value["expires"], json_path(where, "expires"), out.expires.emplace()));
  }

 private:
  // A member that must say something.
  bool text(const Json& object, const std::string& where, std::string_view key, std::string& out) {
    const std::string path = json_path(where, key);
    if (!read(object[std::string(key)], path, out)) return false;
    return !out.empty() || refuse(path, "must not be empty");
  }

  bool names(const Json& value, const std::string& where, std::vector<std::string>& out) {
    if (!read_list(value, where, kMostEntries, out)) return false;
    return !out.empty() || refuse(where, "must name at least one");
  }

  bool versions(const Json& value, const std::string& where, Waiver& out) {
    if (!object(value, where, {"from", "to"}) || !text(value, where, "from", out.first_version) ||
        !text(value, where, "to", out.last_version)) {
      return false;
    }
    return compare_versions(out.first_version, out.last_version) <= 0 ||
           refuse(where, fmt::format("from {} is later than to {}", out.first_version, out.last_version));
  }

  bool operator_name(const Json& value, const std::string& where, std::string& out) {
    if (!text(value, where, "operator", out)) return false;
    return operator_of_subject(out) != nullptr ||
           refuse(json_path(where, "operator"), fmt::format("no operator \"{}\"", out));
  }

  bool verdict(const Json& value, const std::string& where, VerdictKind& out) {
    std::string name;
    if (!read(value, where, name)) return false;
    const auto named = verdict_named(name);
    if (named && is_failure(*named)) {
      out = *named;
      return true;
    }
    std::string known;
    for (int kind = 0; kind < kVerdictKinds; ++kind) {
      const auto failing = static_cast<VerdictKind>(kind);
      if (is_failure(failing)) known += (known.empty() ? "" : ", ") + std::string(name_of(failing));
    }
    return refuse(where, fmt::format("expected a failing verdict ({}), got \"{}\"", known, name));
  }

  bool date(const Json& value, const std::string& where, std::string& out) {
    constexpr std::string_view kForm = "0000-00-00";
    if (!read(value, where, out)) return false;
    const bool formed = out.size() == kForm.size() &&
                        std::equal(out.begin(), out.end(), kForm.begin(),
                                   [](char c, char f) { return f == '0' ? c >= '0' && c <= '9' : c == f; });
    return formed || refuse(where, "expected a date like 2027-01-31, got " + brief(value));
  }

  bool digest(const Json& value, const std::string& where, std::uint64_t& out) {
    std::string digits;
    if (!read(value, where, digits)) return false;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, out, 16);
    return (digits.size() == 16 && error == std::errc() && stop == end) ||
           refuse(where, "expected 16 hexadecimal digits, got " + brief(value));
  }

  bool waived_case(const Json& value, const std::string& where, WaivedCase& out) {
    return object(value, where, {"id", "case"}, {"answer"}) && text(value, where, "id", out.id) &&
           digest(value["case"], json_path(where, "case"), out.digest) &&
           (!value.contains("answer") || digest(value["answer"], json_path(where, "answer"), out.answer.emplace()));
  }

  bool cases(const Json& value, const std::string& where, std::vector<WaivedCase>& out) {
    if (!array(value, where, kMostEntries)) return false;
    if (value.empty()) return refuse(where, "must name at least one");
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!waived_case(value[i], json_path(where, i), out.emplace_back())) return false;
    }
    return true;
  }

  bool models(const Json& value, const std::string& where, std::vector<diagnose::DefectModel>& out) {
    std::vector<std::string> ids;
    if (!names(value, where, ids)) return false;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      for (const RoundingProfile arithmetic : {RoundingProfile::correctly_rounded, RoundingProfile::ort_f32}) {
        auto model = diagnose::model_named(ids[i], arithmetic, json_path(where, i));
        if (!model) return refuse(model.error());
        out.push_back(std::move(*model));
      }
    }
    return true;
  }

  bool region(const Json& value, const std::string& where, std::vector<std::string>& out) {
    if (!names(value, where, out)) return false;
    const auto known = diagnose::case_features();
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (diagnose::Condition::parse(out[i])) continue;
      std::vector<std::string_view> texts;
      for (const auto& feature : known) texts.emplace_back(feature.text);
      return refuse(json_path(where, i), fmt::format("no feature of cases is {}; similar ones are: {}", brief(value[i]),
                                                     fmt::join(near_names(out[i], texts), "; ")));
    }
    return true;
  }

  bool findings(const Json& value, const std::string& where, Waiver& out) {
    if (!names(value, where, out.findings)) return false;
    for (std::size_t i = 0; i < out.findings.size(); ++i) {
      if (names_a_cause(out.findings[i]) || !out.region.empty()) continue;
      return refuse(json_path(where, i),
                    fmt::format("{} does not say what is wrong, so that the waiver would cover any failure: "
                                "add a region",
                                brief(value[i])));
    }
    return true;
  }

  bool replacement(const Json& value, const std::string& where, const Operator& known, Replacement& out) {
    const auto input = std::find_if(known.inputs.begin(), known.inputs.end(),
                                    [&](const InputSignature& signature) { return signature.name == out.name; });
    if (input == known.inputs.end()) {
      if (value.is_null()) return true;
      return value.is_string() ? read(value, where, out.text.emplace())
                               : refuse(where, "expected an attribute's text or null, got " + brief(value));
    }
    out.input = static_cast<std::size_t>(input - known.inputs.begin());
    if (value == "first") return true;
    return value.is_number_integer() ? read(value, where, out.filled.emplace())
                                     : refuse(where, "expected an integer or \"first\", got " + brief(value));
  }

  bool instead(const Json& value, const std::string& where, const Operator& known, std::vector<Replacement>& out) {
    if (!value.is_object() || value.empty())
      return refuse(where, "expected an object with members, got " + brief(value));
    for (auto member = value.begin(); member != value.end(); ++member) {
      out.push_back({member.key(), {}, {}, {}});
      if (!replacement(*member, json_path(where, member.key()), known, out.back())) return false;
    }
    return true;
  }

  bool signature(const Json& value, const std::string& where, Waiver& out) {
    if (!object(value, where, {}, {"cases", "findings", "instead", "defects", "region", "detail", "cpus"}))
      return false;
    const bool computes = value.contains("instead") || value.contains("defects");
    if (int{value.contains("cases")} + int{value.contains("findings")} + int{computes} != 1) {
      return refuse(where, "expected either \"findings\", or \"cases\", or \"instead\" or \"defects\" or both");
    }
    if (value.contains("region")) {
      const std::string path = json_path(where, "region");
      if (!value.contains("defects") && !value.contains("findings"))
        return refuse(path, "goes with \"findings\" or \"defects\" only");
      if (!region(value["region"], path, out.region)) return false;
    }
    if (value.contains("detail") && !text(value, where, "detail", out.detail.emplace())) return false;
    if (value.contains("cpus") && !names(value["cpus"], json_path(where, "cpus"), out.cpus)) return false;
    if (value.contains("cases")) return cases(value["cases"], json_path(where, "cases"), out.cases);
    if (value.contains("findings")) return findings(value["findings"], json_path(where, "findings"), out);
    if (value.contains("instead") &&
        !instead(value["instead"], json_path(where, "instead"), *operator_of_subject(out.op_type), out.instead)) {
      return false;
    }
    return !value.contains("defects") || models(value["defects"], json_path(where, "defects"), out.models);
  }
};

std::string hexadecimal(std::uint64_t digest) {
  return fmt::format("{:016x}", digest);
}

Json case_json(const WaivedCase& waived) {
  Json json{{"id", waived.id}, {"case", hexadecimal(waived.digest)}};
  if (waived.answer) json["answer"] = hexadecimal(*waived.answer);
  return json;
}

}  // namespace

Result<Waivers> Waivers::parse(std::string_view text, std::string today) {
  QCONFORM_ASSIGN(const auto json, parse_json(text));
  WaiverReader reader;
  Waivers result;
  result.today_ = std::move(today);
  std::string format;
  std::uint64_t version = 0;
  const auto read_all = [&]() -> bool {
    if (!reader.object(json, "", {"format", "version", "waivers"}, {"recorded"}) ||
        !reader.read(json["format"], "format", format) || !reader.read(json["version"], "version", version)) {
      return false;
    }
    if (format != kWaiversFormat)
      return reader.refuse("format", fmt::format("expected \"{}\", got \"{}\"", kWaiversFormat, format));
    if (version != kWaiversVersion)
      return reader.refuse("version", fmt::format("expected {}, got {}", kWaiversVersion, version));
    const Json none = Json::array();
    const Json& recorded = json.contains("recorded") ? json["recorded"] : none;
    if (!reader.array(recorded, "recorded", kMostEntries)) return false;
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      if (!reader.recorded(recorded[i], json_path("recorded", i), result.recorded_.emplace_back())) return false;
    }
    const Json& waivers = json["waivers"];
    if (!reader.array(waivers, "waivers", kMostEntries)) return false;
    for (std::size_t i = 0; i < waivers.size(); ++i) {
      if (!reader.waiver(waivers[i], json_path("waivers", i), result.waivers_.emplace_back())) return false;
    }
    return true;
  };
  if (!read_all()) return tl::unexpected(*reader.error());
  return result;
}

Result<Waivers> Waivers::load(const std::filesystem::path& file) {
  QCONFORM_ASSIGN(const auto text, read_file(file, limits::kJsonFileBytes));
  return in_context(file.string(), parse(text, fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))));
}

namespace {

Json waiver_json(std::string id, const BackendInfo& backend, const std::string& op_type, VerdictKind verdict,
                 Json signature) {
  return {{"id", std::move(id)},
          {"backends", {backend.name}},
          {"versions", {{"from", backend.version}, {"to", backend.version}}},
          {"operator", op_type},
          {"verdict", name_of(verdict)},
          {"signature", std::move(signature)},
          {"reason", ""},
          {"reference", ""}};
}

std::string file_of(Json waivers) {
  return print_json({{"format", kWaiversFormat}, {"version", kWaiversVersion}, {"waivers", std::move(waivers)}});
}

// Failing cases that conditions are learnt from at least, for those of other seeds to have them too.
constexpr std::uint64_t kFewestLearntFrom = 20;

}  // namespace

DraftedWaivers draft_waivers(const Report& report) {
  DraftedWaivers drafted;
  Json waivers = Json::array();
  for (const Finding& finding : report.findings) {
    const auto backend = std::find_if(report.backends.begin(), report.backends.end(),
                                      [&](const BackendResult& one) { return one.info.name == finding.backend; });
    const bool is_of_relation = finding.kind == VerdictKind::inconsistent;
    if (finding.waiver || is_of_relation || backend == report.backends.end()) continue;
    Json signature{{"findings", {finding.signature}}};
    const auto& diagnosis = finding.diagnosis;
    const bool has_region = diagnosis && !diagnosis->when.empty() && diagnosis->when_elements == 0;
    if (has_region && diagnosis->failing >= kFewestLearntFrom && diagnosis->recall == 1)
      signature["region"] = diagnosis->when;
    if (!signature.contains("region") && !names_a_cause(finding.signature)) {
      drafted.left_out.push_back(finding.id);
      continue;
    }
    waivers.push_back(waiver_json(fmt::format("{}-{}-{}", finding.backend, finding.op_type, finding.signature),
                                  backend->info, finding.op_type, finding.kind, std::move(signature)));
  }
  drafted.text = file_of(std::move(waivers));
  return drafted;
}

void PinnedDraft::add(const BackendInfo& backend, const Case& test_case, const Outcome& outcome,
                      const Verdict& verdict) {
  auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const DraftedWaiver& e) {
    return e.backend.name == backend.name && e.op_type == test_case.subject() && e.verdict == verdict.kind;
  });
  if (entry == entries_.end()) {
    entries_.push_back({backend, test_case.subject(), verdict.kind, {}});
    entry = std::prev(entries_.end());
  }
  WaivedCase waived{test_case.id, digest_of(test_case), {}};
  if (const Tensor* answer = output_of(outcome)) waived.answer = digest_of(*answer);
  entry->cases.push_back(std::move(waived));
}

std::string PinnedDraft::text() const {
  Json waivers = Json::array();
  for (const DraftedWaiver& entry : entries_) {
    Json cases = Json::array();
    for (const WaivedCase& waived : entry.cases) cases.push_back(case_json(waived));
    waivers.push_back(waiver_json(fmt::format("{}-{}-{}", entry.backend.name, entry.op_type, name_of(entry.verdict)),
                                  entry.backend, entry.op_type, entry.verdict, {{"cases", std::move(cases)}}));
  }
  return file_of(std::move(waivers));
}

}  // namespace qconform
