// TDPBUSD on tiles of AMX: sixteen products of uint8 and int8, four at a time as VPDPBUSD, added to
// 32-bit sums modulo 2^32 (rule C17). Depthwise layers, which have no panels, and shallow 1x1 layers, whose tiles of x
// are mostly padding, take AVX-512 VNNI.
#include <immintrin.h>

#include "reference/kernels/amx_product.h"
#include "reference/kernels/line_products512.h"
#include "reference/kernels/transpose512.h"
#include "reference/kernels/vnni512.h"

namespace qconform::reference {
namespace {

// The layout that LDTILECFG takes: palette 1, for each tile the bytes of a row and the rows.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

struct AmxTiles {
  static void configure() {
    static constexpr TileConfiguration kConfiguration;
    _tile_loadconfig(&kConfiguration);
  }
  static void release() { _tile_release(); }
  // GCC 12 takes the tiles' numbers as the text of the instruction: they have to be literals.
  template <int t>
  static void load(const void* from, std::int64_t stride) {
    static_assert(t >= 0 && t < 8);
    if constexpr (t == 0) _tile_loadd(0, from, stride);
    if constexpr (t == 1) _tile_loadd(1, from, stride);
    if constexpr (t == 2) _tile_loadd(2, from, stride);
    if constexpr (t == 3) _tile_loadd(3, from, stride);
    if constexpr (t == 4) _tile_loadd(4, from, stride);
    if constexpr (t == 5) _tile_loadd(5, from, stride);
    if constexpr (t == 6) _tile_loadd(6, from, stride);
    if constexpr (t == 7) _tile_loadd(7, from, stride);
  }
  template <int t>
  static void store(void* to, std::int64_t stride) {
    static_assert(t >= 0 && t < 4);
    if constexpr (t == 0) _tile_stored(0, to, stride);
    if constexpr (t == 1) _tile_stored(1, to, stride);
    if constexpr (t == 2) _tile_stored(2, to, stride);
    if constexpr (t == 3) _tile_stored(3, to, stride);
  }
  template <int sums, int x, int w>
  static void dot() {
    static_assert(sums == 2 * (x - 4) + (w - 6) && sums >= 0 && sums < 4);
    if constexpr (sums == 0 && x == 4 && w == 6) _tile_dpbusd(0, 4, 6);
    if constexpr (sums == 1 && x == 4 && w == 7) _tile_dpbusd(1, 4, 7);
    if constexpr (sums == 2 && x == 5 && w == 6) _tile_dpbusd(2, 5, 6);
    if constexpr (sums == 3 && x == 5 && w == 7) _tile_dpbusd(3, 5, 7);
  }
};

constexpr LineMicroKernels kLines = line_micro_kernels512<Vnni512>();

// Six sums, two sources.
constexpr std::int64_t kPeakTiles = 6;
constexpr std::int64_t kTileMacs = std::int64_t{16} * 16 * 64;

void run_peak(std::uint64_t rounds) {
  AmxTiles::configure();
  asm volatile(
      "1:\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm0\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm1\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm2\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm3\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm4\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm5\n"
      "dec %0\n"
      "jnz 1b\n"
      : "+r"(rounds)
      :
      : "cc");
  AmxTiles::release();
}

}  // namespace

const ConvolutionMicroKernels QCONFORM_TABLE(convolution) = {.x_bytes = 1,
                                                             .signed_x = false,
                                                             .group = 4,
                                                             .unit = 64,
                                                             .lanes = 16,
                                                             .max_vectors = 4,
                                                             .multiply = multiply_by_tiles<AmxTiles>,
                                                             .multiply_requantized = {},
                                                             .takes_output_index = false,
                                                             .widen = nullptr,
                                                             .subtract_products = subtract_products,
                                                             .depthwise = {kDepthwise64, kDepthwise32},
                                                             .to_channels_last = to_channels_last,
                                                             .to_channels_first = to_channels_first,
                                                             .lines = &kLines,
                                                             .max_line_depth = 256};

const PeakLoop QCONFORM_TABLE(peak_loop) = {run_peak, kPeakTiles* kTileMacs};

}  // namespace qconform::reference
