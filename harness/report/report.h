// The report of a run: the one model that every form (JSON, HTML, JUnit XML, Markdown, terminal) is rendered from.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/element_map.h"
#include "harness/core/fields.h"
#include "harness/core/suite.h"
#include "harness/core/verdict.h"
#include "harness/report/campaign_result.h"
#include "harness/report/corner_case_coverage.h"
#include "harness/report/model_run.h"

namespace qconform {

/// Seconds spent in each stage of the run.
struct StageTimes {
  QC_DESCRIBED(.name = "", .doc = "Wall-clock time by stage.");
  QC_FIELD(double, generate, {}, "generate", .form = Form::seconds);
  QC_FIELD(double, reference, {}, "reference", .form = Form::seconds);
  /// Ties, corner cases reached, outputs that prove nothing: whatever the backend.
  QC_FIELD(double, statistics, {}, "survey", .form = Form::seconds);
  QC_FIELD(double, backend, {}, "backend", .form = Form::seconds);
  QC_FIELD(double, judge, {}, "judge", .form = Form::seconds);
  /// Explaining failures, and learning what tells them from passing cases.
  QC_FIELD(double, diagnose, {}, "diagnose", .form = Form::seconds);
  QC_FIELD(double, total, {}, "total", .form = Form::seconds);

  bool operator==(const StageTimes&) const = default;
};

using Counts = std::map<std::string, std::uint64_t>;

inline void add_counts(const Counts& from, Counts& to) {
  for (const auto& [name, count] : from) to[name] += count;
}

using VerdictCounts = std::array<std::uint64_t, kVerdictKinds>;

/// Verdicts of one backend on one operator.
struct OperatorResult {
  VerdictCounts verdicts{};
  VerdictCounts waived{};  ///< those among them that a waiver covers

  [[nodiscard]] std::uint64_t cases() const;
  [[nodiscard]] std::uint64_t count(VerdictKind kind) const { return verdicts[static_cast<std::size_t>(kind)]; }
  /// Failing verdicts.
  [[nodiscard]] std::uint64_t failing() const;
  /// Failing verdicts that a waiver covers.
  [[nodiscard]] std::uint64_t waived_failing() const;
  /// Valid cases that the backend tried to compute: right, vacuous or failing.
  [[nodiscard]] std::uint64_t attempted() const;
  /// Valid cases that the backend attempted or declined.
  [[nodiscard]] std::uint64_t owed() const { return attempted() + count(VerdictKind::unsupported); }

  QC_DESCRIBED();
  QC_LINE(describe_derived(archive, "cases", [&self] { return self.cases(); }));
  QC_LINE(describe_verdicts(archive, self.verdicts));
  QC_LINE(describe_waived(archive, self));
  QC_FIELD(std::uint64_t, elements, {}, "elements", .doc = "Output elements judged.");
  QC_FIELD(std::uint64_t, wrong_elements, {}, "wrong_elements");
  QC_FIELD(std::uint64_t, undetermined, {}, "undetermined",
           .doc = "Failing cases that no finding counts: so many fail that the cause of these was not determined.",
           .presence = Presence::omitted);
  QC_FIELD(TierCounts, tiers, {}, "tiers");  ///< empty for operators without tiers (Lowered::has_tiers)
  QC_FIELD(Counts, pinned_by, {}, "pinned_by",
           .doc = "Cases whose wrong output a profile pins, bit for bit, by the profile; one may be of several.",
           .presence = Presence::omitted, .def = "counts");
  QC_FIELD(Counts, unsupported_reasons, {}, "unsupported_reasons", .def = "counts");
  QC_FIELD(Counts, vacuous_reasons, {}, "vacuous_reasons", .def = "counts");
  QC_FIELD(Counts, not_judged_reasons, {}, "not_judged_reasons", .presence = Presence::omitted, .def = "counts");
  /// By the corner case's id.
  QC_FIELD(Counts, corner_cases, {}, "corner_cases",
           .doc = "Cases that the backend computed, right or wrong, by the corner cases that they reach.",
           .def = "counts");
  QC_FIELD(std::uint64_t, exact_ties, {}, "exact_ties",
           .doc = "Elements on a tie between two outputs, in cases that the backend computed.",
           .presence = Presence::omitted);
  QC_FIELD(std::uint64_t, near_ties, {}, "near_ties",
           .doc = "Further ones near a tie, in cases that the backend computed.", .presence = Presence::omitted);
  /// Distances of the wrong elements from their right values.
  QC_FIELD(ErrorHistogram, errors, {}, "errors", .presence = Presence::omitted);

  bool operator==(const OperatorResult&) const = default;
};

/// The results of one relation on one backend; every base case counts once.
struct RelationResult {
  QC_DESCRIBED(.name = "relation", .doc = "Base cases by what became of one relation.");
  QC_FIELD(std::string, id, {}, "id");
  QC_LINE(describe_derived(archive, "checked", [&self] { return self.checked(); },
                           {.doc = "held + broken + implementation_defined"}));
  QC_FIELD(std::uint64_t, held, {}, "held");
  QC_FIELD(std::uint64_t, broken, {}, "broken");
  QC_FIELD(std::uint64_t, implementation_defined, {}, "implementation_defined",
           .doc = "Answers differ where the specification admits both.");
  QC_FIELD(std::uint64_t, refused, {}, "refused", .doc = "The backend refused the base case or one derived from it.");
  QC_FIELD(std::uint64_t, failed, {}, "failed", .doc = "A derived case failed by itself: wrote out of bounds, say.");
  QC_FIELD(std::uint64_t, not_applicable, {}, "not_applicable");

