// A learnt model as a file: what `qconform explain --save-model FILE` writes and `defect:FILE` reads.
#pragma once

#include <string>

#include "harness/core/fields.h"
#include "harness/core/profile.h"

namespace qconform::diagnose {

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
