// Lengths of time on the command line.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "harness/core/error.h"

namespace qconform::cli {

/// "90s", "10m", "8h" or "500ms": a whole or decimal number above 0 and a unit. `field` is the option that the
/// error names.
[[nodiscard]] Result<std::chrono::duration<double>> parse_duration(const std::string& field, std::string_view text);

}  // namespace qconform::cli
