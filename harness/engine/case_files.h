// Cases in the forms that other programs read, and findings as such files beside the report.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/report/report.h"

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
/// A model or folder has no place for the nodes before a case: each is written beside it, at path_before().
[[nodiscard]] Result<void> write_case(const Case& test_case, CaseForm form, const std::filesystem::path& path,
                                      AnswerGiven answer = AnswerGiven::always, const Policy& policy = {});

/// "F1.before-1.onnx" beside "F1.onnx": the model or folder of the node `number`, from 0 on, before a case.
[[nodiscard]] std::filesystem::path path_before(const std::filesystem::path& path, std::size_t number);

/// The command line that replays a case file on a backend under the policy.
[[nodiscard]] std::string replay_line(const std::filesystem::path& case_file, const std::string& backend,
                                      const Policy& policy);

/// The command line that repeats an experiment: replay_line() of its case, with the element, and with the models of
/// both names as further backends. A learnt model is left out, since it is no backend until it is saved.
[[nodiscard]] std::string experiment_line(const std::filesystem::path& case_file, const std::string& backend,
                                          const Policy& policy, const SeparatingCase& experiment);

/// Writes for each finding, F1 say: F1.json, its case; F1.onnx, the case as a one-node model; F1/, the
/// case as a backend-test folder, with replay.txt; F1.original.json where the case was shrunk; and
/// F1.experiment.json where a name has evidence.
/// Notes the files and the replay line in the report. Beside them kRegressionsFile has the cases of all findings that
/// no waiver covers: as a suite, each passes once its defect is mended. `folder` exists.
inline constexpr const char* kRegressionsFile = "regressions.json";
[[nodiscard]] Result<void> write_findings(const std::filesystem::path& folder, const Policy& policy, Report& report);

// The right values of a case as a JSON file beside its backend-test folder, for runners that compare with a set and not
// with a tolerance (docs/formats.md, "Right values beside a folder").

/// Returns the contents of an admissible.json.
[[nodiscard]] std::string admissible_text(const Case& test_case, const Policy& policy);

/// Writes test_data_set_0/admissible.json into a folder that write_case() has written.
[[nodiscard]] Result<void> write_admissible(const Case& test_case, const std::filesystem::path& folder,
                                            const Policy& policy = {});

}  // namespace qconform
