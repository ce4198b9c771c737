// Checks relations on the cases of suites with all backends, and reports.
#pragma once

#include <memory>
#include <vector>

#include "harness/engine/run_suites.h"

namespace qconform {

/// Checks every relation on every case of every source, on every backend: the answers of a backend
/// against each other, never against the reference's. Adds to the report's suites (named
/// "relations:SOURCE"), backends (in the order of `backends`; added where the report has none yet),
/// findings and times; a source's error ends the run.
[[nodiscard]] Result<void> run_relations(std::vector<std::unique_ptr<Suite>>& bases,
                                         std::vector<std::unique_ptr<Backend>>& backends,
                                         const SuiteRunOptions& options, Report& report);

}  // namespace qconform
