// What the gate found, for people and programs.
#pragma once

#include <string>

#include "reports/gate/change.h"

namespace qconform::gate {

/// For the terminal: the verdict, then a line for each change, the worst first.
[[nodiscard]] std::string to_text(const Comparison& comparison);
/// Its schema is gate-1.schema.json.
[[nodiscard]] std::string to_json(const Comparison& comparison);
/// The verdict and the changes, and the findings behind what is worse; at most `limit` bytes.
[[nodiscard]] std::string to_markdown(const Comparison& comparison, std::size_t limit);
/// A test for each change, named by what it is about: failed where it is worse, skipped where it is waived. A gate
/// without changes has the one test "unchanged".
[[nodiscard]] std::string to_junit(const Comparison& comparison);

}  // namespace qconform::gate
