// How oneDNN's primitives are told scales and zero points: in other words since version 3, with one file for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <dnnl.hpp>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <unordered_map>
#include <vector>

#include "harness/core/element_type.h"
#include "reference/convolution/accumulate.h"
#include "reference/linear_quantization/layout.h"

namespace qconform::libraries::dnn {

struct InstructionSet {
  std::string_view name;
  dnnl::cpu_isa isa;
};
/// The instruction sets that the library can be held to.
[[nodiscard]] std::span<const InstructionSet> instruction_sets();

/// A convolution of either operator. The memory of its spans outlives what is made of it.
struct Convolution {
  const reference::ConvolutionOperands& operands;
  ElementType x_type, w_type, y_type;
  bool is_scaled = false;          ///< QLinearConv; the rest is of it alone
  std::span<float> x_scale = {};   ///< one
  std::span<float> w_scale = {};   ///< one for all channels, or one for each
  std::span<float> y_scale = {};   ///< one
  std::span<std::byte> bias = {};  ///< int32, one for each channel; empty for none
  std::int32_t y_zero_point = 0;
};

/// QuantizeLinear or DequantizeLinear, which a reorder computes.
struct Linear {
  reference::QuantizationLayout layout;
  ElementType x_type, y_type;
  bool quantizes;
  std::vector<float> scales;              ///< one per parameter of the layout
  std::vector<std::int32_t> zero_points;  ///< one per parameter of the layout
};

/// The attributes that a primitive is made with, and what it gets when it runs beside its data.
struct Quantization {
  dnnl::primitive_attr attributes;
  std::unordered_map<int, dnnl::memory> arguments;  ///< the bias of a convolution among them
};

/// Or what the interface has no form for. Throws dnnl::error for what the library refuses.
using Quantized = tl::expected<Quantization, std::string>;
[[nodiscard]] Quantized quantization_of(const Convolution& node, const dnnl::engine& engine);
/// The tensor has the dimensions outer, channels and inner of the layout.
[[nodiscard]] Quantized quantization_of(const Linear& node, const dnnl::engine& engine);

/// Geometry as oneDNN states it: weights always have a dimension of groups.
struct ConvolutionShapes {
  dnnl::memory::dims x, w, bias, y, strides, dilations, pads_begin, pads_end;
};
[[nodiscard]] dnnl::convolution_forward::primitive_desc describe(
    const ConvolutionShapes& shapes, const dnnl::memory::desc& x, const dnnl::memory::desc& w,
    const dnnl::memory::desc& y, const Quantization& quantization, const dnnl::engine& engine);

// Functions that the adapters of both versions share.

/// Throws dnnl::error for a type that the library does not have.
[[nodiscard]] dnnl::memory::data_type type_of(ElementType type);

/// Memory of the library's own for 32-bit integers.
[[nodiscard]] dnnl::memory copy_of(std::span<const std::int32_t> values, const dnnl::engine& engine);

/// A zero point for all of the tensor, or one for each channel; the masks are those of all and of each. Those that are
/// all 0 need none: `values` is empty then.
struct ZeroPoints {
  std::vector<std::int32_t> values;
  int mask = 0;
};
[[nodiscard]] ZeroPoints zero_points_of(std::span<const std::int32_t> values, int channels_mask);

/// The dimensions that have a parameter each: bits of outer, channels and inner.
[[nodiscard]] int mask_of(const reference::QuantizationLayout& layout);

}  // namespace qconform::libraries::dnn
