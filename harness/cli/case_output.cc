#include "harness/cli/case_output.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <system_error>

#include "harness/cli/output.h"
#include "harness/engine/admissible_file.h"
#include "harness/engine/case_files.h"
#include "reports/render/node_lines.h"

namespace qconform::cli {
namespace {

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

}  // namespace

void add_case_output_options(CLI::App& command, CaseOutput& options) {
  command
      .add_option("--format", options.format,
                  "json: case files; onnx: one-node models, inputs as initializers; "
                  "onnx-test: backend-test folders (model.onnx, test_data_set_0)")
      ->check(CLI::IsMember({"json", "onnx", "onnx-test"}))
      ->capture_default_str();
  command.add_flag("--admissible", options.admissible,
                   "With onnx-test: also test_data_set_0/admissible.json, the set of right values of every element");
  command.add_option("-o,--out", options.out, "Folder to write to")->required();
}

Result<void> prepare(const CaseOutput& options) {
  if (options.admissible && options.format != "onnx-test") {
    return fail("--admissible", fmt::format("needs --format onnx-test, got {}", options.format));
  }
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) return fail("--out", fmt::format("cannot make the folder {}: {}", options.out, error.message()));
  return {};
}

Result<std::uint64_t> write_cases(Suite& source, const CaseOutput& options, std::uint64_t number,
                                  std::string_view command) {
  ProgressLine line;
  for (std::uint64_t done = 0;; ++done) {
    line.update(fmt::format("{} {}", command, source.name()), done, source.size(), "cases");
    QCONFORM_ASSIGN(auto next, source.next());
    if (!next) return number;
    const CaseForm form = *case_form_named(options.format);
    const auto path = std::filesystem::path(options.out) / (file_stem(number, next->id) + ending_of(form));
    QCONFORM_TRY(write_case(*next, form, path));
    if (options.admissible) QCONFORM_TRY(write_admissible(*next, path));
    ++number;
  }
}

void print_left_out(const Suite& source) {
  for (const auto& [reason, times] : source.skipped()) say("skipped: {} {}\n", shown(reason), times);
  const auto nodes = source.node_coverage();
  if (!nodes) return;
  say("cases hold {} of {} quantized nodes\n", nodes->covered, nodes->quantized());
  for (const UncoveredNodes& part : nodes->uncovered) say("{}\n", report::uncovered_line(part));
}

}  // namespace qconform::cli
