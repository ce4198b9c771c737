#include "reference/graph/interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "reference/numerics/integers.h"

namespace qconform::reference::graph {
namespace {

constexpr std::size_t kNoStep = std::numeric_limits<std::size_t>::max();

bool is_in_domain(double scale) {
  return scale >= 0x1p-30 && scale <= 0x1p30;
}

bool has_only_float32(const DequantizeLinear& node) {
  return node.scale_type == ElementType::float32 && node.y_type == ElementType::float32;
}

/// A sum as a convolution: where its data and weights stand in the tensors that the graph has.
struct Arrangement {
  ConvolutionGeometry geometry;
  std::vector<std::int64_t> w_index;    // by the convolution's weight
  std::vector<std::int64_t> x_index{};  // as FusedUnit has it
};

std::optional<Arrangement> arrange(const ConvolutionTaps& taps) {
  Arrangement result{taps.geometry, {}};
  const std::int64_t weights = taps.geometry.output_channels * taps.geometry.depth();
  for (std::int64_t i = 0; i < weights; ++i) result.w_index.push_back(i);
  return result;
}

// Spread-out data has at most that many elements.
constexpr std::int64_t kMostSpread = std::int64_t{1} << 22;

// The axes of the convolution over spread-out data: as wide as its windows reach, so that it needs no padding.
std::optional<std::vector<SpatialAxis>> spread_axes(const ConvolutionGeometry& geometry) {
  std::vector<SpatialAxis> axes;
  std::int64_t elements = geometry.batch * geometry.input_channels;
  for (SpatialAxis axis : geometry.axes) {
    axis.input = axis.output - 1 + axis.kernel_extent();
    axis.stride = 1;
    axis.pad_begin = axis.pad_end = 0;
    if (elements > kMostSpread / axis.input) return std::nullopt;
    elements *= axis.input;
    axes.push_back(axis);
  }
  return axes;
}

// Returns the position within one channel of x that a position of the spread-out data comes from; -1 between and beside
// the data.
std::int64_t spread_from(const ConvolutionGeometry& geometry, const std::vector<std::int64_t>& at) {
  std::int64_t from = 0;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const SpatialAxis& axis = geometry.axes[d];
    const std::int64_t position = at[d] + axis.pad_begin - (axis.kernel_extent() - 1);
    if (position < 0 || position % axis.stride != 0 || position / axis.stride >= axis.input) return -1;
    from = from * axis.input + position / axis.stride;
  }
  return from;
}

std::optional<Arrangement> arrange(const TransposedTaps& taps) {
  const ConvolutionGeometry& geometry = taps.geometry;
  auto axes = spread_axes(geometry);
  if (!axes) return std::nullopt;
  Arrangement result{geometry, {}};
  result.geometry.axes = std::move(*axes);
  std::vector<std::int64_t> extents;
  for (const SpatialAxis& axis : result.geometry.axes) extents.push_back(axis.input);
  const std::int64_t inputs = geometry.input_positions();
  for (std::int64_t channel = 0; channel < geometry.batch * geometry.input_channels; ++channel) {
    for_each_position(extents, [&](const std::vector<std::int64_t>& at) {
      const std::int64_t from = spread_from(geometry, at);
      result.x_index.push_back(from < 0 ? -1 : channel * inputs + from);
    });
  }
  const std::int64_t depth = geometry.group_input_channels();
  const std::int64_t width = geometry.group_output_channels();
  const std::int64_t kernel = geometry.kernel_taps();
  for (std::int64_t channel = 0; channel < geometry.output_channels; ++channel) {
    for (std::int64_t c = channel / width * depth; c < (channel / width + 1) * depth; ++c) {
      for (std::int64_t tap = kernel; tap-- > 0;) {
        result.w_index.push_back((c * width + channel % width) * kernel + tap);
      }
    }
  }
  return result;
}

// The rows of a, where they do not lie one after the other.
std::vector<std::int64_t> rows_of(const MatrixTaps& taps) {
  std::vector<std::int64_t> index;
  bool is_in_order = true;
  for (const std::int64_t begin : taps.a_begin) {
    for (std::int64_t m = 0; m < taps.m; ++m) {
      for (std::int64_t k = 0; k < taps.k; ++k) {
        const std::int64_t from = begin + m * taps.a_row + k * taps.a_inner;
        is_in_order = is_in_order && from == static_cast<std::int64_t>(index.size());
        index.push_back(from);
      }
    }
  }
  return is_in_order ? std::vector<std::int64_t>{} : index;
}

std::optional<Arrangement> arrange(const MatrixTaps& taps) {
  const auto batches = static_cast<std::int64_t>(taps.a_begin.size());
  if (batches == 0) return std::nullopt;
  const auto has_other_begin = [&](std::int64_t begin) { return begin != taps.b_begin[0]; };
  if (taps.k < 1 || std::any_of(taps.b_begin.begin(), taps.b_begin.end(), has_other_begin)) return std::nullopt;
  Arrangement result;
  result.geometry.batch = batches * taps.m;
  result.geometry.input_channels = taps.k;
  result.geometry.output_channels = taps.n;
  result.geometry.group = 1;
  result.geometry.axes.push_back(
      {.input = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 1});
  result.x_index = rows_of(taps);
  for (std::int64_t n = 0; n < taps.n; ++n) {
    for (std::int64_t k = 0; k < taps.k; ++k) {
      result.w_index.push_back(taps.b_begin[0] + k * taps.b_inner + n * taps.b_column);
    }
  }
  return result;
}

template <typename Taps>
std::optional<Arrangement> arrange(const Taps& /*taps*/) {
  return std::nullopt;
}

class FusedUnits {
 public:
  FusedUnits(const Program& program, FloatBias float_bias)
      : program_(program),
        float_bias_(float_bias),
        producer_(program.values.size(), kNoStep),
        readers_(program.values.size(), 0) {
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      producer_[program.steps[i].result] = i;
      for (const ValueId operand : program.steps[i].operands) ++readers_[operand];
    }
    for (const ValueId output : program.outputs) ++readers_[output];
  }

