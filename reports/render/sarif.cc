// SARIF 2.1.0, for code scanning: a result for each finding, a rule for each cause.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "harness/backends/specification.h"
#include "harness/base/bytes.h"
#include "harness/base/number.h"
#include "harness/base/text.h"
#include "harness/forms/json/json_text.h"
#include "reports/render/forms.h"
#include "reports/render/terminal.h"

namespace qconform::report {
namespace {

constexpr std::size_t kLongestText = 4000;

std::string rule_id(const Finding& finding) {
  return finding.op_type + "/" + shortened(shown(finding.signature), 200);
}

// Identifies the finding from run to run, whatever the seed and the smallest case.
std::string fingerprint(const Finding& finding) {
  Digest digest;
  for (const std::string* part : {&finding.backend, &finding.op_type, &finding.signature}) {
    digest.add(std::string_view(*part));
    digest.add(std::string_view("\n"));
  }
  digest.add(name_of(finding.kind));
  return fmt::format("{:016x}", digest.value());
}

// Returns the file that a plugin was loaded from, where its path holds in the repository too; else nothing.
std::string file_of(const Finding& finding, const Report& report) {
  for (const BackendResult& backend : report.backends) {
    if (backend.info.name != finding.backend) continue;
    const auto what = backend::parse_specification(backend.info.on_command_line());
    if (!what || what->kind != backend::Specification::Kind::plugin) return {};
    const std::string file = what->name.starts_with("./") ? what->name.substr(2) : what->name;
    return file.starts_with('/') || file.starts_with("../") ? "" : file;
  }
  return {};
}

// A relative reference of RFC 3986.
std::string uri_of(std::string_view file) {
  constexpr std::string_view kPlain = "-._~/";
  std::string uri;
  for (const char c : file) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return uri;
}

Json location(const std::string& source, const Finding& finding) {
  Json location;
  if (const SourcePlace place = source_place(finding, source); !place.file.empty()) {
    location["physicalLocation"] = {{"artifactLocation", {{"uri", uri_of(place.file)}}},
                                    {"region", {{"startLine", std::max<std::uint64_t>(place.line, 1)}}}};
    if (place.last > place.line) location["physicalLocation"]["region"]["endLine"] = place.last;
  }
  const std::string name = fmt::format("{} on {}", finding.op_type, shown(finding.backend));
  location["logicalLocations"] = Json::array({{{"fullyQualifiedName", name}}});
  return location;
}

std::string text_of(const Finding& finding) {
  std::string text = fmt::format("{}{} in {} of {} on {}", name_of(finding.kind), subject_of(finding),
                                 cases_text(finding), finding.op_type, shown(finding.backend));
  for (const Fact& fact : facts_of(finding)) {
    if (!fact.value.empty()) text += fmt::format("\n{}: {}", fact.label, shown(fact.value));
  }
  return shortened(text, kLongestText);
}

Json rule_of(const Finding& finding) {
  const bool is_named = finding.diagnosis && !finding.diagnosis->defects.empty();
  const std::string what = is_named ? finding.diagnosis->defects.front().description
                                    : fmt::format("{}{}", name_of(finding.kind), subject_of(finding));
  Json rule{{"id", rule_id(finding)}, {"shortDescription", {{"text", shortened(shown(what), 300)}}}};
  if (is_named && !finding.diagnosis->defects.front().rule.empty())
    rule["properties"] = {{"tags", Json::array({finding.diagnosis->defects.front().rule})}};
  return rule;
}

Json result_of(const Finding& finding, const Report& report, const SarifOptions& options, std::size_t rule) {
  const auto backend = std::find_if(report.backends.begin(), report.backends.end(),
                                    [&](const BackendResult& one) { return one.info.name == finding.backend; });
  const bool decides = backend == report.backends.end() || backend->decides;
  Json result{{"ruleId", rule_id(finding)},
              {"ruleIndex", rule},
              {"level", decides ? "error" : "note"},
              {"message", {{"text", text_of(finding)}}},
              {"locations",
               Json::array({location(options.source.empty() ? file_of(finding, report) : options.source, finding)})},
              {"partialFingerprints", {{"qconform/v1", fingerprint(finding)}}}};
  const auto state = options.states.find(finding.id);
  if (state != options.states.end()) result["baselineState"] = state->second;
  if (finding.waiver) {
    const std::string reason =
        fmt::format("{}: {} ({})", finding.waiver->id, finding.waiver->reason, finding.waiver->reference);
    result["suppressions"] = Json::array({{{"kind", "external"}, {"justification", shown(reason)}}});
  }
  result["properties"] = {{"backend", finding.backend},
                          {"operator", finding.op_type},
                          {"verdict", name_of(finding.kind)},
                          {"cases", finding.cases}};
  return result;
}

}  // namespace

SourcePlace source_place(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {std::string(text)};
  const std::uint64_t line = number_in<std::uint64_t>(text.substr(colon + 1)).value_or(0);
  return line > 0 ? SourcePlace{std::string(text.substr(0, colon)), line, line} : SourcePlace{std::string(text)};
}

SourcePlace source_place(const Finding& finding, std::string_view otherwise) {
  if (!finding.suspects || finding.suspects->lines.empty()) return source_place(otherwise);
  const SuspectLines& lines = finding.suspects->lines.front();
  std::error_code ignored;
  const auto near = std::filesystem::path(lines.file).lexically_relative(std::filesystem::current_path(ignored));
  const bool is_here = !near.empty() && *near.begin() != "..";
  return {is_here ? near.string() : lines.file, lines.first, lines.last};
}

std::string to_sarif(const Report& report, const SarifOptions& options) {
  std::map<std::string, std::size_t> known;
  Json rules = Json::array();
  Json results = Json::array();
  for (const Finding& finding : report.findings) {
    const auto [rule, is_new] = known.try_emplace(rule_id(finding), known.size());
    if (is_new) rules.push_back(rule_of(finding));
    results.push_back(result_of(finding, report, options, rule->second));
  }
  Json run{{"tool", {{"driver", {{"name", "qconform"}, {"version", report.environment.version}, {"rules", rules}}}}},
           {"automationDetails", {{"id", "qconform/"}}},
           {"results", std::move(results)}};
  if (run["tool"]["driver"]["version"] == "") run["tool"]["driver"].erase("version");
  const Json document{
      {"version", "2.1.0"},
      {"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
      {"runs", Json::array({std::move(run)})}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qconform::report
