// Shows on the terminal what cases execute of an instrumented plugin.
#pragma once

#include <string>

#include "harness/engine/cover.h"

namespace qconform::report {

/// In 80 columns: how much each suite and what was drawn executed, the functions and lines that nothing executes, and
/// how many cases are kept.
[[nodiscard]] std::string cover_table(const CoverResult& result);

}  // namespace qconform::report