  [[nodiscard]] std::uint64_t checked() const { return held + broken + implementation_defined; }

  bool operator==(const RelationResult&) const = default;
};

/// A wrong element and the case that it belongs to.
struct WorstElement {
  QC_DESCRIBED();
  QC_FIELD(std::string, case_id, {}, "case");
  ElementReport element;
  QC_LINE(describe_base(archive, self.element));

  bool operator==(const WorstElement&) const = default;
};

/// The part of one sweep model that a backend takes, and how that is known.
struct BackendContract {
  QC_DESCRIBED(.name = "contract");
  QC_FIELD(std::string, model, {}, "model", .doc = "Of the sweep: \"convolutions\".");
  QC_FIELD(bool, takes_anything, {true}, "takes_anything");
  QC_FIELD(std::vector<std::string>, rules, {}, "rules",
           .doc = "Classes that it takes, and combinations that it declines; without a rule it takes the whole model.");
  QC_FIELD(std::uint64_t, probes, {}, "probes", .doc = "Cases that it was asked for this; 0 where a user stated it.",
           .presence = Presence::omitted);
  QC_FIELD(std::uint64_t, confirmed, {}, "confirmed", .doc = "Cases drawn inside afterwards.",
           .presence = Presence::omitted);
  QC_FIELD(std::uint64_t, contradicted, {}, "contradicted", .doc = "Of these, those that it declined all the same.",
           .presence = Presence::omitted);
  QC_FIELD(std::uint64_t, declined_inside, {}, "declined_inside",
           .doc = "Valid cases of the run's suites that lie inside, and that it declined all the same.",
           .presence = Presence::omitted);
  QC_FIELD(std::uint64_t, taken_outside, {}, "taken_outside",
           .doc = "Valid cases of the run's suites that lie outside, and that it took.", .presence = Presence::omitted);
  QC_FIELD(std::string, contradiction, {}, "contradiction", .doc = "The first of these cases.",
           .presence = Presence::omitted);

  bool operator==(const BackendContract&) const = default;
};

/// How much of its own code a backend executed.
struct ExecutedCode {
  QC_DESCRIBED(.name = "code", .doc = "Of a plugin that is instrumented for it: docs/cover.md.");
  QC_FIELD(std::uint64_t, executed, {}, "executed", .doc = "Edges of its control flow that some case executed.");
  QC_FIELD(std::uint64_t, edges, {}, "edges");

  bool operator==(const ExecutedCode&) const = default;
};

/// How many defect models, each in one operator as a mutant, the cases detect that a backend computed.
struct DetectionPower {
  QC_DESCRIBED(.name = "power", .doc = "What the cases that a backend computed detect: docs/detection-power.md.");
  QC_FIELD(std::uint64_t, killed, {}, "killed", .doc = "Mutants that one of these cases condemns.");
  QC_FIELD(std::uint64_t, apply, {}, "apply",
           .doc = "Mutants that a case condemns which the backend takes, one of these or another known one.");
  QC_FIELD(std::uint64_t, not_shown, {}, "not_shown",
           .doc = "Further mutants of its operators, which no known case that it takes condemns.");
  QC_FIELD(std::vector<std::string>, survivors, {}, "survivors",
           .doc = "Those that apply and were not killed: \"k-tail in QLinearConv\".", .presence = Presence::omitted);

  bool operator==(const DetectionPower&) const = default;
};

/// Counts of how a backend rewrote graphs before it computed them (Backend::rewritten()).
struct FusionCounts {
  using ByOperator = Counts;  ///< nodes, by operator

  QC_DESCRIBED(.name = "fusion",
               .doc = "What it made of graphs before it computed them; absent where none were shown.");
  QC_FIELD(std::uint64_t, graphs, {}, "graphs", .doc = "Cases of several nodes of which it shows what it computes.");
  QC_FIELD(
      std::uint64_t, fused, {}, "fused",
      .doc =
          "Those of them that it rewrote: it computes nodes of operators that they do not have, or has dropped nodes "
          "that quantize or dequantize.");
  QC_FIELD(ByOperator, operators, {}, "operators", .doc = "Nodes of operators that the graphs do not have.");
  QC_FIELD(
      ByOperator, dropped, {}, "dropped",
      .doc = "Nodes that left the graphs, by operator: QuantizeLinear, DequantizeLinear and those that were fused.",
      .presence = Presence::omitted);
  QC_FIELD(
      ByOperator, in_float, {}, "in_float",
      .doc =
          "Nodes that stay in float: they still read what a DequantizeLinear computes; by operator and the type of "
          "what is dequantized, \"Conv uint8\".",
      .presence = Presence::omitted);
  QC_FIELD(bool, is_expected, {}, "expected", .doc = "The run was meant for fusion: without any it does not conform.",
           .presence = Presence::omitted);

