#include "harness/model/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cctype>

#include "harness/model/family.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/hooks.h"
#include "harness/suites/select.h"

namespace qconform::bench {
namespace {

constexpr std::array kTypes{std::pair{LayerTypes::u8s8, "u8s8"}, std::pair{LayerTypes::s8s8, "s8s8"},
                            std::pair{LayerTypes::u8u8, "u8u8"}};

void measure(const reference::ConvolutionGeometry& g, Layer& layer) {
  layer.macs = g.batch * g.output_channels * g.output_positions() * g.depth();
  layer.kind = g.group == 1                    ? LayerKind::dense
               : g.group_input_channels() == 1 ? LayerKind::depthwise
                                               : LayerKind::grouped;
}

// False for a case that has no right answer to be timed for.
bool measure_work(Layer& layer) {
  const Classification classification = classify(layer.test_case);
  if (!classification.lowered || classification.value_is_open) return false;
  const Lowered& lowered = *classification.lowered;
  const auto y_bytes = bytes_for(lowered.output_type(), elements_of(lowered.output_shape()));
  layer.bytes = static_cast<std::int64_t>(layer.test_case.input(0)->bytes.size()) + y_bytes;
  if (const auto* convolution = operands_of(lowered)) measure(convolution->geometry, layer);
  return true;
}

// So many before the first single node: there will be none.
constexpr std::size_t kMostGraphs = 256;

tl::unexpected<Error> only_graphs(std::string_view suite) {
  return fail("--layers",
              std::string(suite) + " has only cases of several nodes; expected single nodes, which are timed");
}

Result<LayerSource> from_suite(std::string_view name, const LayerOptions& options) {
  SuiteOptions suite;
  suite.seed = options.seed;
  QCONFORM_ASSIGN(auto sources, open_suite(name, suite));
  LayerSource result{std::string(name), {}, name.starts_with("model:")};
  std::size_t graphs = 0;
  for (const auto& source : sources) {
    for (;;) {
      QCONFORM_ASSIGN(auto next, source->next());
      if (!next) break;
      if (is_judged_as_graph(*next)) {
        if (++graphs == kMostGraphs && result.layers.empty()) return only_graphs(name);
        continue;
      }
      Layer layer;
      layer.name = next->id;
      layer.set = name;
      layer.test_case = std::move(*next);
      result.layers.push_back(std::move(layer));
    }
  }
  if (graphs > 0 && result.layers.empty()) return only_graphs(name);
  return result;
}

std::vector<LayerSet> all_sets() {
  std::vector<LayerSet> all;
  for (const Family* family : families()) {
    if (family->layer_sets == nullptr) continue;
    for (LayerSet& set : family->layer_sets()) all.push_back(std::move(set));
  }
  return all;
}

// A layer as text starts with its kernel and has spaces, which names of suites do not.
bool is_layer_text(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0 &&
         name.find(' ') != std::string_view::npos;
}

Result<LayerSource> open_unmeasured(std::string_view name, const LayerOptions& options) {
  for (const LayerSet& set : all_sets()) {
    if (set.name == name) return LayerSource{std::string(name), set.layers(options), set.is_network};
  }
  if (is_layer_text(name)) {
    QCONFORM_ASSIGN(auto layer, convolution_layer(name, options));
    return LayerSource{std::string(name), {std::move(layer)}, false};
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
  for (const LayerSet& set : all_sets()) lines.push_back({set.name, set.description});
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
