// A case by ONNX Runtime's C++ interface.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/backends/issue_program.h"
#include "harness/backends/libraries/onnxruntime/onnxruntime_form.h"
#include "harness/base/text.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"

namespace qconform::issue {
namespace {

constexpr std::string_view kOrtProgram = R"(// {what} in ONNX Runtime's C++ interface.
#include <onnxruntime_cxx_api.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

{model}
// The tensors that it is fed.
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
  const char* output = {output};
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

constexpr std::string_view kPythonProgram = R"(# {what} in ONNX Runtime's Python interface.
import base64

import numpy as np
import onnxruntime as ort

MODEL = ({model}
)
FEEDS = {{
{feeds}}}
# The numbers that each element of y may be, from the first to the second.
RIGHT = [{right}]

options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.graph_optimization_level = ort.GraphOptimizationLevel.{level}
{entries}session = ort.InferenceSession(base64.b64decode(MODEL), options, providers=["CPUExecutionProvider"])
(y,) = session.run([{output}], FEEDS)
wrong = []
for i, (got, ranges) in enumerate(zip(y.ravel().tolist(), RIGHT)):
    if ranges and not any(lo <= got <= hi or (lo != lo and got != got) for lo, hi in ranges):
        wrong.append(f"element {{i}} is {{got}}, must be {{ranges}}")
assert list(y.shape) == {shape} and not wrong, "\n".join(wrong) or f"y has the shape {{y.shape}}"
print("right with onnxruntime", ort.__version__)
)";

// Empty where numpy has no such type.
std::string_view numpy_type(ElementType type) {
  switch (type) {
    case ElementType::float32: return "np.float32";
    case ElementType::float16: return "np.float16";
    case ElementType::uint8: return "np.uint8";
    case ElementType::int8: return "np.int8";
    case ElementType::uint16: return "np.uint16";
    case ElementType::int16: return "np.int16";
    case ElementType::int32: return "np.int32";
    case ElementType::int64: return "np.int64";
    default: return "";
  }
}

constexpr NumberStyle kPython{"[]", "()", "np.nan", "np.inf"};

std::string python_array(const Tensor& tensor) {
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    // A double holds no int64 beyond 2^53.
    values.push_back(is_integer(tensor.type) ? element_text(tensor, i) : number_text(number_at(tensor, i), kPython));
  }
  return fmt::format("np.array([{}], {}).reshape([{}])", fmt::join(values, ", "), numpy_type(tensor.type),
                     fmt::join(tensor.shape, ", "));
}

// Both programs are made of this.
struct OrtCase {
  const Case& test_case;
  FedModel model;
  std::string what;    // "The graph Relu+QuantizeLinear"
  std::string output;  // the name of the only one
  std::string_view level;
  std::vector<backend::Setting> entries;
};

// Empty where numpy has no type for what is fed or computed, or nothing is computed.
std::string python_program(const OrtCase& ort, const Expected& expected) {
  if (!expected.output || numpy_type(expected.output->type).empty()) return {};
  const std::vector<std::string> names = input_names(ort.test_case);
  std::string feeds;
  for (const std::size_t position : ort.model.fed) {
    const Tensor& tensor = *ort.test_case.inputs[position];
    if (numpy_type(tensor.type).empty()) return {};
    feeds += fmt::format("    {}: {},\n", literal_text(names[position]), python_array(tensor));
  }
  std::string entries;
  for (const backend::Setting& entry : ort.entries)
    entries +=
        fmt::format("options.add_session_config_entry({}, {})\n", literal_text(entry.key), literal_text(entry.value));
  return fmt::format(fmt::runtime(kPythonProgram), fmt::arg("what", ort.what),
                     fmt::arg("model", base64_text(ort.model.bytes)), fmt::arg("feeds", feeds),
                     fmt::arg("output", literal_text(ort.output)),
                     fmt::arg("shape", fmt::format("[{}]", fmt::join(expected.output->shape, ", "))),
                     fmt::arg("right", fmt::format("{}", fmt::join(right_ranges(expected, kPython), ", "))),
                     fmt::arg("level", ort.level), fmt::arg("entries", entries));
}

std::string cpp_program(const OrtCase& ort, const Expected& expected) {
  const std::vector<std::string> all_names = input_names(ort.test_case);
  std::string arrays;
  std::string feeds;
  std::vector<std::string> names;
  for (const std::size_t position : ort.model.fed) {
    const Tensor& tensor = *ort.test_case.inputs[position];
    // A value of a graph has any name.
    const std::string name = is_judged_as_graph(ort.test_case) ? fmt::format("x{}", position) : all_names[position];
    arrays += array_text(name, tensor);
    feeds += feed_text(name, tensor);
    names.push_back(literal_text(all_names[position]));
  }
  std::string entries;
  for (const backend::Setting& entry : ort.entries)
    entries += fmt::format("  options.AddConfigEntry({}, {});\n", literal_text(entry.key), literal_text(entry.value));
  return fmt::format(
      fmt::runtime(kOrtProgram), fmt::arg("what", ort.what), fmt::arg("model", model_text(ort.model.bytes)),
      fmt::arg("arrays", arrays), fmt::arg("check", check_text(expected)), fmt::arg("level", ort.level),
      fmt::arg("entries", entries), fmt::arg("feeds", feeds), fmt::arg("output", literal_text(ort.output)),
      fmt::arg("names", fmt::format("{}", fmt::join(names, ", "))), fmt::arg("shape", shape_text_of(expected)),
      fmt::arg("refusal", exit_code_of_refusal(expected)));
}

// Whether a program in C++ can compute with the numbers of a graph's output.
bool is_number_of_cpp(ElementType type) {
  return bits_of(type) >= 8 && (is_integer(type) || type == ElementType::float32);
}

}  // namespace

Result<IssueProgram> onnxruntime_program(const IssueCase& failing) {
  const Expected& expected = failing.expected;
  const Case& test_case = *expected.test_case;
  const bool is_graph = is_judged_as_graph(test_case);
  const OrtForm* form = ort_form_named(failing.what.word);
  OrtCase ort{test_case, {}, is_graph ? "The graph " + shown(test_case.op_types()) : "A node", "y", {}, {}};
  ort.level = level_text(failing.what.word);
  for (const backend::Setting& setting : failing.what.settings) {
    if (setting.key == "form") {
      form = ort_form_named(setting.value);
    } else if (setting.key.starts_with("session.") || setting.key.starts_with("optimization.")) {
      ort.entries.push_back(setting);
    } else {
      return fail("--issue", fmt::format("\"{}\": there is no program for execution providers", setting.key));
    }
  }
  if (is_graph && test_case.output_count() != 1)
    return fail("--issue", fmt::format("programs check one output, this graph has {}", test_case.output_count()));
  if (is_graph) ort.output = output_names(test_case).front();
  Case plain = test_case;
  if (is_graph) plain.note.clear();
  QCONFORM_ASSIGN(ort.model, ort_model(plain, form));
  const bool has_cpp = !is_graph || !expected.output || is_number_of_cpp(expected.output->type);
  IssueProgram program{has_cpp ? cpp_program(ort, expected) : "",
                       "c++ -std=c++17 case.cc -o case -I ORT/include -L ORT/lib -Wl,-rpath,ORT/lib -lonnxruntime"};
  if (expected.classification.lowered) program.python = python_program(ort, expected);
  program.packages = fmt::format("onnxruntime=={} numpy", failing.version);
  if (program.source.empty() && program.python.empty()) {
    return fail("--issue", "neither C++ nor numpy has the types of all tensors of this case");
  }
  return program;
}

}  // namespace qconform::issue
