// Where the channels of a tensor lie. A Case has them first, as ONNX does; some implementations want
// them last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "harness/core/tensor.h"

namespace qconform {

enum class Layout : std::uint8_t {
  channels_first,  ///< [N, C, spatial...]: "nchw"
  channels_last,   ///< [N, spatial..., C]: "nhwc"
};

/// "nchw" or "nhwc", whatever the number of spatial dimensions.
[[nodiscard]] std::string_view name_of(Layout layout);
[[nodiscard]] std::optional<Layout> layout_named(std::string_view name);

/// Copies a tensor whose channels come first, of shape [N, C, spatial...], into memory of the same size
/// where they come last. Elements have whole bytes; a tensor of fewer than 3 dimensions is copied as it is.
void to_channels_last(const Tensor& from, std::span<std::byte> to);

/// The inverse: `type` and `shape` are those of the tensor with channels first, which `to` gets the bytes of.
void to_channels_first(std::span<const std::byte> from, ElementType type, std::span<const std::int64_t> shape,
                       std::span<std::byte> to);
/// The same: `to.type` and `to.shape` state the tensor, its bytes are replaced.
void to_channels_first(std::span<const std::byte> from, Tensor& to);

}  // namespace qconform
