// XNNPACK's operators, in either form that its interface has had: the header of the library decides which is built.
#pragma once

#include <xnnpack.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/core/tensor.h"
#include "reference/convolution/convolution.h"

// Since 2023 operators are reshaped before they are set up. The header tells no version; it has this since the same
// year.
#ifdef XNN_EXTRA_QUANTIZATION_PARAMS
#define QCONFORM_XNNPACK_RESHAPES 1
#else
#define QCONFORM_XNNPACK_RESHAPES 0
#endif

namespace qconform::libraries::xnn {

/// The reference's QLinearConv with one or two spatial dimensions, and where its parameters lie. Their memory is read
/// when the operator is created.
struct NhwcConvolution {
  const reference::QLinearConv& node;
  std::span<const std::byte> w;  ///< [output channels][kernel height][kernel width][input channels of a group]
  const std::int32_t* bias;      ///< null for none
  const float* w_scales;         ///< one for each channel; null where the case states one for all
};

/// A QuantizeLinear or DequantizeLinear between float32 and 8 bits with one scale.
struct Conversion {
  ElementType x_type, y_type;
  float scale;
  std::int32_t zero_point;
  std::size_t elements;
};

struct Workspace {
  std::size_t size = 0;
  std::size_t alignment = 1;
};

class LibraryOperator {
 public:
  LibraryOperator() = default;
  LibraryOperator(const LibraryOperator&) = delete;
  LibraryOperator& operator=(const LibraryOperator&) = delete;
  virtual ~LibraryOperator() { xnn_delete_operator(made_); }

  // In this order.
  [[nodiscard]] virtual xnn_status create() = 0;
  [[nodiscard]] virtual xnn_status reshape(Workspace& workspace) = 0;
  [[nodiscard]] virtual xnn_status set_up(const void* x, void* y, void* workspace) = 0;
  [[nodiscard]] xnn_status run() { return xnn_run_operator(made_, nullptr); }

 protected:
  xnn_operator_t made_ = nullptr;
};

/// Holds the description of a convolution, for both forms of the interface.
class ConvolutionBase : public LibraryOperator {
 protected:
  explicit ConvolutionBase(const NhwcConvolution& what)
      : what_(what),
        geometry_(what.node.operands.geometry),
        is_unsigned_(what.node.operands.x_type == ElementType::uint8),
        is_per_channel_(what.w_scales != nullptr) {}

  NhwcConvolution what_;  ///< read when the operator is created
  reference::ConvolutionGeometry geometry_;
  bool is_unsigned_;
  bool is_per_channel_;
};

[[nodiscard]] std::unique_ptr<LibraryOperator> convolution(const NhwcConvolution& what);
[[nodiscard]] std::unique_ptr<LibraryOperator> conversion(const Conversion& what);

// Functions that both forms share.

/// Describes the failed call `call`, for the reader.
[[nodiscard]] std::string refusal_text(std::string_view call, xnn_status status);

/// Height and width; a single dimension is the width of one row.
[[nodiscard]] std::array<reference::SpatialAxis, 2> axes_of(const reference::ConvolutionGeometry& geometry);

/// Calls `create` with the arguments up to the strides, and then `rest`.
template <typename Create, typename... Rest>
xnn_status create_with(Create create, const reference::ConvolutionGeometry& g, Rest... rest) {
  const auto [height, width] = axes_of(g);
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  return create(u32(height.pad_begin), u32(width.pad_end), u32(height.pad_end), u32(width.pad_begin),
                u32(height.kernel), u32(width.kernel), u32(height.stride), u32(width.stride), u32(height.dilation),
                u32(width.dilation), u32(g.group), static_cast<std::size_t>(g.group_input_channels()),
                static_cast<std::size_t>(g.group_output_channels()), static_cast<std::size_t>(g.input_channels),
                static_cast<std::size_t>(g.output_channels), rest...);
}

/// `Caches`: what the newer form takes before the result.
template <typename Create, typename... Caches>
xnn_status create_unsigned(Create create, const NhwcConvolution& what, Caches... caches_and_made) {
  const reference::QLinearConv& node = what.node;
  return create_with(create, node.operands.geometry, static_cast<std::uint8_t>(node.operands.x_zero_point),
                     node.x_scale, static_cast<std::uint8_t>(node.operands.w_zero_point.front()), node.w_scale.front(),
                     reinterpret_cast<const std::uint8_t*>(what.w.data()), what.bias,
                     static_cast<std::uint8_t>(node.y_zero_point), node.y_scale, std::uint8_t{0}, std::uint8_t{255},
                     std::uint32_t{0}, caches_and_made...);
}
template <typename Create, typename Scale, typename... Caches>
xnn_status create_signed(Create create, const NhwcConvolution& what, Scale w_scale, Caches... caches_and_made) {
  const reference::QLinearConv& node = what.node;
  return create_with(create, node.operands.geometry, static_cast<std::int8_t>(node.operands.x_zero_point), node.x_scale,
                     w_scale, reinterpret_cast<const std::int8_t*>(what.w.data()), what.bias,
                     static_cast<std::int8_t>(node.y_zero_point), node.y_scale, std::int8_t{-128}, std::int8_t{127},
                     std::uint32_t{0}, caches_and_made...);
}

}  // namespace qconform::libraries::xnn
