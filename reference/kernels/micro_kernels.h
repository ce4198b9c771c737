// The tables of micro-kernels: all that one instruction set contributes, for the four operators.
//
// The drivers (drivers/) are compiled for any processor of the architecture. They lay out x and w, walk over tiles and
// hand them to these routines. Plain functions on raw memory: see docs/kernels.md for why the file of an instruction
// set holds nothing else.
//
// A convolution's vectors run along output channels. A row of packed x holds the inputs of one output position,
// channels last; a panel of packed w holds the weights of some vectors of output channels:
//
//   row    x [runs][run_elements]                       runs lie at given distances
//   panel  w [runs][run_elements / group][channels][group]
//
// Two forms of packed values, by x_bytes. A byte of x is first made unsigned, or signed where signed_x says so:
// the other type is flipped by 0x80, its zero point shifted by 128.
//   1: x is a byte, w is int8 (uint8 less 128). Zero points enter by sums: packed_weights.h.
//   2: x and w are int16, less their zero points, in [-255, 255].
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "reference/kernels/requantize_fast.h"

namespace qconform::reference {

/// Most output positions of one tile; one word has a bit for each.
inline constexpr int kTilePositions = 64;

/// Most channels of one panel; one word has a bit for each.
inline constexpr int kPanelChannels = 64;

/// Kernels may read this many bytes past a row of packed x; the weights for them are zero.
inline constexpr std::int64_t kRowSlack = 64;

/// Neighbouring bytes of x that a RowOrder takes together.
inline constexpr int kRowOrderBytes = 16;

/// Copies rows of packed bytes in another order, some bytes twice: for weights in pairs (drivers/paired_weights.h).
struct RowOrder {
  /// Neighbours in a run: twice kRowOrderBytes of them, each in any order, or once. Blocks come in order: what one
  /// writes, the next may write again.
  struct Block {
    std::int64_t run;
    std::int64_t at;  ///< bytes from the begin of the run
    std::int64_t to;  ///< bytes from the begin of the copied row
    std::uint8_t order[2 * kRowOrderBytes];
  };

  const std::byte* const* rows;     ///< as those of a PanelProduct
  const std::int64_t* run_offsets;  ///< as well
  int positions;
  const Block* blocks;
  std::int64_t doubles;  ///< blocks of twice as many bytes; they come first
  std::int64_t count;    ///< all blocks
  std::byte* to;
  std::int64_t to_stride;  ///< bytes from position to position
};

/// sums[output index of p][m] = start[p][m] + sum over depth of row[p] * panel[m], modulo 2^32.
struct PanelProduct {
  const std::byte* const* rows;     ///< for each position, the address from which its runs are counted
  const std::int64_t* run_offsets;  ///< bytes from there to each run
  std::int64_t runs;
  std::int64_t run_bytes;  ///< bytes of a run of x; a whole number of units
  const std::byte* w;
  const std::int32_t* start;
  std::int64_t start_stride;  ///< elements from position to position; 0: the same for all of them
  std::int32_t* sums;
  std::int64_t sums_stride;
  int positions;                               ///< in [1, kTilePositions]
  int vectors;                                 ///< channels / lanes, in [1, max_vectors]
  const std::uint8_t* output_index = nullptr;  ///< the place of row p in sums or y, increasing; null: p
  std::int64_t w_skip = 0;                     ///< bytes of w left out after each run
};

/// Receives the sums of a product as bytes, requantized before they leave the registers.
struct RequantizedOutput {
  const RequantizeChannels* parameters;
  std::uint8_t* y;  ///< [output index][y_stride]
  std::int64_t y_stride;
  int channels;                         ///< stored channels: a multiple of 8, less than 8 short of whole vectors
  std::uint64_t* needs_exact;           ///< by output index p; bit m is set when y[p][m] must be replaced
  const std::uint8_t* y_end = nullptr;  ///< for a PlaneProduct alone, see there
};

/// sums[p][m] = start[lane of m] + sum over taps of x[p][tap][m] * w[tap][m], modulo 2^32, for a
/// block of channels. The weights are [groups][lane][group], where the lane of channel 4 * (V * i + j) + k is
/// lanes * j + 4 * i + k, V = channels / lanes: the order that interleaving the taps within 128 bits gives.
struct DepthwiseProduct {
  const std::byte* const* rows;     ///< for each position: where its taps are counted from
  std::int64_t channel_offset;      ///< bytes from there to the block's first channel
  const std::int64_t* tap_offsets;  ///< [groups][group]: bytes to each tap
  int groups;
  const std::byte* w;
  const std::int32_t* start;  ///< by lane, as the weights
  std::int32_t* sums;         ///< [positions][channels]
  int positions;              ///< in [1, kTilePositions]
};

struct DepthwiseBlock {
  int channels = 0;  ///< at most kPanelChannels
  int lanes = 0;     ///< lanes of the vectors of sums
  void (*multiply)(const DepthwiseProduct* product) = nullptr;
  /// As ConvolutionMicroKernels::multiply_requantized.
  bool (*multiply_requantized[kRoundingProfiles])(const DepthwiseProduct* product,
                                                  const RequantizedOutput* output) = {};
};

/// Bytes of up to 16 channels of consecutive pixels, on their way from one layout to the other.
struct ChannelBlock {
  const std::byte* from;
  std::int64_t from_stride;  ///< bytes from channel to channel, or from pixel to pixel
  std::byte* to;
  std::int64_t to_stride;
  int channels;
  int pixels;
  int stored_channels;  ///< to_channels_last: of each pixel, those beyond `channels` with any value; pixels in order
  std::uint8_t flip;    ///< to_channels_last: XORed to every byte
  int row_pixels = 0;   ///< to_channels_last: after so many pixels `to` goes on row_gap bytes further; 0: never
  std::int64_t row_gap = 0;
};

/// Planes of x on their way to panels whose lanes are positions: four channels of a position become four
/// neighbouring bytes, and kTilePositions positions one step of depth, in the order that interleaving within 128 bits
/// gives. Channels that are missing in the last four are any value.
struct PixelPanel {
  const std::byte* from;     ///< [channels][from_stride]: the first position
  std::int64_t from_stride;  ///< bytes from channel to channel
  std::int64_t channels;
  std::byte* to;           ///< [tiles][to_stride]: of each [channels / 4][kTilePositions][4]
  std::int64_t to_stride;  ///< bytes from tile to tile
  std::int64_t tiles;      ///< tiles of kTilePositions positions
  std::uint8_t flip;       ///< XORed to every byte
};

/// One channel of a depthwise convolution in one plane of x [rows][columns]:
///   sums[line][p] = start + sum over rows r and columns s of the kernel of
///                   x[first_row + line * row_stride + r * row_dilation][first_column + p * column_stride + s] *
///                   w[r][s]
/// modulo 2^32. What lies outside the plane is `padding`.
///
/// As bytes, y[line] is written up to its 64th byte, after y[line - 1], where that lies before y_end.
struct PlaneProduct {
  const std::byte* x;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t first_row;
  std::int64_t first_column;
  std::int64_t row_stride;
  std::int64_t row_dilation;
  int column_stride;  ///< 1 or 2
  int kernel_rows;
  int groups;  ///< groups of four columns of the kernel, in [1, kPlaneGroups]
  std::uint8_t padding;
  std::uint8_t flip;   ///< XORed to every byte, padding too
  const std::byte* w;  ///< int8 [kernel_rows][groups][4]
  std::int32_t start;
  int lines;           ///< in [1, kTilePositions]
  std::int32_t* sums;  ///< [lines][kTilePositions]
};

/// Most groups of a PlaneProduct.
inline constexpr int kPlaneGroups = 16;

/// Routines whose lanes are consecutive positions of y with channels first, so that neither x nor y is transposed. A
/// line is kTilePositions positions of one channel. Bytes of x are uint8.
struct LineMicroKernels {
  void (*interleave)(const PixelPanel* panel);

