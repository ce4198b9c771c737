// Layers of convolutions to time: one as text, and sets of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"

namespace qconform::bench {

/// A convolution layer in one line, as the layer sets and the command line have it:
///
///   3x3/2 64->128 @56          kernel, stride, channels in and out, input size
///   5x5 240 @28 depthwise      each channel by itself
///   31 512 @250 depthwise      one spatial dimension
///   3x3 64->64 @56 group 4 dilation 2
///   1x1 3->8 @224x160          sizes that differ
///
/// Batch 1. Pads keep the size at stride 1: (kernel - 1) * dilation / 2 on each side, and what is odd at the end.
struct LayerShape {
  std::vector<std::int64_t> kernel;  ///< one value for each spatial dimension
  std::vector<std::int64_t> input;   ///< one value for each spatial dimension
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t input_channels = 1;
  std::int64_t output_channels = 1;
  std::int64_t group = 1;
};

/// Errors name --layers and the part that was not understood.
[[nodiscard]] Result<LayerShape> parse_layer(std::string_view text);

/// The line that parse_layer() reads back.
[[nodiscard]] std::string text_of(const LayerShape& shape);

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
