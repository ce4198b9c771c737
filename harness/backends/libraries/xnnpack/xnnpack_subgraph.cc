#include "harness/backends/libraries/xnnpack/xnnpack_subgraph.h"

#include <fmt/format.h>
#include <xnnpack.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <variant>

#include "harness/backends/interpreter.h"
#include "harness/backends/libraries/adapters.h"
#include "harness/backends/libraries/xnnpack/xnnpack_operator.h"
#include "harness/graphs/case_graph.h"

// Newer releases call these deprecated, for functions that older ones lack.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace qconform::libraries::xnn {
namespace {

using namespace reference::graph;
using Dims = std::vector<std::size_t>;

struct DeleteSubgraph {
  void operator()(xnn_subgraph_t subgraph) const { (void)xnn_delete_subgraph(subgraph); }
};
struct DeleteRuntime {
  void operator()(xnn_runtime_t runtime) const { (void)xnn_delete_runtime(runtime); }
};

/// A subgraph of one node, and where its tensors lie. The first failure's message stays.
struct SubgraphModel {
  std::deque<std::vector<float>> scales;  // scales that the subgraph points to
  std::unique_ptr<xnn_subgraph, DeleteSubgraph> subgraph;
  std::unique_ptr<xnn_runtime, DeleteRuntime> runtime;
  std::vector<xnn_external_value> externals;  // y is the last
  std::string node;                           // the name of the subgraph's node: "fully_connected"
  bool has_channels_last = false;
  std::optional<std::string> failure;

  bool note(std::string_view call, xnn_status status) {
    if (status != xnn_status_success && !failure) failure = refusal_text(call, status);
    return status == xnn_status_success;
  }
};

/// Puts a unit into a subgraph. Its functions return what has no form there; what the library refuses is the model's
/// failure.
class SubgraphDefinition {
 public:
  using Problem = std::optional<std::string>;

  SubgraphDefinition(const Case& test_case, const GraphProgram& graph, const QuantizedUnit& unit, InputMemory& inputs)
      : case_(test_case), graph_(graph), unit_(unit), inputs_(inputs) {}

  [[nodiscard]] tl::expected<SubgraphModel, std::string> run() {
    xnn_subgraph_t made = nullptr;
    const auto reserved = static_cast<std::uint32_t>(unit_.operands.size() + 1);
    if (!model_.note("create_subgraph", xnn_create_subgraph(reserved, 0, &made))) return std::move(model_);
    model_.subgraph.reset(made);
    if (auto problem = define()) return tl::unexpected(std::move(*problem));
    if (model_.failure) return std::move(model_);
    xnn_runtime_t runtime = nullptr;
    if (model_.note("create_runtime", xnn_create_runtime(made, &runtime))) model_.runtime.reset(runtime);
    return std::move(model_);
  }

 private:
  Problem define() {
    if (unit_.compute == nullptr) return clamp();
    const auto& what = unit_.compute->what;
    if (const auto* sum = std::get_if<WeightedSum>(&what)) return weighted_sum(*sum);
    if (const auto* extreme = std::get_if<Extreme>(&what)) {
      const auto* window = std::get_if<WindowTaps>(&extreme->taps);
      if (window != nullptr && !extreme->smallest) return pool(window->axes, nullptr);
    }
    if (const auto* elementwise = std::get_if<Elementwise>(&what)) return of_elements(*elementwise);
    return beyond();
  }

  [[nodiscard]] Problem beyond() const {
    return fmt::format("its subgraphs have no {} with these types, shapes and attributes",
                       case_.nodes[unit_.compute->node].op_type);
  }

  [[nodiscard]] const Shape& shape(ValueId value) const { return graph_.program.values[value].shape; }
  [[nodiscard]] const Shape& x_shape() const { return shape(unit_.operands[0].input); }
  [[nodiscard]] const Shape& y_shape() const { return shape(graph_.program.outputs[0]); }

