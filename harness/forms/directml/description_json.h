// Descriptions as JSON: members by DirectML's names, with the tensors' contents, so that they can be
// run. docs/operators/dml_quantized_linear_convolution.md has a complete example.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/limits.h"
#include "harness/forms/directml/description.h"

namespace qconform::directml {

/// Limits on reading beyond those on the text itself.
struct DescriptionJsonLimits {
  std::int64_t buffer_bytes = limits::kJsonTensorBytes;  ///< of all tensors in the text together
};

/// The contents of a file.
struct DescriptionFile {
  std::vector<Description> descriptions;
  std::vector<RefusedDescription> refused;
};

/// Reads one description, or {"format": "qconform-directml", "version": 1, "cases": [...]}. Strict:
/// what is returned keeps every rule of check() and is bound completely, so lower() takes it. An
/// error's field is the JSON path: "cases[3].FilterScaleTensor.Sizes".
///
/// A description with "expectation": "invalid" must break one of the rules that it names, first of
/// all; one that does not is an error of the file.
[[nodiscard]] Result<DescriptionFile> read_description_file_json(std::string_view text,
                                                                 const DescriptionJsonLimits& allowed = {});

/// Reads a text as read_description_file_json(), and returns only its valid descriptions.
[[nodiscard]] Result<std::vector<Description>> read_descriptions_json(std::string_view text,
                                                                      const DescriptionJsonLimits& allowed = {});

/// Reads the descriptions of a file; an error's field begins with the path.
[[nodiscard]] Result<std::vector<Description>> load_descriptions(const std::filesystem::path& path);

/// A file with these descriptions, which read_descriptions_json gives back bit for bit. They are
/// valid and bound.
[[nodiscard]] std::string descriptions_json(std::span<const Description> descriptions);

}  // namespace qconform::directml