  [[nodiscard]] std::optional<FusedUnit> unit_at(std::size_t step) const {
    const auto* quantize = std::get_if<Quantize>(&program_.steps[step].what);
    if (quantize == nullptr || !takes(quantize->node)) return std::nullopt;
    FusedUnit unit{.quantize = step, .x = 0, .x_index = {}, .convolution = {}, .w = {}, .clamps = {}, .nodes = {}};
    unit.nodes.push_back(program_.steps[step].node);
    unit.convolution.y_type = quantize->node.y_type;
    unit.convolution.y_scale = static_cast<float>(quantize->node.y_scale[0]);
    unit.convolution.y_zero_point = quantize->node.y_zero_point[0];
    const Step* sum = before_activations(program_.steps[step].operands[0], unit);
    if (sum == nullptr || !read_sum(*sum, unit)) return std::nullopt;
    std::sort(unit.nodes.begin(), unit.nodes.end());
    return unit;
  }

 private:
  [[nodiscard]] static bool takes(const QuantizeLinear& node) {
    return node.x_type == ElementType::float32 && node.scale_type == ElementType::float32 &&
           (node.precision == ElementType::undefined || node.precision == ElementType::float32) &&
           is_8bit_integer(node.y_type) && node.y_scale.size() == 1 && is_in_domain(node.y_scale[0]);
  }

  // The step of a value that is read once; null where there is none.
  [[nodiscard]] const Step* only_for_one(ValueId value, FusedUnit& unit) const {
    if (readers_[value] != 1 || producer_[value] == kNoStep) return nullptr;
    unit.nodes.push_back(program_.steps[producer_[value]].node);
    return &program_.steps[producer_[value]];
  }

  // The step whose result the activations begin with.
  [[nodiscard]] const Step* before_activations(ValueId value, FusedUnit& unit) const {
    for (;;) {
      const Step* step = only_for_one(value, unit);
      const auto* activation = step == nullptr ? nullptr : std::get_if<Elementwise>(&step->what);
      if (activation == nullptr) return step;
      const bool is_relu = activation->function == Function::relu;
      const bool is_indexed = std::any_of(activation->index.begin(), activation->index.end(),
                                          [](const auto& index) { return !index.empty(); });
      if ((!is_relu && activation->function != Function::clip) || is_indexed) return nullptr;
      const double highest = is_relu ? std::numeric_limits<double>::infinity() : activation->beta;
      unit.clamps.insert(unit.clamps.begin(), {end_of(is_relu ? 0 : activation->alpha, unit), end_of(highest, unit)});
      value = step->operands[0];
    }
  }