  [[nodiscard]] static Dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }
  // Turns the shape of data with one or two spatial dimensions to channels last; a single one is the width of one row.
  [[nodiscard]] static Dims dims_with_channels_last(const Shape& shape) {
    Dims dims{static_cast<std::size_t>(shape[0])};
    if (shape.size() == 3) dims.push_back(1);
    dims.insert(dims.end(), shape.begin() + 2, shape.end());
    dims.push_back(static_cast<std::size_t>(shape[1]));
    return dims;
  }

  [[nodiscard]] static std::optional<xnn_datatype> datatype_of(ElementType type, bool by_channel) {
    if (type == ElementType::int8) return by_channel ? xnn_datatype_qcint8 : xnn_datatype_qint8;
    if (type == ElementType::int32) return by_channel ? xnn_datatype_qcint32 : xnn_datatype_qint32;
    if (type == ElementType::uint8 && !by_channel) return xnn_datatype_quint8;
    return std::nullopt;
  }

  // An operand of these dimensions. `channel`: the dimension along which there may be a parameter for each element.
  Problem operand(std::size_t number, const Dims& dims, std::optional<std::size_t> channel,
                  const InputMemory::Fill& fill, std::uint32_t& id) {
    const auto& [input, parameters] = unit_.operands[number];
    const Tensor& tensor = *case_.inputs[input];
    const bool by_channel = parameters->x_scale.size() > 1;
    const auto type = datatype_of(tensor.type, by_channel);
    if (!type || parameters->scale_type != ElementType::float32 || parameters->y_type != ElementType::float32) {
      return fmt::format("its quantized tensors are not of {}{}", name_of(tensor.type),
                         by_channel ? " with several scales" : "");
    }
    if (by_channel && (!channel || parameters->layout.is_blocked()))
      return "several scales are possible along the output channels of weights only";
    const auto has_zero_point = [](double zero_point) { return zero_point != 0; };
    const auto& zero_points = parameters->x_zero_point;
    if (by_channel && std::any_of(zero_points.begin(), zero_points.end(), has_zero_point))
      return "scales of channels have no zero point";
    const std::span<std::byte> memory = inputs_.converted(input, tensor.bytes.size(), XNN_EXTRA_BYTES, fill);
    const bool is_fed = input < case_.fed_inputs;
    if (is_fed) model_.externals.push_back({static_cast<std::uint32_t>(number), memory.data()});
    const void* data = is_fed ? nullptr : memory.data();
    const std::uint32_t own = is_fed ? static_cast<std::uint32_t>(number) : XNN_INVALID_VALUE_ID;
    const std::uint32_t flags = is_fed ? XNN_VALUE_FLAG_EXTERNAL_INPUT : 0;
    if (!by_channel) {
      model_.note("define_quantized_tensor_value",
                  xnn_define_quantized_tensor_value(
                      model_.subgraph.get(), *type, static_cast<std::int32_t>(zero_points[0]),
                      static_cast<float>(parameters->x_scale[0]), dims.size(), dims.data(), data, own, flags, &id));
      return std::nullopt;
    }
    auto& scales = model_.scales.emplace_back(parameters->x_scale.begin(), parameters->x_scale.end());
    model_.note("define_channelwise_quantized_tensor_value",
                xnn_define_channelwise_quantized_tensor_value(model_.subgraph.get(), *type, scales.data(), dims.size(),
                                                              *channel, dims.data(), data, own, flags, &id));
    return std::nullopt;
  }

