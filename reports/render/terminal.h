// The report as a summary for the terminal.
#pragma once

#include <string>

#include "harness/core/report.h"

namespace qconform::report {

/// The first line of a run: version, seed, kernels, profile. Printed before anything random starts.
[[nodiscard]] std::string headline(const Report& report);

/// Results by backend and operator, findings with their replay lines. `colour` adds ANSI colours.
[[nodiscard]] std::string summary(const Report& report, bool colour);

/// "12,345"
[[nodiscard]] std::string with_thousands(std::uint64_t number);

}  // namespace qconform::report
