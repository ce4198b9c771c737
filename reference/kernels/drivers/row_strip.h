// A strip of the input in the form that the micro-kernels take: channels last, padding included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "reference/convolution/accumulate.h"
#include "reference/kernels/drivers/aligned_memory.h"
#include "reference/kernels/drivers/lowering.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

class RowStrip {
 public:
  /// The arguments must outlive this.
  RowStrip(const ConvolutionOperands& operands, const Lowering& lowering, const ConvolutionMicroKernels& micro_kernels,
           ImageLayout layout)
      : operands_(operands), lowering_(lowering), micro_kernels_(micro_kernels), layout_(layout) {}

  /// Packs the input under the windows of `range` from one image, or finds that it can be used where it
  /// is. Reads nothing outside x, in which the image begins at `image`.
  void load(std::span<const std::byte> x, std::int64_t image, const StripRange& range);

  /// The first pixel of a stored row.
  [[nodiscard]] const std::byte* row(std::int64_t row) const { return first_ + row * row_bytes_; }
  [[nodiscard]] std::int64_t pixel_bytes() const { return pixel_bytes_; }
  /// Bytes from a pixel to the one below it.
  [[nodiscard]] std::int64_t row_bytes() const { return row_bytes_; }

 private:
  // Of `stored` rows or columns, [begin, end) lie in the input, the first at input row or column `from`.
  struct Inside {
    std::int64_t stored;
    std::int64_t begin;
    std::int64_t end;
    std::int64_t from;
    std::int64_t step;  // in the input, from one stored to the next
  };

  [[nodiscard]] static bool has_padding(const Inside& rows, const Inside& columns);
  [[nodiscard]] bool can_stay(const Inside& rows, const Inside& columns) const;
  [[nodiscard]] bool is_one_piece(const Inside& rows, const Inside& columns) const;
  void widen(const std::byte* from, std::int64_t count, std::uint8_t flip, std::byte* to) const;
  void widen_piece(const std::byte* from, std::int64_t count);
  void reserve(std::int64_t elements);
  [[nodiscard]] static Inside inside(const SpatialAxis& axis, std::int64_t first_output, std::int64_t stored);
  void fill_padding(const Inside& rows, const Inside& columns, std::byte* to) const;
  void copy_channels_last(std::span<const std::byte> x, std::int64_t image, const Inside& rows, const Inside& columns,
                          std::byte* to) const;
  void copy_channels_first(std::span<const std::byte> x, std::int64_t image, const Inside& rows, const Inside& columns,
                           std::byte* to) const;
  [[nodiscard]] bool is_contiguous(const Inside& rows, const Inside& columns) const;
  void copy_rows(const ChannelBlock& image, const Inside& rows, const Inside& columns) const;
  void copy_row(std::span<const std::byte> x, const ChannelBlock& image, std::int64_t row, const Inside& rows,
                const Inside& columns) const;
  static void transpose_block(const ChannelBlock& block, std::span<const std::byte> x, std::int64_t step);

  const ConvolutionOperands& operands_;
  const Lowering& lowering_;
  const ConvolutionMicroKernels& micro_kernels_;
  ImageLayout layout_;
  // Of the range loaded last.
  const std::byte* first_ = nullptr;
  std::int64_t pixel_bytes_ = 0;
  std::int64_t row_bytes_ = 0;
  AlignedMemory memory_;  // grows with the largest range
  AlignedMemory line_;    // one row of bytes before they are widened
};

}  // namespace qconform::reference
