#include "harness/suites/onnx_model.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/file.h"
#include "harness/base/process.h"
#include "harness/core/limits.h"
#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"
#include "harness/onnx/derived_models.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/numpy_file.h"
#include "harness/onnx/protobuf.h"
#include "harness/onnx/tensor_file.h"

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

// Nodes of a part: fewer where the weights are many, so that a part and what a runtime makes of it fit in memory.
std::size_t nodes_of_part(const onnx::ModelProto& model) {
  constexpr std::size_t kNodesOfPart = 500;
  constexpr std::size_t kBytesOfPart = std::size_t{1} << 28;
  const std::size_t bytes = model.ByteSizeLong();
  if (bytes <= kBytesOfPart) return kNodesOfPart;
  const auto nodes = static_cast<std::size_t>(model.graph().node_size());
  return std::clamp<std::size_t>(nodes * (kBytesOfPart / 1024) / (bytes / 1024), 16, kNodesOfPart);
}

// 0 where the size is not known before the model runs.
std::int64_t bytes_of_value(const GraphScope& scope, const std::string& name) {
  const ValueFacts facts = scope.facts(name);
  const auto shape = full_shape(facts.shape);
  return shape && is_known(facts.type) ? bytes_for(facts.type, elements_of(*shape)) : 0;
}

// The model with inputs of stated sizes, as its parts have them: what is fused may depend on sizes.
onnx::ModelProto with_shapes_of(onnx::ModelProto model, const NamedTensors& inputs) {
  for (onnx::ValueInfoProto& info : *model.mutable_graph()->mutable_input()) {
    const auto input = inputs.find(info.name());
    if (input != inputs.end()) write_value_info(info.name(), input->second.type, input->second.shape, info);
  }
  return model;
}

constexpr std::uint64_t kRunSeconds = 600;  // seconds of processor time that a run may take

using OperatorCounts = std::map<std::string, std::int64_t>;

void count_operators(std::string_view model, OperatorCounts& counts) {
  onnx::ModelProto proto;
  if (!parse_message(model, proto)) return;
  for (const onnx::NodeProto& node : proto.graph().node()) ++counts[node.op_type()];
}

// "23 DynamicQuantizeMatMul instead of 25"
std::string differences(const OperatorCounts& plain, const OperatorCounts& tapped) {
  std::string text;
  for (const auto& [op_type, count] : plain) {
    const auto found = tapped.find(op_type);
    const std::int64_t left = found == tapped.end() ? 0 : found->second;
    // Fewer of what computes: copies between memory layouts come and go with every value that is taken out.
    if (left < count && op_type != "Identity" && op_type != "Cast" && op_type != "Transpose") {
      text += fmt::format("{}{} {} instead of {}", text.empty() ? "" : ", ", left, printable(op_type), count);
    }
  }
  return text;
}

/// Runs a model part by part in the offered runtime.
struct PartedRun {
  const ModelParts& parts;
  const std::filesystem::path& folder;
  const backend::Specification& setting;
  OperatorCounts computed{};  // operators of the parts as the runtime computes them

  // Counts what the runtime makes of the part, where it shows that.
  void count(const std::string& part) {
    const ModelRuntime& runtime = offered_model_runtime();
    if (runtime.rewritten == nullptr) return;
    if (const auto shown = runtime.rewritten(part, folder, setting)) count_operators(*shown, computed);
  }
};

