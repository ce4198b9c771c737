// The gate: a new report held against the report of a baseline, and what it found, for people and programs.
#pragma once

#include <string>

#include "harness/base/error.h"
#include "harness/engine/waivers.h"
#include "reports/gate/change.h"
#include "reports/render/run_tables.h"

namespace qconform::gate {

/// Everything that changed, by suite, corner case, backend, operator and finding. Whatever was tested less than in
/// the baseline is worse, as is a finding that it does not have. `waivers`: those that may excuse findings, or
/// null: then those count that the run was made with. Reports under different profiles or overflow policies
/// are refused: what is right differs.
[[nodiscard]] Result<GateResult> compare(Side baseline, Side current, const Waivers* waivers);

/// For the terminal: the verdict, then a line for each change, the worst first.
[[nodiscard]] std::string to_text(const GateResult& comparison, const report::Painter& paint);
/// Its schema is gate-1.schema.json.
[[nodiscard]] std::string to_json(const GateResult& comparison);
/// The verdict and the changes, and the findings behind what is worse; at most `limit` bytes.
[[nodiscard]] std::string to_markdown(const GateResult& comparison, std::size_t limit);
/// A test for each change, named by what it is about: failed where it is worse, skipped where it is waived. A gate
/// without changes has the one test "unchanged".
[[nodiscard]] std::string to_junit(const GateResult& comparison);

}  // namespace qconform::gate
