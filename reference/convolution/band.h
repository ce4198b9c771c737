// A band of the input in the form that the leaf routines take: channels last, padding included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "reference/convolution/accumulate.h"
#include "reference/convolution/aligned_memory.h"
#include "reference/convolution/layout.h"
#include "reference/convolution/leaves.h"
#include "reference/convolution/lowering.h"

namespace qconform::reference {

class Band {
 public:
  /// The arguments must outlive this.
  Band(const ConvolutionOperands& operands, const Lowering& lowering, const ConvolutionLeaves& leaves,
       ImageLayout layout)
      : operands_(operands),
        lowering_(lowering),
        leaves_(leaves),
        layout_(layout),
        pixel_bytes_(lowering.pixel_pitch * leaves.x_bytes) {}

  /// Packs the input under the windows of `range` from one image. Reads nothing outside x, in which
  /// the image begins at `image`.
  void load(std::span<const std::byte> x, std::int64_t image, const BandRange& range);

  /// A stored pixel, counted from the band's first.
  [[nodiscard]] const std::byte* pixel(std::int64_t row, std::int64_t column) const {
    return memory_.data() + (row * columns_ + column) * pixel_bytes_;
  }
  /// Bytes from a pixel to the one below it.
  [[nodiscard]] std::int64_t row_bytes() const { return columns_ * pixel_bytes_; }

 private:
  // Stored columns [begin, end) of one row that lie in the input, the first at input column `from`.
  struct Inside {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t from;
    std::int64_t step;  // input columns from one stored column to the next
  };

  void reserve(std::int64_t elements);
  [[nodiscard]] Inside inside_columns(const BandRange& range) const;
  void load_row(std::span<const std::byte> x, std::int64_t image, std::int64_t row, const Inside& inside,
                std::byte* to);
  void copy_channels_last(const std::byte* row, const Inside& inside, std::byte* to) const;
  void copy_channels_first(std::span<const std::byte> x, std::int64_t row, const Inside& inside, std::byte* to) const;
  static void transpose_block(const ChannelBlock& block, std::span<const std::byte> x, std::int64_t step);

  const ConvolutionOperands& operands_;
  const Lowering& lowering_;
  const ConvolutionLeaves& leaves_;
  ImageLayout layout_;
  std::int64_t pixel_bytes_;
  std::int64_t columns_ = 0;  // stored, of the range loaded last
  AlignedMemory memory_;      // grows with the largest range
  AlignedMemory line_;        // one row of bytes before they are widened
};

}  // namespace qconform::reference
