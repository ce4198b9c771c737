#include "reference/kernels/drivers/drivers.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "reference/kernels/drivers/tile_writer.h"
#include "reference/linear_quantization/linear_quantization.h"
#include "reference/linear_quantization/quantize_linear.h"

namespace qconform::reference {

bool takes_lines(const ConvolutionSetup& setup) {
  const LineMicroKernels* const lines = setup.micro_kernels.lines;
  if (lines == nullptr || setup.layout != ImageLayout::channels_first) return false;
  return !setup.profile || lines->multiply_requantized[static_cast<std::size_t>(*setup.profile)] != nullptr;
}

// QLinearConv and ConvInteger: one convolution, whose sums are requantized or are the output.

namespace {

constexpr std::int64_t kMaxStripBytes = std::int64_t{1} << 24;  // wider windows are gathered

// Null for micro-kernels, layers and weights that are better off without pairs.
std::unique_ptr<ConvolutionPath> make_path_of_pairs(const ConvolutionSetup& setup, std::span<const std::byte> w) {
  // Pairing a weight costs as much as some dozens of its products.
  constexpr std::int64_t kFewestPositions = 32;
  const ConvolutionGeometry& g = setup.operands.geometry;
  if (setup.micro_kernels.pairs == nullptr || g.batch * g.output_positions() < kFewestPositions) return nullptr;
  const ConvolutionSetup pairs{setup.operands, setup.layout, *setup.micro_kernels.pairs, setup.profile};
  const std::optional<Lowering> lowering = lower(setup.operands.geometry, pairs.micro_kernels, false, kMaxStripBytes);
  return lowering ? make_dense_path(pairs, *lowering, w, DenseForm::pairs) : nullptr;
}

std::unique_ptr<ConvolutionPath> make_path(const ConvolutionSetup& setup, std::span<const std::byte> w) {
  const ConvolutionGeometry& g = setup.operands.geometry;
  const bool depthwise = g.group > 1 && g.group_input_channels() == 1 && g.group_output_channels() == 1 &&
                         setup.micro_kernels.depthwise[0].channels > 0;
  const std::optional<Lowering> lowering = lower(g, setup.micro_kernels, depthwise, kMaxStripBytes);
  if (auto path = make_plane_path(setup, w)) return path;
  if (!lowering) return make_gathered_path(setup, w);
  if (auto path = make_pointwise_path(setup, *lowering, w)) return path;
  if (depthwise) return make_depthwise_path(setup, *lowering, w);
  if (auto path = make_path_of_pairs(setup, w)) return path;
  return make_dense_path(setup, *lowering, w, DenseForm::plain);
}

// A convolution with packed weights.
class BlockedConvolution {
 public:
  // `profile` is what the writer requantizes with, none where sums are the output.
  BlockedConvolution(const ConvolutionOperands& operands, ImageLayout layout, std::span<const std::byte> w,
                     const ConvolutionMicroKernels& micro_kernels, std::optional<RoundingProfile> profile)
      : setup_{operands, layout, micro_kernels, profile}, path_(make_path(setup_, w)) {}

  // Hands every sum to `writer` exactly once, from at most `threads` threads.
  void run(std::span<const std::byte> x, const TileWriter& writer, int threads) const {
    const ConvolutionGeometry& g = setup_.operands.geometry;
    if (g.batch == 0 || g.output_channels == 0 || g.output_positions() == 0) return;
    path_->run(x, writer, std::max(1, threads));
  }

  // The channels that the lanes of the sums belong to.
  [[nodiscard]] std::span<const WeightPanel> panels() const { return path_->panels(); }
  [[nodiscard]] std::string_view implementation() const { return path_->implementation(); }

  [[nodiscard]] OutputPlacement output() const {
    return {.channels = setup_.operands.geometry.output_channels,
            .positions = setup_.operands.geometry.output_positions(),
            .layout = setup_.layout};
  }

