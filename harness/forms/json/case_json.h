// Cases as JSON: the form that people review. docs/formats.md describes it, and
// corpus/schema/cases-1.schema.json states it for other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/limits.h"

namespace qconform {

/// Limits on reading beyond those on the text itself.
struct CaseJsonLimits {
  std::int64_t tensor_bytes = limits::kJsonTensorBytes;  ///< of all tensors in the text together
};

/// A file with these cases. Lossless for every case whose tensors hold as many bytes as their type
/// and shape ask for: read_cases_json gives back the same, bit for bit.
[[nodiscard]] std::string cases_json(std::span<const Case> cases);
[[nodiscard]] std::string case_json(const Case& test_case);

/// Reads strictly. An error's field is the JSON path: "cases[3].inputs[1].data[7]: 300 is not a
/// uint8". Hostile text costs no more than the limits allow, and no exception leaves.
[[nodiscard]] Result<std::vector<Case>> read_cases_json(std::string_view text, const CaseJsonLimits& allowed = {});

/// These read and write a file; an error's field begins with the path. Saving replaces the file in one step.
[[nodiscard]] Result<std::vector<Case>> load_cases(const std::filesystem::path& path);
[[nodiscard]] Result<void> save_cases(const std::filesystem::path& path, std::span<const Case> cases);

/// A file that holds exactly one case, for replaying it.
[[nodiscard]] Result<Case> load_case(const std::filesystem::path& path);

}  // namespace qconform
