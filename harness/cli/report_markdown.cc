#include <memory>

#include "harness/cli/report_command.h"
#include "reports/render/markdown.h"

namespace qconform::cli {
namespace {

struct MarkdownOptions : ReportFileOptions {
  std::size_t limit = report::kCommentBytes;
};

Result<int> run_markdown(const MarkdownOptions& options) {
  QCONFORM_ASSIGN(const auto report, chosen_report(options));
  return put_text(options.out, report::to_markdown(report, options.limit));
}

}  // namespace

void add_report_markdown(CLI::App& app, Action& action) {
  auto options = std::make_shared<MarkdownOptions>();
  CLI::App* command = app.add_subcommand("markdown", "Markdown, for a comment on a pull request or a job's summary");
  command->footer("example: qconform report markdown build/reports/run/report.json --limit 1048576 -o summary.md");
  add_report_file_options(*command, *options);
  command
      ->add_option(
          "--limit", options->limit,
          "Most bytes to write; the file counts what does not fit. GitHub cuts comments at 65536 characters and "
          "summaries of jobs at 1048576 bytes")
      ->check(CLI::Range(report::kLeastMarkdownBytes, std::size_t{1} << 30))
      ->capture_default_str();
  when_chosen(*command, action, std::move(options), &run_markdown);
}

}  // namespace qconform::cli
