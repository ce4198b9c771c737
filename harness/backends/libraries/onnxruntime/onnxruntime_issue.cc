// A case by ONNX Runtime's C++ interface.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/backends/issue_program.h"
#include "harness/backends/libraries/onnxruntime/onnxruntime_form.h"
#include "harness/model/operator.h"

namespace qconform::issue {
namespace {

constexpr std::string_view kOrtProgram = R"(// A node in ONNX Runtime's C++ interface.
#include <onnxruntime_cxx_api.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

{model}
// The tensors that the node is fed.
{arrays}
{check}
int run() {{
  Ort::Env env(ORT_LOGGING_LEVEL_FATAL, "case");
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(1);
  options.SetGraphOptimizationLevel({level});
{entries}  const std::string model = decoded(kModel);
  Ort::Session session(env, model.data(), model.size(), options);
  const Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  std::vector<Ort::Value> inputs;
{feeds}  const char* names[] = {{{names}}};
  const char* output = "y";
  std::vector<Ort::Value> y = session.Run(Ort::RunOptions(nullptr), names, inputs.data(), inputs.size(), &output, 1);
{shape}  return check(y[0].GetTensorRawData());
}}

int main() {{
  try {{
    return run();
  }} catch (const Ort::Exception& error) {{
    std::printf("refused: %s\n", error.what());
    return {refusal};
  }}
}}
)";

std::string feed_text(const std::string& name, const Tensor& tensor) {
  const std::string size = tensor.bytes.empty() ? "0" : "sizeof " + name;
  return fmt::format(
      "  const std::vector<std::int64_t> {0}_shape{1};\n"
      "  inputs.push_back(Ort::Value::CreateTensor(memory, {0}, {2}, {0}_shape.data(), {0}_shape.size(),\n"
      "                                            static_cast<ONNXTensorElementDataType>({3})));  // {4}\n",
      name, list_text(tensor.shape), size, static_cast<int>(tensor.type), name_of(tensor.type));
}

std::string shape_text_of(const Expected& expected) {
  if (!expected.classification.lowered) return "";
  return fmt::format(
      "  if (y[0].GetTensorTypeAndShapeInfo().GetShape() != std::vector<std::int64_t>{}) {{\n"
      "    std::puts(\"y has another shape\");\n    return 1;\n  }}\n",
      list_text(expected.classification.lowered->output_shape()));
}

std::string_view level_text(std::string_view word) {
  if (word == "basic") return "ORT_ENABLE_BASIC";
  if (word == "extended") return "ORT_ENABLE_EXTENDED";
  if (word == "all" || word == "opt") return "ORT_ENABLE_ALL";
  return "ORT_DISABLE_ALL";
}

}  // namespace

Result<IssueProgram> onnxruntime_program(const IssueCase& failing) {
  const Expected& expected = failing.expected;
  const Case& test_case = *expected.test_case;
  const OrtForm* form = ort_form_named(failing.what.word);
  std::string entries;
  for (const backend::Setting& setting : failing.what.settings) {
    if (setting.key == "form") {
      form = ort_form_named(setting.value);
    } else if (setting.key.starts_with("session.")) {
      entries += fmt::format("  options.AddConfigEntry(\"{}\", \"{}\");\n", setting.key, setting.value);
    } else {
      return fail("--issue", fmt::format("\"{}\": there is no program for execution providers", setting.key));
    }
  }
  QCONFORM_ASSIGN(const auto model, ort_model(test_case, form));
  const std::vector<std::string> all_names = input_names(test_case);
  std::string arrays;
  std::string feeds;
  std::vector<std::string> names;
  for (const std::size_t position : model.fed) {
    const Tensor& tensor = *test_case.inputs[position];
    arrays += array_text(all_names[position], tensor);
    feeds += feed_text(all_names[position], tensor);
    names.push_back('"' + all_names[position] + '"');
  }
  const std::string source =
      fmt::format(fmt::runtime(kOrtProgram), fmt::arg("model", model_text(model.bytes)), fmt::arg("arrays", arrays),
                  fmt::arg("check", check_text(expected)), fmt::arg("level", level_text(failing.what.word)),
                  fmt::arg("entries", entries), fmt::arg("feeds", feeds),
                  fmt::arg("names", fmt::format("{}", fmt::join(names, ", "))),
                  fmt::arg("shape", shape_text_of(expected)), fmt::arg("refusal", exit_code_of_refusal(expected)));
  return IssueProgram{source,
                      "c++ -std=c++17 case.cc -o case -I ORT/include -L ORT/lib -Wl,-rpath,ORT/lib -lonnxruntime"};
}

}  // namespace qconform::issue
