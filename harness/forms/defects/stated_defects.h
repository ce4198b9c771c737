// Defects that a user states in a file, as models beside those that come with qconform (docs/defect-models.md).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/fields.h"
#include "harness/core/profile.h"

namespace qconform::diagnose {

/// Adds the defects of a file to defects(): all of them, or none where one is wrong. Errors name the file, and the
/// field, value and rule that are wrong. No other thread may use defects() meanwhile.
[[nodiscard]] Result<void> add_defects_of(const std::string& path);

/// The files whose defects were added, in that order.
[[nodiscard]] std::span<const std::string> defect_files();

// The file, as a user writes it and `--defects` reads it.

struct StatedDefect {
  static const FieldRule& operator_rule();
  static const FieldRule& rule_rule();

  QC_DESCRIBED("defect", "A way in which kernels have been wrong.");
  QC_FIELD(std::string, id, {}, "id", .doc = "The backend `defect:ID`, and the name in findings.",
           .pattern = "^[a-z0-9]+(-[a-z0-9]+)*$",
           .pattern_says = "lower-case letters and digits, in words joined by -");
  QC_FIELD(std::string, description, {}, "description", .doc = "What it computes, in one line.", .min_length = 1);
  QC_FIELD(std::vector<std::string>, op_types, {}, "operators", .doc = "Where it shows; all of them have the stage.",
           .min_items = 1, .items = &operator_rule());
  QC_FIELD(std::string, stage, {}, "stage",
           .doc = "What the expression stands for; the error for an unknown one lists them all.");
  QC_FIELD(std::string, expression, {}, "expression", .doc = "What is computed there, in place of what is right.");
  QC_FIELD(std::string, when, {}, "when",
           .doc =
               "A condition with the names of the stage: where it does not hold, the stage computes what is right. "
               "Without one it always holds.",
           .presence = Presence::omitted);
  QC_FIELD(std::string, trigger, {}, "trigger", .doc = "What a case needs for it to show, for people.",
           .min_length = 1);
  QC_FIELD(std::vector<std::string>, rules, {}, "rules", .doc = "The rules that it breaks (docs/numerics.md).",
           .min_items = 1, .items = &rule_rule());
  QC_FIELD(std::string, evidence, {}, "evidence", .doc = "Where it was seen: a text or a link; may be empty.",
           .presence = Presence::omitted);
};

struct DefectsFile {
  QC_DESCRIBED();
  QC_LINE(describe_format(archive, "qconform-defects", 1));
  QC_FIELD(std::vector<StatedDefect>, defects, {}, "defects", .min_items = 1, .max_items = 1000);
};

}  // namespace qconform::diagnose
