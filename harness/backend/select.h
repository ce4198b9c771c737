// From a name on the command line to a backend.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/error.h"
#include "harness/core/profile.h"

namespace qconform::backend {

/// `NAME` or, for in-tree kernel sets, `NAME@ARITHMETIC` (correctly-rounded, ort-f32,
/// onnx-reference) to pin the requantization, which otherwise is `arithmetic`; or `defect:ID[+ID...]`, a
/// defect model; or a library of library.h, `NAME` or `NAME@VARIANT`. Unknown names, absent libraries and sets that
/// this CPU does not run are errors.
[[nodiscard]] Result<std::unique_ptr<Backend>> select(std::string_view name, RoundingProfile arithmetic);

/// All of them, or the first error.
[[nodiscard]] Result<std::vector<std::unique_ptr<Backend>>> select_all(const std::vector<std::string>& names,
                                                                       RoundingProfile arithmetic);

/// The names of the in-tree kernel sets that this CPU runs, the scalar reference first.
[[nodiscard]] std::vector<std::string> available_kernels();
/// Compiled in, but this CPU lacks the instructions.
[[nodiscard]] std::vector<std::string> unavailable_kernels();

}  // namespace qconform::backend
