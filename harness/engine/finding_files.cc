#include "harness/engine/finding_files.h"

#include <fmt/format.h>

#include "harness/base/file.h"
#include "harness/base/shell_text.h"
#include "harness/engine/case_files.h"
#include "harness/json/case_json.h"
#include "harness/operators/case_text.h"

namespace qconform {
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
