// Weights in an order in which products of bytes are added in pairs of 16 bits, as VPMADDUBSW does, without saturation.
//
// A sum of two products of uint8 x and int8 w lies within 255 times the sum of the positive weights and 255 times that
// of the negative ones. So it fits int16 if neither exceeds kPairLimit in magnitude: 255 * 128 = 32640. Neighbouring
// bytes of x seldom have such weights in all channels of a panel, so each panel has an order of its own: of every
// kRowOrderBytes neighbouring bytes of x, those that fit each other become pairs. What the weights of a pair exceed the
// limit by remains for a second pair, of the same bytes of x.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "reference/kernels/drivers/packed_weights.h"
#include "reference/kernels/drivers/parallel.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

/// Most that the positive weights of a pair may sum to, and the magnitudes of the negative ones.
inline constexpr int kPairLimit = 128;

/// An order of the bytes of x, for some panels that lie together.
struct PairOrder {
  std::vector<RowOrder::Block> blocks;
  std::int64_t doubles = 0;    ///< as in a RowOrder
  std::int64_t row_bytes = 0;  ///< without what blocks write behind it
  std::size_t panels_end = 0;  ///< index of the panel behind the last
};

class PairedWeights {
 public:
  /// Null if remainders are so many that multiplying 16-bit values costs less.
  [[nodiscard]] static std::unique_ptr<PairedWeights> make(const PackedWeights& weights, int lanes);

  /// Panels have the indices that they have in weights.panels().
  [[nodiscard]] const PairOrder& order(std::size_t panel) const { return orders_[panels_[panel].order]; }
  [[nodiscard]] const std::byte* data(std::size_t panel) const { return memory_.data() + panels_[panel].offset; }
  /// Room for the longest row.
  [[nodiscard]] std::int64_t most_row_bytes() const;

  /// Returns the share of pairs without a remainder.
  [[nodiscard]] double fitting() const;

 private:
  struct Panel {
    std::size_t order;   // index
    std::size_t offset;  // of its weights, [row_bytes / group][channels][group]
  };

  PairedWeights() = default;

  std::vector<PairOrder> orders_;
  std::vector<Panel> panels_;
  AlignedMemory memory_;
  std::int64_t pairs_ = 0;
  std::int64_t fitting_ = 0;
};

}  // namespace qconform::reference
