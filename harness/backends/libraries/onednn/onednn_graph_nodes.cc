#include "harness/backends/libraries/onednn/onednn_graph_nodes.h"

#if DNNL_VERSION_MAJOR >= 3

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "harness/operators/graph/edits.h"
#include "reference/linear_quantization/dequantize_linear.h"

namespace qconform::libraries::dnn {
namespace {

using Dims = std::vector<std::int64_t>;
using Kind = dnnl::graph::op::kind;
using Key = dnnl::graph::op::attr;
using Value = dnnl::graph::logical_tensor;
using DataType = Value::data_type;
using reference::graph::ValueId;

/// Why a node has no form; nothing where it has.
using Problem = std::optional<std::string>;

Dims row_major(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * std::max<std::int64_t>(shape[axis], 1);
  return strides;
}

std::optional<DataType> data_type_of(ElementType type) {
  if (type == ElementType::float32) return DataType::f32;
  if (type == ElementType::uint8) return DataType::u8;
  if (type == ElementType::int8) return DataType::s8;
  return std::nullopt;
}

struct NamedKind {
  std::string_view op_type;
  Kind kind;
  std::string_view name;
};

// Nodes that need no attributes.
constexpr NamedKind kPlain[] = {
    {"Abs", Kind::Abs, "Abs"},           {"Relu", Kind::ReLU, "ReLU"},       {"Sigmoid", Kind::Sigmoid, "Sigmoid"},
    {"Tanh", Kind::Tanh, "Tanh"},        {"Add", Kind::Add, "Add"},          {"Sub", Kind::Subtract, "Subtract"},
    {"Mul", Kind::Multiply, "Multiply"}, {"Div", Kind::Divide, "Divide"},    {"Max", Kind::Maximum, "Maximum"},
    {"Min", Kind::Minimum, "Minimum"},   {"MatMul", Kind::MatMul, "MatMul"},
};
constexpr NamedKind kReductions[] = {
    {"ReduceMax", Kind::ReduceMax, "ReduceMax"},
    {"ReduceMean", Kind::ReduceMean, "ReduceMean"},
    {"ReduceMin", Kind::ReduceMin, "ReduceMin"},
    {"ReduceSum", Kind::ReduceSum, "ReduceSum"},
};

template <std::size_t count>
const NamedKind* named(const NamedKind (&kinds)[count], const std::string& op_type) {
  const auto* found =
      std::find_if(kinds, kinds + count, [&](const NamedKind& kind) { return kind.op_type == op_type; });
  return found == kinds + count ? nullptr : found;
}

class Translation {
 public:
  Translation(const Case& test_case, const GraphProgram& lowered) : case_(test_case), lowered_(lowered) {
    for (ValueId id = 0; id < lowered.names.size(); ++id) {
      if (!lowered.names[id].empty()) ids_[lowered.names[id]] = id;
    }
    steps_.resize(test_case.nodes.size(), nullptr);
    for (const auto& step : lowered.program.steps) steps_[step.node] = &step;
  }

