// The gate: a new report held against the report of a baseline, and what it found, for people and programs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/engine/waivers.h"
#include "harness/forms/archive/archive.h"
#include "harness/report/report.h"
#include "reports/render/terminal.h"

namespace qconform::gate {

// A change between two reports: for the worse, for the better, or neither.

enum class Effect : std::uint8_t {
  worse,  ///< makes the gate fail
  better,
  waived,  ///< would make it fail, but for a waiver
  note,    ///< neither, or of a backend that does not decide
};

inline constexpr std::array<std::string_view, 4> kEffects{"worse", "better", "waived", "note"};

[[nodiscard]] inline std::string_view name_of(Effect effect) {
  return kEffects[static_cast<std::size_t>(effect)];
}
inline void describe(Archive& archive, Effect& effect, const FieldRule& /*rule*/) {
  describe_name(archive, effect, {.names = kEffects}, "effect");
}

struct Change {
  QC_DESCRIBED();
  QC_FIELD(Effect, effect, {Effect::note}, "effect");
  QC_FIELD(std::string, what, {}, "what", .doc = "The kind of change: docs/gate.md.",
           .pattern = "^[a-z]+(-[a-z]+)*$");  ///< one word: "new-finding", "fewer-cases"
  QC_FIELD(std::string, backend, {}, "backend", .doc = "May be empty, like all that follow but the text.");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, signature, {}, "signature",
           .doc = "Of a finding; of other changes the suite, corner case, relation or layer.");
  QC_FIELD(std::string, region, {}, "region", .doc = "Conditions under which the finding occurs.");
  QC_FIELD(std::string, finding, {}, "finding", .doc = "Its id in the new report.", .pattern = "^(F[1-9][0-9]*)?$");
  QC_FIELD(std::string, text, {}, "text", .min_length = 1);  ///< one line
};

enum class CauseState : std::uint8_t {
  appeared,    ///< only in the new report
  stayed,      ///< in the new report and before
  gone,        ///< only before
  not_tested,  ///< only before, and the new run did not test the backend on the operator
};

inline constexpr std::array<std::string_view, 4> kCauseStates{"new", "stayed", "gone", "not-tested"};

[[nodiscard]] inline std::string_view name_of(CauseState state) {
  return kCauseStates[static_cast<std::size_t>(state)];
}
inline void describe(Archive& archive, CauseState& state, const FieldRule& /*rule*/) {
  describe_name(archive, state, {.names = kCauseStates}, "state");
}

/// The findings of both reports that say the same of the same backend and operator; waived ones too.
struct ComparedCause {
  QC_DESCRIBED(.name = "cause");
  QC_FIELD(CauseState, state, {CauseState::stayed}, "state");
  KnownCause known;
  QC_PART("backend", known.backend);
  QC_PART("operator", known.op_type);
  QC_PART("verdict", known.kind);
  QC_PART("signature", known.signature);
  QC_PART("text", known.text, .doc = "Verdict, cause, cases and conditions in one line.");
  QC_PART("first_seen", known.first_seen, .doc = "When the first report with it was made.");
  QC_PART("last_seen", known.last_seen, .doc = "When the last report with it was made.");
  QC_FIELD(std::vector<std::string>, findings, {}, "findings", .doc = "Their ids in the new report.");
  QC_FIELD(std::vector<std::string>, findings_before, {}, "findings_before", .doc = "Their ids in the baseline.");
  QC_FIELD(std::uint64_t, cases, {}, "cases", .doc = "Failing cases in the new report.");
  QC_FIELD(std::uint64_t, cases_before, {}, "cases_before", .doc = "Failing cases in the baseline.");
};

/// One of the two reports.
struct ReportSide {
  QC_DESCRIBED(.name = "report");
  QC_FIELD(std::string, file, {}, "file");
  Report report;
  QC_PART("version", report.environment.version, .doc = "Of qconform.");
  QC_PART("commit", report.environment.commit, .doc = "Of qconform.");
  QC_PART("judged_commit", report.environment.judged_commit, .doc = "Of the code under test.",
          .presence = Presence::omitted);
  QC_PART("started", report.environment.started);
  QC_LINE(describe_derived(
      archive, "conforms", [&self] { return self.report.conforms(); }, "verdicts"));
};

struct GateResult {
  QC_DESCRIBED();
  static constexpr std::string_view kFormat = "qconform-gate";
  static constexpr std::uint64_t kVersion = 1;

