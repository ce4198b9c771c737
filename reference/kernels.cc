#include "reference/kernels.h"

#include <array>

#include "reference/scalar_kernels.h"

namespace qconform::reference {
namespace {

bool always() {
  return true;
}

constexpr std::array kKernelSets{
#define QCONFORM_REFERENCE_KERNELS(name, description) \
  KernelSet{#name,                                    \
            description,                              \
            always,                                   \
            prepare_scalar_qlinear_conv,              \
            prepare_scalar_conv_integer,              \
            prepare_scalar_quantize_linear,           \
            prepare_scalar_dequantize_linear},
#include "reference/kernels.inc"
#undef QCONFORM_REFERENCE_KERNELS
};

}  // namespace

std::span<const KernelSet> kernel_sets() {
  return kKernelSets;
}

}  // namespace qconform::reference
