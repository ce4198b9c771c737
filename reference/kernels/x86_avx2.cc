// Exact for every input: differences lie in [-255, 255], so a product of two fits 17 bits, and the
// pair sum of VPMADDWD fits its 32-bit lane. Nothing saturates; lanes add modulo 2^32 (rule C17).
#include <immintrin.h>

#include "reference/kernels/depthwise_product.h"
#include "reference/kernels/requantized_product256.h"
#include "reference/kernels/words256.h"

namespace qconform::reference {
namespace {

struct Avx2 : Words256 {
  static Vector multiply_add(Vector sums, Vector x, Vector w) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(x, w));
  }

  static constexpr int kTaps = 2;
  static constexpr int kBlockVectors = 2;
  static void interleave(const std::byte* const* taps, Vector* out) {
    out[0] = _mm256_unpacklo_epi16(load(taps[0]), load(taps[1]));
    out[1] = _mm256_unpackhi_epi16(load(taps[0]), load(taps[1]));
  }
  static void separate(Vector* v) {
    const Vector low = _mm256_permute2x128_si256(v[0], v[1], 0x20);
    v[1] = _mm256_permute2x128_si256(v[0], v[1], 0x31);
    v[0] = low;
  }
};

void multiply(const PanelProduct* product) {
  multiply_panel<Avx2, 2>(product);
}

void widen(const std::uint8_t* bytes, std::int64_t count, std::uint8_t flip, std::int16_t offset, std::int16_t* out) {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const __m256i offsets = _mm256_set1_epi16(offset);
  for (std::int64_t i = 0; i < count; i += 16) {
    const __m128i values = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i)), flips);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_sub_epi16(_mm256_cvtepu8_epi16(values), offsets));
  }
}

}  // namespace

extern const ConvolutionLeaves convolution_leaves_avx2;
const ConvolutionLeaves convolution_leaves_avx2 = {
    .x_bytes = 2,
    .signed_x = false,
    .group = 2,
    .unit = 2,
    .lanes = 8,
    .max_vectors = 2,
    .multiply = multiply,
    .multiply_requantized = {multiply_requantized<Avx2, CorrectlyRounded>, multiply_requantized<Avx2, OrtF32>, nullptr},
    .takes_places = true,
    .widen = widen,
    .subtract_products = nullptr,
    .depthwise = {{16, 8, multiply_depthwise_block<Avx2>, {}}, {}},
    .to_channels_last = nullptr,
    .to_channels_first = nullptr};

}  // namespace qconform::reference
