// The report of a run: the one model that every form (JSON, terminal, later HTML) is rendered from.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/case_results.h"
#include "harness/core/combination_coverage.h"
#include "harness/core/picture.h"
#include "harness/core/verdict.h"
#include "harness/hazards/coverage.h"

namespace qconform {

/// Seconds spent in each stage of the run.
struct StageTimes {
  double generate = 0;
  double reference = 0;
  double survey = 0;  ///< ties, hazards reached, outputs that prove nothing: whatever the backend
  double backend = 0;
  double judge = 0;
  double diagnose = 0;  ///< failures, and what tells them from passing cases
  double total = 0;
};

using VerdictCounts = std::array<std::uint64_t, kVerdictKinds>;

/// Verdicts of one backend on one operator.
struct OperatorResult {
  VerdictCounts verdicts{};
  VerdictCounts waived{};  ///< those among them that a waiver covers
  std::uint64_t elements = 0;
  std::uint64_t wrong_elements = 0;
  TierTally tiers;    ///< QLinearConv only
  ErrorTally errors;  ///< of the wrong elements
  std::map<std::string, std::uint64_t> unsupported_reasons;
  std::map<std::string, std::uint64_t> mistrusted_reasons;

  [[nodiscard]] std::uint64_t cases() const;
  [[nodiscard]] std::uint64_t count(VerdictKind kind) const { return verdicts[static_cast<std::size_t>(kind)]; }
};

/// What became of one relation on one backend; every base case is counted once.
struct RelationResult {
  std::string id;
  std::uint64_t held = 0;
  std::uint64_t broken = 0;
  std::uint64_t latitude = 0;        ///< answers differ where the specification admits both: says nothing
  std::uint64_t refused = 0;         ///< the backend refused a case that it takes
  std::uint64_t failed = 0;          ///< a derived case crashed, wrote out of bounds, ...
  std::uint64_t not_applicable = 0;  ///< the relation does not speak of the base case

  [[nodiscard]] std::uint64_t checked() const { return held + broken + latitude; }
};

/// A wrong element and the case that it belongs to.
struct WorstElement {
  std::string case_id;
  ElementReport element;
};

struct BackendResult {
  static constexpr std::size_t kWorstElements = 5;

  BackendInfo info{};
  bool decides = true;  ///< whether the run's conclusion depends on it; a library that nobody named is only told of
  double seconds = 0;
  std::vector<WorstElement> worst{};                  ///< the most distant wrong elements, at most one of each case
  std::map<std::string, OperatorResult> operators{};  ///< by op_type
  std::vector<RelationResult> relations{};            ///< in the order of their list; empty when none were asked for
  std::uint64_t failed_bases = 0;                     ///< base cases of relations that failed by themselves

  [[nodiscard]] std::uint64_t count(VerdictKind kind) const;
  /// Verdicts of the kind that a waiver covers.
  [[nodiscard]] std::uint64_t waived(VerdictKind kind) const;
  [[nodiscard]] std::uint64_t cases() const;
  /// Something was computed, whatever was asked for, and nothing failed that is not waived.
  [[nodiscard]] bool conforms() const;
  [[nodiscard]] TierTally tiers() const;
  /// Keeps `element` if it is among the most distant.
  void note_worst(const std::string& case_id, const ElementReport& element);
};

/// How a finding's case became as small as it is.
struct Shrinking {
  std::string ending;       ///< "minimal", or what ended the search: harness/shrink/shrink.h
  std::uint64_t runs = 0;   ///< of the backend
  std::uint64_t steps = 0;  ///< reductions taken; with 0 the case is the one that was met
  double seconds = 0;
  Case original;                     ///< as it was met, where steps > 0; read from a report, it has only its id
  std::string original_summary;      ///< one line, set where the report was read
  std::string original_file;         ///< where that was written, relative to the report; may be empty
  std::optional<Picture> picture{};  ///< of the original's output
};

/// The waiver that covers a finding (harness/run/waivers.h).
struct WaivedBy {
  std::string id;
  std::string reason;
  std::string reference;
};

/// A defect model that explains a failure.
struct DiagnosedDefect {
  std::string id;           ///< "pad-raw-zero"
  std::string description;  ///< what it computes
  std::string rule;         ///< that it breaks
  std::string stages;       ///< of docs/defect-models.md: where to look
  std::string evidence;     ///< public reports; may be empty
};

/// Why cases fail: docs/explain.md.
struct Diagnosis {
  std::string status;                    ///< "explained", "ambiguous", "partial" or "unexplained"
  std::vector<DiagnosedDefect> defects;  ///< of the best explanation; of the nearest model where partial
  std::string arithmetic;                ///< of QLinearConv's scaled value under it
  std::uint64_t examined = 0;            ///< failing cases whose whole output was compared with the explanation, or
                                         ///< whose wrong elements were located
  std::uint64_t trial_cases = 0;         ///< cases made to test explanations, the first failing one included
  std::uint64_t trial_failing = 0;       ///< of these
  std::uint64_t trial_reproduced = 0;    ///< of these, by the best explanation
  std::string where;                     ///< the wrong elements, for the reader
  std::vector<std::string> when;         ///< features that all failing cases have, and few passing ones
  std::uint64_t failing = 0;             ///< cases that `when` was learnt from
  std::uint64_t passing = 0;             ///< likewise
  std::uint64_t passing_inside = 0;      ///< passing cases that have these features all the same
};

/// A failing case that shows the pattern of a failure better than the smallest one.
struct TellingCase {
  Case test_case;
  std::uint64_t right_elements = 0;  ///< of its output
  std::uint64_t wrong_elements = 0;
  std::string file;                ///< where it was written, relative to the report; may be empty
  std::optional<Picture> picture;  ///< of its output

