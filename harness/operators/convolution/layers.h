// Layers of convolutions to time: one as text, and sets of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "reference/convolution/geometry.h"

namespace qconform::bench {

/// Reads the sizes of a convolution layer in one line, as the layer sets and the command line have it:
///
///   3x3/2 64->128 @56          kernel, stride, channels in and out, input size
///   5x5 240 @28 depthwise      each channel by itself
///   31 512 @250 depthwise      one spatial dimension
///   3x3 64->64 @56 group 4 dilation 2
///   1x1 3->8 @224x160          sizes that differ
///
/// Batch 1. Stride and dilation are those of all axes. Pads keep the size at stride 1: (kernel - 1) * dilation / 2 on
/// each side, and what is odd at the end. Errors name --layers and the part that was not understood.
[[nodiscard]] Result<reference::ConvolutionGeometry> parse_layer(std::string_view text);

/// The line that parse_layer() reads back.
[[nodiscard]] std::string text_of(const reference::ConvolutionGeometry& layer);

struct CountedLayer {
  reference::ConvolutionGeometry sizes;
  std::int64_t count = 1;  ///< layers of these sizes in the network
};

struct LayerSetInfo {
  std::string_view name;
  std::string_view description;
  bool is_network;  ///< the layers and their counts make up one network's convolutions
};

/// The sets of convolutions; linear-64mb, whose layers are element-wise, is not among them (layers.h).
[[nodiscard]] std::span<const LayerSetInfo> convolution_sets();

/// In the network's order. nullopt for a name that is not among the sets.
[[nodiscard]] std::optional<std::vector<CountedLayer>> convolution_set(std::string_view name);

}  // namespace qconform::bench
