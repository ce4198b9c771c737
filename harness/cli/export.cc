#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <memory>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/run/case_files.h"
#include "harness/source/select.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

struct ExportOptions {
  std::vector<std::string> suites;
  SuiteOptions suite;
  std::string format = "json";
  std::string out;
};

// A file name from a case's id; the number in front keeps ids apart that differ only in odd characters.
std::string file_stem(std::uint64_t number, const std::string& id) {
  std::string stem;
  for (const char c : id) stem += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ? c : '_';
  return fmt::format("{:06}-{}", number, stem.substr(0, 80));
}

std::string ending_of(CaseForm form) {
  switch (form) {
    case CaseForm::json: return ".json";
    case CaseForm::onnx: return ".onnx";
    case CaseForm::onnx_test: break;
  }
  return "";
}

Result<std::uint64_t> export_source(CaseSource& source, const ExportOptions& options, std::uint64_t number) {
  for (;;) {
    auto next = source.next();
    if (!next) return tl::unexpected(next.error());
    if (!*next) return number;
    const CaseForm form = *case_form_named(options.format);
    const auto path = std::filesystem::path(options.out) / (file_stem(number, (*next)->id) + ending_of(form));
    if (auto written = write_case(**next, form, path); !written) return tl::unexpected(written.error());
    ++number;
  }
}

Result<int> export_suites(const ExportOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) return fail("--out", fmt::format("cannot make the folder {}: {}", options.out, error.message()));
  std::uint64_t number = 0;
  for (const std::string& name : options.suites) {
    auto sources = open_suite(name, options.suite);
    if (!sources) return tl::unexpected(sources.error());
    for (const auto& source : *sources) {
      const auto done = export_source(*source, options, number);
      if (!done) return tl::unexpected(done.error());
      number = *done;
    }
  }
  fmt::print("{} cases in {}\n", report::with_thousands(number), options.out);
  return kConforms;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Write the cases of suites as files");
  command->footer("example: qconform export --suite random --cases 100 --format onnx-test -o /tmp/cases");
  command->add_option("--suite", options->suites, "Suite, may be repeated (see: qconform list suites)")->required();
  command->add_option("--cases", options->suite.cases,
                      "Number of cases of each generated suite (default: 10000 of random, 4000 of directed)");
  command->add_option("--seed", options->suite.seed, "Seed of everything random")->capture_default_str();
  command
      ->add_option("--format", options->format,
                   "json: case files; onnx: one-node models, inputs as initializers; "
                   "onnx-test: backend-test folders (model.onnx, test_data_set_0)")
      ->check(CLI::IsMember({"json", "onnx", "onnx-test"}))
      ->capture_default_str();
  command->add_option("-o,--out", options->out, "Folder to write to")->required();
  when_chosen(*command, action, std::move(options), &export_suites);
}

}  // namespace qconform::cli