  [[nodiscard]] bool is_missing() const { return is_expected && fused == 0; }
  bool operator==(const FusionCounts&) const = default;
};

/// The result of one backend, or of a run, over all of its cases.
enum class Conclusion : std::uint8_t {
  conforms,          ///< a case was computed right, nothing failed that is not waived, every case was sent
  does_not_conform,  ///< something failed that is not waived
  judged_in_part,    ///< nothing failed, but later cases were not sent
  not_fused,         ///< nothing failed, but what the run was meant for never happened (FusionCounts::is_missing)
  agrees_in_part,    ///< nothing failed, of a model of which few quantized nodes were judged (is_short_of_nodes)
  too_few_nodes,     ///< nothing failed, of a model of which fewer nodes were judged than demanded (min_judged)
  nothing_judged,    ///< no valid case was computed whose output proves something
  disputed,          ///< a run alone: a suite states what the rules do not admit
};

/// "conforms", "does not conform", "judged in part", ...: the words that every form of a report uses.
[[nodiscard]] std::string_view name_of(Conclusion conclusion);

struct BackendResult {
  static constexpr std::size_t kWorstElements = 5;
  static constexpr std::size_t kLostListed = 20;
  static constexpr std::uint64_t kUsualMinJudged = 90;

  using ByOperator = std::map<std::string, OperatorResult>;

  QC_DESCRIBED(.name = "backend");
  BackendInfo info{};
  QC_LINE(describe_members(archive, self.info));
  QC_FIELD(double, seconds, {}, "seconds", .doc = "Time that qconform waited for this backend: a part of the run's.",
           .form = Form::seconds);
  QC_LINE(describe_derived(
      archive, "conforms", [&self] { return self.conforms(); }, "verdicts"));
  QC_LINE(describe_conclusion(archive, conclusion_text(self)));
  QC_LINE(describe_scope(archive, self));
  QC_LINE(describe_looser_terms(archive, self));
  QC_FIELD(bool, decides, {true}, "decides",
           .doc =
               "False for a library that nobody named, and for a kernel that nobody named and that computes no case of "
               "these suites: the report's conforms does not depend on it.");
  QC_FIELD(std::string, stopped, {}, "stopped", .doc = "Why later cases were not sent to it; absent where all were.",
           .presence = Presence::omitted);
  QC_FIELD(Counts, lost, {}, "lost",
           .doc =
               "Runs that something outside of the backend ended, as far as could be seen, by how: each case ran again "
               "and was judged by that.",
           .presence = Presence::omitted, .def = "counts");
  QC_FIELD(std::vector<std::string>, lost_cases, {}, "lost_cases", .doc = "The first of their cases.",
           .presence = Presence::omitted);
  QC_FIELD(ByOperator, operators, {}, "operators");  ///< by op_type
  QC_FIELD(std::vector<CombinationCoverage>, coverage, {}, "coverage",
           .doc = "What the cases cover that the backend computed, of suites that cover something.",
           .presence = Presence::omitted);
  QC_FIELD(std::vector<BackendContract>, contracts, {}, "contracts",
           .doc = "What it takes, where the suites were made for it.", .presence = Presence::omitted);
  QC_FIELD(std::optional<ExecutedCode>, code, {}, "code",
           .doc = "Absent where the backend's code is not instrumented.");
  QC_FIELD(std::optional<DetectionPower>, power, {}, "power", .doc = "Absent where nobody asked for it (--power).");
  QC_FIELD(std::optional<FusionCounts>, fusion, {}, "fusion");
  QC_FIELD(std::vector<NodeCoverage>, nodes, {}, "quantized_nodes", .doc = "What it was judged on of each whole model.",
           .presence = Presence::omitted);
  QC_FIELD(std::optional<std::uint64_t>, min_judged, {}, "min_judged",
           .doc =
               "Per cent of each model's quantized nodes that it must be judged on to conform; absent where nothing "
               "was demanded.");
  QC_FIELD(std::vector<WorstElement>, worst, {}, "worst",
           .doc = "The most distant wrong elements, at most one of each case.");
  std::vector<RelationResult> relations{};  ///< in the order of their list; empty when none were asked for
  std::uint64_t failed_bases = 0;           ///< base cases of relations that failed by themselves
  QC_LINE(describe_relations(archive, self.relations, self.failed_bases));

