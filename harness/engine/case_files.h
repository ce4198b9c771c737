// A case in the forms that other programs read.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "harness/core/case.h"
#include "harness/core/error.h"
#include "harness/core/profile.h"

namespace qconform {

enum class CaseForm : std::uint8_t {
  json,       ///< a file of one case
  onnx,       ///< a one-node model, inputs as initializers
  onnx_test,  ///< a backend-test folder: model.onnx and test_data_set_0
};

/// "json", "onnx", "onnx-test"
[[nodiscard]] std::optional<CaseForm> case_form_named(std::string_view name);

/// By the path's ending: .json, .onnx; anything else is a backend-test folder.
[[nodiscard]] CaseForm case_form_of(const std::filesystem::path& path);

/// When a backend-test folder gets the reference's answer as its output_0.pb; a recorded output
/// always stands there.
enum class AnswerGiven : std::uint8_t {
  always,         ///< one right answer among others, if there are others
  if_determined,  ///< only where every element has a single right value under the policy
};

/// Writes or overwrites `path`. Models state the type and shape of the output, where there is one.
[[nodiscard]] Result<void> write_case(const Case& test_case, CaseForm form, const std::filesystem::path& path,
                                      AnswerGiven answer = AnswerGiven::always, const Policy& policy = {});

}  // namespace qconform