  // An end of an activation as Q has it.
  [[nodiscard]] static std::int32_t end_of(double end, const FusedUnit& unit) {
    const QLinearConv& node = unit.convolution;
    return quantize(static_cast<float>(end), node.y_scale, node.y_zero_point, range_of(node.y_type));
  }

  [[nodiscard]] const Dequantize* dequantized(ValueId value) const {
    if (producer_[value] == kNoStep) return nullptr;
    return std::get_if<Dequantize>(&program_.steps[producer_[value]].what);
  }
  // Returns the value that the DequantizeLinear of `value` reads. That node goes with the unit if nothing else needs
  // it.
  [[nodiscard]] ValueId source(ValueId value, FusedUnit& unit) const {
    if (readers_[value] == 1) unit.nodes.push_back(program_.steps[producer_[value]].node);
    return program_.steps[producer_[value]].operands[0];
  }

  [[nodiscard]] bool read_sum(const Step& step, FusedUnit& unit) const {
    const auto* sum = std::get_if<WeightedSum>(&step.what);
    if (sum == nullptr || !sum->has_factor || sum->alpha != 1 || sum->beta != 1 || !sum->divisor.empty()) return false;
    auto arrangement = std::visit([](const auto& taps) { return arrange(taps); }, sum->taps);
    if (!arrangement) return false;
    unit.convolution.operands.geometry = std::move(arrangement->geometry);
    unit.x_index = std::move(arrangement->x_index);
    return read_x(step.operands[0], unit) && read_w(step.operands[1], arrangement->w_index, unit) &&
           (sum->c_index.empty() || read_bias(*sum, step.operands[2], unit)) && sums_fit(unit);
  }

  [[nodiscard]] bool read_x(ValueId value, FusedUnit& unit) const {
    const Dequantize* from = dequantized(value);
    if (from == nullptr || !has_only_float32(from->node) || from->node.x_scale.size() != 1) return false;
    if (!is_8bit_integer(from->node.x_type) || !is_in_domain(from->node.x_scale[0])) return false;
    unit.x = source(value, unit);
    unit.convolution.operands.x_type = from->node.x_type;
    unit.convolution.operands.x_zero_point = static_cast<std::int32_t>(from->node.x_zero_point[0]);
    unit.convolution.x_scale = static_cast<float>(from->node.x_scale[0]);
    return true;
  }