  /// More elements on both sides of where the failure begins; then, more wrong ones.
  [[nodiscard]] bool tells_more_than(const TellingCase& other) const;
};

/// A failure with what is needed to see it again.
struct Finding {
  std::string id;  ///< "F1"
  std::string backend;
  VerdictKind kind = VerdictKind::wrong;
  std::string op_type;
  std::string signature;        ///< what is wrong, the same from run to run: "pad-raw-zero", "unexplained:border",
                                ///< "out-of-bounds", "not-rejected:C8"
  std::uint64_t cases = 1;      ///< failing cases that this finding stands for
  Verdict verdict;              ///< of the case shown
  Case example;                 ///< the smallest of them seen, or smaller still: shrunk; read from a report, it has
                                ///< only its id and operator: the case stands in case_file
  std::string example_summary;  ///< one line, set where the report was read
  std::optional<WaivedBy> waiver;
  std::optional<Diagnosis> diagnosis;
  std::optional<Shrinking> shrinking;
  std::optional<Picture> picture;      ///< of the example's output, where values are wrong (harness/run/picture.h)
  std::optional<TellingCase> telling;  ///< of its cases of moderate size, the first with the clearest pattern
  std::vector<Case> related;           ///< of an inconsistency: the cases whose answers contradict the example's
  std::string case_file;               ///< where the example was written, relative to the report; may be empty
  std::string model_file;              ///< likewise, as an ONNX model of one node
  std::string test_folder;             ///< likewise, as a backend-test folder
  std::string related_file;            ///< likewise for the related cases
  std::string replay;                  ///< command line
};

struct SuiteResult {
  std::string name;
  std::uint64_t cases = 0;
  std::uint64_t digest = 0;                           ///< sum of the cases' digests modulo 2^64: independent of order
  std::map<std::string, std::uint64_t> skipped;       ///< what was met and is no case, by reason
  std::vector<std::string> disputed;                  ///< cases whose recorded output is not admissible
  std::vector<CombinationCoverage> coverage;          ///< of a covering suite
  std::map<std::string, std::uint64_t> expectations;  ///< valid, latitude, invalid
  std::uint64_t elements = 0;                         ///< output elements that the reference computed
  std::uint64_t exact_ties = 0;                       ///< of QLinearConv's elements before rounding
  std::uint64_t near_ties = 0;                        ///< further ones within 1e-4 of a tie
};

struct Environment {
  std::string version;
  std::string commit;
  std::string compiler;
  std::string cpu;
  std::string operating_system;
  std::string started;                       ///< UTC, ISO 8601
  std::vector<std::string> kernels;          ///< in-tree kernel sets that this CPU runs
  std::vector<std::string> kernels_not_run;  ///< compiled in, but this CPU lacks what they need
};

/// One stretch of a campaign on one machine: from its start, or from where it was taken up again.
struct CampaignRun {
  std::string machine;  ///< host name
  std::string started;  ///< UTC, ISO 8601
  double seconds = 0;
  int jobs = 1;
  std::string shard;        ///< "3/16"; empty for the whole campaign
  std::uint64_t cases = 0;  ///< of the blocks that it did; inputs that its engine ran
  std::string ended;  ///< "cases" or "time" (reached), "interrupted", "fault"; "running" where it was killed, or runs
};

/// Where a campaign stood some time after it began.
struct CampaignProgress {
  double seconds = 0;  ///< of all runs so far
  std::uint64_t cases = 0;
  std::uint64_t failures = 0;  ///< failing verdicts that no waiver covers
  std::uint64_t findings = 0;  ///< kinds of failures met, before they are explained
  std::uint64_t edges = 0;     ///< of the fuzz target's code, covered, where coverage guides; else 0
  std::uint64_t features = 0;  ///< likewise what the engine tells inputs apart by: edges with numbers of times, ...
};

/// The engine of a campaign that is guided by coverage, and what it did in all runs. The suite of such a campaign
/// holds the inputs that it kept, each judged once.
struct EngineState {
  std::string name;              ///< "libfuzzer"
  std::uint64_t executions = 0;  ///< inputs that it ran
  std::uint64_t edges = 0;       ///< as in CampaignProgress
  std::uint64_t features = 0;
  std::uint64_t kept = 0;     ///< inputs that reached something new, or failed
  std::uint64_t crashes = 0;  ///< inputs over which a process of the fuzz target ended
};

/// How far a campaign has come: docs/campaigns.md.
struct CampaignState {
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t end = 0;  ///< one behind the last
  };
  struct Part {
    std::uint64_t block = 0;
    std::uint64_t cases = 0;  ///< the first ones of the block
  };
  std::uint64_t block_cases = 0;           ///< cases of a whole block
  std::vector<Range> blocks;               ///< done; ascending, apart from each other
  std::vector<Part> parts;                 ///< blocks that were begun and are not done; ascending
  std::vector<CampaignRun> runs;           ///< by start
  std::vector<CampaignProgress> progress;  ///< by seconds; empty for a merged campaign
  std::optional<EngineState> engine{};     ///< of a campaign that coverage guides; it has no blocks
};

struct Report {
  Environment environment;
  std::vector<std::string> command;
  std::uint64_t seed = 0;
  std::string profile;
  std::string overflow;  ///< policy for rule C17
  std::vector<SuiteResult> suites;
  HazardCoverage hazards;  ///< of every case that has a right answer
  std::vector<BackendResult> backends;
  std::vector<Finding> findings;
  std::optional<CaseResults> results;  ///< where they were asked for
  StageTimes times;
  std::optional<CampaignState> campaign;  ///< of `qconform fuzz`

  /// Every backend that decides ran at least one case, and none of them failed but where that is waived.
  [[nodiscard]] bool conforms() const;
};

}  // namespace qconform
