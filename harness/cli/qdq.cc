#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "harness/cli/command.h"
#include "harness/onnx/qdq_form.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
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
