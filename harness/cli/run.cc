#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "harness/base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/judge_suites.h"
#include "harness/cli/output.h"
#include "harness/cli/report_output.h"
#include "reports/render/matrix.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

struct RunOptions : SuitesOptions {
  ReportForms forms;
};

Result<int> run(const RunOptions& options) {
  QCONFORM_TRY(check_forms(options.forms));
  QCONFORM_TRY(use_defects(options.defects));
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  QCONFORM_ASSIGN(auto report, judge_suites(options, policy, options.forms.json));
  return deliver(options.out, policy, options.forms, report);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  options->out = "build/reports/run";
  CLI::App* command = app.add_subcommand("run", "Judge backends on suites of cases and write a report");
  command->footer(
      "example: qconform run --backend avx2 --suite random --cases 100000 --seed 7\n"
      "Exit code: 0 every backend conforms, waived findings aside, 1 one does not or a suite expects what the rules do "
      "not admit, 2 wrong use or a file that cannot be read.");
  command->add_option(
      "--backend", options->backends,
      "Backend to judge, may be repeated (default: every in-tree kernel set of this CPU, and every "
      "third-party library that is here; the exit code then depends on neither the libraries nor kernel sets "
      "that compute no case of the suites)");
  add_suites_options(*command, *options, "without --backend those that come with qconform, else none");
  add_form_options(*command, options->forms);
  when_chosen(*command, action, std::move(options), &run);
}

// Causes of failure by release and processor: of a report, or of a run of its own.

namespace {

struct MatrixForm {
  bool json = false;
  bool markdown = false;
};

void add_matrix_forms(CLI::App& command, MatrixForm& form) {
  auto* json = command.add_flag("--json", form.json, "As JSON (schema: matrix-1)");
  command.add_flag("--markdown", form.markdown, "As tables in Markdown, with the lines that replay")->excludes(json);
}

std::string text_of(const report::Matrix& matrix, const MatrixForm& form) {
  if (form.json) return report::matrix_json(matrix);
  if (form.markdown) return report::matrix_markdown(matrix);
  return report::matrix_table(matrix, report::Painter(false), 0);
}

void print_matrix(const report::Matrix& matrix, const MatrixForm& form) {
  if (form.json || form.markdown) return write_document_text(text_of(matrix, form));
  say("{}", report::matrix_table(matrix, painter(), width_of(stdout)));
}

constexpr const char* kLegend =
    "Rows are causes, columns the backends of one library in the order of the run: numbers of failing cases, . for "
    "right, - for cases declined, or failed for another cause.";

struct MatrixRunOptions : SuitesOptions {
  MatrixForm form;
};

Result<int> run_matrix(const MatrixRunOptions& options) {
  QCONFORM_TRY(use_defects(options.defects));
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  QCONFORM_ASSIGN(auto report, judge_suites(options, policy, true));
  QCONFORM_ASSIGN(const auto files, write_report(options.out, policy, report));
  const report::Matrix matrix = report::matrix_of(report);
  const std::filesystem::path json = std::filesystem::path(options.out) / "matrix.json";
  QCONFORM_TRY(write_file(json, report::matrix_json(matrix)));
  print_matrix(matrix, options.form);
  say(stderr, "report {}\nmatrix {}\n", files.json.string(), json.string());
  if (files.page) say(stderr, "page   {}\n", files.page->string());
  return report.conforms() ? kConforms : kDoesNotConform;
}

struct MatrixReportOptions : ReportFileOptions {
  MatrixForm form;
};

Result<int> show_matrix(const MatrixReportOptions& options) {
  QCONFORM_ASSIGN(const auto report, chosen_report(options));
  const report::Matrix matrix = report::matrix_of(report);
  if (!options.out.empty()) return put_text(options.out, text_of(matrix, options.form));
  print_matrix(matrix, options.form);
  return kConforms;
}

}  // namespace

void add_matrix(CLI::App& app, Action& action) {
  auto options = std::make_shared<MatrixRunOptions>();
  options->out = "build/reports/matrix";
  CLI::App* command =
      app.add_subcommand("matrix", "Judge releases or processors side by side: which has which cause, since when");
  command->footer(std::string("example: qconform matrix --backend onnxruntime:1.14..1.30 --backend onednn\n") +
                  kLegend +
                  "\nExit code: 0 every backend conforms, 1 one does not, 2 wrong use or a file that cannot be read.");
  command
      ->add_option("--backend", options->backends,
                   "Backend to judge, or a range of releases; may be repeated. A library's columns stand in the order "
                   "of the options: the oldest first")
      ->required();
  add_suites_options(*command, *options, "none");
  add_matrix_forms(*command, options->form);
  when_chosen(*command, action, std::move(options), &run_matrix);
}

void add_report_matrix(CLI::App& app, Action& action) {
  auto options = std::make_shared<MatrixReportOptions>();
  CLI::App* command = app.add_subcommand("matrix", "Which release or processor has which cause of failure, since when");
  command->footer(std::string("example: qconform run --backend onnxruntime:1.14..1.30 && qconform report matrix "
                              "build/reports/run/report.json\n") +
                  kLegend);
  add_report_file_options(*command, *options);
  add_matrix_forms(*command, options->form);
  when_chosen(*command, action, std::move(options), &show_matrix);
}

}  // namespace qconform::cli
