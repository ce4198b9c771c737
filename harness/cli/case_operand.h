// Reads the case that a command works on.
#pragma once

#include <string>

#include "harness/core/case.h"
#include "harness/core/error.h"

namespace qconform::cli {

/// Reads the one case of a file or folder (load_single_case), and says on stderr when its opset is newer than
/// qconform.
[[nodiscard]] Result<Case> load_operand(const std::string& file);

}  // namespace qconform::cli
