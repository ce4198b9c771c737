// One declaration for each adapter, and what all of them do alike. Only adapters include it.
#pragma once

#include <string>

#include "harness/backend/library.h"
#include "harness/core/case.h"

namespace qconform::libraries {

// Defined where the library was found when qconform was built.
[[nodiscard]] backend::Library onnxruntime();
[[nodiscard]] backend::Library onednn();

/// What a library's refusal of the case comes to: a valid case is not supported, any other is
/// rejected. `message` is the library's, or says what its interface cannot express.
[[nodiscard]] Preparation refused(const Case& test_case, std::string message);
[[nodiscard]] Outcome refusal(const Case& test_case, std::string message);

/// A library's message on one line, at most 200 bytes.
[[nodiscard]] std::string one_line(std::string message);

}  // namespace qconform::libraries
