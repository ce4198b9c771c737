#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "harness/cli/command.h"
#include "harness/cli/judge_suites.h"
#include "harness/cli/output.h"
#include "harness/cli/report_output.h"
#include "harness/suites/onnx_model.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
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
  command->add_option("--context", options->context, "Nodes that each unit takes along, before it and behind it")
      ->capture_default_str();
  add_model_memory_option(*command, options->mebibytes);
  add_case_output_options(*command, options->output);
  when_chosen(*command, action, options, capture);
}

}  // namespace qconform::cli
