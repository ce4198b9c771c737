// The layer sets: the convolutions of networks in use, each once with how often it occurs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/operators/convolution/layer_shape.h"

namespace qconform::bench {

struct CountedShape {
  LayerShape shape;
  std::int64_t count = 1;  ///< layers of that shape in the network
};

struct LayerSetInfo {
  std::string_view name;
  std::string_view description;
  bool is_network;  ///< the layers and their counts make up one network's convolutions
};

/// The sets of convolutions; linear-64mb, whose layers are element-wise, is not among them (layers.h).
[[nodiscard]] std::span<const LayerSetInfo> convolution_sets();

/// In the network's order. nullopt for a name that is not among the sets.
[[nodiscard]] std::optional<std::vector<CountedShape>> convolution_set(std::string_view name);

}  // namespace qconform::bench
