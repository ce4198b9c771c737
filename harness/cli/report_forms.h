// The forms of its report that a command writes besides report.json: one place for the options of `run`, `fuzz` and
// `report merge`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "harness/core/error.h"
#include "harness/core/report.h"

namespace qconform::cli {

struct ReportForms {
  bool json = false;     ///< print the report as JSON instead of the summary
  bool verbose = false;  ///< print more of it
  bool brief = false;    ///< print a row for each backend and a line for each finding
  std::string junit;     ///< files; empty: not written
  std::string markdown;  ///< as for a comment on a pull request
  std::string html;
};

void add_form_options(CLI::App& command, ReportForms& forms);

/// Before anything runs: whether this build has the forms that are asked for.
[[nodiscard]] Result<void> check_forms(const ReportForms& forms);

/// Writes the files that are asked for; `report_json` is the report as JSON.
[[nodiscard]] Result<void> write_forms(const ReportForms& forms, const Report& report, const std::string& report_json);

}  // namespace qconform::cli