  [[nodiscard]] tl::expected<LibraryGraph, std::string> run() {
    for (ValueId id = 0; id < lowered_.names.size(); ++id) state(id);
    for (node_ = 0; node_ < case_.nodes.size(); ++node_) {
      if (auto problem = add_node()) return tl::unexpected(std::move(*problem));
    }
    // Without these the library may leave out a value that is read inside of a partition too.
    for (const std::string& name : case_.outputs) {
      dnnl::graph::op end(out_.operations.size(), Kind::End, {out_.values[ids_.at(name)]}, {});
      out_.operations.push_back({"End", 0, true});
      out_.graph.add_op(end);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const Node& node() const { return case_.nodes[node_]; }
  [[nodiscard]] bool has(std::size_t input) const { return !input_of(node(), input).empty(); }
  [[nodiscard]] ValueId id(std::size_t input) const { return ids_.at(input_of(node(), input)); }
  [[nodiscard]] ValueId result() const { return ids_.at(node().outputs.front()); }
  [[nodiscard]] const Dims& shape(ValueId id) const { return lowered_.program.values[id].shape; }
  [[nodiscard]] const Dims& x_shape() const { return shape(id(0)); }
  [[nodiscard]] std::size_t spatial() const { return x_shape().size() - 2; }
  [[nodiscard]] bool is_constant(ValueId id) const { return id >= case_.fed_inputs && id < case_.inputs.size(); }

  // Attributes.
  template <typename T>
  [[nodiscard]] T get(std::string_view name, T absent) const {
    return node().get_or(name, std::move(absent));
  }
  [[nodiscard]] std::int64_t axis(std::int64_t absent) const {
    const auto stated = get<std::int64_t>("axis", absent);
    return stated < 0 ? stated + static_cast<std::int64_t>(x_shape().size()) : stated;
  }
  [[nodiscard]] Dims spatial_list(std::string_view name, std::int64_t absent) const {
    return get<Dims>(name, Dims(spatial(), absent));
  }

  // The library gets each value here, those of other types when an operation needs them.
  void state(ValueId id) {
    const auto type = data_type_of(lowered_.types[id]);
    const auto kind = is_constant(id) ? Value::property_type::constant : Value::property_type::variable;
    out_.values.emplace_back(id, type.value_or(DataType::undef), shape(id), row_major(shape(id)), kind);
  }

  // A value between two operations of one node, like this one of the program.
  ValueId between(ValueId like) {
    const ValueId id = out_.values.size();
    out_.values.emplace_back(id, DataType::f32, shape(like), row_major(shape(like)), Value::property_type::variable);
    return id;
  }

  [[nodiscard]] dnnl::graph::op operation(Kind kind, std::string_view name) {
    out_.operations.push_back({std::string(name), node_, false});
    return {out_.operations.size() - 1, kind, std::string(name)};
  }

  // A tensor of the case; null of an omitted input, and of a computed one.
  [[nodiscard]] const Tensor* tensor(std::size_t input) const {
    return has(input) && id(input) < case_.inputs.size() ? case_.input(id(input)) : nullptr;
  }

  Problem add(dnnl::graph::op& operation, const std::vector<ValueId>& operands, ValueId result) {
    for (const ValueId operand : operands) operation.add_input(out_.values[operand]);
    operation.add_output(out_.values[result]);
    out_.graph.add_op(operation);
    return {};
  }
  Problem add(dnnl::graph::op operation) {
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < node().inputs.size(); ++i) {
      if (has(i)) operands.push_back(id(i));
    }
    return add(operation, operands, result());
  }

  [[nodiscard]] Problem beyond() const {
    return fmt::format("its graphs have no {} with these types, shapes and attributes", node().op_type);
  }

  Problem of_floats(const std::string& op_type);
  Problem add_node();
  Problem quantize(const reference::QuantizeLinear& parsed);
  Problem dequantize(const reference::DequantizeLinear& parsed);
  Problem parameters(dnnl::graph::op& operation, const reference::QuantizationLayout& layout,
                     const std::vector<double>& scales, Dims zero_points);
  void window(dnnl::graph::op& operation, const Dims& dilations);
  Problem convolution(bool is_transposed);
  Problem gemm();
  Problem pool(bool is_average);
  Problem global_average();
  Problem reduction(const NamedKind& kind);
  Problem clip();
  Problem softmax();
  Problem with_numbers();
  Problem movement();

  const Case& case_;
  const GraphProgram& lowered_;
  std::map<std::string, ValueId, std::less<>> ids_;
  std::vector<const reference::graph::Step*> steps_;  // the last of each node
  std::size_t node_ = 0;
  LibraryGraph out_;
};

Problem Translation::add_node() {
  const reference::graph::Step* step = steps_[node_];
  if (step != nullptr) {
    if (const auto* parsed = std::get_if<reference::graph::Quantize>(&step->what)) return quantize(parsed->node);
    if (const auto* parsed = std::get_if<reference::graph::Dequantize>(&step->what)) return dequantize(parsed->node);
  }
  const std::string& op_type = node().op_type;
  if (node().outputs.size() == 1 && node().domain.empty()) {
    if (op_type == "Reshape" || op_type == "Flatten" || op_type == "Squeeze" || op_type == "Unsqueeze" ||
        op_type == "Transpose" || op_type == "Concat") {
      return movement();
    }
    if (const NamedKind* kind = named(kReductions, op_type)) return reduction(*kind);
    if (op_type == "Clip") return clip();
    return of_floats(op_type);
  }
  return beyond();
}

Problem Translation::of_floats(const std::string& op_type) {
  const auto is_float = [&](const std::string& name) {
    return name.empty() || lowered_.types[ids_.at(name)] == ElementType::float32;
  };
  if (std::all_of(node().inputs.begin(), node().inputs.end(), is_float) && is_float(node().outputs.front())) {
    if (const NamedKind* kind = named(kPlain, op_type)) {
      if (node().inputs.size() > 2) return fmt::format("its {} has two operands", kind->name);
      return add(operation(kind->kind, kind->name));
    }
    if (op_type == "Conv" || op_type == "ConvTranspose") return convolution(op_type == "ConvTranspose");
    if (op_type == "Gemm") return gemm();
    if (op_type == "MaxPool" || op_type == "AveragePool") return pool(op_type == "AveragePool");
    if (op_type == "GlobalAveragePool") return global_average();
    if (op_type == "Softmax") return softmax();
    if (op_type == "LeakyRelu" || op_type == "HardSigmoid" || op_type == "Gelu") return with_numbers();
  }
  return beyond();
}

Problem Translation::parameters(dnnl::graph::op& operation, const reference::QuantizationLayout& layout,
                                const std::vector<double>& scales, Dims zero_points) {
  if (layout.is_blocked())
    return "its quantization has a parameter for the tensor or for each channel, none for blocks";
  operation.set_attr<std::string>(Key::qtype, scales.size() == 1 ? "per_tensor" : "per_channel");
  if (scales.size() != 1) operation.set_attr<std::int64_t>(Key::axis, axis(1));
  operation.set_attr(Key::scales, std::vector<float>(scales.begin(), scales.end()));
  operation.set_attr(Key::zps, zero_points);
  return {};
}

Problem Translation::quantize(const reference::QuantizeLinear& parsed) {
  const bool divides_otherwise = parsed.precision != ElementType::undefined && parsed.precision != ElementType::float32;
  if (parsed.x_type != ElementType::float32 || parsed.scale_type != ElementType::float32 || divides_otherwise ||
      !data_type_of(lowered_.types[result()])) {
    return "its Quantize takes float to int8 or uint8";
  }
  dnnl::graph::op made = operation(Kind::Quantize, "Quantize");
  if (auto problem =
          parameters(made, parsed.layout, parsed.y_scale, {parsed.y_zero_point.begin(), parsed.y_zero_point.end()})) {
    return problem;
  }
  return add(made, {id(0)}, result());
}

Problem Translation::dequantize(const reference::DequantizeLinear& parsed) {
  if (parsed.scale_type != ElementType::float32 || parsed.y_type != ElementType::float32)
    return "its Dequantize gives float";
  if (parsed.x_type == ElementType::int32 && is_constant(id(0))) {
    const auto& outputs = lowered_.program.outputs;
    if (std::find(outputs.begin(), outputs.end(), result()) != outputs.end())
      return "its graphs have no constant for an output";
    const Tensor& x = *case_.inputs[id(0)];
    AlignedBytes y(static_cast<std::size_t>(x.elements()) * sizeof(float));
    reference::dequantize_linear(parsed, x.bytes, y.bytes());
    out_.constants.emplace(result(), std::move(y));
    out_.values[result()] = {result(), DataType::f32, shape(result()), row_major(shape(result())),
                             Value::property_type::constant};
    return {};
  }
  if (!data_type_of(lowered_.types[id(0)])) return "its Dequantize takes int8 or uint8";
  dnnl::graph::op made = operation(Kind::Dequantize, "Dequantize");
  if (auto problem =
          parameters(made, parsed.layout, parsed.x_scale, {parsed.x_zero_point.begin(), parsed.x_zero_point.end()})) {
    return problem;
  }
  return add(made, {id(0)}, result());
}

// Sets the attributes that convolutions and pools share.
void Translation::window(dnnl::graph::op& operation, const Dims& dilations) {
  const Dims pads = get<Dims>("pads", Dims(2 * spatial(), 0));
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(spatial());
  operation.set_attr(Key::strides, spatial_list("strides", 1));
  operation.set_attr(Key::pads_begin, Dims(pads.begin(), middle));
  operation.set_attr(Key::pads_end, Dims(middle, pads.end()));
  if (!dilations.empty()) operation.set_attr(Key::dilations, dilations);
  const auto auto_pad = get<std::string>("auto_pad", "NOTSET");
  operation.set_attr<std::string>(Key::auto_pad, auto_pad == "NOTSET" ? "None" : auto_pad);
  operation.set_attr<std::string>(Key::data_format, "NCX");
}

Problem Translation::convolution(bool is_transposed) {
  if (node().attribute("output_shape") != nullptr) return "its ConvTranspose has no output_shape";
  // ONNX has a rule of its own there for the side that gets the odd padding.
  if (is_transposed && get<std::string>("auto_pad", "NOTSET").starts_with("SAME"))
    return "its ConvTranspose has no auto_pad of ONNX";
  dnnl::graph::op made =
      is_transposed ? operation(Kind::ConvTranspose, "ConvTranspose") : operation(Kind::Convolution, "Convolution");
  window(made, spatial_list("dilations", 1));
  made.set_attr<std::int64_t>(Key::groups, get<std::int64_t>("group", 1));
  made.set_attr<std::string>(Key::weights_format, is_transposed ? "IOX" : "OIX");
  if (is_transposed) made.set_attr(Key::output_padding, spatial_list("output_padding", 0));
  return add(std::move(made));
}

// A bias for each column is the MatMul's own; any other C is added.
Problem Translation::gemm() {
  if (get<float>("alpha", 1) != 1 || get<float>("beta", 1) != 1) return "its MatMul has no alpha and beta";
  dnnl::graph::op product = operation(Kind::MatMul, "MatMul");
  product.set_attr(Key::transpose_a, get<std::int64_t>("transA", 0) != 0);
  product.set_attr(Key::transpose_b, get<std::int64_t>("transB", 0) != 0);
  if (!has(2)) return add(product, {id(0), id(1)}, result());
  if (shape(id(2)) == Dims{shape(result()).back()}) return add(std::move(product));
  const ValueId sum = between(result());
  add(product, {id(0), id(1)}, sum);
  dnnl::graph::op addition = operation(Kind::Add, "Add");
  return add(addition, {sum, id(2)}, result());
}

Problem Translation::pool(bool is_average) {
  const Dims dilations = spatial_list("dilations", 1);
  if (is_average && dilations != Dims(spatial(), 1)) return "its AvgPool has no dilations";
  dnnl::graph::op made = is_average ? operation(Kind::AvgPool, "AvgPool") : operation(Kind::MaxPool, "MaxPool");
  window(made, is_average ? Dims{} : dilations);
  made.set_attr(Key::kernel, spatial_list("kernel_shape", 1));
  made.set_attr<std::string>(Key::rounding_type, get<std::int64_t>("ceil_mode", 0) != 0 ? "ceil" : "floor");
  if (is_average) made.set_attr(Key::exclude_pad, get<std::int64_t>("count_include_pad", 0) == 0);
  return add(std::move(made));
}

Problem Translation::global_average() {
  if (x_shape().size() < 3) return "its AvgPool has one spatial dimension or more";
  dnnl::graph::op made = operation(Kind::AvgPool, "AvgPool");
  window(made, {});
  made.set_attr(Key::kernel, Dims(x_shape().begin() + 2, x_shape().end()));
  made.set_attr(Key::exclude_pad, true);
  return add(std::move(made));
}

Problem Translation::reduction(const NamedKind& kind) {
  if (lowered_.types[id(0)] != ElementType::float32) return fmt::format("its {} is of type float", kind.name);
  Dims axes = get<Dims>("axes", {});
  if (const Tensor* stated = tensor(1)) axes = stated->values<std::int64_t>();
  if (axes.empty() && (has(1) || get<std::int64_t>("noop_with_empty_axes", 0) != 0))
    return "its reductions state their axes";
  if (axes.empty()) {  // all of them
    axes.resize(x_shape().size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  dnnl::graph::op made = operation(kind.kind, kind.name);
  made.set_attr(Key::axes, axes);
  made.set_attr(Key::keep_dims, get<std::int64_t>("keepdims", 1) != 0);
  return add(made, {id(0)}, result());
}

// Bounds are attributes before opset 11, and inputs since.
Problem Translation::clip() {
  const auto bound = [&](std::size_t input, const char* name, float absent) {
    const Tensor* stated = tensor(input);
    return stated != nullptr ? float_at(*stated, 0) : get<float>(name, absent);
  };
  if (lowered_.types[id(0)] != ElementType::float32) return "its Clamp is of type float";
  if ((has(1) && tensor(1) == nullptr) || (has(2) && tensor(2) == nullptr)) return "its Clamp has constant bounds";
  dnnl::graph::op made = operation(Kind::Clamp, "Clamp");
  made.set_attr<float>(Key::min, bound(1, "min", std::numeric_limits<float>::lowest()));
  made.set_attr<float>(Key::max, bound(2, "max", std::numeric_limits<float>::max()));
  return add(made, {id(0)}, result());
}

// Before opset 13 rows go over the axis and all behind it.
Problem Translation::softmax() {
  const bool is_old = node().opset_version < 13;
  const std::int64_t along = axis(is_old ? 1 : -1);
  if (is_old && along + 1 != static_cast<std::int64_t>(x_shape().size())) return "its SoftMax has one axis";
  dnnl::graph::op made = operation(Kind::SoftMax, "SoftMax");
  made.set_attr<std::int64_t>(Key::axis, along);
  return add(std::move(made));
}

Problem Translation::with_numbers() {
  if (node().op_type == "LeakyRelu") {
    dnnl::graph::op made = operation(Kind::LeakyReLU, "LeakyReLU");
    made.set_attr<float>(Key::alpha, get<float>("alpha", 0.01F));
    return add(std::move(made));
  }
  if (node().op_type == "Gelu") {
    dnnl::graph::op made = operation(Kind::GELU, "GELU");
    made.set_attr<std::string>(Key::mode, get<std::string>("approximate", "none") == "tanh" ? "gelu_tanh" : "gelu_erf");
    return add(std::move(made));
  }
  dnnl::graph::op made = operation(Kind::HardSigmoid, "HardSigmoid");
  made.set_attr<float>(Key::alpha, get<float>("alpha", 0.2F));
  made.set_attr<float>(Key::beta, get<float>("beta", 0.5F));
  return add(std::move(made));
}

Problem Translation::movement() {
  if (!data_type_of(lowered_.types[id(0)])) return fmt::format("its graphs have no {}", name_of(lowered_.types[id(0)]));
  if (node().op_type == "Transpose") {
    Dims order(x_shape().size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(order.size() - 1 - i);
    dnnl::graph::op made = operation(Kind::StaticTranspose, "StaticTranspose");
    made.set_attr(Key::order, get<Dims>("perm", order));
    return add(std::move(made));
  }
  if (node().op_type == "Concat") {
    dnnl::graph::op made = operation(Kind::Concat, "Concat");
    made.set_attr<std::int64_t>(Key::axis, axis(0));
    return add(std::move(made));
  }
  dnnl::graph::op made = operation(Kind::StaticReshape, "StaticReshape");
  made.set_attr(Key::shape, shape(result()));
  made.set_attr(Key::special_zero, false);
  return add(made, {id(0)}, result());
}

}  // namespace

tl::expected<LibraryGraph, std::string> library_graph(const Case& test_case, const GraphProgram& lowered) {
  return Translation(test_case, lowered).run();
}

}  // namespace qconform::libraries::dnn

#endif
