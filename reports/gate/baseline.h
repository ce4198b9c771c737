// A baseline: what the gate compares of a report, and the speeds of a benchmark, for a repository. One line of its file
// is one fact, in an order that does not change, so that review sees what a change of a kernel changes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/forms/archive/archive.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/report/report.h"
#include "reports/gate/gate.h"

namespace qconform::gate {

// The parts hold what reports hold, and describe what the gate compares of it.

struct BaselineSuite {
  QC_DESCRIBED(.name = "suite");
  SuiteResult suite;
  QC_PART("name", suite.name);
  QC_PART("cases", suite.cases);
  QC_PART("digest", suite.digest, .doc = "As in the report.", .form = Form::hex);
  QC_FIELD(std::uint64_t, disputed, {}, "disputed",
           .doc = "Cases whose recorded output or stated expectation contradicts the rules.",
           .presence = Presence::omitted);
};

struct BaselineCoverage {
  QC_DESCRIBED(.name = "coverage");
  QC_FIELD(std::string, suite, {}, "suite");
  CombinationCoverage coverage;
  QC_PART("model", coverage.model);
  QC_PART("strength", coverage.strength, .doc = "Classes of how many parameters make a combination.");
  QC_PART("feasible", coverage.feasible);
  QC_PART("covered", coverage.covered);
};

struct BaselineCornerCases {
  QC_DESCRIBED(.name = "corner_cases");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, backend, {}, "backend", .doc = "Absent of what the suites' cases reach.",
           .presence = Presence::omitted);
  QC_FIELD(Counts, cases, {}, "cases", .doc = "Cases that reach it, by corner case; of a backend those it computed.");
};

struct BaselineBackend {
  QC_DESCRIBED(.name = "backend");
  BackendResult result;
  QC_PART("name", result.info.name);
  QC_PART("version", result.info.version);
  QC_PART("specification", result.info.specification,
          .doc = "The backend as the command line names it, where `name` is an alias or short for that.",
          .presence = Presence::omitted);
  QC_PART("decides", result.decides);
  QC_FIELD(bool, conforms, {}, "conforms", .doc = "For the reader: it follows from the verdicts.");
  QC_PART("failed_bases", result.failed_bases, .doc = "Base cases of relations that failed by themselves.",
          .presence = Presence::omitted);
};

struct BaselineOperator {
  QC_DESCRIBED(.name = "operator");
  QC_FIELD(std::string, backend, {}, "backend");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(Counts, verdicts, {}, "verdicts", .doc = "Cases by verdict.");
  QC_FIELD(std::uint64_t, wrong_elements, {}, "wrong_elements", .presence = Presence::omitted);
  QC_FIELD(std::uint64_t, undetermined, {}, "undetermined", .presence = Presence::omitted);
  QC_FIELD(std::string, tier, {}, "tier", .doc = "The strictest that all outputs meet, or none; absent without tiers.",
           .presence = Presence::omitted);
};

struct BaselineRelation {
  QC_DESCRIBED(.name = "relation");
  QC_FIELD(std::string, backend, {}, "backend");
  RelationResult result;
  QC_PART("relation", result.id);
  QC_PART("held", result.held);
  QC_PART("broken", result.broken);
  QC_PART("implementation_defined", result.implementation_defined);
  QC_PART("refused", result.refused);
  QC_PART("failed", result.failed);
  QC_PART("not_applicable", result.not_applicable);
};

struct BaselineFinding {
  QC_DESCRIBED(.name = "finding");
  Finding finding;
  QC_PART("backend", finding.backend);
  QC_PART("operator", finding.op_type);
  QC_PART("verdict", finding.kind);
  QC_PART("signature", finding.signature);
  QC_PART("cases", finding.cases);
  QC_FIELD(std::vector<std::string>, when, {}, "when", .doc = "Conditions under which it occurs.",
           .presence = Presence::omitted);
  QC_FIELD(std::string, waiver, {}, "waiver", .doc = "Id of the waiver that covers it.", .presence = Presence::omitted);
};

/// Seconds of one backend on one layer.
struct BaselineTime {
  QC_DESCRIBED(.name = "time");
  QC_FIELD(std::string, layer, {}, "layer");
  LayerTime time;
  QC_PART("backend", time.backend);
  QC_PART("verdict", time.verdict);
  QC_PART("setting", time.setting);
  QC_PART("right", time.is_right);
  QC_PART("seconds", time.rounds, .doc = "One number for each round.");
};

struct BaselineSpeeds {
  QC_DESCRIBED(.name = "speeds");
  QC_FIELD(std::string, cpu, {}, "cpu");
  QC_FIELD(std::string, setting, {}, "setting");
};

struct BaselineTimed {
  QC_DESCRIBED(.name = "timed");
  QC_FIELD(std::string, name, {}, "name");
  QC_FIELD(std::string, version, {}, "version");
};

struct Baseline {
  QC_DESCRIBED();
  static constexpr std::string_view kFormat = "qconform-baseline";
  static constexpr std::uint64_t kVersion = 1;

  QC_LINE(describe_format(archive, Baseline::kFormat, Baseline::kVersion));
  Environment environment;
  QC_PART("version_of_qconform", environment.version);
  QC_PART("commit", environment.judged_commit, .doc = "Names the code under test.", .presence = Presence::omitted);
  QC_PART("started", environment.started);
  QC_FIELD(std::uint64_t, seed, {}, "seed");
  QC_FIELD(std::string, profile, {}, "profile");
  QC_FIELD(std::string, overflow, {}, "overflow");
  QC_FIELD(std::vector<BaselineBackend>, backends, {}, "backends");
  QC_FIELD(std::vector<BaselineFinding>, findings, {}, "findings");
  QC_FIELD(std::vector<BaselineOperator>, operators, {}, "operators");
  QC_FIELD(std::vector<BaselineRelation>, relations, {}, "relations");
  QC_FIELD(std::vector<BaselineSuite>, suites, {}, "suites");
  QC_FIELD(std::vector<BaselineCoverage>, coverage, {}, "coverage");
  QC_FIELD(std::vector<BaselineCornerCases>, corner_cases, {}, "corner_cases");
  QC_FIELD(std::optional<BaselineSpeeds>, speeds, {}, "speeds", .doc = "How the times were measured.");
  QC_FIELD(std::vector<BaselineTimed>, timed, {}, "timed", .doc = "Backends; the first is the one under test.",
           .presence = Presence::omitted);
  QC_FIELD(std::vector<BaselineTime>, times, {}, "times", .presence = Presence::omitted);
};

/// Returns the baseline's file. `speeds`: may be null.
[[nodiscard]] std::string baseline_text(const Report& report, const Speeds* speeds);

/// A baseline as the gate compares it.
struct StoredBaseline {
  Report report;  ///< the one that baseline_text() was given, as far as the gate compares it
  std::optional<Speeds> speeds;
};

/// Reads a baseline's file, or a report.json. Errors name the JSON path.
[[nodiscard]] Result<StoredBaseline> load_baseline(const std::filesystem::path& file);

}  // namespace qconform::gate
