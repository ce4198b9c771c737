#include "reference/kernels/kernels.h"

#include "reference/kernels/cpu.h"
#include "reference/kernels/drivers/conv_integer.h"
#include "reference/kernels/drivers/dequantize_linear.h"
#include "reference/kernels/drivers/qlinear_conv.h"
#include "reference/kernels/drivers/quantize_linear.h"
#include "reference/kernels/kernel_tables.h"
#include "reference/kernels/scalar.h"

namespace qconform::reference {

namespace {

bool always() {
  return true;
}

// The functions of a set are plain pointers: its tables are bound as template arguments.
template <ImageLayout layout, const ConvolutionLeaves& convolution, const RequantizeLeaves& requantize>
std::unique_ptr<PreparedNode> qlinear_conv_with(const QLinearConv& node, RoundingProfile profile,
                                                std::span<const std::byte> w) {
  return prepare_blocked_qlinear_conv(node, profile, layout, w, convolution, requantize);
}

template <const ConvolutionLeaves& convolution>
std::unique_ptr<PreparedNode> conv_integer_with(const ConvInteger& node, std::span<const std::byte> w) {
  return prepare_blocked_conv_integer(node, ImageLayout::channels_first, w, convolution);
}

template <const QuantizeLeaves& leaves>
std::unique_ptr<PreparedNode> quantize_linear_with(const QuantizeLinear& node) {
  return prepare_vectorized_quantize_linear(node, leaves);
}

template <const DequantizeLeaves& leaves>
std::unique_ptr<PreparedNode> dequantize_linear_with(const DequantizeLinear& node) {
  return prepare_vectorized_dequantize_linear(node, leaves);
}

#define QCONFORM_REFERENCE_KERNELS(set_name, set_description) \
  {.name = #set_name,                                         \
   .description = set_description,                            \
   .available = always,                                       \
   .qlinear_conv = prepare_scalar_qlinear_conv,               \
   .conv_integer = prepare_scalar_conv_integer,               \
   .quantize_linear = prepare_scalar_quantize_linear,         \
   .dequantize_linear = prepare_scalar_dequantize_linear},
#define QCONFORM_KERNELS(set_name, set_description, is_available, convolution, elementwise)                      \
  {.name = #set_name,                                                                                            \
   .description = set_description,                                                                               \
   .available = is_available,                                                                                    \
   .qlinear_conv = qlinear_conv_with<ImageLayout::channels_first, convolution_leaves_##convolution,              \
                                     requantize_leaves_##elementwise>,                                           \
   .conv_integer = conv_integer_with<convolution_leaves_##convolution>,                                          \
   .quantize_linear = quantize_linear_with<quantize_leaves_##elementwise>,                                       \
   .dequantize_linear = dequantize_linear_with<dequantize_leaves_##elementwise>,                                 \
   .qlinear_conv_channels_last = qlinear_conv_with<ImageLayout::channels_last, convolution_leaves_##convolution, \
                                                   requantize_leaves_##elementwise>},
constexpr KernelSet kKernelSets[] = {
#include "reference/kernels/kernels.inc"
};
#undef QCONFORM_REFERENCE_KERNELS
#undef QCONFORM_KERNELS

}  // namespace

std::span<const KernelSet> kernel_sets() {
  return kKernelSets;
}

}  // namespace qconform::reference