  QC_LINE(describe_format(archive, GateResult::kFormat, GateResult::kVersion));
  QC_LINE(describe_derived(archive, "passes", [&self] { return self.passes(); }, "changes",
                           {.doc = "No change is worse."}));
  QC_FIELD(ReportSide, baseline, {}, "baseline");
  QC_FIELD(ReportSide, current, {}, "current");
  QC_FIELD(bool, same_cases, {}, "same_cases",
           .doc = "Both are of the same suites with the same digests: counts are compared as they are.");
  QC_FIELD(std::vector<Change>, changes, {}, "changes", .doc = "The worst first.");
  QC_FIELD(
      std::vector<ComparedCause>, causes, {}, "causes",
      .doc = "Every cause of either report: the new ones first, then those that stayed, then those that are gone.");

  [[nodiscard]] std::size_t count(Effect effect) const {
    return static_cast<std::size_t>(
        std::count_if(changes.begin(), changes.end(), [&](const Change& c) { return c.effect == effect; }));
  }
  [[nodiscard]] bool passes() const { return count(Effect::worse) == 0; }
};

/// Everything that changed, by suite, corner case, backend, operator and finding. Whatever was tested less than in
/// the baseline is worse, as is a finding that it does not have. `waivers`: those that may excuse findings, or
/// null: then those count that the run was made with. Reports under different profiles or overflow policies
/// are refused: what is right differs.
[[nodiscard]] Result<GateResult> compare(ReportSide baseline, ReportSide current, const Waivers* waivers);

/// For the terminal: the verdict, then a line for each change, the worst first.
[[nodiscard]] std::string to_text(const GateResult& comparison, const report::Painter& paint);

// News of a campaign: it and those before it drew other cases, so that a cause which it did not meet may be rare.

/// A campaign and the report before it; a first campaign, under "", is held against nothing.
[[nodiscard]] Result<GateResult> compare_campaign(std::optional<ReportSide> before, ReportSide current);
/// For the terminal: how many causes are new, were met again, or were not met, then a line for each new one. Waived
/// ones are left out.
[[nodiscard]] std::string news_text(const GateResult& comparison, const report::Painter& paint);
/// In one line, without waived causes: "does not conform: onnxruntime@all; 1 new cause, 17 met again, 3 not met".
[[nodiscard]] std::string subject_of(const GateResult& comparison);
/// The campaign as a mail without addresses: a line "Subject: ", an empty line, conclusions, new causes with what is
/// known of them, the others in a line each.
[[nodiscard]] std::string to_mail(const GateResult& comparison);

/// Its schema is gate-1.schema.json.
[[nodiscard]] std::string to_json(const GateResult& comparison);
/// The verdict and the changes, and the findings behind what is worse; at most `limit` bytes. `link`: the address of
/// the report; may be empty.
[[nodiscard]] std::string to_markdown(const GateResult& comparison, std::size_t limit, const std::string& link = {});
/// The findings of the new report, each with its state since the baseline (report::to_sarif).
[[nodiscard]] std::string to_sarif(const GateResult& comparison, const std::string& source);
/// A workflow command of GitHub for each change for the worse, which shows it at the source: "::error file=...".
[[nodiscard]] std::string to_annotations(const GateResult& comparison, const std::string& source);
/// A test for each change, named by what it is about: failed where it is worse, skipped where it is waived. A gate
/// without changes has the one test "unchanged".
[[nodiscard]] std::string to_junit(const GateResult& comparison);

// Whether a backend became slower, beyond what its measurements vary by.

/// One backend on one layer.
struct LayerTime {
  std::string backend;
  std::string verdict;
  std::string setting;         ///< the layout and threads that it was given: "nhwc, 4 threads"
  bool is_right = false;       ///< timed, with every value right
  std::vector<double> rounds;  ///< seconds, in the same order for every backend of the layer
};

struct SpeedLayer {
  std::string name;  ///< with its set: "resnet50/conv1"
  std::vector<LayerTime> times;

  [[nodiscard]] const LayerTime* of(const std::string& backend) const;
};

struct SpeedBackend {
  std::string name;
  std::string version;
};

struct Speeds {
  std::string cpu;                     ///< speeds of different ones are not compared
  std::string setting;                 ///< layout and threads that were asked for
  std::vector<SpeedBackend> backends;  ///< the first is the one that the gate is about
  std::vector<SpeedLayer> layers;
};

