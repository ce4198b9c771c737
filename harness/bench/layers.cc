#include "harness/bench/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>

#include "harness/bench/layer_case.h"
#include "harness/bench/layer_sets.h"
#include "harness/operators/operator.h"
#include "harness/suites/select.h"

namespace qconform::bench {
namespace {

constexpr std::string_view kLinearSet = "linear-64mb";
constexpr std::string_view kLinearDescription =
    "QuantizeLinear and DequantizeLinear on 64 MiB of float32, beside memcpy of as much";
constexpr std::int64_t kLinearElements = (std::int64_t{64} << 20) / static_cast<std::int64_t>(sizeof(float));

constexpr std::array kTypes{std::pair{LayerTypes::u8s8, "u8s8"}, std::pair{LayerTypes::s8s8, "s8s8"},
                            std::pair{LayerTypes::u8u8, "u8u8"}};

struct WorkOf {
  Layer& layer;

  void operator()(const reference::QLinearConv* node) { convolution(node->operands.geometry); }
  void operator()(const reference::ConvInteger* node) { convolution(node->operands.geometry); }
  void operator()(const reference::QuantizeLinear*) { layer.kind = LayerKind::linear; }
  void operator()(const reference::DequantizeLinear*) { layer.kind = LayerKind::linear; }

 private:
  void convolution(const reference::ConvolutionGeometry& g) {
    layer.macs = g.batch * g.output_channels * g.output_positions() * g.depth();
    if (g.group > 1) layer.kind = g.group_input_channels() == 1 ? LayerKind::depthwise : LayerKind::grouped;
  }
};

// False for a case that has no right answer to be timed for.
bool measure_work(Layer& layer) {
  const Classification classification = classify(layer.test_case);
  if (!classification.lowered || classification.value_is_open) return false;
  const Lowered& lowered = *classification.lowered;
  const auto y_bytes = bytes_for(lowered.output_type(), elements_of(lowered.output_shape()));
  layer.bytes = static_cast<std::int64_t>(layer.test_case.input(0)->bytes.size()) + y_bytes;
  std::visit(WorkOf{layer}, lowered.description());
  return true;
}

Layer convolution_layer(std::string_view set, const CountedShape& counted, const LayerOptions& options) {
  Layer layer;
  layer.test_case = convolution_case(counted.shape, options);
  layer.name = layer.test_case.id;
  layer.set = set;
  layer.count = counted.count;
  return layer;
}

std::vector<Layer> linear_layers(const LayerOptions& options) {
  std::vector<Layer> layers;
  for (const bool quantize : {true, false}) {
    for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
      Layer layer;
      layer.test_case = linear_case(quantize, type, kLinearElements, options);
      const std::string float_name = qconform::name_of(ElementType::float32);
      layer.name =
          layer.test_case.op_type + " " +
          (quantize ? float_name + " to " + qconform::name_of(type) : qconform::name_of(type) + " to " + float_name);
      layer.test_case.id = layer.name;
      layer.set = kLinearSet;
      layers.push_back(std::move(layer));
    }
  }
  return layers;
}

Result<LayerSource> from_suite(std::string_view name, const LayerOptions& options) {
  SuiteOptions suite;
  suite.seed = options.seed;
  QCONFORM_ASSIGN(auto sources, open_suite(name, suite));
  LayerSource result{std::string(name), {}, name.starts_with("model:")};
  for (const auto& source : sources) {
    for (;;) {
      QCONFORM_ASSIGN(auto next, source->next());
      if (!next) break;
      Layer layer;
      layer.name = next->id;
      layer.set = name;
      layer.test_case = std::move(*next);
      result.layers.push_back(std::move(layer));
    }
  }
  return result;
}

Result<LayerSource> open_unmeasured(std::string_view name, const LayerOptions& options) {
  for (const LayerSetInfo& info : convolution_sets()) {
    if (info.name != name) continue;
    LayerSource result{std::string(name), {}, info.is_network};
    const auto shapes = convolution_set(name);
    for (const CountedShape& counted : *shapes) result.layers.push_back(convolution_layer(name, counted, options));
    return result;
  }
  if (name == kLinearSet) return LayerSource{std::string(name), linear_layers(options), false};
  // The text of a layer starts with its kernel and has spaces, which names of suites do not.
  if (!name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0 &&
      name.find(' ') != std::string_view::npos) {
    QCONFORM_ASSIGN(const auto shape, parse_layer(name));
    return LayerSource{std::string(name), {convolution_layer("layer", {shape, 1}, options)}, false};
  }
  std::vector<std::string_view> known;
  for (const LayerSetLine& line : layer_sets()) known.push_back(line.name);
  return in_context(fmt::format("--layers: not a layer set ({}), nor a layer as in \"3x3/2 64->128 @56\", nor a suite",
                                fmt::join(known, ", ")),
                    from_suite(name, options));
}

}  // namespace

std::string_view name_of(LayerKind kind) {
  switch (kind) {
    case LayerKind::dense: return "dense";
    case LayerKind::grouped: return "grouped";
    case LayerKind::depthwise: return "depthwise";
    case LayerKind::linear: break;
  }
  return "linear";
}

std::string_view name_of(LayerTypes types) {
  return kTypes[static_cast<std::size_t>(types)].second;
}

std::optional<LayerTypes> layer_types_named(std::string_view name) {
  for (const auto& [types, known] : kTypes) {
    if (name == known) return types;
  }
  return std::nullopt;
}

std::vector<LayerSetLine> layer_sets() {
  std::vector<LayerSetLine> lines;
  for (const LayerSetInfo& info : convolution_sets()) lines.push_back({info.name, info.description});
  lines.push_back({kLinearSet, kLinearDescription});
  return lines;
}

Result<LayerSource> open_layers(std::string_view name, const LayerOptions& options) {
  QCONFORM_ASSIGN(auto source, open_unmeasured(name, options));
  std::vector<Layer> kept;
  for (Layer& layer : source.layers) {
    if (measure_work(layer)) kept.push_back(std::move(layer));
  }
  source.layers = std::move(kept);
  if (source.layers.empty()) return fail("--layers", fmt::format("{} has no layer that can be timed", name));
  return source;
}

}  // namespace qconform::bench
