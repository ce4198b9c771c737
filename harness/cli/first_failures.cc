#include "harness/cli/first_failures.h"

#include <fmt/format.h>

#include <filesystem>

#include "harness/cli/report_output.h"
#include "harness/engine/case_files.h"
#include "reports/render/terminal.h"

namespace qconform::cli {

void FirstFailures::judged(std::size_t backend, const BackendInfo& info, const Case& test_case,
                           const Verdict& verdict) {
  if (!told_.insert(backend).second) return;
  line_.clear();
  say(stderr, "first failure of {}: {}, {}\n", report::shown(info.name), test_case.id,
      painted(verdict, painter(stderr)));
  const std::string element = verdict.worst ? "; " + report::element_text(*verdict.worst) : "";
  say(stderr, "  {}{}\n", report::shown(summary_of(test_case)), element);
  if (verdict.kind == VerdictKind::inconsistent) return;
  const auto file = std::filesystem::path(out_) / fmt::format("first-{}.json", backend + 1);
  // The report is written to the same folder later, and its error ends the command.
  if (!write_case(test_case, CaseForm::json, file)) return;
  say(stderr, "  {}\n", replay_line(file, info.on_command_line(), policy_));
}

}  // namespace qconform::cli