// Part by part. A value is forgotten behind the last part that reads it; those that are wanted go into the file.
// Returns what taking values out changes in the model as the runtime computes it.
Result<std::string> run_parts(PartedRun run, const std::string& plain, NamedTensors known, TensorFile& file) {
  const ModelParts& parts = run.parts;
  bool has_outputs = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    QCONFORM_ASSIGN(const auto part, parts.part(i, known));
    if (part.empty()) continue;
    has_outputs = true;
    NamedTensors fed = parts.fed(i, known);
    std::erase_if(known, [&](const auto& value) { return !parts.is_read_after(i, value.first); });
    if (!plain.empty()) run.count(part);
    QCONFORM_ASSIGN(auto values, offered_model_runtime().run(part, run.folder, fed, run.setting));
    fed.clear();
    for (auto& [name, tensor] : values) {
      if (parts.is_wanted(name)) QCONFORM_TRY(file.add(name, tensor));
      if (parts.is_read_after(i, name)) known.insert_or_assign(name, std::move(tensor));
    }
  }
  if (!has_outputs) return fail("", "the graph has no value of a case that is computed when the model runs");
  if (plain.empty()) return std::string();
  PartedRun whole{parts, run.folder, run.setting};
  whole.count(plain);
  return differences(whole.computed, run.computed);
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
  std::set<std::string> wanted;
  if (options.takes_nodes_apart) wanted = values_around_quantized_nodes(scope);
  wanted.insert(options.also.begin(), options.also.end());
  // Without a setting nodes are computed as stated: nothing is fused. Else the model runs to its end, to be compared.
  const bool may_fuse = !options.runtime.word.empty() && options.runtime.word != "disabled";
  for (const onnx::ValueInfoProto& output : model.graph().output()) {
    const ElementType type = facts_of(output).type;
    if (may_fuse && is_known(type) && type != ElementType::string) wanted.insert(output.name());
  }
  constexpr std::int64_t kValuesOfPart = std::int64_t{1} << 29;
  QCONFORM_ASSIGN(const auto parts,
                  ModelParts::of(model, wanted,
                                 {.nodes = nodes_of_part(model),
                                  .bytes = kValuesOfPart,
                                  .bytes_of = [&](const auto& name) { return bytes_of_value(scope, name); },
                                  .within = options.within_units}));
  QCONFORM_ASSIGN(auto values, TensorFile::open());
  for (const auto& [name, tensor] : inputs) QCONFORM_TRY(values.add(name, tensor));
  const ForkLimits limits{.cpu_seconds = kRunSeconds, .address_space = options.memory};
  // Another copy of a large model would take too much.
  constexpr std::size_t kShownModelBytes = std::size_t{1} << 28;
  std::string plain;
  if (may_fuse && model.ByteSizeLong() <= kShownModelBytes) {
    QCONFORM_ASSIGN(plain, message_bytes(with_shapes_of(model, inputs)));
  }
  const auto run = [&]() -> Result<std::string> {
    QCONFORM_ASSIGN(auto disturbed, run_parts({parts, options.folder, options.runtime}, plain, inputs, values));
    onnx::GraphProto answer;
    answer.set_doc_string(disturbed);
    values.write_index(answer);
    return message_bytes(answer);
  };
  auto bytes = run_forked(runtime.name, limits, run);
  if (!bytes && bytes.error().rule == "limit") bytes.error().message += kMoreMemory;
  if (!bytes) return tl::unexpected(bytes.error());
  onnx::GraphProto answer;
  QCONFORM_TRY(in_context(runtime.name, parse_message(*bytes, answer)));
  QCONFORM_TRY(in_context(runtime.name, values.take_index(answer)));
  const bool is_drawn = options.files.empty();
  const bool is_plain = options.runtime == ActivationOptions{}.runtime;
  return ModelActivations{
      std::move(values),
      "activations of " + runtime.name + (is_plain ? "" : " (" + backend::text_of(options.runtime) + ")") +
          (is_drawn ? ", inputs drawn from seed " + std::to_string(options.seed) : ", inputs given"),
      answer.doc_string()};
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

// The number that an input of integers has everywhere, by its name; nothing where any will do.
std::optional<std::int64_t> usual_number(const std::string& name) {
  if (name.find("mask") != std::string::npos) return 1;
  if (name.find("token_type") != std::string::npos || name.find("segment") != std::string::npos) return 0;
  return std::nullopt;
}

Tensor drawn_values(ElementType type, std::vector<std::int64_t> shape, Rng& rng,
                    std::optional<std::int64_t> number = {}) {
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
    case ElementType::uint16: return fill(std::uint16_t{}, 0, 65535, std::uint16_t{1});
    case ElementType::int16: return fill(std::int16_t{}, -32768, 32767, std::int16_t{1});
    case ElementType::int32: return fill(std::int32_t{}, number.value_or(0), number.value_or(9), std::int32_t{1});
    case ElementType::int64: return fill(std::int64_t{}, number.value_or(0), number.value_or(9), std::int64_t{1});
    case ElementType::boolean: {
      Tensor values{type, std::move(shape), std::vector<std::byte>(count)};
      for (std::byte& value : values.bytes) value = static_cast<std::byte>(number ? *number : rng.between(0, 1));
      return values;
    }
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

// Adds the tensors of a file: a TensorProto, or arrays of NumPy.
Result<void> read_tensors(const std::filesystem::path& file, std::vector<std::pair<std::string, Tensor>>& to) {
  const std::string kind = file.extension().string();
  if (kind != ".npy" && kind != ".npz") {
    onnx::TensorProto proto;
    QCONFORM_TRY(read_message(file, proto));
    QCONFORM_ASSIGN(auto tensor, in_context(file.string(), tensor_from_proto(proto, file.parent_path())));
    to.emplace_back(proto.name(), std::move(tensor));
    return {};
  }
  QCONFORM_ASSIGN(const auto bytes, read_file(file, limits::kOnnxFileBytes));
  if (kind == ".npy") {
    QCONFORM_ASSIGN(auto tensor, tensor_from_npy(bytes, file.string()));
    to.emplace_back(file.stem().string(), std::move(tensor));
    return {};
  }
  QCONFORM_ASSIGN(auto tensors, tensors_from_npz(bytes, file.string()));
  std::move(tensors.begin(), tensors.end(), std::back_inserter(to));
  return {};
}

}  // namespace

