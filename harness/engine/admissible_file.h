// The right values of a case as a JSON file beside its backend-test folder, for runners that compare with a set and not
// with a tolerance (docs/formats.md, "Right values beside a folder").
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"

namespace qconform {

/// Returns the contents of an admissible.json.
[[nodiscard]] std::string admissible_text(const Case& test_case, const Policy& policy);

/// Writes test_data_set_0/admissible.json into a folder that write_case() has written.
[[nodiscard]] Result<void> write_admissible(const Case& test_case, const std::filesystem::path& folder,
                                            const Policy& policy = {});

}  // namespace qconform