  static void as_it_is(const Tensor& tensor, std::span<std::byte> to) {
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), to.begin());
  }

  Problem plain_operand(std::size_t number, std::uint32_t& id) {
    return operand(number, dims_of(shape(unit_.operands[number].input)), std::nullopt, as_it_is, id);
  }

  Problem result(const Dims& dims, std::uint32_t& id) {
    const auto& y = *unit_.y;
    const bool divides_otherwise = y.precision != ElementType::undefined && y.precision != ElementType::float32;
    const auto type = datatype_of(graph_.types[graph_.program.outputs[0]], false);
    if (!type || y.y_scale.size() != 1 || y.layout.is_blocked() || y.scale_type != ElementType::float32 ||
        divides_otherwise) {
      return "its quantized results are of int8 or uint8 and have one scale, of float";
    }
    const auto own = static_cast<std::uint32_t>(unit_.operands.size());
    model_.note("define_quantized_tensor_value",
                xnn_define_quantized_tensor_value(model_.subgraph.get(), *type, y.y_zero_point[0],
                                                  static_cast<float>(y.y_scale[0]), dims.size(), dims.data(), nullptr,
                                                  own, XNN_VALUE_FLAG_EXTERNAL_OUTPUT, &id));
    model_.externals.push_back({own, nullptr});
    return std::nullopt;
  }

  // A call of the library with the node's subgraph in front.
  template <typename Define, typename... Arguments>
  Problem node(const char* name, Define call, Arguments... arguments) {
    model_.node = name;
    if (!model_.failure) model_.note(fmt::format("define_{}", name), call(model_.subgraph.get(), arguments...));
    return std::nullopt;
  }

  Problem clamp() {
    std::uint32_t x = 0;
    std::uint32_t y = 0;
    if (auto problem = plain_operand(0, x)) return problem;
    if (auto problem = result(dims_of(y_shape()), y)) return problem;
    const bool is_bounded = unit_.lowest > -std::numeric_limits<float>::infinity() ||
                            unit_.highest < std::numeric_limits<float>::infinity();
    if (!is_bounded) return node("convert", xnn_define_convert, x, y, 0U);
    return node("clamp", xnn_define_clamp, unit_.lowest, unit_.highest, x, y, 0U);
  }

  Problem weighted_sum(const WeightedSum& sum) {
    if (sum.alpha != 1 || sum.beta != 1) return beyond();
    if (const auto* window = std::get_if<WindowTaps>(&sum.taps)) return pool(window->axes, &sum.divisor);
    if (!sum.has_factor || !sum.divisor.empty()) return beyond();
    if (const auto* taps = std::get_if<ConvolutionTaps>(&sum.taps)) return convolution(taps->geometry, false);
    if (const auto* taps = std::get_if<TransposedTaps>(&sum.taps)) return convolution(taps->geometry, true);
    if (const auto* taps = std::get_if<MatrixTaps>(&sum.taps)) return fully_connected(*taps);
    return beyond();
  }

  // A bias of int32, with a scale for all or for each channel.
  Problem bias(std::size_t channels, std::uint32_t& id) {
    id = XNN_INVALID_VALUE_ID;
    if (unit_.operands.size() < 3) return std::nullopt;
    if (shape(unit_.operands[2].input) != Shape{static_cast<std::int64_t>(channels)})
      return "its bias has an element for each channel";
    return operand(2, {channels}, 0, as_it_is, id);
  }

  Problem convolution(const reference::ConvolutionGeometry& g, bool is_transposed);
  Problem pool(const std::vector<reference::SpatialAxis>& axes, const std::vector<std::int32_t>* divisor);
  Problem fully_connected(const MatrixTaps& taps);
  Problem of_elements(const Elementwise& what);

  const Case& case_;
  const GraphProgram& graph_;
  const QuantizedUnit& unit_;
  InputMemory& inputs_;
  SubgraphModel model_;
};

std::uint32_t u32(std::int64_t value) {
  return static_cast<std::uint32_t>(value);
}

// [C, M/group, kernels...] as [group][M/group][kernels...][C/group].
InputMemory::Fill turned(const reference::ConvolutionGeometry& g) {
  return [=, taps = g.kernel_taps(), depth = g.group_input_channels(), width = g.group_output_channels()](
             const Tensor& tensor, std::span<std::byte> to) {
    std::size_t at = 0;
    for (std::int64_t m = 0; m < g.output_channels; ++m) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        for (std::int64_t c = m / width * depth; c < (m / width + 1) * depth; ++c) {
          to[at++] = tensor.bytes[static_cast<std::size_t>((c * width + m % width) * taps + tap)];
        }
      }
    }
  };
}