  [[nodiscard]] std::uint64_t count(VerdictKind kind) const;
  /// Verdicts of the kind that a waiver covers.
  [[nodiscard]] std::uint64_t waived(VerdictKind kind) const;
  [[nodiscard]] std::uint64_t cases() const;
  /// Whether it was asked for a case that reports count under `op_type`, and tried.
  [[nodiscard]] bool has_computed(const std::string& op_type) const;
  [[nodiscard]] Conclusion conclusion() const;
  /// Nothing speaks against it: it conforms, or agrees on what was judged where nobody asked for more.
  [[nodiscard]] bool conforms() const {
    return conclusion() == Conclusion::conforms || conclusion() == Conclusion::agrees_in_part;
  }
  /// Whether it was judged on less than `min_judged` per cent of some model's quantized nodes, or, where nothing was
  /// demanded, on less than kUsualMinJudged: then nothing says that it conforms.
  [[nodiscard]] bool is_short_of_nodes() const;
  /// Something failed that is not waived.
  [[nodiscard]] bool fails() const;
  /// A valid case was computed, and its output proves something; of relations alone, one held.
  [[nodiscard]] bool is_judged() const;
  [[nodiscard]] TierCounts tiers() const;
  /// Takes in how an earlier run of the case was lost (Outcome::lost); nothing where it is empty.
  void note_lost(const std::string& case_id, const std::string& how);
  /// Keeps `element` if it is among the most distant.
  void note_worst(const std::string& case_id, const ElementReport& element);

  bool operator==(const BackendResult&) const = default;
};

/// How shrinking made a finding's case small.
struct Shrinking {
  static constexpr std::array<std::string_view, 4> kEndings{"minimal", "runs", "seconds", "not-reproduced"};

  QC_DESCRIBED(.doc = "How the case became as small as it is; absent when it was not tried.");
  QC_FIELD(
      std::string, ending, {}, "ending",
      .doc =
          "minimal: no single step makes it smaller and fails in the same way; runs, seconds: that limit was reached; "
          "not-reproduced: the failure came and went, the case is as it was met.",
      .names = Shrinking::kEndings);
  QC_FIELD(std::uint64_t, runs, {}, "runs", .doc = "Of the backend.");
  QC_FIELD(std::uint64_t, steps, {}, "steps", .doc = "Reductions taken.");  ///< with 0 the case is as it was met
  QC_FIELD(double, seconds, {}, "seconds", .form = Form::seconds);
  Case original{};                          ///< as it was met, where steps > 0; read from a report, it has only its id
  std::string original_summary{};           ///< one line, set where the report was read
  std::string original_file{};              ///< file of the original, relative to the report; may be empty
  std::optional<ElementMap> element_map{};  ///< map of the original's output
  QC_LINE(describe_original(archive, self));

  bool operator==(const Shrinking&) const = default;
};

/// The waiver that covers a finding (harness/engine/waivers.h).
struct WaivedBy {
  QC_DESCRIBED(.doc = "Absent unless a waiver covers the finding.");
  QC_FIELD(std::string, id, {}, "id");
  QC_FIELD(std::string, reason, {}, "reason");
  QC_FIELD(std::string, reference, {}, "reference");

  bool operator==(const WaivedBy&) const = default;
};

/// Tells what a waiver did in a run; there is one for each waiver that is for a backend and an operator it was asked
/// for.
struct WaiverUse {
  QC_DESCRIBED(.doc = "A waiver of the run's file that is for this backend and one of its operators.");
  QC_FIELD(std::string, id, {}, "id");
  QC_FIELD(std::string, backend, {}, "backend");
  QC_FIELD(std::uint64_t, cases, {}, "cases", .doc = "Failing cases that it covers.");
  QC_FIELD(std::string, note, {}, "note",
           .doc = "That it waives nothing, which finding lies beyond it, or what it covers beyond what was seen.",
           .presence = Presence::omitted);

  bool operator==(const WaiverUse&) const = default;
};

/// A defect model that explains a failure.
struct DiagnosedDefect {
  QC_DESCRIBED();
  QC_FIELD(std::string, id, {}, "id");  ///< "pad-raw-zero"
  QC_FIELD(std::string, description, {}, "description");
  QC_FIELD(std::string, rule, {}, "rule");  ///< the rule that it breaks
  QC_FIELD(std::string, stages, {}, "stages", .doc = "Where to look: stages of docs/defect-models.md.");
  QC_FIELD(std::string, evidence, {}, "evidence", .doc = "Public reports of the same; may be empty.");
  QC_FIELD(std::string, avoided_by, {}, "avoided_by",
           .doc = "Of what runtimes do on purpose: the option that switches it off.", .presence = Presence::omitted);

  bool operator==(const DiagnosedDefect&) const = default;
};

/// Why cases fail: docs/explain.md.
/// The evidence of a name, for a person to repeat: a case that tells it from the second-best one.
struct SeparatingCase {
  QC_DESCRIBED(.doc =
                   "A case that tells the first defects from the second-best ones: the element in which they differ, "
                   "what each computes there, and what the backend answers. `replay` runs all of them.");
  Case test_case{};  ///< read from a report, it has only its id
  QC_PART("id", test_case.id);
  std::string summary{};  ///< one line, set where the report was read
  QC_LINE(describe_summary(archive, self.test_case, self.summary));
  QC_FIELD(std::string, element, {}, "element", .doc = "\"y[0,3]\"; \"shape of y\" where shapes differ.");
  QC_FIELD(std::string, answered, {}, "answered", .doc = "By the backend.");
  QC_FIELD(std::string, right, {}, "right", .doc = "The reference's value.");
  QC_FIELD(std::string, name, {}, "name", .doc = "The first defects, joined by \"+\".");
  QC_FIELD(std::string, arithmetic, {}, "arithmetic",
           .doc = "On which both are laid, where it is another rounding profile than the correctly rounded one.",
           .presence = Presence::omitted);
  QC_FIELD(std::string, predicted, {}, "predicted", .doc = "By them.");
  QC_FIELD(std::string, second, {}, "second",
           .doc = "The second-best ones; absent where no other defect has any of the wrong elements.",
           .presence = Presence::omitted);
  QC_FIELD(std::string, predicted_otherwise, {}, "predicted_otherwise", .doc = "By these.",
           .presence = Presence::omitted);
  QC_FIELD(std::string, file, {}, "file", .doc = "Relative to the report.");  ///< may be empty
  QC_FIELD(std::string, replay, {}, "replay", .doc = "Command line that repeats it.");

