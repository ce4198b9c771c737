#include <fmt/format.h>

#include "harness/base/file.h"
#include "harness/cli/report_command.h"
#include "reports/read/read_report.h"

namespace qconform::cli {

void add_report_file_options(CLI::App& command, ReportFileOptions& options) {
  command.add_option("REPORT", options.report, "report.json of a run")->required();
  command.add_option("-o,--out", options.out, "File to write (default: stdout)");
}

Result<Report> chosen_report(const ReportFileOptions& options) {
  return report::load_report(options.report);
}

Result<int> put_text(const std::string& out, std::string_view text) {
  if (out.empty()) {
    fmt::print("{}", text);
    return kConforms;
  }
  QCONFORM_TRY(write_file(out, text));
  return kConforms;
}

}  // namespace qconform::cli