SubgraphDefinition::Problem SubgraphDefinition::convolution(const reference::ConvolutionGeometry& g,
                                                            bool is_transposed) {
  if (g.axes.empty() || g.axes.size() > 2) return "it has 1 or 2 spatial dimensions";
  if (is_transposed && unit_.operands[1].parameters->x_scale.size() > 1)
    return "weights that are transposed have one scale";
  const auto& layout = unit_.operands[1].parameters->layout;
  if (layout.channels > 1 && (layout.outer != 1 || layout.channels != g.output_channels)) {
    return "several scales are possible along the output channels of weights only";
  }
  const auto [height, width] = axes_of(g);
  const auto depth = static_cast<std::size_t>(g.group_input_channels());
  const auto filters = static_cast<std::size_t>(g.group_output_channels());
  const auto channels = static_cast<std::size_t>(g.output_channels);
  const Dims filter{channels, static_cast<std::size_t>(height.kernel), static_cast<std::size_t>(width.kernel), depth};
  std::uint32_t x = 0;
  std::uint32_t w = 0;
  std::uint32_t b = 0;
  std::uint32_t y = 0;
  model_.has_channels_last = true;
  if (auto problem = operand(0, dims_with_channels_last(x_shape()), std::nullopt, to_channels_last, x)) return problem;
  if (auto problem = operand(1, filter, 0, is_transposed ? turned(g) : to_channels_last, w)) return problem;
  if (auto problem = bias(channels, b)) return problem;
  if (auto problem = result(dims_with_channels_last(y_shape()), y)) return problem;
  if (!is_transposed) {
    return node("convolution_2d", xnn_define_convolution_2d, u32(height.pad_begin), u32(width.pad_end),
                u32(height.pad_end), u32(width.pad_begin), u32(height.kernel), u32(width.kernel), u32(height.stride),
                u32(width.stride), u32(height.dilation), u32(width.dilation), u32(g.group), depth, filters,
                unit_.lowest, unit_.highest, x, w, b, y, 0U);
  }
  // The library's size is stride * (input - 1) + adjustment + extent - pads.
  const auto adjustment = [](const reference::SpatialAxis& axis) {
    return axis.output - (axis.stride * (axis.input - 1) + axis.kernel_extent() - axis.pad_begin - axis.pad_end);
  };
  return node("deconvolution_2d", xnn_define_deconvolution_2d, u32(height.pad_begin), u32(width.pad_end),
              u32(height.pad_end), u32(width.pad_begin), u32(adjustment(height)), u32(adjustment(width)),
              u32(height.kernel), u32(width.kernel), u32(height.stride), u32(width.stride), u32(height.dilation),
              u32(width.dilation), u32(g.group), depth, filters, unit_.lowest, unit_.highest, x, w, b, y, 0U);
}

