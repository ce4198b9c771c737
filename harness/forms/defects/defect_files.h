// Defect models from files: those that a user states (docs/defect-models.md), and those that were learnt.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/fields.h"
#include "harness/core/profile.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/expression.h"

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

// An expression in place of what the reference does, as a model like those of known defects.

/// The model of an operator with this expression in its slot: "w_scale.index = 0". There is one for each text, and it
/// lives as long as the program.
[[nodiscard]] const Defect& model_of(std::string_view op_type, const Expression& expression);

/// Reads what model_text() wrote. Errors name the file, and the field, value and rule that are wrong.
[[nodiscard]] Result<const Defect*> load_model(const std::string& path);
/// The model as a file of JSON; `defect` has an expression. `note` says what it was learnt from; it may be empty.
[[nodiscard]] std::string model_text(const Defect& defect, std::string_view note);

/// Whether a model's name is that of a file: it ends in .json, or has a /.
[[nodiscard]] bool names_a_file(std::string_view id);

/// "ID" or "ID+ID...", where a learnt model's file may stand for an ID. Errors name the unknown id with the nearest
/// ones, what is wrong in a file, or the stage that two defects replace. `field` is what messages call the argument.
[[nodiscard]] Result<DefectModel> model_named(std::string_view ids, reference::RoundingProfile profile,
                                              const std::string& field);

// A learnt model as a file: what `qconform explain --save-model FILE` writes and `defect:FILE` reads.

struct ModelFile {
  QC_DESCRIBED();
  QC_LINE(describe_format(archive, "qconform-model", 1));
  QC_FIELD(std::string, op_type, {}, "operator", .names = operator_names());
  QC_FIELD(std::string, stage, {}, "stage",
           .doc = "What the expression stands for; the error for an unknown one lists them all.");
  QC_FIELD(std::string, expression, {}, "expression", .doc = "What is computed there, in place of what is right.");
  QC_FIELD(std::string, note, {}, "note", .doc = "What it was learnt from; may be empty.",
           .presence = Presence::omitted);

  bool operator==(const ModelFile&) const = default;
};

}  // namespace qconform::diagnose