  /// PanelProduct with its operands exchanged: rows are those of w, int8, one for each line; w is a panel of pixels;
  /// `start` has one element for each line (start_stride 1), and sums are [lines][kTilePositions].
  void (*multiply)(const PanelProduct* product);
  /// As ConvolutionMicroKernels::multiply_requantized; bytes and the bits of needs_exact are by line, as the
  /// parameters.
  bool (*multiply_requantized[kRoundingProfiles])(const PanelProduct* product, const RequantizedOutput* output);

  void (*multiply_plane)(const PlaneProduct* product);
  /// Uses the first entry of each parameter array. `channels` of the output are the positions of each line that exist.
  bool (*multiply_plane_requantized[kRoundingProfiles])(const PlaneProduct* product, const RequantizedOutput* output);
};

struct ConvolutionMicroKernels {
  int x_bytes;      ///< bytes of an element of packed x: 1 or 2, see above
  bool signed_x;    ///< whether bytes of x are int8; only with x_bytes 1
  int group;        ///< consecutive elements of depth that one lane takes at a time
  int unit;         ///< runs have a multiple of this many elements; a multiple of group
  int lanes;        ///< output channels of one vector
  int max_vectors;  ///< vectors of one panel at most; lanes * max_vectors <= kPanelChannels

  void (*multiply)(const PanelProduct* product);

  /// Indexed by RoundingProfile; null where the set has none. Returns whether anything needs exact arithmetic. Only
  /// then needs_exact is written, and sums for the output indices that it names.
  bool (*multiply_requantized[kRoundingProfiles])(const PanelProduct* product, const RequantizedOutput* output);

  /// Whether products may have an output_index and a w_skip.
  bool takes_output_index;

  /// x_bytes 2: out[i] = (bytes[i] ^ flip) - offset, the byte taken as unsigned. Both may be
  /// accessed up to the next multiple of 16 elements. Else null.
  void (*widen)(const std::uint8_t* bytes, std::int64_t count, std::uint8_t flip, std::int16_t offset,
                std::int16_t* out);

