// The byte kernels of AArch64 share this code, for the ISA files alone (see panel_product.h).
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {
namespace {

void subtract_products(std::int32_t* sums, std::int64_t sums_stride, int positions, int vectors,
                       const std::int32_t* x_sums, const std::int32_t* w_zero_points) {
  for (int v = 0; v < vectors; ++v) {
    const int32x4_t zero_points = vld1q_s32(w_zero_points + v * 4);
    for (int p = 0; p < positions; ++p) {
      std::int32_t* const at = sums + p * sums_stride + v * 4;
      vst1q_s32(at, vmlsq_s32(vld1q_s32(at), zero_points, vdupq_n_s32(x_sums[p])));
    }
  }
}

// Micro-kernels of bytes, `group` of depth for each lane; no routines beside those for panels.
constexpr ConvolutionMicroKernels byte_micro_kernels(bool signed_x, int group,
                                                     void (*multiply)(const PanelProduct* product)) {
  return {.x_bytes = 1,
          .signed_x = signed_x,
          .group = group,
          .unit = group,
          .lanes = 4,
          .max_vectors = 4,
          .multiply = multiply,
          .multiply_requantized = {},
          .takes_output_index = true,
          .widen = nullptr,
          .subtract_products = subtract_products,
          .depthwise = {},
          .to_channels_last = nullptr,
          .to_channels_first = nullptr};
}

}  // namespace
}  // namespace qconform::reference
