#include <fmt/format.h>

#include <memory>

#include "harness/cli/report_command.h"
#include "reports/render/matrix.h"
#include "reports/render/painter.h"

namespace qconform::cli {
namespace {

struct MatrixOptions : ReportFileOptions {
  bool json = false;
  bool markdown = false;
};

Result<int> run_matrix(const MatrixOptions& options) {
  QCONFORM_ASSIGN(const auto report, chosen_report(options));
  const report::Matrix matrix = report::matrix_of(report);
  if (options.json) return put_text(options.out, report::matrix_json(matrix));
  if (options.markdown) return put_text(options.out, report::matrix_markdown(matrix));
  return put_text(options.out,
                  report::matrix_table(matrix, report::Painter(options.out.empty() && has_colour(stdout))));
}

}  // namespace

void add_report_matrix(CLI::App& app, Action& action) {
  auto options = std::make_shared<MatrixOptions>();
  CLI::App* command = app.add_subcommand("matrix", "Which release or processor has which cause of failure, since when");
  command->footer(
      "example: qconform run --backend onnxruntime:1.14..1.30 && qconform report matrix build/reports/run/report.json\n"
      "Rows are causes, columns the backends of one library in the order of the run: numbers of failing cases, . for "
      "right, - for none computed.");
  add_report_file_options(*command, *options);
  auto* json = command->add_flag("--json", options->json, "As JSON (schema: matrix-1)");
  command->add_flag("--markdown", options->markdown, "As tables in Markdown, with the lines that replay")
      ->excludes(json);
  when_chosen(*command, action, std::move(options), &run_matrix);
}

}  // namespace qconform::cli