  bool operator==(const SeparatingCase&) const = default;
};

/// Stands for the place of wrong elements that lie in none of those that are known.
inline constexpr std::string_view kNoPlace = "no place that is known";

struct Diagnosis {
  static constexpr std::array<std::string_view, 6> kStatuses{"explained",  "learnt",  "ambiguous",
                                                             "reproduced", "partial", "unexplained"};

  QC_DESCRIBED(.name = "diagnosis",
               .doc =
                   "Why the cases of a finding fail (docs/explain.md); absent where none was asked for. Of failures "
                   "without wrong values, a read past a tensor or a crash, it has conditions alone, and `where` is "
                   "empty.");
  QC_FIELD(std::string, status, {}, "status", .names = Diagnosis::kStatuses);
  QC_FIELD(std::vector<DiagnosedDefect>, defects, {}, "defects",
           .doc = "Of the best explanation; of the nearest one where partial.");
  QC_FIELD(std::string, arithmetic, {}, "arithmetic",
           .doc = "Of QLinearConv's scaled value under the explanation; may be empty.");
  QC_FIELD(
      std::string, base, {}, "base",
      .doc =
          "The arithmetic, where it is the backend's own, as identify finds it, and the defects keep it: they were "
          "tried on it first.",
      .presence = Presence::omitted);
  QC_FIELD(std::uint64_t, examined, {}, "examined",
           .doc =
               "Cases of the finding that were compared with the explanation element by element, or whose wrong "
               "elements were located.");
  QC_FIELD(std::uint64_t, contradicting, {}, "contradicting",
           .doc =
               "Passing cases that the defects were tried on, and would get wrong, and which no "
               "condition tells from the failing ones: the backend has the defects in some of its paths.",
           .presence = Presence::omitted);
  std::uint64_t trial_cases = 0;       ///< cases made to test explanations, the first failing one included
  std::uint64_t trial_failing = 0;     ///< failing cases among these
  std::uint64_t trial_reproduced = 0;  ///< cases among these that the best explanation reproduces
  QC_LINE(describe_trial(archive, self));
  QC_FIELD(std::string, where, {}, "where", .doc = "The wrong elements' place in the output.");
  std::uint64_t wrong_there = 0;      ///< wrong elements, all of them in that place
  std::uint64_t right_there = 0;      ///< elements there that were right in every run
  std::uint64_t right_elsewhere = 0;  ///< elements outside, which are right
  QC_LINE(describe_place_counts(archive, self));
  QC_FIELD(std::vector<std::string>, thresholds, {}, "thresholds",
           .doc =
               "Sizes at which it starts to fail, or ends to, or that fail in regular intervals, while all else stays "
               "as in the "
               "smallest case: \"M >= 257 (256 passes)\". Cases on both sides were run.",
           .presence = Presence::omitted);
  QC_FIELD(std::string, behaves, {}, "behaves",
           .doc = "What every wrong element holds: the right formula with this expression in it.",
           .presence = Presence::omitted);
  QC_FIELD(std::string, cured_by, {}, "cured_by",
           .doc =
               "Settings behind the backend's @ with which each of the cases that was tried is right: the part of the "
               "library that has to be switched off.",
           .presence = Presence::omitted);
  QC_FIELD(
      std::vector<std::string>, beside, {}, "beside",
      .doc = "Other parts of the library that make some of these cases wrong too: there they have to be off as well.",
      .presence = Presence::omitted);
  QC_FIELD(std::uint64_t, own_elements, {}, "own_elements",
           .doc =
               "Elements of the example that are wrong while all parts are off which make it wrong, but those of "
               "`cured_by`; absent where it has no others.",
           .presence = Presence::omitted);
  QC_FIELD(Counts, went, {}, "went",
           .doc =
               "Nodes by operator that the backend computes for the example with the settings of `cured_by`, and not "
               "without: the switched off parts put the nodes of `came` in their place.",
           .presence = Presence::omitted);
  QC_FIELD(Counts, came, {}, "came", .doc = "Nodes by operator that it computes without those settings alone.",
           .presence = Presence::omitted);
  QC_FIELD(std::optional<SeparatingCase>, experiment, {}, "experiment");
  std::vector<std::string> when;     ///< features that all failing cases have, and few passing ones
  std::uint32_t when_elements = 0;   ///< outputs of fewer elements did not count
  std::uint64_t failing = 0;         ///< failing cases that `when` was learnt from
  std::uint64_t when_shown = 0;      ///< of those, cases that pass with their own data
  std::uint64_t passing = 0;         ///< passing cases that `when` was learnt from
  std::uint64_t passing_inside = 0;  ///< passing cases that have these features all the same
  double precision = 0;              ///< of conditions learnt without the cases that they are held against
  double recall = 0;                 ///< of these
  QC_LINE(describe_region(archive, self));

