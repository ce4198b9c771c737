// Layers of QuantizeLinear and DequantizeLinear to time.
#include <cstring>

#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/model/layers.h"
#include "harness/operators/linear/description.h"
#include "harness/operators/linear/linear.h"

namespace qconform::bench {
namespace {

constexpr std::string_view kLinearSet = "linear-64mb";
constexpr std::string_view kLinearDescription =
    "QuantizeLinear and DequantizeLinear on 64 MiB of float32, beside memcpy of as much";
constexpr std::int64_t kLinearElements = (std::int64_t{64} << 20) / static_cast<std::int64_t>(sizeof(float));

// QuantizeLinear from float32, or DequantizeLinear to float32, whose float32 tensor has `elements` elements.
// `type` is the quantized one.
Case linear_case(bool quantize, ElementType type, std::int64_t elements, const LayerOptions& options) {
  Rng rng(options.seed);
  constexpr float kScale = 0.0371F;
  LinearQuantization node{.quantizes = quantize,
                          .opset_version = 13,
                          .scale = make::float32(kScale),
                          .zero_point = make::integer(type, type == ElementType::uint8 ? 117 : -11)};
  if (!quantize) {
    node.x = uniform_bytes(type, {elements}, rng);
    return build_linear(std::move(node));
  }
  node.x = Tensor::zeros(ElementType::float32, {elements});
  for (std::int64_t i = 0; i < elements; ++i) {
    // Steps of a 64th of the scale: some ties, few saturated.
    const float value = static_cast<float>(rng.between(-7000, 7000)) * (kScale / 64);
    std::memcpy(node.x.bytes.data() + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
  }
  return build_linear(std::move(node));
}

std::vector<Layer> linear_layers(const LayerOptions& options) {
  std::vector<Layer> layers;
  for (const bool quantize : {true, false}) {
    for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
      Layer layer;
      layer.test_case = linear_case(quantize, type, kLinearElements, options);
      const std::string float_name = qconform::name_of(ElementType::float32);
      layer.name =
          layer.test_case.node().op_type + " " +
          (quantize ? float_name + " to " + qconform::name_of(type) : qconform::name_of(type) + " to " + float_name);
      layer.test_case.id = layer.name;
      layer.set = kLinearSet;
      layers.push_back(std::move(layer));
    }
  }
  return layers;
}

}  // namespace

std::vector<LayerSet> linear_layer_sets() {
  return {{kLinearSet, kLinearDescription, false, linear_layers}};
}

}  // namespace qconform::bench
