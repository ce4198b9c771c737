#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "harness/cli/command.h"
#include "harness/cli/judge_suites.h"
#include "harness/cli/output.h"
#include "harness/cli/report_output.h"
#include "harness/onnx/derived_models.h"
#include "harness/suites/onnx_model.h"
#include "harness/suites/select.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

struct ExportOptions {
  std::vector<std::string> suites;
  SuiteOptions suite;
  CaseOutput output;
};

Result<int> export_suites(const ExportOptions& options) {
  QCONFORM_TRY(prepare(options.output));
  std::uint64_t number = 0;
  for (const std::string& name : options.suites) {
    QCONFORM_ASSIGN(auto sources, open_shown(name, options.suite));
    for (const auto& source : sources) {
      QCONFORM_ASSIGN(number, write_cases(*source, options.output, number, "export"));
      print_left_out(*source);
    }
  }
  say("{} cases in {}\n", report::with_thousands(number), options.output.out);
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
  add_model_memory_option(*command, options->suite.model_mebibytes);
  add_case_output_options(*command, options->output);
  when_chosen(*command, action, std::move(options), &export_suites);
}

namespace {

struct CaptureOptions {
  std::string model;
  std::vector<std::string> inputs;
  std::uint64_t seed = 1;
  std::size_t context = 0;
  std::uint64_t mebibytes = limits::kModelMemory >> 20;
  CaseOutput output;
};

Result<int> capture(const CaptureOptions& options) {
  ModelOptions model{.activations = ModelOptions::Activations::computed};
  model.inputs.assign(options.inputs.begin(), options.inputs.end());
  model.context = options.context;
  model.memory = options.mebibytes << 20;
  ProgressLine line;
  model.tell = told_on(line);
  QCONFORM_ASSIGN(const auto source, OnnxModelSuite::open(options.model, options.seed, model));
  line.clear();
  QCONFORM_TRY(prepare(options.output));
  QCONFORM_ASSIGN(const auto count, write_cases(*source, options.output, 0, "capture"));
  say("{} cases in {}\n{}\n", report::with_thousands(count), options.output.out, shown(source->origin()));
  print_left_out(*source);
  return kConforms;
}

}  // namespace

void add_capture(CLI::App& app, Action& action) {
  auto options = std::make_shared<CaptureOptions>();
  CLI::App* command =
      app.add_subcommand("capture", "Run a model in ONNX Runtime and write a case for each quantized node and unit");
  command->footer(
      "example: qconform capture network.onnx --input image.pb -o /tmp/layers\n"
      "         qconform run --suite /tmp/layers --backend plugin:./libmine.so");
  command->add_option("MODEL", options->model, "ONNX model")->required();
  command->add_option("--input", options->inputs,
                      "TensorProto file for an input of the model, may be repeated (default: drawn from the seed)");
  command->add_option("--seed", options->seed, "Seed of inputs that are drawn")->capture_default_str();
  command
      ->add_option("--context", options->context,
                   "Neighbouring nodes that the case of each unit includes, before it and behind it")
      ->capture_default_str();
  add_model_memory_option(*command, options->mebibytes);
  add_case_output_options(*command, options->output);
  when_chosen(*command, action, options, capture);
}

namespace {

struct QdqOptions {
  std::string model;
  std::string out;
};

Result<int> write_qdq(const QdqOptions& options) {
  QCONFORM_ASSIGN(const auto counts, write_in_qdq_form(std::filesystem::path(options.model), options.out));
  for (const auto& [name, count] : counts) say("{:<40} {:>6}\n", shown(name), report::with_thousands(count));
  return kConforms;
}

}  // namespace

void add_qdq(CLI::App& app, Action& action) {
  auto options = std::make_shared<QdqOptions>();
  CLI::App* command =
      app.add_subcommand("qdq",
                         "Rewrite a quantized model in QDQ form: float operators between DequantizeLinear and "
                         "QuantizeLinear");
  command->footer(
      "example: qconform qdq network.onnx -o /tmp/network-qdq.onnx\n"
      "         qconform run --suite model:/tmp/network-qdq.onnx --backend onnxruntime@all --expect-fused\n"
      "External data stays where it is: write the model into its folder.\n"
      "Exit code: 0 the model is written, 2 it has no such operator, or cannot be read or written.");
  command->add_option("MODEL", options->model, "ONNX model")->required();
  command->add_option("-o,--out", options->out, "Where to write the rewritten model")->required();
  when_chosen(*command, action, options, write_qdq);
}

}  // namespace qconform::cli