  /// Whether it is of wrong values, which have a place or a cause.
  [[nodiscard]] bool is_of_values() const { return !where.empty() || !defects.empty(); }
  [[nodiscard]] bool has_place() const { return !where.empty() && where != kNoPlace; }
  /// Wrong on purpose: the runtime loses what it need not, and each defect has an option that switches it off.
  [[nodiscard]] bool is_lossy_by_design() const;

  bool operator==(const Diagnosis&) const = default;
};

/// A failing case that shows the pattern of a failure better than the smallest one.
struct RepresentativeCase {
  QC_DESCRIBED(.doc =
                   "Of the finding's cases of moderate size the one with the clearest pattern, as it was met: with the "
                   "most elements of the kind, right or wrong, of which it has fewer. Absent where outputs have one "
                   "element.");
  Case test_case{};  ///< read from a report, it has only its id
  QC_PART("id", test_case.id);
  std::string summary{};  ///< one line, set where the report was read
  QC_LINE(describe_summary(archive, self.test_case, self.summary));
  QC_FIELD(std::uint64_t, right_elements, {}, "right_elements", .doc = "Of its output.");
  QC_FIELD(std::uint64_t, wrong_elements, {}, "wrong_elements");
  QC_FIELD(std::string, file, {}, "file", .doc = "Relative to the report.");  ///< may be empty
  QC_FIELD(std::optional<ElementMap>, element_map, {}, "picture");            ///< map of its output

  /// More elements on both sides of where the failure begins; then, more wrong ones.
  [[nodiscard]] bool is_clearer_than(const RepresentativeCase& other) const;

  bool operator==(const RepresentativeCase&) const = default;
};

/// "F1" of the finding at position 0.
[[nodiscard]] std::string finding_id(std::size_t position);

/// How many cases there are at least and at most, as far as a sample tells.
struct CasesBetween {
  QC_DESCRIBED();
  QC_FIELD(std::uint64_t, least, {}, "least");
  QC_FIELD(std::uint64_t, most, {}, "most");

  bool operator==(const CasesBetween&) const = default;
};

/// Lines of one function that follow each other, which as many failing and as many passing cases execute.
struct SuspectLines {
  QC_DESCRIBED(.name = "suspect");
  QC_FIELD(std::string, file, {}, "file");
  QC_FIELD(std::uint64_t, first, {}, "first");
  QC_FIELD(std::uint64_t, last, {}, "last");
  QC_FIELD(std::string, function, {}, "function");
  QC_FIELD(std::uint64_t, failing, {}, "failing", .doc = "Failing cases that execute them.");
  QC_FIELD(std::uint64_t, passing, {}, "passing", .doc = "Passing cases that execute them.");

  bool operator==(const SuspectLines&) const = default;
};

struct Suspects {
  QC_DESCRIBED(.name = "suspects");
  QC_FIELD(std::uint64_t, failing, {}, "failing", .doc = "Failing cases that were run.");
  QC_FIELD(std::uint64_t, passing, {}, "passing", .doc = "Passing ones.");
  QC_FIELD(std::vector<SuspectLines>, lines, {}, "lines",
           .doc = "The most suspect first; none where no line is executed by a greater share of the failing cases.");

  bool operator==(const Suspects&) const = default;
};

/// A failure with what is needed to see it again.
struct Finding {
  Verdict verdict;  ///< verdict on the case shown
  Case example;     ///< the smallest of them seen, or smaller still: shrunk; read from a report, it has only its id,
                    ///< operator and note: the case stands in case_file
  std::string example_summary;             ///< one line, set where the report was read
  std::optional<CaseGraph> example_graph;  ///< graph of a case of several nodes, set where the report was read
  std::optional<CaseGraph> rewritten;      ///< graph that the backend computes in its place, where it shows that
  std::string case_file;                   ///< file of the example, relative to the report; may be empty
  std::string model_file;     ///< the example as an ONNX model of one node, relative to the report; may be empty
  std::string test_folder;    ///< the example as a backend-test folder, relative to the report; may be empty
  std::vector<Case> related;  ///< cases whose answers contradict the example's; of an inconsistency alone
  std::string related_file;   ///< the related cases, relative to the report; may be empty

