// A change between two reports: for the worse, for the better, or neither.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/forms/archive/archive.h"
#include "harness/report/report.h"

namespace qconform::gate {

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
  stayed,      ///< in both
  gone,        ///< only in the baseline
  not_tested,  ///< only in the baseline, but the new run did not test the backend on the operator
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
  QC_FIELD(std::string, backend, {}, "backend");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(VerdictKind, kind, {VerdictKind::wrong}, "verdict");
  QC_FIELD(std::string, signature, {}, "signature");
  QC_FIELD(std::string, text, {}, "text", .doc = "Verdict, cause, cases and conditions in one line.");
  QC_FIELD(std::vector<std::string>, findings, {}, "findings", .doc = "Their ids in the new report.");
  QC_FIELD(std::vector<std::string>, findings_before, {}, "findings_before", .doc = "Their ids in the baseline.");
  QC_FIELD(std::uint64_t, cases, {}, "cases", .doc = "Failing cases in the new report.");
  QC_FIELD(std::uint64_t, cases_before, {}, "cases_before", .doc = "Failing cases in the baseline.");
};

/// One of the two reports.
struct Side {
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
  QC_FIELD(Side, baseline, {}, "baseline");
  QC_FIELD(Side, current, {}, "current");
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

}  // namespace qconform::gate
