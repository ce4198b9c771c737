#include "harness/suites/onnx_model.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/process.h"
#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"
#include "harness/onnx/derived_models.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf.h"

namespace qconform {
namespace {

// The values that are not there before the model runs.
std::set<std::string> values_around_quantized_nodes(const GraphScope& scope) {
  std::set<std::string> names;
  for (const onnx::NodeProto& node : scope.graph().node()) {
    if (find_operator(node.domain(), node.op_type()) == nullptr) continue;
    for (const std::string& name : node.input()) {
      if (!name.empty() && scope.constant(name) == nullptr) names.insert(name);
    }
    for (const std::string& name : node.output()) {
      if (!name.empty()) names.insert(name);
    }
  }
  return names;
}

constexpr std::uint64_t kRunSeconds = 600;  // seconds of processor time that a run may take

// Values as the initializers of a graph, which is how they leave the process that computed them.
Result<std::string> packed(const NamedTensors& values) {
  onnx::GraphProto graph;
  for (const auto& [name, tensor] : values) write_tensor(tensor, name, *graph.add_initializer());
  return message_bytes(graph);
}

Result<NamedTensors> unpacked(std::string_view bytes) {
  onnx::GraphProto graph;
  QCONFORM_TRY(parse_message(bytes, graph));
  NamedTensors values;
  for (const onnx::TensorProto& proto : graph.initializer()) {
    QCONFORM_ASSIGN(auto tensor, tensor_from_proto(proto, std::nullopt));
    values.emplace(proto.name(), std::move(tensor));
  }
  return values;
}

// Part by part. A value is forgotten behind the last part that needs it.
Result<std::string> run_parts(const ModelParts& parts, const std::filesystem::path& folder, NamedTensors known) {
  bool has_outputs = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    QCONFORM_ASSIGN(const auto part, parts.part(i, known));
    if (part.empty()) continue;
    has_outputs = true;
    const NamedTensors fed = parts.fed(i, known);
    QCONFORM_ASSIGN(auto values, offered_model_runtime().run(part, folder, fed));
    known.merge(values);
    for (const auto& [name, tensor] : fed) {
      if (!parts.is_needed_after(i, name)) known.erase(name);
    }
  }
  if (!has_outputs) return fail("", "the graph has no value of a case that is computed when the model runs");
  auto result = packed(known);
  if (!result) return fail("", "what was recorded " + result.error().message);  // more memory would not change that
  return result;
}

}  // namespace

Result<ModelActivations> compute_activations(const onnx::ModelProto& model, const GraphScope& scope,
                                             const ActivationOptions& options) {
  const ModelRuntime& runtime = offered_model_runtime();
  if (!runtime.absent.empty()) return fail(runtime.name, "is not available: " + runtime.absent);
  QCONFORM_TRY(check_external_data_is_fetched(model.graph(), options.folder));
  const std::int64_t first = scope.assumed_first_dimension().value_or(kAssumedBatch);
  QCONFORM_ASSIGN(auto inputs, options.files.empty() ? draw_model_inputs(model.graph(), options.seed, first)
                                                     : read_model_inputs(model.graph(), options.files));
  std::set<std::string> wanted = values_around_quantized_nodes(scope);
  wanted.insert(options.also.begin(), options.also.end());
  QCONFORM_ASSIGN(const auto parts, ModelParts::of(model, wanted));
  const ForkLimits limits{.cpu_seconds = kRunSeconds, .address_space = options.memory};
  const auto run = [&] { return run_parts(parts, options.folder, inputs); };
  auto bytes = run_forked(runtime.name, limits, run);
  if (!bytes && bytes.error().rule == "limit") bytes.error().message += kMoreMemory;
  if (!bytes) return tl::unexpected(bytes.error());
  QCONFORM_ASSIGN(auto values, in_context(runtime.name, unpacked(*bytes)));
  values.merge(inputs);
  const bool is_drawn = options.files.empty();
  return ModelActivations{std::move(values), "activations of " + runtime.name +
                                                 (is_drawn ? ", inputs drawn from seed " + std::to_string(options.seed)
                                                           : ", inputs given")};
}

namespace {

struct DeclaredInput {
  std::string name;
  ValueFacts facts;

