#include <fmt/format.h>

#include <memory>

#include "harness/base/file.h"
#include "harness/cli/report_command.h"
#include "reports/render/html.h"

namespace qconform::cli {
namespace {

// A page that a browser opens; the JSON of a whole campaign is far smaller.
constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

struct HtmlOptions {
  std::string report;
  std::string bench;
  std::string out;
};

Result<int> run_html(const HtmlOptions& options) {
  QCONFORM_ASSIGN(const auto report, read_file(options.report, kMostBytes));
  QCONFORM_ASSIGN(const auto bench,
                  options.bench.empty() ? Result<std::string>() : read_file(options.bench, kMostBytes));
  const auto page = report::to_html(report, bench);
  if (!page) {
    const std::string& field = page.error().field;
    if (field == "viewer") return tl::unexpected(page.error());
    return fail(field == "bench" ? options.bench : options.report, page.error().message);
  }
  QCONFORM_TRY(write_file(options.out, *page));
  return kConforms;
}

}  // namespace

void add_report_html(CLI::App& app, Action& action) {
  auto options = std::make_shared<HtmlOptions>();
  CLI::App* command =
      app.add_subcommand("html", "One HTML file that works offline: findings, element maps, coverage, cases");
  command->footer(
      "example: qconform report html build/reports/run/report.json --bench build/reports/bench/bench.json -o "
      "report.html");
  command->add_option("REPORT", options->report, "report.json of a run or a campaign")->required();
  command->add_option("--bench", options->bench, "bench.json of `qconform bench`, for a comparison of speed");
  command->add_option("-o,--out", options->out, "File to write")->required();
  when_chosen(*command, action, std::move(options), &run_html);
}

}  // namespace qconform::cli