// `divisor`: of an average, for each element of y.
SubgraphDefinition::Problem SubgraphDefinition::pool(const std::vector<reference::SpatialAxis>& axes,
                                                     const std::vector<std::int32_t>* divisor) {
  if (axes.empty() || axes.size() > 2) return "it has 1 or 2 spatial dimensions";
  const auto [height, width] = axes_of({.axes = axes});
  const auto leaves_padding = [](const reference::SpatialAxis& axis) {
    return (axis.output - 1) * axis.stride + axis.kernel_extent() > axis.input + axis.pad_begin + axis.pad_end;
  };
  if (leaves_padding(height) || leaves_padding(width))
    return "its pooling has no windows that reach beyond the padding";
  const auto counts_padding = [&](std::int32_t by) { return by != divisor->front(); };
  const bool is_padded = height.pad_begin + height.pad_end + width.pad_begin + width.pad_end > 0;
  if (divisor != nullptr && std::any_of(divisor->begin(), divisor->end(), counts_padding)) {
    if (!is_padded) return "its average pooling has no windows that reach beyond the data";
  } else if (divisor != nullptr && is_padded) {
    return "its average pooling does not count padding";
  }
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  model_.has_channels_last = true;
  if (auto problem = operand(0, dims_with_channels_last(x_shape()), std::nullopt, to_channels_last, x)) return problem;
  if (auto problem = result(dims_with_channels_last(y_shape()), y)) return problem;
  const bool is_global = case_.nodes[unit_.compute->node].op_type == "GlobalAveragePool";
  if (is_global) {
    return node("global_average_pooling_2d", xnn_define_global_average_pooling_2d, unit_.lowest, unit_.highest, x, y,
                0U);
  }
  if (divisor != nullptr) {
    if (height.dilation != 1 || width.dilation != 1) return "its averages have no dilations";
    return node("average_pooling_2d", xnn_define_average_pooling_2d, u32(height.pad_begin), u32(width.pad_end),
                u32(height.pad_end), u32(width.pad_begin), u32(height.kernel), u32(width.kernel), u32(height.stride),
                u32(width.stride), unit_.lowest, unit_.highest, x, y, 0U);
  }
  return node("max_pooling_2d", xnn_define_max_pooling_2d, u32(height.pad_begin), u32(width.pad_end),
              u32(height.pad_end), u32(width.pad_begin), u32(height.kernel), u32(width.kernel), u32(height.stride),
              u32(width.stride), u32(height.dilation), u32(width.dilation), unit_.lowest, unit_.highest, x, y, 0U);
}

SubgraphDefinition::Problem SubgraphDefinition::fully_connected(const MatrixTaps& taps) {
  const Shape& w_shape = shape(unit_.operands[1].input);
  if (taps.a_inner != 1 || x_shape().size() < 2 || w_shape.size() != 2)
    return "its fully_connected takes rows of x and a matrix";
  if (x_shape().back() != taps.k) return "its fully_connected takes rows of x";
  const bool is_transposed = taps.b_inner != 1 || w_shape != Shape{taps.n, taps.k};  // [k, n]
  const auto& layout = unit_.operands[1].parameters->layout;
  const bool has_columns = is_transposed ? layout.inner == 1 : layout.outer == 1;
  if (layout.channels > 1 && (!has_columns || layout.channels != taps.n))
    return "several scales are possible along the output channels of weights only";
  std::uint32_t x = 0;
  std::uint32_t w = 0;
  std::uint32_t b = 0;
  std::uint32_t y = 0;
  if (auto problem = plain_operand(0, x)) return problem;
  if (auto problem = operand(1, dims_of(w_shape), is_transposed ? 1 : 0, as_it_is, w)) return problem;
  if (auto problem = bias(static_cast<std::size_t>(taps.n), b)) return problem;
  if (auto problem = result(dims_of(y_shape()), y)) return problem;
  return node("fully_connected", xnn_define_fully_connected, unit_.lowest, unit_.highest, x, w, b, y,
              is_transposed ? XNN_FLAG_TRANSPOSE_WEIGHTS : 0U);
}