 private:
  const ConvolutionSetup setup_;  // the path refers to it
  std::unique_ptr<ConvolutionPath> path_;
};

class BlockedQLinearConv final : public PreparedNode {
 public:
  BlockedQLinearConv(const QLinearConv& node, RoundingProfile profile, ImageLayout layout, std::span<const std::byte> w,
                     const MicroKernels& micro_kernels)
      : convolution_(node.operands, layout, w, micro_kernels.convolution, profile),
        requantization_(node, profile, w, micro_kernels.elementwise),
        micro_kernels_(micro_kernels.convolution) {
    for (const WeightPanel& panel : convolution_.panels()) {
      for (int m = 0; m < panel.channels; ++m) {
        requantization_.assign_lane(panel.first_lane + m, panel.first_channel + m);
      }
    }
  }

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override { run_on(1, x, y); }

  void run_on(int threads, std::span<const std::byte> x, std::span<std::byte> y) const override {
    convolution_.run(x, RequantizingWriter(requantization_, micro_kernels_, convolution_.output(), y.data()), threads);
  }

  [[nodiscard]] std::string_view implementation() const override { return convolution_.implementation(); }

 private:
  BlockedConvolution convolution_;
  PreparedRequantization requantization_;
  const ConvolutionMicroKernels& micro_kernels_;
};

class CopyingWriter final : public TileWriter {
 public:
  CopyingWriter(const OutputPlacement& placement, std::byte* y) : placement_(placement), y_(y) {}

  void write(const SumsTile& tile) const override { store_sums(tile, placement_, y_); }

  void write_lines(const LineMicroKernels& micro_kernels, const PanelProduct& product,
                   const LinesTile& tile) const override {
    micro_kernels.multiply(&product);
    store_lines(tile, y_);
  }
  void write_lines(const LineMicroKernels& micro_kernels, const PlaneProduct& product,
                   const LinesTile& tile) const override {
    micro_kernels.multiply_plane(&product);
    store_lines(tile, y_);
  }

 private:
  OutputPlacement placement_;
  std::byte* y_;
};

class BlockedConvInteger final : public PreparedNode {
 public:
  BlockedConvInteger(const ConvInteger& node, ImageLayout layout, std::span<const std::byte> w,
                     const ConvolutionMicroKernels& micro_kernels)
      : convolution_(node.operands, layout, w, micro_kernels, std::nullopt) {}

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override { run_on(1, x, y); }

  void run_on(int threads, std::span<const std::byte> x, std::span<std::byte> y) const override {
    convolution_.run(x, CopyingWriter(convolution_.output(), y.data()), threads);
  }

  [[nodiscard]] std::string_view implementation() const override { return convolution_.implementation(); }

 private:
  BlockedConvolution convolution_;
};

}  // namespace

std::unique_ptr<PreparedNode> prepare_blocked_qlinear_conv(const QLinearConv& node, RoundingProfile profile,
                                                           ImageLayout layout, std::span<const std::byte> w,
                                                           const MicroKernels& micro_kernels) {
  return std::make_unique<BlockedQLinearConv>(node, profile, layout, w, micro_kernels);
}

std::unique_ptr<PreparedNode> prepare_blocked_conv_integer(const ConvInteger& node, ImageLayout layout,
                                                           std::span<const std::byte> w,
                                                           const ConvolutionMicroKernels& micro_kernels) {
  return std::make_unique<BlockedConvInteger>(node, layout, w, micro_kernels);
}

// QuantizeLinear and DequantizeLinear: pieces of x whose elements have the same parameters.

namespace {

// `Elements` is the type of the micro-kernel, `Channel` that of its parameters.
template <typename Elements, typename Channel>
class VectorizedNode final : public PreparedNode {
 public:
  VectorizedNode(const QuantizationLayout& layout, Elements compute, std::size_t x_size, std::size_t y_size,
                 std::vector<Channel> channels)
      : layout_(layout), compute_(compute), x_size_(x_size), y_size_(y_size), channels_(std::move(channels)) {}

