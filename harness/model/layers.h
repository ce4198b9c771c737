// Layers that are timed, as cases, with the amount of their work.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"

namespace qconform::bench {

enum class LayerKind : std::uint8_t {
  dense,      ///< a convolution of one group
  grouped,    ///< several groups of more than one input channel
  depthwise,  ///< a group for each input channel
  linear,     ///< element by element: no products are summed
};
[[nodiscard]] std::string_view name_of(LayerKind kind);

struct Layer {
  std::string name;
  std::string set;
  Case test_case;
  LayerKind kind = LayerKind::linear;
  std::int64_t macs = 0;   ///< products that are summed, those with padding included
  std::int64_t bytes = 0;  ///< bytes of x and y together
  std::int64_t count = 1;  ///< how often it occurs in its network
};

/// Element types of the layers of a set; those of models have their own.
enum class LayerTypes : std::uint8_t {
  u8s8,  ///< uint8 activations, int8 weights, a scale for each channel
  s8s8,  ///< int8 both, a scale for each channel
  u8u8,  ///< uint8 both, one weight scale, weight zero point 128
};
[[nodiscard]] std::string_view name_of(LayerTypes types);
[[nodiscard]] std::optional<LayerTypes> layer_types_named(std::string_view name);

struct LayerOptions {
  LayerTypes types = LayerTypes::u8s8;
  std::int64_t x_zero_point = 0;
  std::uint64_t seed = 1;
};

struct LayerSource {
  std::string name;
  std::vector<Layer> layers;
  bool is_network = false;  ///< the layers and their counts make up one network
};

/// Layers that have one name together; families of operators list theirs (harness/model/family.h).
struct LayerSet {
  std::string_view name;
  std::string_view description;
  bool is_network = false;  ///< the layers and their counts make up one network
  std::function<std::vector<Layer>(const LayerOptions&)> layers;
};

/// A layer set by name, one layer as text (harness/operators/convolution/hooks.h), or any suite
/// (`model:FILE.onnx`, a case file). Cases that are out of contract, or have no one right answer, are left out.
[[nodiscard]] Result<LayerSource> open_layers(std::string_view name, const LayerOptions& options);

/// The names of all layer sets with a line each.
struct LayerSetLine {
  std::string_view name;
  std::string_view description;
};
[[nodiscard]] std::vector<LayerSetLine> layer_sets();

}  // namespace qconform::bench
