// The parts of the oneDNN adapter: convolutions, reorders, graphs, and how primitives are told scales and zero points.
#pragma once

#include <dnnl.hpp>
#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/tensor.h"
#include "reference/convolution/convolution.h"
#include "reference/linear_quantization/linear_quantization.h"

namespace qconform::libraries::dnn {

struct InstructionSet {
  std::string_view name;
  dnnl::cpu_isa isa;
};
/// The instruction sets that the library can be held to.
[[nodiscard]] std::span<const InstructionSet> instruction_sets();

/// The reference's convolution, of either operator, and where its parameters lie. Their memory outlives what is made of
/// it.
struct PlacedConvolution {
  const reference::ConvolutionOperands& operands;
  const reference::QLinearConv* scaled = nullptr;  ///< null for ConvInteger; the rest is of QLinearConv alone
  std::span<float> x_scale = {};                   ///< one
  std::span<float> w_scale = {};                   ///< one for all channels, or one for each
  std::span<float> y_scale = {};                   ///< one
  std::span<std::byte> bias = {};                  ///< int32, one for each channel; empty for none

  [[nodiscard]] ElementType y_type() const { return scaled == nullptr ? ElementType::int32 : scaled->y_type; }
};

/// QuantizeLinear or DequantizeLinear, which a reorder computes.
struct ReorderProblem {
  reference::QuantizationLayout layout;
  ElementType x_type, y_type;
  bool quantizes;
  std::vector<float> scales;              ///< one per parameter of the layout
  std::vector<std::int32_t> zero_points;  ///< one per parameter of the layout
};

/// The attributes that a primitive is made with, and what it gets when it runs beside its data.
struct PrimitiveQuantization {
  dnnl::primitive_attr attributes;
  std::unordered_map<int, dnnl::memory> arguments;  ///< the bias of a convolution among them
};

/// A primitive's attributes, or what the interface has no form for. Throws dnnl::error for what the library refuses.
using Quantized = tl::expected<PrimitiveQuantization, std::string>;
[[nodiscard]] Quantized quantization_of(const PlacedConvolution& node, const dnnl::engine& engine);
/// The tensor has the dimensions outer, channels and inner of the layout.
[[nodiscard]] Quantized quantization_of(const ReorderProblem& node, const dnnl::engine& engine);

/// Geometry as oneDNN states it: weights always have a dimension of groups.
struct ConvolutionShapes {
  dnnl::memory::dims x, w, bias, y, strides, dilations, pads_begin, pads_end;
};
[[nodiscard]] dnnl::convolution_forward::primitive_desc describe(
    const ConvolutionShapes& shapes, const dnnl::memory::desc& x, const dnnl::memory::desc& w,
    const dnnl::memory::desc& y, const PrimitiveQuantization& quantization, const dnnl::engine& engine);

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

// oneDNN's convolution primitive with its weights packed, on memory of its own.

/// The memory of the data: x in the layout asked for, w as in ONNX.
struct Data {
  std::span<std::byte> x, w;
};

/// The library chooses the layouts of x and y, unless channels come last: then it takes them where they are.
class PackedConvolution {
 public:
  /// `engine`, `stream` and the data's memory outlive it. Throws dnnl::error for what the library does not take.
  PackedConvolution(const dnnl::engine& engine, dnnl::stream& stream, const PlacedConvolution& node,
                    PrimitiveQuantization quantization, const Data& data, const RunSetting& setting);

  /// Makes run() write to `y` instead of y()'s memory: bytes for y in the layout asked for.
  void write_to(std::span<std::byte> y);

  /// Computes y() from x, in the layout asked for. Throws dnnl::error.
  void run();

  [[nodiscard]] const RunSetting& setting() const { return setting_; }
  [[nodiscard]] std::string implementation() const { return chosen_.impl_info_str(); }
  [[nodiscard]] std::span<std::byte> y() const { return bytes_of(y_given_); }
  [[nodiscard]] const std::vector<std::int64_t>& y_shape() const { return y_shape_; }
  [[nodiscard]] ElementType y_type() const { return y_type_; }

 private:
  static std::span<std::byte> bytes_of(const dnnl::memory& memory);
  void pack(const dnnl::memory::desc& plain, std::span<std::byte> w);
  void place_tensors(std::span<std::byte> x);

  const dnnl::engine& engine_;
  dnnl::stream& stream_;
  PrimitiveQuantization quantization_;
  RunSetting setting_;
  ElementType y_type_;
  std::vector<std::int64_t> y_shape_;
  dnnl::memory::desc x_plain_;
  dnnl::memory::desc y_plain_;
  dnnl::convolution_forward::primitive_desc chosen_;
  dnnl::convolution_forward convolution_;
  dnnl::memory w_;
  dnnl::memory x_given_, x_used_;
  dnnl::memory y_given_, y_used_;
  dnnl::reorder reorder_x_;
  dnnl::reorder reorder_y_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// oneDNN's reorder as QuantizeLinear and DequantizeLinear.

class PackedReorder {
 public:
  /// `engine`, `stream` and the memory of `x` outlive it. Throws dnnl::error for what the library does not take.
  PackedReorder(const dnnl::engine& engine, dnnl::stream& stream, const ReorderProblem& node,
                PrimitiveQuantization quantization, std::span<std::byte> x, std::vector<std::int64_t> shape);

  void write_to(std::span<std::byte> y);
  /// Throws dnnl::error.
  void run();

  [[nodiscard]] const std::vector<std::int64_t>& y_shape() const { return shape_; }
  [[nodiscard]] ElementType y_type() const { return y_type_; }

 private:
  dnnl::stream& stream_;
  PrimitiveQuantization quantization_;
  ElementType y_type_;
  std::vector<std::int64_t> shape_;
  dnnl::memory x_, y_;
  dnnl::reorder reorder_;
};

// oneDNN 3's graph interface as a backend: graphs of several nodes, which the library cuts into partitions.

inline constexpr bool kHasGraphs = DNNL_VERSION_MAJOR >= 3;

/// `fuses`: partitions as the library likes them; otherwise one for each operation. Throws dnnl::error. Of version 3.
[[nodiscard]] std::unique_ptr<Backend> graph_backend(BackendInfo info, bool fuses);

}  // namespace qconform::libraries::dnn