  QC_DESCRIBED(.name = "finding");
  QC_FIELD(std::string, id, {}, "id", .pattern = "^F[1-9][0-9]*$");
  QC_FIELD(std::string, backend, {}, "backend");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(VerdictKind, kind, {VerdictKind::wrong}, "verdict");
  QC_FIELD(std::string, signature, {}, "signature",
           .doc =
               "What is wrong, the same from run to run: defect models (a+b, or a|b where ambiguous), partial:a, "
               "unexplained:PLACE; of other failures the verdict, and the rule or a crash's place behind a colon.",
           .min_length = 1);
  QC_FIELD(
      std::uint64_t, cases, {1}, "cases",
      .doc = "Failing cases that are known to be of this finding; an operator's undetermined ones are none of them.",
      .minimum = 1);
  QC_FIELD(
      std::optional<CasesBetween>, between, {}, "between",
      .doc =
          "Of a campaign that did not examine each failing case: the failing cases that have the cause, by the 95 % "
          "confidence interval of those that were drawn and examined.",
      .presence = Presence::omitted);
  QC_PART("detail", verdict.detail);
  QC_PART("elements", verdict.elements, .doc = "Of the example.");
  QC_PART("wrong_elements", verdict.wrong_elements);
  QC_LINE(describe_example(archive, self));
  QC_FIELD(std::string, replay, {}, "replay", .doc = "Command line that shows the failure again.");
  QC_FIELD(std::optional<Suspects>, suspects, {}, "suspects",
           .doc = "Of an instrumented plugin: the lines where the wrong one may be.");
  QC_FIELD(std::string, line, {}, "line",
           .doc = "The example as `run --case` takes it; absent of graphs, and of what does not fit into a line.",
           .presence = Presence::omitted);
  QC_FIELD(
      std::string, replayed, {}, "replayed",
      .doc =
          "How the example failed again in a new process: \"alone\"; \"after others\": not alone, but after the "
          "nodes before it, as far as they are known. Absent where it was not replayed so, and of backends that run "
          "inside qconform.",
      .presence = Presence::omitted);
  QC_FIELD(std::vector<std::string>, history, {}, "history",
           .doc =
               "How the example fares on the releases that `--since` names: \"broken in onnxruntime:1.24.1@all; "
               "onnxruntime:1.23.2@all is right\". Absent where none were asked.",
           .presence = Presence::omitted, .def = "texts");
  QC_LINE(describe_related(archive, self));
  QC_FIELD(std::optional<std::uint64_t>, first_case, {}, "first_case",
           .doc = "Of a campaign: index of the first of them.");
  QC_PART(
      "log", verdict.log,
      .doc =
          "What the backend wrote to stdout and stderr on the example, the end of it; absent where it wrote nothing "
          "or runs inside qconform.",
      .presence = Presence::omitted);
  QC_PART(
      "place", verdict.place,
      .doc =
          "Of a crash: the signal, and the function. Of a stray access: the side and the tensor. Of "
          "depends-on-earlier-node: what tells the nodes apart. Of refused-here: the message without numbers, names "
          "and addresses.",
      .presence = Presence::omitted);
  QC_PART("rule", verdict.rule,
          .doc = "Id of the rule that the failure is about; of the relation, where the verdict is inconsistent.",
          .presence = Presence::omitted);
  QC_PART("worst", verdict.worst, .doc = "The wrong element of the example that is farthest from the right values.");
  QC_FIELD(std::optional<WaivedBy>, waiver, {}, "waiver");
  QC_FIELD(std::optional<Diagnosis>, diagnosis, {}, "diagnosis");
  QC_FIELD(std::optional<Shrinking>, shrinking, {}, "shrinking");
  QC_FIELD(std::string, met_while_shrinking, {}, "met_while_shrinking",
           .doc = "Id of the finding whose shrinking met this failure, which no case of the suites has.",
           .presence = Presence::omitted);
  /// Maps the elements of the example's output, where values are wrong (harness/engine/findings.h).
  QC_FIELD(std::optional<ElementMap>, element_map, {}, "picture");
  QC_FIELD(std::optional<RepresentativeCase>, representative, {}, "telling");

  bool operator==(const Finding&) const = default;
};

struct SuiteResult {
  static constexpr std::string_view kNotJudged = "not-judged";  ///< counts cases that qconform cannot judge
  static constexpr std::array<std::string_view, 4> kExpectations{"valid", "implementation-defined", "invalid",
                                                                 kNotJudged};

  QC_DESCRIBED(.name = "suite");
  QC_FIELD(std::string, name, {}, "name");
  QC_FIELD(std::uint64_t, cases, {}, "cases");
  /// Sum of the cases' digests modulo 2^64: independent of order.
  QC_FIELD(std::uint64_t, digest, {}, "digest",
           .doc = "Sum of the cases' fingerprints modulo 2^64; the same cases give the same digest on every machine.",
           .form = Form::hex);
  QC_FIELD(Counts, expectations, {}, "expectations", .doc = "Cases by what a right implementation does with them.",
           .names = SuiteResult::kExpectations);
  QC_FIELD(std::uint64_t, elements, {}, "elements", .doc = "Output elements that the reference computed.");
  QC_FIELD(std::uint64_t, exact_ties, {}, "exact_ties",
           .doc = "Elements of QLinearConv whose value before rounding is half an odd integer.");
  QC_FIELD(std::uint64_t, near_ties, {}, "near_ties", .doc = "Further ones within 1e-4 of a tie.");
  QC_FIELD(Counts, skipped, {}, "skipped", .doc = "What was met and is no case, by reason; never a pass.",
           .def = "counts");
  QC_FIELD(std::optional<NodeCoverage>, nodes, {}, "quantized_nodes",
           .doc = "What the cases hold of a whole model; absent where the suite is none.");
  QC_FIELD(std::vector<std::string>, disputed, {}, "disputed",
           .doc = "Cases whose recorded output or stated expectation contradicts the rules.");
  QC_FIELD(std::vector<CombinationCoverage>, coverage, {}, "coverage",
           .doc = "What a covering suite covers, by model; empty for the other suites.");

