// Verdicts by their names, for readers of files.
#pragma once

#include <optional>
#include <string_view>

#include "harness/core/verdict.h"

namespace qconform {

/// The kind with that name ("not-rejected"), or nullopt.
[[nodiscard]] std::optional<VerdictKind> verdict_named(std::string_view name);

}  // namespace qconform
