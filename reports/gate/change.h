// What became worse, better or other between two reports.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/report.h"
#include "harness/describe/archive.h"

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
           .doc = "Of a finding; of other changes the suite, hazard, relation or layer.");
  QC_FIELD(std::string, region, {}, "region", .doc = "Conditions under which the finding occurs.");
  QC_FIELD(std::string, finding, {}, "finding", .doc = "Its id in the new report.", .pattern = "^(F[1-9][0-9]*)?$");
  QC_FIELD(std::string, text, {}, "text", .min_length = 1);  ///< one line
};

/// One of the two reports.
struct Side {
  QC_DESCRIBED(.name = "report");
  QC_FIELD(std::string, file, {}, "file");
  Report report;
  QC_PART("version", report.environment.version, .doc = "Of qconform.");
  QC_PART("commit", report.environment.commit);
  QC_PART("started", report.environment.started);
  QC_LINE(describe_derived(
      archive, "conforms", [&self] { return self.report.conforms(); }, "verdicts"));
};

struct Comparison {
  QC_DESCRIBED();
  QC_LINE(describe_format(archive, "qconform-gate", 1));
  QC_LINE(describe_derived(archive, "passes", [&self] { return self.passes(); }, "changes",
                           {.doc = "No change is worse."}));
  QC_FIELD(Side, baseline, {}, "baseline");
  QC_FIELD(Side, current, {}, "current");
  QC_FIELD(std::vector<Change>, changes, {}, "changes", .doc = "The worst first.");

  [[nodiscard]] std::size_t count(Effect effect) const {
    return static_cast<std::size_t>(
        std::count_if(changes.begin(), changes.end(), [&](const Change& c) { return c.effect == effect; }));
  }
  [[nodiscard]] bool passes() const { return count(Effect::worse) == 0; }
};

}  // namespace qconform::gate
