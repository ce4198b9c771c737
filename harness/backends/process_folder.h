// Commands that are run once for each case, on a backend-test folder.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/backends/sandbox/sandbox.h"
#include "harness/core/backend.h"

namespace qconform::backend {

/// What stands in a command for the folder's path.
inline constexpr std::string_view kFolderPlace = "{}";

/// Exit statuses that say something; 0 is an answer, all others are failures.
inline constexpr int kExitUnsupported = 77;  ///< as for tests that are skipped in GNU's Automake
inline constexpr int kExitRejected = 65;     ///< EX_DATAERR of sysexits.h

/// `name` is for BackendInfo.
[[nodiscard]] std::unique_ptr<Backend> open_folder_process(std::string_view command, const SandboxLimits& limits,
                                                           std::string name);

}  // namespace qconform::backend
