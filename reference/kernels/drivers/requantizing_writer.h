// QLinearConv's output: sums requantized by the vector routines of one instruction set. Elements that
// need exact arithmetic get it from the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/kernels/drivers/tile_writer.h"
#include "reference/kernels/micro_kernels.h"
#include "reference/qlinear_conv/qlinear_conv.h"

namespace qconform::reference {

/// The parameters of a node's output channels.
class PreparedRequantization {
 public:
  /// `micro_kernels` must outlive this. w tells how large sums can be.
  PreparedRequantization(const QLinearConv& node, RoundingProfile profile, std::span<const std::byte> w,
                         const ElementwiseMicroKernels& micro_kernels);

  /// Lets lane `lane` have the parameters of `channel`. Lanes without a channel get any.
  void assign_lane(std::int64_t lane, std::int64_t channel);

  [[nodiscard]] RoundingProfile profile() const { return profile_; }

  /// Bytes [positions][y_stride] of a tile, whole vectors of channels (`lanes` each).
  void tile(const SumsTile& tile, int lanes, std::uint8_t* y, std::int64_t y_stride) const;

  /// The parameters of lanes from `first_lane` on.
  [[nodiscard]] RequantizeChannels channels(std::int64_t first_lane) const;

  /// Computes exactly the elements whose bits are set; needs_exact and y are by position of the tile.
  void replace_by_exact(const SumsTile& tile, const std::uint64_t* needs_exact, std::uint8_t* y,
                        std::int64_t y_stride) const;

  /// Computes exactly the elements of lines whose bits are set; needs_exact and y are by line, and the first line is at
  /// y.
  void replace_by_exact(const LinesTile& tile, const std::uint64_t* needs_exact, std::uint8_t* y) const;

  /// Bytes of `count` sums of one channel. Both may be accessed up to the next multiple of 16.
  void row(std::int64_t channel, const std::int32_t* sums, int count, std::uint8_t* y) const;

 private:
  void tile_by_rows(const SumsTile& tile, std::uint8_t* y, std::int64_t y_stride) const;
  [[nodiscard]] std::uint8_t exactly(std::int64_t channel, std::int32_t sum) const;

  RoundingProfile profile_;
  RequantizeRow row_;
  RequantizeTile tile_;
  std::vector<Requantization> exact_;     // by channel
  std::vector<FastRequantization> fast_;  // by channel
  bool fixed_point_ = true;               // see requantize_fast.h
  std::vector<float> multiplier_;         // by lane, as the rest
  std::vector<float> fixed_multiplier_;
  std::vector<float> needs_exact_from_;
  std::vector<double> exact_multiplier_;
  std::vector<double> wide_needs_exact_from_;
};

class RequantizingWriter final : public TileWriter {
 public:
  /// The arguments must outlive this. `micro_kernels` is what the sums come from.
  RequantizingWriter(const PreparedRequantization& requantization, const ConvolutionMicroKernels& micro_kernels,
                     const OutputPlacement& placement, std::byte* y)
      : requantization_(requantization), micro_kernels_(micro_kernels), placement_(placement), y_(y) {}

  void write(const SumsTile& tile) const override;
  void write_products(const ConvolutionMicroKernels& micro_kernels, std::span<const PanelProduct> products,
                      const SumsTile& tile) const override;
  void write_products(const DepthwiseBlock& block, const DepthwiseProduct& product,
                      const SumsTile& tile) const override;
  void write_lines(const LineMicroKernels& micro_kernels, const PanelProduct& product,
                   const LinesTile& tile) const override;
  void write_lines(const LineMicroKernels& micro_kernels, const PlaneProduct& product,
                   const LinesTile& tile) const override;

 private:
  // multiply(output) computes all bytes of the tile and says whether any needs exact arithmetic.
  template <typename Multiply>
  void write_requantized(const SumsTile& tile, Multiply multiply) const;
  template <typename Multiply>
  void write_requantized(const LinesTile& tile, Multiply multiply) const;

  const PreparedRequantization& requantization_;
  const ConvolutionMicroKernels& micro_kernels_;
  OutputPlacement placement_;
  std::byte* y_;
};

}  // namespace qconform::reference
