// The drivers of the optimized kernel sets: ordinary code for any processor of the architecture. Preparing a node packs
// its weights; a run walks over x and y and lets the micro-kernels of one instruction set do the arithmetic.
//
// The micro-kernels must outlive the nodes. `layout` is that of x and y; w is always as ONNX has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "reference/convolution/convolution.h"
#include "reference/kernels/drivers/lowering.h"
#include "reference/kernels/drivers/packed_weights.h"
#include "reference/kernels/drivers/tile_writer.h"
#include "reference/kernels/kernels.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

[[nodiscard]] std::unique_ptr<PreparedNode> prepare_blocked_qlinear_conv(const QLinearConv& node,
                                                                         RoundingProfile profile, ImageLayout layout,
                                                                         std::span<const std::byte> w,
                                                                         const MicroKernels& micro_kernels);

[[nodiscard]] std::unique_ptr<PreparedNode> prepare_blocked_conv_integer(const ConvInteger& node, ImageLayout layout,
                                                                         std::span<const std::byte> w,
                                                                         const ConvolutionMicroKernels& micro_kernels);

/// Null for what the micro-kernels do not compute: blocked parameters and other types than those of float32 or int32 x
/// with 8-bit y.
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_vectorized_quantize_linear(
    const QuantizeLinear& node, const ElementwiseMicroKernels& micro_kernels);

/// Null for what the micro-kernels do not compute: blocked parameters and other types than those of 8-bit or int32 x
/// with float32 y.
[[nodiscard]] std::unique_ptr<PreparedNode> prepare_vectorized_dequantize_linear(
    const DequantizeLinear& node, const ElementwiseMicroKernels& micro_kernels);

// The ways in which the convolution driver (drivers.cc) computes: one of them for each layer.

/// Holds all that a path is made from; outlives the path.
struct ConvolutionSetup {
  ConvolutionOperands operands;
  ImageLayout layout;
  const ConvolutionMicroKernels& micro_kernels;
  std::optional<RoundingProfile> profile;  ///< requantizes the sums; none: the sums are the output
};

/// Whether sums can be computed by lines of y.
[[nodiscard]] bool takes_lines(const ConvolutionSetup& setup);

/// A convolution with packed weights.
class ConvolutionPath {
 public:
  ConvolutionPath() = default;
  ConvolutionPath(const ConvolutionPath&) = delete;
  ConvolutionPath& operator=(const ConvolutionPath&) = delete;
  virtual ~ConvolutionPath() = default;

  /// Hands every sum to `writer` exactly once, from at most `threads` threads, at least 1. y is not empty.
  virtual void run(std::span<const std::byte> x, const TileWriter& writer, int threads) const = 0;

  /// The channels that the lanes of the sums belong to.
  [[nodiscard]] virtual std::span<const WeightPanel> panels() const = 0;

  /// As PreparedNode::implementation().
  [[nodiscard]] virtual std::string_view implementation() const = 0;
};

/// Whether weights are multiplied as they are, or in pairs (paired_weights.h) by the micro-kernels of that name.
enum class DenseForm : std::uint8_t { plain, pairs };

/// Panels of weights and strips of x (lowering.h): what most layers take. Null for weights that are better off without
/// pairs.
[[nodiscard]] std::unique_ptr<ConvolutionPath> make_dense_path(const ConvolutionSetup& setup, const Lowering& lowering,
                                                               std::span<const std::byte> w, DenseForm form);

/// One input and one output channel in each group (depthwise_path.cc).
[[nodiscard]] std::unique_ptr<ConvolutionPath> make_depthwise_path(const ConvolutionSetup& setup,
                                                                   const Lowering& lowering,
                                                                   std::span<const std::byte> w);

/// Kernels of a single tap with channels first: lanes are positions (line_paths.cc). Null for layers that are none,
/// or that are better off with another path.
[[nodiscard]] std::unique_ptr<ConvolutionPath> make_pointwise_path(const ConvolutionSetup& setup,
                                                                   const Lowering& lowering,
                                                                   std::span<const std::byte> w);

/// One input channel in each group, with channels first: lanes are positions of a row (line_paths.cc). Null as above.
[[nodiscard]] std::unique_ptr<ConvolutionPath> make_plane_path(const ConvolutionSetup& setup,
                                                               std::span<const std::byte> w);

/// The general way: gathers the input under a tile of output positions piece by piece. It takes any
/// number of spatial dimensions and any padding, in bounded memory.
[[nodiscard]] std::unique_ptr<ConvolutionPath> make_gathered_path(const ConvolutionSetup& setup,
                                                                  std::span<const std::byte> w);

}  // namespace qconform::reference
