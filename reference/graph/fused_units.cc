#include "reference/graph/fused_units.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

namespace qconform::reference::graph {
namespace {

constexpr std::size_t kNoStep = std::numeric_limits<std::size_t>::max();

std::optional<Integer8> integer8_of(Element type) {
  if (type == Element::uint8) return Integer8::uint8;
  if (type == Element::int8) return Integer8::int8;
  return std::nullopt;
}

bool is_in_domain(double scale) {
  return scale >= 0x1p-30 && scale <= 0x1p30;
}

bool has_only_float32(const DequantizeLinear& node) {
  return node.scale_type == Element::float32 && node.y_type == Element::float32;
}

/// Where the weights of a convolution stand in the tensor that the graph has, and how its output elements lie.
struct Arrangement {
  ConvolutionGeometry geometry;
  std::vector<std::int64_t> w_index;  // by the convolution's weight
};

std::optional<Arrangement> arrange(const ConvolutionTaps& taps) {
  Arrangement result{taps.geometry, {}};
  const std::int64_t weights = taps.geometry.output_channels * taps.geometry.depth();
  for (std::int64_t i = 0; i < weights; ++i) result.w_index.push_back(i);
  return result;
}

std::optional<Arrangement> arrange(const MatrixTaps& taps) {
  const auto batches = static_cast<std::int64_t>(taps.a_begin.size());
  if (taps.k < 1 || taps.a_inner != 1 || (taps.m != 1 && taps.a_row != taps.k)) return std::nullopt;
  for (std::int64_t i = 0; i < batches; ++i) {
    const auto batch = static_cast<std::size_t>(i);
    if (taps.a_begin[batch] != i * taps.m * taps.k || taps.b_begin[batch] != taps.b_begin[0]) return std::nullopt;
  }
  const SpatialAxis point{
      .input = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 1};
  Arrangement result{
      {.batch = batches * taps.m, .input_channels = taps.k, .output_channels = taps.n, .group = 1, .axes = {point}},
      {}};
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

class Units {
 public:
  explicit Units(const Program& program)
      : program_(program), producer_(program.values.size(), kNoStep), readers_(program.values.size(), 0) {
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      producer_[program.steps[i].result] = i;
      for (const ValueId operand : program.steps[i].operands) ++readers_[operand];
    }
    for (const ValueId output : program.outputs) ++readers_[output];
  }

  [[nodiscard]] std::optional<FusedUnit> unit_at(std::size_t step) const {
    const auto* quantize = std::get_if<Quantize>(&program_.steps[step].what);
    if (quantize == nullptr || !takes(quantize->node)) return std::nullopt;
    FusedUnit unit{.quantize = step, .x = 0, .convolution = {}, .w = {}, .clamps = {}, .nodes = {}};
    unit.nodes.push_back(program_.steps[step].node);
    unit.convolution.y_type = *integer8_of(quantize->node.y_type);
    unit.convolution.y_scale = static_cast<float>(quantize->node.y_scale[0]);
    unit.convolution.y_zero_point = quantize->node.y_zero_point[0];
    const Step* sum = before_activations(program_.steps[step].operands[0], unit);
    if (sum == nullptr || !read_sum(*sum, unit)) return std::nullopt;
    std::sort(unit.nodes.begin(), unit.nodes.end());
    return unit;
  }

 private:
  [[nodiscard]] static bool takes(const QuantizeLinear& node) {
    return node.x_type == Element::float32 && node.scale_type == Element::float32 &&
           (node.precision == Element::none || node.precision == Element::float32) && integer8_of(node.y_type) &&
           node.y_scale.size() == 1 && is_in_domain(node.y_scale[0]);
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
  // What a DequantizeLinear reads, which goes with the unit if nothing else needs it.
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
    return read_x(step.operands[0], unit) && read_w(step.operands[1], arrangement->w_index, unit) &&
           (sum->c_index.empty() || read_bias(*sum, step.operands[2], unit)) && sums_fit(unit);
  }

  [[nodiscard]] bool read_x(ValueId value, FusedUnit& unit) const {
    const Dequantize* from = dequantized(value);
    if (from == nullptr || !has_only_float32(from->node) || from->node.x_scale.size() != 1) return false;
    const auto type = integer8_of(from->node.x_type);
    if (!type || !is_in_domain(from->node.x_scale[0])) return false;
    unit.x = source(value, unit);
    unit.convolution.operands.x_type = *type;
    unit.convolution.operands.x_zero_point = static_cast<std::int32_t>(from->node.x_zero_point[0]);
    unit.convolution.x_scale = static_cast<float>(from->node.x_scale[0]);
    return true;
  }

  [[nodiscard]] bool read_w(ValueId value, const std::vector<std::int64_t>& index, FusedUnit& unit) const {
    const Dequantize* from = dequantized(value);
    if (from == nullptr || !has_only_float32(from->node)) return false;
    const auto type = integer8_of(from->node.x_type);
    const std::vector<double>& stated = program_.values[source(value, unit)].stated;
    if (!type || stated.empty()) return false;
    ConvolutionOperands& operands = unit.convolution.operands;
    operands.w_type = *type;
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

  // One value for each output channel.
  [[nodiscard]] bool read_bias(const WeightedSum& sum, ValueId value, FusedUnit& unit) const {
    const Dequantize* from = dequantized(value);
    if (from == nullptr || from->node.x_type != Element::int32 || !has_only_float32(from->node)) return false;
    const std::vector<double>& stated = program_.values[source(value, unit)].stated;
    if (stated.empty()) return false;
    const ConvolutionGeometry& geometry = unit.convolution.operands.geometry;
    const auto positions = static_cast<std::size_t>(geometry.output_positions());
    const auto channels = static_cast<std::size_t>(geometry.output_channels);
    std::vector<std::int64_t> of_channel(channels, -1);
    for (std::size_t i = 0; i < sum.c_index.size(); ++i) {
      std::int64_t& index = of_channel[i / positions % channels];
      if (index != -1 && index != sum.c_index[i]) return false;
      index = sum.c_index[i];
    }
    for (std::size_t channel = 0; channel < channels; ++channel) {
      if (of_channel[channel] < 0) return false;  // no output element
      const std::size_t parameter = from->node.layout.parameter_of(of_channel[channel]);
      const float unit_of_sum = unit.convolution.x_scale * unit.convolution.w_scale[channel];
      if (static_cast<float>(from->node.x_scale[parameter]) != unit_of_sum) return false;
      if (from->node.x_zero_point[parameter] != 0) return false;
      const double bias = stated[static_cast<std::size_t>(of_channel[channel])];
      unit.convolution.operands.bias.push_back(static_cast<std::int32_t>(bias));
    }
    return true;
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
  std::vector<std::size_t> producer_;  // the step of each value
  std::vector<std::size_t> readers_;   // how many steps and outputs read it
};

}  // namespace

std::vector<FusedUnit> fused_units(const Program& program) {
  const Units units(program);
  std::vector<FusedUnit> found;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (auto unit = units.unit_at(i)) found.push_back(std::move(*unit));
  }
  return found;
}

}  // namespace qconform::reference::graph