  bool operator==(const SuiteResult&) const = default;
};

struct Environment {
  QC_DESCRIBED(.name = "environment");
  QC_FIELD(std::string, version, {}, "version");
  QC_FIELD(std::string, commit, {}, "commit", .doc = "Qconform's own, abbreviated; -dirty when files had changed.");
  QC_FIELD(std::string, judged_commit, {}, "judged_commit",
           .doc = "Of the code under test, as --commit or the CI system names it.", .presence = Presence::omitted);
  QC_FIELD(std::string, compiler, {}, "compiler");
  QC_FIELD(std::string, cpu, {}, "cpu");
  QC_FIELD(std::string, operating_system, {}, "operating_system");
  QC_FIELD(std::string, started, {}, "started", .pattern = kUtcPattern);
  QC_FIELD(std::vector<std::string>, kernels, {}, "kernels", .doc = "In-tree kernel sets that this CPU runs.");
  QC_FIELD(std::vector<std::string>, kernels_not_run, {}, "kernels_not_run",
           .doc = "Compiled in, but this CPU lacks what they need.");

  bool operator==(const Environment&) const = default;
};

struct Report {
  static constexpr std::string_view kFormat = "qconform-report";
  /// Version of the JSON form; it grows when a reader could be misled.
  static constexpr std::uint64_t kVersion = 1;
  static constexpr std::array<std::string_view, 2> kPolicies{"wrap", "permissive"};

  QC_DESCRIBED();
  QC_LINE(describe_format(archive, Report::kFormat, Report::kVersion));
  QC_LINE(describe_derived(
      archive, "conforms", [&self] { return self.conforms(); }, "backends' verdicts",
      {.doc = "Every backend that decides computed at least one case right, unless this is a part of a "
              "campaign, none of them failed one that is not waived, and no suite is disputed."}));
  QC_LINE(describe_conclusion(archive, conclusion_text(self)));
  QC_FIELD(Environment, environment, {}, "environment");
  QC_FIELD(std::vector<std::string>, command, {}, "command",
           .doc = "The arguments that the program was given; of a campaign those that decide it.");
  QC_FIELD(std::uint64_t, seed, {}, "seed", .minimum = 0);
  QC_FIELD(std::string, profile, {}, "profile",
           .doc = "Which right answers are admitted: a name, or the file of a pinned profile.",
           .pattern =
               "^(conformance|correctly-rounded|ort-f32|onnx-reference|dml-doc|fixed-point|fixed-point-f32|tflite|"
               "tflite-single-rounding|fused-int8|fused-q31|.*[./].*)$");
  QC_FIELD(std::string, overflow, {}, "overflow", .doc = "Policy for rule C17.", .names = Report::kPolicies);
  QC_FIELD(std::vector<SuiteResult>, suites, {}, "suites");
  /// Counts the corner cases of every case that has a right answer.
  QC_FIELD(CornerCaseCoverage, corner_cases, {}, "corner_cases",
           .doc =
               "Every corner case that concerns the operators of the cases, reached or not (qconform list corner-cases "
               "explains "
               "each).");
  QC_FIELD(std::vector<BackendResult>, backends, {}, "backends");
  QC_FIELD(std::vector<Finding>, findings, {}, "findings");
  QC_FIELD(std::vector<WaiverUse>, waivers, {}, "waivers", .doc = "Absent where the run had no waivers of its own.",
           .presence = Presence::omitted);
  QC_FIELD(std::string, stopped, {}, "stopped", .doc = "Why later cases were not judged; absent where all were.",
           .presence = Presence::omitted);
  QC_FIELD(StageTimes, times, {}, "seconds");
  QC_FIELD(std::optional<CampaignResult>, campaign, {}, "campaign");  ///< set by `qconform fuzz`
  QC_FIELD(std::optional<ModelRun>, model, {}, "model");              ///< set by `qconform model`
  std::optional<CaseResults> results{};                               ///< single cases, where they were asked for
  QC_LINE(describe_results(archive, self));

  /// A case of a suite states what the rules do not admit: an answer, or what is to be refused.
  [[nodiscard]] bool is_disputed() const;
  /// Conforms where something was judged, every backend that decides conforms and nothing is disputed; else what the
  /// first backend that does not conform comes to, a failing one before others. In a part of a campaign nothing need
  /// have been computed. The exit code is 0 where it conforms, else 1.
  [[nodiscard]] Conclusion conclusion() const;
  [[nodiscard]] bool conforms() const {
    return conclusion() == Conclusion::conforms || conclusion() == Conclusion::agrees_in_part;
  }

  bool operator==(const Report&) const = default;
};

}  // namespace qconform
