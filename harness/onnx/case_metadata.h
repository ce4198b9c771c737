// The facts that a Case states about itself beside its node, kept in a model's metadata_props under keys "qconform.*"
// (docs/formats.md).
#pragma once

#include <cstdint>

#include "harness/base/error.h"
#include "harness/core/case.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace qconform {

/// The origin of the output that a model or folder holds.
enum class OutputOrigin : std::uint8_t {
  unstated,  ///< the model has no metadata of ours: another producer recorded it
  none,      ///< no output is held
  recorded,  ///< the case's recorded output
  computed,  ///< computed by qconform when the file was written; not part of the case
};

void write_metadata(const Case& test_case, OutputOrigin origin, onnx::ModelProto& model);

/// Fills id, expectation, rules, tags, note, provenance and the verdict on the defect. A model of another producer
/// leaves the case as it is.
[[nodiscard]] Result<OutputOrigin> read_metadata(const onnx::ModelProto& model, Case& test_case);

}  // namespace qconform