  // Pieces that are not whole segments go through buffers: no byte outside x and y is touched, and every element
  // takes the vector path.
  void run(std::span<const std::byte> x_bytes, std::span<std::byte> y_bytes) const override {
    if (layout_.inner == 0) return;
    const std::byte* x = x_bytes.data();
    std::byte* y = y_bytes.data();
    const std::int64_t whole = layout_.inner / kSegment * kSegment;
    const auto rest = static_cast<std::size_t>(layout_.inner - whole);
    for (std::int64_t row = 0; row < layout_.outer * layout_.channels; ++row) {
      const Channel& channel = channels_[static_cast<std::size_t>(row % layout_.channels)];
      if (whole > 0) compute_(x, whole, &channel, y);
      x += static_cast<std::size_t>(whole) * x_size_;
      y += static_cast<std::size_t>(whole) * y_size_;
      if (rest > 0) {
        std::byte x_segment[kSegment * sizeof(float)] = {};
        std::byte y_segment[kSegment * sizeof(float)];
        std::memcpy(x_segment, x, rest * x_size_);
        compute_(x_segment, kSegment, &channel, y_segment);
        std::memcpy(y, y_segment, rest * y_size_);
        x += rest * x_size_;
        y += rest * y_size_;
      }
    }
  }

 private:
  QuantizationLayout layout_;
  Elements compute_;
  std::size_t x_size_;
  std::size_t y_size_;
  std::vector<Channel> channels_;
};

// The micro-kernels divide in float32 and give 8 bits.
std::optional<QuantizeInput> input_of(const QuantizeLinear& node) {
  const bool is_8_bit = node.y_type == ElementType::uint8 || node.y_type == ElementType::int8;
  if (!is_8_bit || node.layout.is_blocked() || !divides_in_float32(node)) return std::nullopt;
  return node.x_type == ElementType::int32 ? QuantizeInput::int32 : QuantizeInput::float32;
}

std::optional<DequantizeInput> input_of(const DequantizeLinear& node) {
  if (node.y_type != ElementType::float32 || node.layout.is_blocked()) return std::nullopt;
  switch (node.x_type) {
    case ElementType::uint8: return DequantizeInput::uint8;
    case ElementType::int8: return DequantizeInput::int8;
    case ElementType::int32: return DequantizeInput::int32;
    default: return std::nullopt;
  }
}

}  // namespace

std::unique_ptr<PreparedNode> prepare_vectorized_quantize_linear(const QuantizeLinear& node,
                                                                 const ElementwiseMicroKernels& micro_kernels) {
  const std::optional<QuantizeInput> input = input_of(node);
  if (!input) return nullptr;
  const IntegerRange range = range_of(node.y_type);
  std::vector<QuantizeChannel> channels;
  for (std::size_t c = 0; c < node.y_scale.size(); ++c) {
    const std::int32_t zero_point = node.y_zero_point[c];
    channels.push_back({.scale = static_cast<float>(node.y_scale[c]),
                        .zero_point = zero_point,
                        .lo = static_cast<float>(range.lo - zero_point),
                        .hi = static_cast<float>(range.hi - zero_point)});
  }
  return std::make_unique<VectorizedNode<QuantizeElements, QuantizeChannel>>(
      node.layout, micro_kernels.quantize[static_cast<std::size_t>(*input)], sizeof(float), 1, std::move(channels));
}

std::unique_ptr<PreparedNode> prepare_vectorized_dequantize_linear(const DequantizeLinear& node,
                                                                   const ElementwiseMicroKernels& micro_kernels) {
  const std::optional<DequantizeInput> input = input_of(node);
  if (!input) return nullptr;
  // float32 holds the scales of every type.
  std::vector<DequantizeChannel> channels;
  for (std::size_t c = 0; c < node.x_scale.size(); ++c) {
    channels.push_back(
        {.scale = static_cast<float>(node.x_scale[c]), .zero_point = static_cast<std::int32_t>(node.x_zero_point[c])});
  }
  const std::size_t x_size = *input == DequantizeInput::int32 ? sizeof(std::int32_t) : 1;
  return std::make_unique<VectorizedNode<DequantizeElements, DequantizeChannel>>(
      node.layout, micro_kernels.dequantize[static_cast<std::size_t>(*input)], x_size, sizeof(float),
      std::move(channels));
}

}  // namespace qconform::reference
