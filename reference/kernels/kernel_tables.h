// The tables of leaf routines that the ISA files define, one for each entry of kernels.inc.
#pragma once

#include "reference/dequantize_linear/leaves.h"
#include "reference/kernels/micro_kernels.h"
#include "reference/kernels/requantize_fast.h"
#include "reference/quantize_linear/leaves.h"

namespace qconform::reference {

#define QCONFORM_REFERENCE_KERNELS(name, description)
#define QCONFORM_KERNELS(name, description, available, convolution, elementwise) \
  extern const ConvolutionLeaves convolution_leaves_##convolution;               \
  extern const RequantizeLeaves requantize_leaves_##elementwise;                 \
  extern const QuantizeLeaves quantize_leaves_##elementwise;                     \
  extern const DequantizeLeaves dequantize_leaves_##elementwise;
#include "reference/kernels/kernels.inc"
#undef QCONFORM_REFERENCE_KERNELS
#undef QCONFORM_KERNELS

}  // namespace qconform::reference