SubgraphDefinition::Problem SubgraphDefinition::of_elements(const Elementwise& what) {
  const bool is_single = what.function == Function::leaky_relu || what.function == Function::sigmoid;
  const bool is_pair =
      what.function == Function::add || what.function == Function::sub || what.function == Function::mul;
  if (!is_single && !is_pair) return beyond();
  const bool is_bounded =
      unit_.lowest > -std::numeric_limits<float>::infinity() || unit_.highest < std::numeric_limits<float>::infinity();
  if (is_single && is_bounded) return "its activations have no bounds";
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t y = 0;
  if (auto problem = plain_operand(0, a)) return problem;
  if (is_pair) {
    if (auto problem = plain_operand(1, b)) return problem;
  }
  if (auto problem = result(dims_of(y_shape()), y)) return problem;
  switch (what.function) {
    case Function::add: return node("add2", xnn_define_add2, unit_.lowest, unit_.highest, a, b, y, 0U);
    case Function::sub: return node("subtract", xnn_define_subtract, unit_.lowest, unit_.highest, a, b, y, 0U);
    case Function::mul: return node("multiply2", xnn_define_multiply2, unit_.lowest, unit_.highest, a, b, y, 0U);
    case Function::leaky_relu:
      return node("leaky_relu", xnn_define_leaky_relu, static_cast<float>(what.alpha), a, y, 0U);
    default: return node("sigmoid", xnn_define_sigmoid, a, y, 0U);
  }
}

class PreparedSubgraph final : public PreparedCase {
 public:
  PreparedSubgraph(const Case& test_case, ElementType y_type, Shape y_shape, SubgraphModel model)
      : case_(test_case), y_type_(y_type), y_shape_(std::move(y_shape)), model_(std::move(model)) {}

  void run(OutputSink& sink) override {
    const std::span<std::byte> y = sink.allocate(y_type_, y_shape_);
    model_.externals.back().data = y.data();
    const auto set_up = xnn_setup_runtime(model_.runtime.get(), model_.externals.size(), model_.externals.data());
    if (model_.note("setup_runtime", set_up)) model_.note("invoke_runtime", xnn_invoke_runtime(model_.runtime.get()));
    if (model_.failure) return sink.refuse(refusal(case_, *model_.failure));
    if (!model_.has_channels_last) return;
    const std::vector<std::byte> channels_last(y.begin(), y.end());
    to_channels_first(channels_last, y_type_, y_shape_, y);
  }

 private:
  const Case& case_;
  ElementType y_type_;
  Shape y_shape_;
  SubgraphModel model_;
};

class SubgraphBackend final : public Backend {
 public:
  explicit SubgraphBackend(BackendInfo info) : info_(std::move(info)) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override { return prepare_on_own_tensors(*this, test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    auto taken = backend::interpretable(test_case, "its subgraph interface");
    if (auto* refusal = std::get_if<outcome::Unsupported>(&taken)) return std::move(*refusal);
    if (auto* refusal = std::get_if<outcome::Rejected>(&taken)) return std::move(*refusal);
    const auto& graph = std::get<GraphProgram>(taken);
    auto model = defined(test_case, graph, inputs);
    if (!model) return outcome::Unsupported{model.error()};
    if (model->failure) return refused(test_case, *model->failure);
    const ValueId y = graph.program.outputs[0];
    return std::make_unique<PreparedSubgraph>(test_case, graph.types[y], graph.program.values[y].shape,
                                              std::move(*model));
  }

  [[nodiscard]] std::optional<CaseGraph> rewritten(const Case& test_case) override {
    const auto taken = backend::interpretable(test_case, "its subgraph interface");
    const auto* graph = std::get_if<GraphProgram>(&taken);
    if (graph == nullptr) return std::nullopt;
    PlainInputs inputs(test_case);
    const auto model = defined(test_case, *graph, inputs);
    if (!model || model->failure) return std::nullopt;
    CaseGraph shown = shown_graph(test_case);
    shown.nodes = {{model->node, "xnnpack", {}, test_case.input_names, test_case.outputs}};
    return shown;
  }

 private:
  static tl::expected<SubgraphModel, std::string> defined(const Case& test_case, const GraphProgram& graph,
                                                          InputMemory& inputs) {
    const auto unit = quantized_unit(test_case, graph);
    if (!unit) return tl::unexpected(unit.error());
    return SubgraphDefinition(test_case, graph, *unit, inputs).run();
  }

  BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> subgraph_backend(BackendInfo info) {
  return std::make_unique<SubgraphBackend>(std::move(info));
}

}  // namespace qconform::libraries::xnn