Result<NamedTensors> read_model_inputs(const onnx::GraphProto& graph, std::span<const std::filesystem::path> files) {
  QCONFORM_ASSIGN(const auto declared, declared_inputs(graph));
  std::vector<std::pair<std::string, Tensor>> given;
  for (const auto& file : files) QCONFORM_TRY(read_tensors(file, given));
  if (given.size() != declared.size()) {
    std::string names;
    for (const DeclaredInput& input : declared) names += (names.empty() ? "" : ", ") + quoted_name(input.name);
    return fail("--input", fmt::format("expected one tensor for each input ({}), got {}", names, given.size()));
  }
  NamedTensors tensors;
  std::vector<Tensor> unnamed;
  for (auto& [name, tensor] : given) {
    const bool is_named = std::any_of(declared.begin(), declared.end(),
                                      [&name = name](const DeclaredInput& input) { return input.name == name; });
    if (!is_named || !tensors.emplace(name, tensor).second) unnamed.push_back(std::move(tensor));
  }
  auto next = unnamed.begin();
  for (const DeclaredInput& input : declared) {
    if (tensors.count(input.name) == 0) tensors.emplace(input.name, std::move(*next++));
    QCONFORM_TRY(check(input, tensors.at(input.name)));
  }
  return tensors;
}

Result<void> take_dimensions_of(const NamedTensors& inputs, onnx::GraphProto& graph) {
  std::map<std::string, std::int64_t> sizes;
  for (onnx::ValueInfoProto& info : *graph.mutable_input()) {
    const auto given = inputs.find(info.name());
    if (given == inputs.end() || !info.type().tensor_type().has_shape()) continue;
    auto& shape = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int i = 0; i < shape.dim_size(); ++i) {
      const std::string name = shape.dim(i).dim_param();
      const std::int64_t size = given->second.shape[static_cast<std::size_t>(i)];
      const std::int64_t known = name.empty() ? size : sizes.emplace(name, size).first->second;
      if (known != size) {
        return fail("input " + quoted_name(info.name()),
                    fmt::format("dimension {} is {} here, and {} elsewhere", quoted_name(name), size, known));
      }
      shape.mutable_dim(i)->set_dim_value(size);
    }
  }
  return {};
}

Result<std::string> set_dimensions(onnx::GraphProto& graph, const std::map<std::string, std::int64_t>& stated,
                                   bool assumes) {
  constexpr std::int64_t kAssumedLength = 16;
  constexpr std::int64_t kAssumedExtent = 64;
  std::set<std::string> initialized;
  for (const onnx::TensorProto& tensor : graph.initializer()) initialized.insert(tensor.name());
  std::map<std::string, std::int64_t> assumed;
  for (const onnx::ValueInfoProto& info : graph.input()) {
    const auto& shape = info.type().tensor_type().shape();
    // A name has one size: that of a batch also where it stands behind the first dimension.
    if (shape.dim_size() > 0 && !shape.dim(0).dim_param().empty()) assumed[shape.dim(0).dim_param()] = kAssumedBatch;
  }
  std::set<std::string> used;
  std::string text;
  for (onnx::ValueInfoProto& info : *graph.mutable_input()) {
    if (initialized.contains(info.name()) || !info.type().has_tensor_type()) continue;
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    for (int i = 0; tensor.has_shape() && i < tensor.shape().dim_size(); ++i) {
      auto& dimension = *tensor.mutable_shape()->mutable_dim(i);
      if (dimension.has_dim_value() && dimension.dim_value() >= 0) continue;
      const std::string name = dimension.dim_param();
      if (const auto found = stated.find(name); found != stated.end()) {
        used.insert(name);
        dimension.set_dim_value(found->second);
        continue;
      }
      if (i == 0 || !assumes) continue;  // the scope assumes a batch
      const bool is_spatial = tensor.shape().dim_size() == 4 && i >= 2;
      const std::int64_t size = is_spatial ? kAssumedExtent : kAssumedLength;
      const bool is_new = name.empty() || assumed.emplace(name, size).second;
      const std::int64_t chosen = name.empty() ? size : assumed.at(name);
      dimension.set_dim_value(chosen);
      if (is_new) {
        const std::string label =
            name.empty() ? fmt::format("dimension {} of {}", i, printable(info.name())) : printable(name);
        text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", label, chosen);
      }
    }
  }
  for (const auto& [name, size] : stated) {
    if (!used.contains(name)) {
      return fail("--dim", fmt::format("no input has a symbolic dimension {}", quoted_name(name)));
    }
  }
  return text;
}

Result<NamedTensors> draw_model_inputs(const onnx::GraphProto& graph, std::uint64_t seed,
                                       std::int64_t first_dimension) {
  QCONFORM_ASSIGN(const auto declared, declared_inputs(graph));
  NamedTensors tensors;
  for (const DeclaredInput& input : declared) {
    QCONFORM_ASSIGN(auto shape, assumed_shape(input, first_dimension));
    Rng rng(seed, tensors.size());
    Tensor tensor = drawn_values(input.facts.type, std::move(shape), rng, usual_number(input.name));
    if (tensor.type == ElementType::undefined) {
      return fail(input.field(), fmt::format("values of type {} are not drawn; give a tensor with --input",
                                             name_of(input.facts.type)));
    }
    tensors.emplace(input.name, std::move(tensor));
  }
  return tensors;
}

}  // namespace qconform
