#include "reports/gate/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "harness/base/file.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/forms/json/json_text.h"
#include "reports/render/forms.h"

namespace qconform::gate {
namespace {

constexpr std::string_view kNoTier = "none";
constexpr std::uint64_t kMostDisputed = 1'000'000;  // more than any suite has; each takes memory

Counts counts_of(const VerdictCounts& verdicts) {
  Counts counts;
  for (int kind = 0; kind < kVerdictKinds; ++kind) {
    const std::uint64_t cases = verdicts[static_cast<std::size_t>(kind)];
    if (cases > 0) counts[std::string(name_of(static_cast<VerdictKind>(kind)))] = cases;
  }
  return counts;
}

std::string tier_text(const TierCounts& tiers) {
  if (tiers.elements() == 0) return {};
  const auto strictest = tiers.common.strictest();
  return std::string(strictest ? name_of(*strictest) : kNoTier);
}

void add_backend(const BackendResult& backend, Baseline& baseline) {
  const std::string& name = backend.info.name;
  BaselineBackend& stored = baseline.backends.emplace_back(BaselineBackend{{}, backend.conforms()});
  stored.result.info.name = name;
  stored.result.info.version = backend.info.version;
  stored.result.decides = backend.decides;
  stored.result.failed_bases = backend.failed_bases;
  // A file lies elsewhere on another machine.
  const bool is_file = backend.info.specification.find('/') != std::string::npos;
  if (!is_file) stored.result.info.specification = backend.info.specification;
  for (const auto& [op_type, result] : backend.operators) {
    baseline.operators.push_back({name, op_type, counts_of(result.verdicts), result.wrong_elements, result.undetermined,
                                  tier_text(result.tiers)});
    if (!result.corner_cases.empty()) baseline.corner_cases.push_back({op_type, name, result.corner_cases});
  }
  for (const RelationResult& relation : backend.relations) baseline.relations.push_back({name, relation});
}

void add_suite(const SuiteResult& suite, Baseline& baseline) {
  baseline.suites.push_back({suite, suite.disputed.size()});
  for (const CombinationCoverage& coverage : suite.coverage) baseline.coverage.push_back({suite.name, coverage});
}

void add_corner_cases(const CornerCaseCoverage& reached, Baseline& baseline) {
  for (const auto& [op_type, by_types] : reached.by_operator()) {
    Counts cases;
    for (const CornerCaseInfo& info : corner_cases()) {
      std::uint64_t sum = 0;
      for (const auto& [types, totals] : by_types) sum += totals[static_cast<std::size_t>(info.corner_case)].cases;
      if (sum > 0) cases[std::string(info.id)] = sum;
    }
    if (!cases.empty()) baseline.corner_cases.push_back({op_type, "", std::move(cases)});
  }
}

void add_speeds(const Speeds& speeds, Baseline& baseline) {
  baseline.speeds = BaselineSpeeds{speeds.cpu, speeds.setting};
  for (const SpeedBackend& backend : speeds.backends) baseline.timed.push_back({backend.name, backend.version});
  for (const SpeedLayer& layer : speeds.layers) {
    for (const LayerTime& time : layer.times) baseline.times.push_back({layer.name, time});
  }
}

Baseline baseline_of(const Report& report, const Speeds* speeds) {
  Baseline baseline;
  baseline.environment = report.environment;
  baseline.seed = report.seed;
  baseline.profile = report.profile;
  baseline.overflow = report.overflow;
  for (const BackendResult& backend : report.backends) add_backend(backend, baseline);
  for (const SuiteResult& suite : report.suites) add_suite(suite, baseline);
  add_corner_cases(report.corner_cases, baseline);
  for (const Finding& finding : report.findings) {
    BaselineFinding stored{finding, {}, {}};
    if (finding.diagnosis) stored.when = finding.diagnosis->when;
    if (finding.waiver) stored.waiver = finding.waiver->id;
    baseline.findings.push_back(std::move(stored));
  }
  const auto key = [](const BaselineFinding& stored) {
    const Finding& of = stored.finding;
    return std::tie(of.backend, of.op_type, of.signature, of.kind);
  };
  std::stable_sort(baseline.findings.begin(), baseline.findings.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  if (speeds != nullptr) add_speeds(*speeds, baseline);
  return baseline;
}

// Each member on a line, and of lists each element.
std::string text_of(const Json& json) {
  std::string text = "{\n";
  for (auto member = json.begin(); member != json.end(); ++member) {
    text += fmt::format("{}: ", Json(member.key()).dump());
    if (member->is_array()) {
      text += "[\n";
      for (const Json& element : *member) {
        text += "  " + element.dump(-1, ' ', false, Json::error_handler_t::replace);
        text += &element == &member->back() ? "\n" : ",\n";
      }
      text += "]";
    } else {
      text += member->dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    text += std::next(member) == json.end() ? "\n" : ",\n";
  }
  return text + "}\n";
}

Result<VerdictCounts> verdicts_of(const Counts& counts, const std::string& where) {
  VerdictCounts verdicts{};
  for (const auto& [name, cases] : counts) {
    const auto kind = verdict_named(name);
    if (!kind) return fail(json_path(where, "verdicts"), fmt::format("no verdict \"{}\"", name));
    verdicts[static_cast<std::size_t>(*kind)] = cases;
  }
  return verdicts;
}

Result<TierCounts> tiers_of(const std::string& name, const std::string& where) {
  TierCounts tiers;
  if (name.empty()) return tiers;
  reference::TierSet common;
  if (name != kNoTier) {
    const auto* tier = std::find_if(std::begin(reference::kAllTiers), std::end(reference::kAllTiers),
                                    [&](reference::Tier one) { return name_of(one) == name; });
    if (tier == std::end(reference::kAllTiers))
      return fail(json_path(where, "tier"), fmt::format("no tier \"{}\"", name));
    common.insert(*tier);
  }
  tiers.add(common);
  return tiers;
}

// Makes the report that the gate compares with.
class StoredReport {
 public:
  explicit StoredReport(Baseline baseline) : baseline_(std::move(baseline)) {}

  Result<Report> make() {
    report_.environment = baseline_.environment;
    report_.seed = baseline_.seed;
    report_.profile = baseline_.profile;
    report_.overflow = baseline_.overflow;
    for (BaselineBackend& backend : baseline_.backends) report_.backends.push_back(std::move(backend.result));
    QCONFORM_TRY(add_operators());
    for (const BaselineRelation& relation : baseline_.relations) {
      if (auto* of = backend(relation.backend)) of->relations.push_back(relation.result);
    }
    for (std::size_t i = 0; i < baseline_.suites.size(); ++i) {
      const BaselineSuite& suite = baseline_.suites[i];
      if (suite.disputed > std::min<std::uint64_t>(suite.suite.cases, kMostDisputed)) {
        return fail(json_path(json_path("suites", i), "disputed"),
                    fmt::format("expected {} at most, got {}",
                                std::min<std::uint64_t>(suite.suite.cases, kMostDisputed), suite.disputed));
      }
      add(suite);
    }
    QCONFORM_TRY(add_corner_cases());
    for (BaselineFinding& finding : baseline_.findings) add(std::move(finding));
    return std::move(report_);
  }

 private:
  BackendResult* backend(const std::string& name) {
    const auto found = std::find_if(report_.backends.begin(), report_.backends.end(),
                                    [&](const BackendResult& one) { return one.info.name == name; });
    return found == report_.backends.end() ? nullptr : &*found;
  }

  void add(const BaselineSuite& stored) {
    SuiteResult& suite = report_.suites.emplace_back(stored.suite);
    suite.disputed.resize(stored.disputed);
    for (const BaselineCoverage& of : baseline_.coverage) {
      if (of.suite == suite.name) suite.coverage.push_back(of.coverage);
    }
  }

  void add(BaselineFinding stored) {
    Finding& finding = report_.findings.emplace_back(std::move(stored.finding));
    finding.id = finding_id(report_.findings.size() - 1);
    if (!stored.when.empty()) finding.diagnosis.emplace().when = std::move(stored.when);
    if (!stored.waiver.empty()) finding.waiver = WaivedBy{stored.waiver, "", ""};
  }

  Result<void> add_operators() {
    for (std::size_t i = 0; i < baseline_.operators.size(); ++i) {
      const BaselineOperator& stored = baseline_.operators[i];
      const std::string where = json_path("operators", i);
      BackendResult* of = backend(stored.backend);
      if (of == nullptr) return fail(json_path(where, "backend"), fmt::format("no backend \"{}\"", stored.backend));
      OperatorResult& result = of->operators[stored.op_type];
      QCONFORM_ASSIGN(result.verdicts, verdicts_of(stored.verdicts, where));
      result.wrong_elements = stored.wrong_elements;
      result.undetermined = stored.undetermined;
      QCONFORM_ASSIGN(result.tiers, tiers_of(stored.tier, where));
    }
    return {};
  }

  Result<void> add_corner_cases() {
    for (std::size_t i = 0; i < baseline_.corner_cases.size(); ++i) {
      BaselineCornerCases& stored = baseline_.corner_cases[i];
      if (!stored.backend.empty()) {
        if (auto* of = backend(stored.backend)) of->operators[stored.op_type].corner_cases = std::move(stored.cases);
        continue;
      }
      CornerCaseCoverage::Totals totals{};
      for (const auto& [id, cases] : stored.cases) {
        const auto known = corner_cases();
        const auto info =
            std::find_if(known.begin(), known.end(), [&, wanted = id](const auto& one) { return one.id == wanted; });
        if (info == known.end()) continue;  // of another version of qconform
        totals[static_cast<std::size_t>(info->corner_case)] = {cases, cases};
      }
      report_.corner_cases.add(stored.op_type, "", totals);
    }
    return {};
  }

  Baseline baseline_;
  Report report_;
};

Result<std::optional<Speeds>> speeds_of(const Baseline& baseline) {
  if (!baseline.speeds) return std::optional<Speeds>();
  if (baseline.timed.empty()) return fail("timed", "expected at least one backend, beside speeds");
  Speeds speeds{baseline.speeds->cpu, baseline.speeds->setting, {}, {}};
  for (const BaselineTimed& backend : baseline.timed) speeds.backends.push_back({backend.name, backend.version});
  for (std::size_t i = 0; i < baseline.times.size(); ++i) {
    const BaselineTime& stored = baseline.times[i];
    const auto& rounds = stored.time.rounds;
    if (!std::all_of(rounds.begin(), rounds.end(), [](double seconds) { return seconds > 0; }))
      return fail(json_path(json_path("times", i), "seconds"), "expected seconds above 0");
    if (speeds.layers.empty() || speeds.layers.back().name != stored.layer) speeds.layers.push_back({stored.layer, {}});
    speeds.layers.back().times.push_back(stored.time);
  }
  return std::optional(std::move(speeds));
}

}  // namespace

std::string baseline_text(const Report& report, const Speeds* speeds) {
  return text_of(write_document(description_of(baseline_of(report, speeds))));
}

Result<StoredBaseline> load_baseline(const std::filesystem::path& file) {
  QCONFORM_ASSIGN(const auto text, read_file(file, report::kReportBytes));
  const auto read = [&]() -> Result<StoredBaseline> {
    const std::size_t is_ours = text.substr(0, 200).find(fmt::format("\"{}\"", Baseline::kFormat));
    if (is_ours == std::string::npos) {
      QCONFORM_ASSIGN(auto report, report::read_report(text));
      return StoredBaseline{std::move(report), std::nullopt};
    }
    QCONFORM_ASSIGN(const auto json, parse_json(text, {.keys = report::kReportKeys}));
    QCONFORM_ASSIGN(auto baseline, read_document<Baseline>(json, Author::people));
    QCONFORM_ASSIGN(auto speeds, speeds_of(baseline));
    QCONFORM_ASSIGN(auto report, StoredReport(std::move(baseline)).make());
    return StoredBaseline{std::move(report), std::move(speeds)};
  };
  return in_context(file.string(), read());
}

}  // namespace qconform::gate
