// An expression in place of what the reference does, as a model like those of known defects.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/fields.h"
#include "harness/core/profile.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/expression.h"

namespace qconform::diagnose {

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
[[nodiscard]] Result<Model> model_named(std::string_view ids, reference::RoundingProfile profile,
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