  [[nodiscard]] std::string field() const { return "input " + quoted_name(name); }
};

Result<std::vector<DeclaredInput>> declared_inputs(const onnx::GraphProto& graph) {
  std::set<std::string> initialized;
  for (const onnx::TensorProto& tensor : graph.initializer()) initialized.insert(tensor.name());
  std::vector<DeclaredInput> inputs;
  for (const onnx::ValueInfoProto& info : graph.input()) {
    if (initialized.count(info.name()) != 0) continue;
    inputs.push_back({info.name(), facts_of(info)});
    if (!is_known(inputs.back().facts.type)) return fail(inputs.back().field(), "expected a tensor of a known type");
  }
  return inputs;
}

// "[?, 3, 32, 32]"
std::string declared_text(const PartialShape& shape) {
  std::string text;
  for (const auto& size : shape) text += (text.empty() ? "" : ", ") + (size ? std::to_string(*size) : "?");
  return "[" + text + "]";
}

Result<void> check(const DeclaredInput& input, const Tensor& tensor) {
  if (tensor.type != input.facts.type) {
    return fail(input.field(), fmt::format("expected {}, got {}", name_of(input.facts.type), name_of(tensor.type)));
  }
  if (!input.facts.shape) return {};
  bool fits = input.facts.shape->size() == tensor.shape.size();
  for (std::size_t i = 0; fits && i < tensor.shape.size(); ++i) {
    fits = !(*input.facts.shape)[i] || *(*input.facts.shape)[i] == tensor.shape[i];
  }
  if (fits) return {};
  return fail(input.field(),
              fmt::format("expected shape {}, got {}", declared_text(*input.facts.shape), shape_text(tensor.shape)));
}

Tensor drawn_values(ElementType type, std::vector<std::int64_t> shape, Rng& rng) {
  const auto count = static_cast<std::size_t>(elements_of(shape));
  const auto fill = [&]<typename T>(T, std::int64_t lo, std::int64_t hi, T unit) {
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(static_cast<T>(rng.between(lo, hi)) * unit);
    return Tensor::of<T>(type, std::move(shape), values);
  };
  constexpr std::int64_t kSteps = std::int64_t{1} << 20;
  switch (type) {
    case ElementType::float32: return fill(0.0F, -kSteps, kSteps, 2.0F / static_cast<float>(kSteps));
    case ElementType::float16:
    case ElementType::bfloat16: {
      const Tensor values = drawn_values(ElementType::float32, std::move(shape), rng);
      return cast(values, type, true).value_or(Tensor{});
    }
    case ElementType::uint8: return fill(std::uint8_t{}, 0, 255, std::uint8_t{1});
    case ElementType::int8: return fill(std::int8_t{}, -128, 127, std::int8_t{1});
    case ElementType::int32: return fill(std::int32_t{}, 0, 9, std::int32_t{1});
    case ElementType::int64: return fill(std::int64_t{}, 0, 9, std::int64_t{1});
    default: return {};
  }
}

// The shape that is drawn, or an error.
Result<std::vector<std::int64_t>> assumed_shape(const DeclaredInput& input, std::int64_t first_dimension) {
  if (!input.facts.shape) return fail(input.field(), "has no declared shape; give a tensor with --input");
  std::vector<std::int64_t> shape;
  for (const auto& size : *input.facts.shape) {
    if (!size && !shape.empty()) {
      return fail(input.field(), fmt::format("dimension {} of {} is unknown; give a tensor with --input", shape.size(),
                                             declared_text(*input.facts.shape)));
    }
    shape.push_back(size.value_or(first_dimension));
  }
  QCONFORM_TRY(checked_bytes(input.field(), input.facts.type, shape));
  return shape;
}

}  // namespace

Result<NamedTensors> read_model_inputs(const onnx::GraphProto& graph, std::span<const std::filesystem::path> files) {
  QCONFORM_ASSIGN(const auto declared, declared_inputs(graph));
  if (files.size() != declared.size()) {
    std::string names;
    for (const DeclaredInput& input : declared) names += (names.empty() ? "" : ", ") + quoted_name(input.name);
    return fail("--input", fmt::format("expected one file for each input ({}), got {}", names, files.size()));
  }
  NamedTensors tensors;
  std::vector<Tensor> unnamed;
  for (const auto& file : files) {
    onnx::TensorProto proto;
    QCONFORM_TRY(read_message(file, proto));
    QCONFORM_ASSIGN(auto tensor, in_context(file.string(), tensor_from_proto(proto, file.parent_path())));
    const bool is_named = std::any_of(declared.begin(), declared.end(),
                                      [&](const DeclaredInput& input) { return input.name == proto.name(); });
    if (!is_named || !tensors.emplace(proto.name(), tensor).second) unnamed.push_back(std::move(tensor));
  }
  auto next = unnamed.begin();
  for (const DeclaredInput& input : declared) {
    if (tensors.count(input.name) == 0) tensors.emplace(input.name, std::move(*next++));
    QCONFORM_TRY(check(input, tensors.at(input.name)));
  }
  return tensors;
}

Result<NamedTensors> draw_model_inputs(const onnx::GraphProto& graph, std::uint64_t seed,
                                       std::int64_t first_dimension) {
  QCONFORM_ASSIGN(const auto declared, declared_inputs(graph));
  NamedTensors tensors;
  for (const DeclaredInput& input : declared) {
    QCONFORM_ASSIGN(auto shape, assumed_shape(input, first_dimension));
    Rng rng(seed, tensors.size());
    Tensor tensor = drawn_values(input.facts.type, std::move(shape), rng);
    if (tensor.type == ElementType::undefined) {
      return fail(input.field(), fmt::format("values of type {} are not drawn; give a tensor with --input",
                                             name_of(input.facts.type)));
    }
    tensors.emplace(input.name, std::move(tensor));
  }
  return tensors;
}

}  // namespace qconform
