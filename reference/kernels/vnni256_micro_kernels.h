// The leaf routines over Vnni256, for the ISA files alone (see panel_product.h).
#pragma once

#include <immintrin.h>

#include "reference/kernels/requantized_product256.h"
#include "reference/kernels/vnni256.h"

namespace qconform::reference {
namespace {

template <typename Dot>
void multiply(const PanelProduct* product) {
  multiply_panel<Vnni256<Dot>, 2>(product);
}

void subtract_products(std::int32_t* sums, std::int64_t sums_stride, int positions, int vectors,
                       const std::int32_t* x_sums, const std::int32_t* w_zero_points) {
  for (int v = 0; v < vectors; ++v) {
    const auto* const from = reinterpret_cast<const __m256i*>(w_zero_points + v * 8);
    const __m256i zero_points = _mm256_loadu_si256(from);
    for (int p = 0; p < positions; ++p) {
      auto* const at = reinterpret_cast<__m256i*>(sums + p * sums_stride + v * 8);
      const __m256i product = _mm256_mullo_epi32(zero_points, _mm256_set1_epi32(x_sums[p]));
      _mm256_storeu_si256(at, _mm256_sub_epi32(_mm256_loadu_si256(at), product));
    }
  }
}

template <typename Dot>
constexpr ConvolutionLeaves vnni256_leaves() {
  return {.x_bytes = 1,
          .signed_x = false,
          .group = 4,
          .unit = 4,
          .lanes = 8,
          .max_vectors = 2,
          .multiply = multiply<Dot>,
          .multiply_requantized = {multiply_requantized<Vnni256<Dot>, CorrectlyRounded>,
                                   multiply_requantized<Vnni256<Dot>, OrtF32>, nullptr},
          .takes_places = true,
          .widen = nullptr,
          .subtract_products = subtract_products,
          .depthwise = {{32, 8, multiply_depthwise_block<Vnni256<Dot>>, {}}, {}},
          .to_channels_last = nullptr,
          .to_channels_first = nullptr};
}

}  // namespace
}  // namespace qconform::reference
