#include "harness/engine/case_files.h"

#include <fmt/format.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/json/case_json.h"
#include "harness/judge/judge.h"
#include "harness/onnx/case_folder.h"
#include "harness/onnx/case_model.h"
#include "harness/operators/text.h"

namespace qconform {
namespace {

bool is_determined(const Expected& expected) {
  const std::int64_t elements = expected.output->elements();
  for (std::int64_t i = 0; i < elements; ++i) {
    if (!expected.classification.lowered->is_determined(i, expected.policy)) return false;
  }
  return true;
}

// The only right values, or those of the exact arithmetic.
std::span<const Tensor> answer_of(const Expected& expected, AnswerGiven answer) {
  if (!expected.output) return {};
  if (answer == AnswerGiven::if_determined && !is_determined(expected)) return {};
  const bool is_pinned = answer == AnswerGiven::if_determined && expected.pinned;
  return {is_pinned ? &*expected.pinned : &*expected.output, 1};
}

}  // namespace

std::optional<CaseForm> case_form_named(std::string_view name) {
  if (name == "json") return CaseForm::json;
  if (name == "onnx") return CaseForm::onnx;
  if (name == "onnx-test") return CaseForm::onnx_test;
  return std::nullopt;
}

CaseForm case_form_of(const std::filesystem::path& path) {
  if (path.extension() == ".json") return CaseForm::json;
  return path.extension() == ".onnx" ? CaseForm::onnx : CaseForm::onnx_test;
}

Result<void> write_case(const Case& test_case, CaseForm form, const std::filesystem::path& path, AnswerGiven answer,
                        const Policy& policy) {
  if (form == CaseForm::json) return save_cases(path, {&test_case, 1});
  const Expected expected = expect(test_case, policy);
  OutputTypes types;
  if (const auto& lowered = expected.classification.lowered) {
    types = {{lowered->output_type(), lowered->output_shape()}};
  }
  if (form == CaseForm::onnx) return write_case_model(test_case, path, types);
  return write_case_folder(test_case, path, answer_of(expected, answer), types);
}

namespace {

namespace fs = std::filesystem;

std::string replay_note(const Finding& finding) {
  return fmt::format("{} on {}: {}\n{}\n{}\n", name_of(finding.kind), finding.backend, finding.verdict.detail,
                     summary_of(finding.example), finding.replay);
}

Result<void> write_finding(const fs::path& folder, const Policy& policy, Finding& finding) {
  finding.case_file = finding.id + ".json";
  finding.model_file = finding.id + ".onnx";
  finding.test_folder = finding.id;
  finding.replay = replay_line(folder / finding.case_file, finding.backend, policy);
  if (finding.kind == VerdictKind::thread_dependent) finding.replay += " --threads-check";
  if (finding.kind == VerdictKind::inconsistent) {
    finding.related_file = finding.id + "-related.json";
    QCONFORM_TRY(save_cases(folder / finding.related_file, finding.related));
    finding.replay += " --relation " + finding.verdict.rule;
  }
  const auto write = [&](const Case& test_case, const std::string& name) {
    const fs::path path = folder / name;
    return write_case(test_case, case_form_of(path), path, AnswerGiven::if_determined, policy);
  };
  for (const std::string& name : {finding.case_file, finding.model_file, finding.test_folder}) {
    QCONFORM_TRY(write(finding.example, name));
  }
  if (finding.shrinking && finding.shrinking->steps > 0) {
    finding.shrinking->original_file = finding.id + ".original.json";
    QCONFORM_TRY(write(finding.shrinking->original, finding.shrinking->original_file));
  }
  if (finding.representative) {
    finding.representative->file = finding.id + ".telling.json";
    QCONFORM_TRY(write(finding.representative->test_case, finding.representative->file));
  }
  return write_file(folder / finding.test_folder / "replay.txt", replay_note(finding));
}

}  // namespace

std::string replay_line(const fs::path& case_file, const std::string& backend, const Policy& policy) {
  const Policy usual;
  return fmt::format("qconform replay {} --backend {}{}{}", shell_word(case_file.string()), shell_word(backend),
                     policy.pinned                     ? " --profile " + shell_word(policy.pinned->file)
                     : policy.profile == usual.profile ? ""
                                                       : fmt::format(" --profile {}", name_of(policy.profile)),
                     policy.overflow == usual.overflow ? "" : " --overflow permissive");
}

Result<void> write_findings(const fs::path& folder, const Policy& policy, Report& report) {
  for (Finding& finding : report.findings) QCONFORM_TRY(write_finding(folder, policy, finding));
  return {};
}

}  // namespace qconform