/// Errors name the JSON path.
[[nodiscard]] Result<Speeds> read_speeds(std::string_view text);
[[nodiscard]] Result<Speeds> load_speeds(const std::filesystem::path& file);

/// Rounds that a layer needs on each side: of fewer, resampling says nothing.
inline constexpr std::size_t kLeastRounds = 5;
/// A change counts when all but this share of the bootstrap's resamples lie beyond the threshold. With hundreds of
/// layers, 1 in 20 would be met by chance every time.
inline constexpr double kOutside = 0.001;

/// Compares the first backend of both: on each layer, its speed relative to every other backend that both
/// measured at the same version, so that what slows the machine down slows both. It became slower on a layer where
/// relative to each of them the speed fell by more than `slower` (0.05 stands for 5 %), and so did all but kOutside
/// of the resamples; so for the mean over all layers. A layer that is not measured any more, or not computed
/// rightly, is worse too. Other CPUs, other settings and nothing to compare with are errors.
[[nodiscard]] Result<std::vector<Change>> compare_speed(const Speeds& before, const Speeds& now, double slower);

// Whether a share of cases became larger, beyond what chance makes of other cases. Internal to the gate.

enum class Trend : std::uint8_t { lower, same, higher };

struct Share {
  std::uint64_t part = 0;
  std::uint64_t whole = 0;  ///< no less than `part`; 0 where there is no whole to speak of
};

/// How improbable a difference has to be to count, where the cases are others than in the baseline.
inline constexpr double kChance = 0.001;

/// Compares two shares. On the same cases, or without a whole, compares the parts as they are. On other cases, uses
/// Fisher's exact test, one-sided: higher or lower only where alike shares would give this with a probability below
/// kChance.
[[nodiscard]] Trend trend(const Share& before, const Share& now, bool same_cases);

/// The probability that of `before.part + now.part` marked cases among all, at least `now.part` fall on the
/// `now.whole` ones by chance.
[[nodiscard]] double chance_of_at_least(const Share& before, const Share& now);

// The parts of a comparison, one function for each concern. Internal to the gate.

/// Compares two reports and notes their differences.
class ReportParts {
 public:
  ReportParts(const Report& before, const Report& now, const Waivers* waivers);

  /// Compares suites, the cases that they gave, and what they cover.
  void compare_suites();
  /// Compares the corner cases that were reached, by operator.
  void compare_corner_cases();
  /// Compares what backends did, by operator and relation.
  void compare_backends();
  void compare_findings();

  [[nodiscard]] std::vector<Change> take() { return std::move(changes_); }
  /// The causes of either report, the new ones first.
  [[nodiscard]] std::vector<ComparedCause> causes() const;
  /// Both reports are of the same suites with the same digests.
  [[nodiscard]] bool same_cases() const { return same_cases_; }

 private:
  void compare_backend(const BackendResult& before, const BackendResult& now);
  void compare_operator(const BackendResult& backend, const std::string& op_type, const OperatorResult& before,
                        const OperatorResult& now);
  void compare_tiers(const BackendResult& backend, const std::string& op_type, const TierCounts& before,
                     const TierCounts& now);
  void compare_relations(const BackendResult& before, const BackendResult& now);

  /// Effect of fewer cases of an operator, or of a corner case: a mere note with another seed, which draws them
  /// otherwise.
  [[nodiscard]] Effect less() const { return before_.seed == now_.seed ? Effect::worse : Effect::note; }

  struct Group;
  void compare_group(const Group& before, const Group& now);
  void add_new(const Finding& finding);
  void add_gone(const Group& before);
  void compare_wrong_elements();
  /// Notes what a waiver says of the finding; false where none speaks of it.
  bool is_waived(const Finding& finding);

  void add(Change change) { changes_.push_back(std::move(change)); }
  /// Adds a change of a backend; one for the worse becomes a mere note where the backend does not decide.
  void add(const BackendResult& backend, Change change);
  /// Makes a change of a finding, with backend, operator, signature, region and id filled in.
  [[nodiscard]] Change about(const Finding& finding, Effect effect, std::string what, std::string text) const;

  const Report& before_;
  const Report& now_;
  const Waivers* waivers_;
  bool same_cases_;
  std::vector<Change> changes_;
};

[[nodiscard]] const BackendResult* backend_named(const Report& report, const std::string& name);

}  // namespace qconform::gate
