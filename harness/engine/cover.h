// The code of a backend that cases execute, further cases drawn towards what none executes, and few cases that kill the
// mutants that all kill, and execute all that all execute.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/backends/code_coverage/code_coverage.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"
#include "harness/core/fields.h"
#include "harness/core/suite.h"
#include "harness/report/campaign_result.h"
#include "harness/report/report.h"

namespace qconform {

struct CoverOptions {
  std::uint64_t seed = 1;        ///< seed of what is drawn
  std::uint64_t tries = 20'000;  ///< cases drawn at most
  /// Numbers of the mutants that a case kills, but for `settled` ones; empty: cases are chosen by edges alone.
  std::function<std::vector<std::uint32_t>(const Case&, const std::set<std::uint32_t>& settled)> kills = {};
  std::function<void(const Progress&)> progress = {};
};

/// How many edges one stage of the search executed that none before it did.
struct CoverStage {
  QC_DESCRIBED(.name = "stage");
  QC_FIELD(std::string, name, {}, "name", .doc = "A suite, or drawn.");
  QC_FIELD(std::uint64_t, cases, {}, "cases");
  QC_FIELD(std::uint64_t, edges, {}, "edges", .doc = "That no case before executed.");

  bool operator==(const CoverStage&) const = default;
};

struct CoverResult {
  QC_DESCRIBED(.name = "cover", .doc = "What cases execute of an instrumented plugin (docs/cover.md).");
  QC_FIELD(std::string, backend, {}, "backend");
  QC_FIELD(std::uint64_t, seed, {1}, "seed");
  QC_FIELD(std::uint64_t, edges, {}, "edges", .doc = "Edges of the plugin's control flow.");
  QC_FIELD(std::uint64_t, executed, {}, "executed",
           .doc = "Edges that ran in some case, or while the plugin was loaded.");
  QC_FIELD(std::uint64_t, by_loading, {}, "by_loading");
  QC_FIELD(std::vector<CoverStage>, stages, {}, "stages", .doc = "In their order: suites, then what was drawn.");
  QC_FIELD(std::vector<FileCode>, files, {}, "files", .doc = "Empty where the plugin has no debug information.");
  QC_FIELD(std::vector<FunctionCode>, functions, {}, "functions",
           .doc = "Empty where files are; an inlined function counts too.");
  QC_FIELD(std::string, no_lines, {}, "no_lines", .doc = "Why files and functions are empty.",
           .presence = Presence::omitted);
  QC_FIELD(std::uint64_t, kept, {}, "kept", .doc = "Cases that together execute all of that.");
  QC_FIELD(std::optional<DetectionPower>, power, {}, "power", .doc = "Of the kept cases.");
  QC_FIELD(std::uint64_t, lost, {}, "lost",
           .doc = "Edges that these alone do not execute: what the plugin runs depends on earlier cases.",
           .presence = Presence::omitted);
  std::vector<Case> cases{};     ///< the kept ones
  std::vector<bool> computed{};  ///< by kept case: the backend computed it, and did not decline it
};

/// How many of the kept cases kill each mutant, where so many do.
inline constexpr std::size_t kDetections = 3;

/// `backend` has code_coverage(). Runs the suites, and draws mutants of kept cases towards new edges. Chooses the cases
/// that kill most mutants first, then those that execute most of what is left. The same suites, seed and code give the
/// same cases. Errors: of a suite, and of list_code() where edges are known to nobody else.
[[nodiscard]] Result<CoverResult> cover(Backend& backend, std::vector<std::unique_ptr<Suite>>& suites,
                                        const CoverOptions& options);

/// How much of its code the backend executed since its marks were forgotten; nothing where that is not instrumented, or
/// where objdump, which knows the edges of GCC's form, is missing.
[[nodiscard]] std::optional<ExecutedCode> executed_code(Backend& backend);

}  // namespace qconform
