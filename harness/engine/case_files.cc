#include "harness/engine/case_files.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstdint>
#include <map>
#include <system_error>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/forms/defects/defect_files.h"
#include "harness/forms/json/case_json.h"
#include "harness/forms/json/json_text.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/onnx/case_model.h"
#include "harness/suites/case_line.h"

namespace qconform {

namespace {

bool is_determined(const Lowered& output, const Policy& policy) {
  const std::int64_t elements = elements_of(output.output_shape());
  for (std::int64_t i = 0; i < elements; ++i) {
    if (!output.is_determined(i, policy)) return false;
  }
  return true;
}

bool is_determined(const Expected& expected) {
  for (std::size_t i = 0; i < expected.test_case->output_count(); ++i) {
    if (!is_determined(expected.classification.lowered->output(i), expected.policy)) return false;
  }
  return true;
}

// The only right values, or those of the exact arithmetic, of each output.
std::vector<Tensor> answers_of(const Expected& expected, AnswerGiven answer) {
  if (!expected.output) return {};
  if (answer == AnswerGiven::if_determined && !is_determined(expected)) return {};
  std::vector<Tensor> answers = expected.answers();
  if (answer == AnswerGiven::if_determined && expected.pinned) answers[0] = *expected.pinned;
  return answers;
}

OutputTypes types_of(const Expected& expected) {
  OutputTypes types;
  const auto& lowered = expected.classification.lowered;
  for (std::size_t i = 0; lowered && i < expected.test_case->output_count(); ++i) {
    const Lowered& output = lowered->output(i);
    types.push_back({output.output_type(), output.output_shape()});
  }
  return types;
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

std::filesystem::path path_before(const std::filesystem::path& path, std::size_t number) {
  const std::string name = fmt::format("{}.before-{}{}", path.stem().string(), number + 1, path.extension().string());
  return path.parent_path() / name;
}

Result<void> write_case(const Case& test_case, CaseForm form, const std::filesystem::path& path, AnswerGiven answer,
                        const Policy& policy) {
  if (form == CaseForm::json) return save_cases(path, {&test_case, 1});
  for (std::size_t i = 0; i < test_case.before.size(); ++i)
    QCONFORM_TRY(write_case(test_case.before[i], form, path_before(path, i), answer, policy));
  const Expected expected = expect(test_case, policy);
  const OutputTypes types = types_of(expected);
  if (form == CaseForm::onnx) return write_case_model(test_case, path, types);
  return write_case_folder(test_case, path, answers_of(expected, answer), types);
}

namespace {

namespace fs = std::filesystem;

std::string replay_note(const Finding& finding) {
  std::string first;
  for (std::size_t i = 0; i < finding.example.before.size(); ++i) {
    first += fmt::format("run before it in the same process: {}\n", path_before(finding.test_folder, i).string());
  }
  return fmt::format("{} on {}: {}\n{}\n{}{}\n", name_of(finding.kind), finding.backend, finding.verdict.detail,
                     summary_of(finding.example), first, finding.replay);
}

// Returns the name that opens the finding's backend again.
const std::string& opened_by(const Report& report, const Finding& finding) {
  const auto found = std::find_if(report.backends.begin(), report.backends.end(),
                                  [&](const BackendResult& backend) { return backend.info.name == finding.backend; });
  return found == report.backends.end() ? finding.backend : found->info.on_command_line();
}

// Another file than the model computed what was wrong: a case alone does not show it again, the whole command does.
bool ran_another_file(const Report& report) {
  return report.model && !report.model->run_file.empty();
}

std::string command_of(const Report& report) {
  std::string line = "qconform";
  for (const std::string& argument : report.command) line += " " + copied_word(argument);
  return line;
}

Result<void> write_finding(const fs::path& folder, const Policy& policy, const Report& report, Finding& finding) {
  const std::string& backend = opened_by(report, finding);
  finding.case_file = finding.id + ".json";
  finding.model_file = finding.id + ".onnx";
  finding.test_folder = finding.id;
  finding.line = line_of(finding.example).value_or("");
  finding.replay =
      ran_another_file(report) ? command_of(report) : replay_line(folder / finding.case_file, backend, policy);
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
  if (finding.diagnosis && finding.diagnosis->experiment) {
    SeparatingCase& experiment = *finding.diagnosis->experiment;
    experiment.file = finding.id + ".experiment.json";
    QCONFORM_TRY(write(experiment.test_case, experiment.file));
    experiment.replay = experiment_line(folder / experiment.file, backend, policy, experiment);
  }
  return write_file(folder / finding.test_folder / "replay.txt", replay_note(finding));
}

// One file with the examples of all findings. That of an earlier report goes where there are none.
Result<void> write_regressions(const fs::path& file, const Report& report) {
  std::vector<Case> cases;
  std::map<std::string, std::uint64_t> digests;  // by id
  for (const Finding& finding : report.findings) {
    // A contradiction between several cases is none of one case.
    if (finding.waiver || finding.kind == VerdictKind::inconsistent) continue;
    const std::uint64_t digest = digest_of(finding.example);
    const auto [known, is_new] = digests.emplace(finding.example.id, digest);
    if (!is_new && known->second == digest) continue;
    cases.push_back(finding.example);
    if (!is_new) cases.back().id += "." + finding.id;
  }
  if (!cases.empty()) return save_cases(file, cases);
  std::error_code ignored;
  fs::remove(file, ignored);
  return {};
}

}  // namespace

std::string replay_line(const fs::path& case_file, const std::string& backend, const Policy& policy) {
  const Policy usual;
  std::string defects;
  if (backend.starts_with("defect:")) {
    for (const std::string& file : diagnose::defect_files()) defects += " --defects " + shell_word(file);
  }
  return fmt::format("qconform replay {} --backend {}{}{}{}", copied_word(case_file.string()), copied_word(backend),
                     defects,
                     policy.pinned                     ? " --profile " + shell_word(policy.pinned->file)
                     : policy.profile == usual.profile ? ""
                                                       : fmt::format(" --profile {}", name_of(policy.profile)),
                     policy.overflow == usual.overflow ? "" : " --overflow permissive");
}

std::string experiment_line(const fs::path& case_file, const std::string& backend, const Policy& policy,
                            const SeparatingCase& experiment) {
  std::string line = replay_line(case_file, backend, policy);
  const std::size_t index = experiment.element.find('[');
  const std::string element = index == std::string::npos ? "" : experiment.element.substr(index + 1);
  if (element.size() > 1) line += " --element " + element.substr(0, element.size() - 1);
  for (const std::string& name : {experiment.name, experiment.second}) {
    const bool is_expression = name.find(' ') != std::string::npos;
    const std::string on = experiment.arithmetic.empty() ? "" : "@" + experiment.arithmetic;
    if (!name.empty() && !is_expression && backend != "defect:" + name + on)
      line += " --backend " + copied_word("defect:" + name + on);
  }
  return line;
}

Result<void> write_findings(const fs::path& folder, const Policy& policy, Report& report) {
  for (Finding& finding : report.findings) {
    QCONFORM_TRY(write_finding(folder, policy, report, finding));
  }
  return write_regressions(folder / kRegressionsFile, report);
}

namespace {

Json set_object(const RightValues& right) {
  Json object = Json::object();
  if (right.any_value) object["any_value"] = true;
  Json ranges = Json::array();
  for (const auto& [low, high] : right.ranges) {
    ranges.push_back(Json::array({element_json(right.type, low), element_json(right.type, high)}));
  }
  if (!right.any_value) object["ranges"] = std::move(ranges);
  if (right.any_nan) object["any_nan"] = true;
  if (right.either_zero) object["either_zero"] = true;
  return object;
}

// Many elements have one set: each is written once.
Json output_object(const Expected& expected, const Lowered& output, const std::string& name) {
  Json sets = Json::array();
  Json elements = Json::array();
  std::map<std::string, std::size_t> known;
  const std::int64_t count = elements_of(output.output_shape());
  for (std::int64_t i = 0; i < count; ++i) {
    const RightValues right = expected.classification.value_is_open
                                  ? RightValues{.type = output.output_type(), .any_value = true}
                                  : output.right_values(i, expected.policy);
    Json set = set_object(right);
    const auto [entry, is_new] = known.emplace(set.dump(), known.size());
    if (is_new) sets.push_back(std::move(set));
    elements.push_back(entry->second);
  }
  return {{"name", name},
          {"type", name_of(output.output_type())},
          {"shape", output.output_shape()},
          {"sets", std::move(sets)},
          {"elements", std::move(elements)}};
}

}  // namespace

std::string admissible_text(const Case& test_case, const Policy& policy) {
  const Expected expected = expect(test_case, policy);
  Json object{{"format", "qconform-admissible"},
              {"version", 1},
              {"expectation", name_of(expected.classification.expectation())}};
  if (const reference::Remark* remark = expected.classification.deciding_remark()) {
    object["remark"] = Json{{"field", remark->field}, {"rule", remark->rule}, {"text", remark->text()}};
  }
  Json outputs = Json::array();
  if (const auto& lowered = expected.classification.lowered) {
    const std::vector<std::string> names = output_names(test_case);
    for (std::size_t i = 0; i < names.size(); ++i) {
      outputs.push_back(output_object(expected, lowered->output(i), names[i]));
    }
  }
  object["outputs"] = std::move(outputs);
  return print_json(object);
}

Result<void> write_admissible(const Case& test_case, const std::filesystem::path& folder, const Policy& policy) {
  return write_file(folder / "test_data_set_0" / "admissible.json", admissible_text(test_case, policy));
}

}  // namespace qconform
