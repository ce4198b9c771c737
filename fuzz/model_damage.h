// ONNX models as no writer of ours makes them: other producers' forms, and damage that protobuf's
// wire format survives.
#pragma once

#include <string>
#include <string_view>

#include "harness/base/error.h"
#include "harness/model/draws/draws.h"

namespace qconform::fuzz {

/// The model with one to three things changed: values in typed fields, other or missing names, types,
/// dimensions, locations, versions, metadata. Fails where `bytes` are no model.
[[nodiscard]] Result<std::string> damaged_model(std::string_view bytes, Rng& rng);

}  // namespace qconform::fuzz
