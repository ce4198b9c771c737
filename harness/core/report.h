// The report of a run: the one model that every form (JSON, HTML, JUnit XML, Markdown, terminal) is rendered from.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/campaign_state.h"
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

  bool operator==(const StageTimes&) const = default;
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

  bool operator==(const OperatorResult&) const = default;
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

  bool operator==(const RelationResult&) const = default;
};

/// A wrong element and the case that it belongs to.
struct WorstElement {
  std::string case_id;
  ElementReport element;

  bool operator==(const WorstElement&) const = default;
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

  bool operator==(const BackendResult&) const = default;
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

  bool operator==(const Shrinking&) const = default;
};

/// The waiver that covers a finding (harness/run/waivers.h).
struct WaivedBy {
  std::string id;
  std::string reason;
  std::string reference;

  bool operator==(const WaivedBy&) const = default;
};

/// A defect model that explains a failure.
struct DiagnosedDefect {
  std::string id;           ///< "pad-raw-zero"
  std::string description;  ///< what it computes
  std::string rule;         ///< that it breaks
  std::string stages;       ///< of docs/defect-models.md: where to look
  std::string evidence;     ///< public reports; may be empty

  bool operator==(const DiagnosedDefect&) const = default;
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

  bool operator==(const Diagnosis&) const = default;
};

/// A failing case that shows the pattern of a failure better than the smallest one.
struct TellingCase {
  Case test_case{};                  ///< read from a report, it has only its id
  std::string summary{};             ///< one line, set where the report was read
  std::uint64_t right_elements = 0;  ///< of its output
  std::uint64_t wrong_elements = 0;
  std::string file{};                ///< where it was written, relative to the report; may be empty
  std::optional<Picture> picture{};  ///< of its output

  /// More elements on both sides of where the failure begins; then, more wrong ones.
  [[nodiscard]] bool tells_more_than(const TellingCase& other) const;

  bool operator==(const TellingCase&) const = default;
};

/// A failure with what is needed to see it again.
struct Finding {
  std::string id;  ///< "F1"
  std::string backend;
  VerdictKind kind = VerdictKind::wrong;
  std::string op_type;
  std::optional<std::uint64_t> first_case;  ///< of a campaign: index of the first of them
  std::string signature;        ///< what is wrong, the same from run to run: "pad-raw-zero", "unexplained:border",
                                ///< "out-of-bounds", "not-rejected:C8"
  std::uint64_t cases = 1;      ///< failing cases that this finding stands for
  Verdict verdict;              ///< of the case shown
  Case example;                 ///< the smallest of them seen, or smaller still: shrunk; read from a report, it has
                                ///< only its id, operator and note: the case stands in case_file
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

  bool operator==(const Finding&) const = default;
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

  bool operator==(const SuiteResult&) const = default;
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

  bool operator==(const Environment&) const = default;
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

  bool operator==(const Report&) const = default;
};

}  // namespace qconform