  /// x_bytes 1: sums[p][m] -= x_sums[p] * w_zero_points[m], modulo 2^32. Else null.
  void (*subtract_products)(std::int32_t* sums, std::int64_t sums_stride, int positions, int vectors,
                            const std::int32_t* x_sums, const std::int32_t* w_zero_points);

  /// The wider block first, the other for what remains; unused ones have no channels.
  DepthwiseBlock depthwise[2];

  /// Null where the set has none. to_channels_first takes at most kTilePositions pixels and may read
  /// as many, and 16 channels of each.
  void (*to_channels_last)(const ChannelBlock* block);
  void (*to_channels_first)(const ChannelBlock* block);

  /// Null where the set has none; only with x_bytes 1 and unsigned x.
  const LineMicroKernels* lines = nullptr;
  /// Micro-kernels that add pairs of products in 16 bits, for weights that allow it, and have reorder(). Null where the
  /// set has none.
  const ConvolutionMicroKernels* pairs = nullptr;
  void (*reorder)(const RowOrder* order) = nullptr;
  /// The greatest depth at which a 1x1 convolution is faster by lines than by panels.
  std::int64_t max_line_depth = std::numeric_limits<std::int64_t>::max();
};

/// Requantizes `count` sums of one output channel, a multiple of 8 and at most 64, into as many
/// bytes of y. Bit i of the result is set when element i needs exact arithmetic; y[i] must then be replaced.
using RequantizeRow = std::uint64_t (*)(const std::int32_t* sums, int count, const FastRequantization* channel,
                                        std::uint8_t* y);

/// Requantizes sums [positions][sums_stride] of `channels` channels, a multiple of the micro-kernels' lanes
/// and at most 64, into bytes [positions][y_stride]. Bit m of needs_exact[p] is set when y[p][m] must
/// be replaced. Returns whether any is.
using RequantizeTile = bool (*)(const std::int32_t* sums, std::int64_t sums_stride, int positions, int channels,
                                const RequantizeChannels* parameters, std::uint8_t* y, std::int64_t y_stride,
                                std::uint64_t* needs_exact);

/// QuantizeElements and DequantizeElements take whole multiples of so many elements.
inline constexpr std::int64_t kSegment = 8;

/// The types of x that QuantizeElements take.
enum class QuantizeInput : std::uint8_t { float32, int32 };

/// One channel's parameters. Plain data.
struct QuantizeChannel {
  float scale;
  std::int32_t zero_point;
  float lo;  ///< smallest and largest value of y, less the zero point
  float hi;
};

/// Quantizes `count` elements of one channel, a multiple of kSegment, as quantize() does. x and y may
/// have any alignment.
using QuantizeElements = void (*)(const std::byte* x, std::int64_t count, const QuantizeChannel* channel, std::byte* y);

/// The types of x that DequantizeElements take.
enum class DequantizeInput : std::uint8_t { uint8, int8, int32 };

/// One parameter. Plain data.
struct DequantizeChannel {
  float scale;
  std::int32_t zero_point;
};

/// Dequantizes `count` elements of one channel, a multiple of kSegment, into float32. x and y may
/// have any alignment.
using DequantizeElements = void (*)(const std::byte* x, std::int64_t count, const DequantizeChannel* channel,
                                    std::byte* y);

/// From so many bytes of y on, vectors are stored past the caches: what is written would not stay in them, and
/// ordinary stores read the lines first.
inline constexpr std::int64_t kStreamedBytes = std::int64_t{1} << 24;

/// Whatever is not a convolution's sums.
struct ElementwiseMicroKernels {
  /// Indexed by RoundingProfile: by rows or by tiles, the other null. With both null each element is computed exactly.
  RequantizeRow requantize_row[kRoundingProfiles];
  RequantizeTile requantize_tile[kRoundingProfiles];
  QuantizeElements quantize[2];      ///< indexed by QuantizeInput
  DequantizeElements dequantize[3];  ///< indexed by DequantizeInput
};

/// A loop of the multiply-add instruction that a set's convolutions are made of, on registers alone: what its speed is
/// a share of. peak_loop.h helps to write one.
struct PeakLoop {
  void (*run)(std::uint64_t rounds);
  std::int64_t macs_a_round;  ///< products summed in one round
};

/// The tables of a kernel set.
struct MicroKernels {
  const ConvolutionMicroKernels& convolution;
  const ElementwiseMicroKernels& elementwise;
  const PeakLoop& peak_loop;
};

// The tables that a set's file defines bear the set's name, which the build passes: convolution_avx2. So one file can
// be compiled for several sets.
#if defined(QCONFORM_KERNEL_SET)
#define QCONFORM_JOIN(table, set) table##_##set
#define QCONFORM_TABLE_OF(table, set) QCONFORM_JOIN(table, set)
#define QCONFORM_TABLE(table) QCONFORM_TABLE_OF(table, QCONFORM_KERNEL_SET)
extern const ConvolutionMicroKernels QCONFORM_TABLE(convolution);
extern const ElementwiseMicroKernels QCONFORM_TABLE(elementwise);
extern const PeakLoop QCONFORM_TABLE(peak_loop);
#endif

}  // namespace qconform::reference
