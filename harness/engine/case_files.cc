#include "harness/engine/case_files.h"

#include "harness/json/case_json.h"
#include "harness/judge/judge.h"
#include "harness/onnx/case_folder.h"
#include "harness/onnx/case_model.h"

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

}  // namespace qconform