  [[nodiscard]] bool read_w(ValueId value, const std::vector<std::int64_t>& index, FusedUnit& unit) const {
    const Dequantize* from = dequantized(value);
    if (from == nullptr || !has_only_float32(from->node)) return false;
    const std::vector<double>& stated = program_.values[source(value, unit)].stated;
    if (!is_8bit_integer(from->node.x_type) || stated.empty()) return false;
    ConvolutionOperands& operands = unit.convolution.operands;
    operands.w_type = from->node.x_type;
    const auto depth = static_cast<std::size_t>(operands.geometry.depth());
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::size_t parameter = from->node.layout.parameter_of(index[i]);
      const auto scale = static_cast<float>(from->node.x_scale[parameter]);
      const auto zero_point = static_cast<std::int32_t>(from->node.x_zero_point[parameter]);
      if (i % depth == 0) {
        unit.convolution.w_scale.push_back(scale);
        operands.w_zero_point.push_back(zero_point);
      }
      if (scale != unit.convolution.w_scale.back() || zero_point != operands.w_zero_point.back()) return false;
      if (!is_in_domain(scale)) return false;
      unit.w.push_back(store8(static_cast<std::int32_t>(stated[static_cast<std::size_t>(index[i])])));
    }
    return true;
  }

  // The element of the bias that each output channel has; empty where a channel has several, or none.
  [[nodiscard]] static std::vector<std::int64_t> bias_of_channels(const WeightedSum& sum,
                                                                  const ConvolutionGeometry& geometry) {
    const auto positions = static_cast<std::size_t>(geometry.output_positions());
    const auto channels = static_cast<std::size_t>(geometry.output_channels);
    std::vector<std::int64_t> of_channel(channels, -1);
    for (std::size_t i = 0; i < sum.c_index.size(); ++i) {
      std::int64_t& index = of_channel[i / positions % channels];
      if (index != -1 && index != sum.c_index[i]) return {};
      index = sum.c_index[i];
    }
    if (std::find(of_channel.begin(), of_channel.end(), -1) != of_channel.end()) return {};  // no output element
    return of_channel;
  }

  [[nodiscard]] bool read_bias(const WeightedSum& sum, ValueId value, FusedUnit& unit) const {
    const std::vector<std::int64_t> of_channel = bias_of_channels(sum, unit.convolution.operands.geometry);
    for (std::size_t channel = 0; channel < of_channel.size(); ++channel) {
      const auto bias = program_.values[value].stated.empty()
                            ? dequantized_bias(value, of_channel[channel], channel, unit)
                            : float_bias(value, of_channel[channel], channel, unit);
      if (!bias) return false;
      unit.convolution.operands.bias.push_back(*bias);
    }
    if (of_channel.empty()) return false;
    if (dequantized(value) != nullptr) (void)source(value, unit);
    return true;
  }

  [[nodiscard]] std::optional<std::int32_t> dequantized_bias(ValueId value, std::int64_t index, std::size_t channel,
                                                             const FusedUnit& unit) const {
    const Dequantize* from = dequantized(value);
    if (from == nullptr || from->node.x_type != ElementType::int32 || !has_only_float32(from->node))
      return std::nullopt;
    const std::vector<double>& stated = program_.values[program_.steps[producer_[value]].operands[0]].stated;
    const std::size_t parameter = from->node.layout.parameter_of(index);
    const float unit_of_sum = unit.convolution.x_scale * unit.convolution.w_scale[channel];
    if (stated.empty() || static_cast<float>(from->node.x_scale[parameter]) != unit_of_sum) return std::nullopt;
    if (from->node.x_zero_point[parameter] != 0) return std::nullopt;
    return static_cast<std::int32_t>(stated[static_cast<std::size_t>(index)]);
  }

  [[nodiscard]] std::optional<std::int32_t> float_bias(ValueId value, std::int64_t index, std::size_t channel,
                                                       const FusedUnit& unit) const {
    if (program_.values[value].type != ElementType::float32) return std::nullopt;
    const double given = program_.values[value].stated[static_cast<std::size_t>(index)];
    const double unit_of_sum = static_cast<double>(unit.convolution.x_scale) * unit.convolution.w_scale[channel];
    const auto multiple = integer_bias(given, unit_of_sum);
    if (!multiple || std::fabs(*multiple) > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    const bool is_exact = static_cast<double>(static_cast<float>(*multiple * unit_of_sum)) == given;
    if (!is_exact && float_bias_ == FloatBias::exact) return std::nullopt;
    return static_cast<std::int32_t>(*multiple);
  }

  // QLinearConv's sums wrap, those of a graph do not.
  [[nodiscard]] static bool sums_fit(const FusedUnit& unit) {
    const ConvolutionOperands& operands = unit.convolution.operands;
    const IntegerRange range = range_of(operands.x_type);
    const std::int64_t most = std::max(range.hi - operands.x_zero_point, operands.x_zero_point - range.lo);
    const auto depth = static_cast<std::size_t>(operands.geometry.depth());
    for (std::size_t channel = 0; channel < operands.w_zero_point.size(); ++channel) {
      std::int64_t total = operands.bias.empty() ? 0 : std::abs(std::int64_t{operands.bias[channel]});
      for (std::size_t i = channel * depth; i < (channel + 1) * depth; ++i) {
        total += most * std::abs(load8(operands.w_type, unit.w[i]) - operands.w_zero_point[channel]);
      }
      if (total > std::numeric_limits<std::int32_t>::max()) return false;
    }
    return true;
  }

  const Program& program_;
  FloatBias float_bias_;
  std::vector<std::size_t> producer_;  // the step of each value
  std::vector<std::size_t> readers_;   // how many steps and outputs read it
};

}  // namespace

std::optional<double> integer_bias(double bias, double product_of_scales) {
  const auto unit = static_cast<float>(product_of_scales);
  if (unit == 0 || !std::isfinite(bias)) return std::nullopt;
  return round_half_even(static_cast<double>(static_cast<float>(bias) / unit));
}

std::vector<FusedUnit> fused_units(const Program& program, FloatBias float_bias) {
  const FusedUnits units(program, float_bias);
  std::vector<FusedUnit> found;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (auto unit = units.unit_at(i)) found.push_back(std::move(*unit));
  }
  return found;
}

}  // namespace qconform::reference::graph
