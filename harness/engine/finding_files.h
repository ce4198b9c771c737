// Writes each finding as files beside the report, to reproduce it here and elsewhere.
#pragma once

#include <filesystem>

#include "harness/core/error.h"
#include "harness/core/profile.h"
#include "harness/core/report.h"

namespace qconform {

/// The command line that replays a case file on a backend under the policy.
[[nodiscard]] std::string replay_line(const std::filesystem::path& case_file, const std::string& backend,
                                      const Policy& policy);

/// Writes for each finding, F1 say: F1.json, its case; F1.onnx, the case as a one-node model; F1/, the
/// case as a backend-test folder, with replay.txt; and F1.original.json where the case was shrunk.
/// Notes the files and the replay line in the report. `folder` exists.
[[nodiscard]] Result<void> write_findings(const std::filesystem::path& folder, const Policy& policy, Report& report);

}  // namespace qconform
