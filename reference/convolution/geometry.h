// Decides how a convolution's windows lie (output shape, padding, auto_pad) and which taps lie inside the input. Shared
// by QLinearConv and ConvInteger, which have the same attributes (rules C2, C3, C5-C10).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/remark.h"

namespace qconform::reference {

/// The attributes as a node states them; absent means ONNX's default.
struct ConvolutionAttributes {
  std::string auto_pad = "NOTSET";  ///< NOTSET, SAME_UPPER, SAME_LOWER or VALID
  std::int64_t group = 1;
  std::optional<std::vector<std::int64_t>> kernel_shape;  ///< one value per spatial dimension
  std::optional<std::vector<std::int64_t>> strides;       ///< one value per spatial dimension; all 1 when absent
  std::optional<std::vector<std::int64_t>> dilations;     ///< one value per spatial dimension; all 1 when absent
  std::optional<std::vector<std::int64_t>> pads;          ///< begins of all dimensions, then ends; all 0 when absent
};

/// Neighbouring taps along an axis.
struct TapRange {
  std::int64_t begin;
  std::int64_t end;  ///< at least begin
};

/// One spatial dimension with everything decided. Sizes in elements.
struct SpatialAxis {
  std::int64_t input;
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t dilation;
  std::int64_t pad_begin;
  std::int64_t pad_end;
  std::int64_t output;

  /// Distance from the first to just behind the last tap.
  [[nodiscard]] std::int64_t kernel_extent() const { return (kernel - 1) * dilation + 1; }
  /// Returns the taps of the window of output `position` that lie inside the input.
  [[nodiscard]] TapRange taps_inside(std::int64_t position) const;
};

/// x [batch, input_channels, inputs...]; w [output_channels, input_channels/group, kernels...];
/// y [batch, output_channels, outputs...]; all dense, in row-major order.
struct ConvolutionGeometry {
  std::int64_t batch = 0;
  std::int64_t input_channels = 0;
  std::int64_t output_channels = 0;
  std::int64_t group = 1;
  std::vector<SpatialAxis> axes;

  [[nodiscard]] std::int64_t group_input_channels() const { return input_channels / group; }
  [[nodiscard]] std::int64_t group_output_channels() const { return output_channels / group; }
  [[nodiscard]] std::int64_t input_positions() const;   ///< product of the input's spatial sizes
  [[nodiscard]] std::int64_t output_positions() const;  ///< product of the output's spatial sizes
  [[nodiscard]] std::int64_t kernel_taps() const;       ///< product of the kernel's spatial sizes
  /// Products summed for one output element when no tap is in the padding.
  [[nodiscard]] std::int64_t depth() const { return group_input_channels() * kernel_taps(); }
  [[nodiscard]] std::vector<std::int64_t> output_shape() const;
};

/// No attribute value and no element count may exceed these; a larger one violates rule "limit".
inline constexpr std::int64_t kMaxAttributeValue = std::int64_t{1} << 31;
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 30;
/// Bounds the elements of the output: the reference holds a 64-bit sum for each.
inline constexpr std::int64_t kMaxOutputElements = std::int64_t{1} << 27;

/// Decides the geometry. Shapes have no negative dimension. What is out of contract or left open is
/// written to `contract`; on a violation the result is empty.
[[nodiscard]] std::optional<ConvolutionGeometry> resolve_geometry(std::span<const std::int64_t> x_shape,
                                                                  std::span<const std::int64_t> w_shape,
                                                                  const ConvolutionAttributes& attributes,
                                                                  Contract& contract);

// The taps of a window that lie inside the input, and their places.

/// A tap whose input element exists: offsets within one channel of w and of x, below kMaxElements.
struct Tap {
  std::int32_t weight;
  std::int32_t input;
};

/// The taps that lie inside the input, by output position, in row-major order. A tap in the padding contributes
/// zero (rule C1) and is left out. All images and channels have the same taps.
class TapsInside {
 public:
  /// `axes`, none of them with an empty output, must stay. Takes memory for every tap of the positions selected.
  explicit TapsInside(const std::vector<SpatialAxis>& axes);

  /// Looks at output positions [first, first + count), numbered in row-major order.
  void select(std::int64_t first, std::int64_t count);
  /// Returns the taps of output position first + `index` that lie inside the input; valid until the next selection.
  [[nodiscard]] std::span<const Tap> at(std::int64_t index) const {
    const std::size_t* const ends = ends_.data() + index;
    return {taps_.get() + ends[0], ends[1] - ends[0]};
  }

 private:
  void locate_row(std::int64_t row);

  const std::vector<SpatialAxis>& axes_;
  std::size_t most_ = 1;  // the most taps of one position
  std::unique_ptr<Tap[]> taps_;
  std::size_t room_ = 0;
  std::vector<std::size_t> ends_;  // the ends of the positions' taps, behind a 0
  std::vector<Tap> row_;           // the taps of a row of positions along all axes but the last one
  std::vector<Tap> outer_;
};

}  // namespace qconform::reference
