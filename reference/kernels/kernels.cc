#include "reference/kernels/kernels.h"

#include "reference/kernels/drivers/drivers.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

// reference/CMakeLists.txt writes this list from kernels.json, for the architecture of the build:
// QCONFORM_KERNELS(name, description, cpu, elementwise, peak)
#define QCONFORM_KERNELS(set_name, description, cpu, elementwise, peak) \
  extern const ConvolutionMicroKernels convolution_##set_name;          \
  extern const ElementwiseMicroKernels elementwise_##elementwise;       \
  extern const PeakLoop peak_loop_##set_name;
#include "reference/kernels/kernels.inc"
#undef QCONFORM_KERNELS

namespace {

// The functions of a set are plain pointers: its tables are bound as template arguments.
template <const ConvolutionMicroKernels& convolution, const ElementwiseMicroKernels& elementwise,
          const PeakLoop& peak_loop>
struct Prepare {
  static constexpr MicroKernels kMicroKernels{convolution, elementwise, peak_loop};

  template <ImageLayout layout>
  static std::unique_ptr<PreparedNode> qlinear_conv(const QLinearConv& node, RoundingProfile profile,
                                                    std::span<const std::byte> w) {
    return prepare_blocked_qlinear_conv(node, profile, layout, w, kMicroKernels);
  }
  static std::unique_ptr<PreparedNode> conv_integer(const ConvInteger& node, std::span<const std::byte> w) {
    return prepare_blocked_conv_integer(node, ImageLayout::channels_first, w, convolution);
  }
  static std::unique_ptr<PreparedNode> quantize_linear(const QuantizeLinear& node) {
    return prepare_vectorized_quantize_linear(node, elementwise);
  }
  static std::unique_ptr<PreparedNode> dequantize_linear(const DequantizeLinear& node) {
    return prepare_vectorized_dequantize_linear(node, elementwise);
  }
};

template <typename Prepare>
constexpr KernelSet kernel_set(const char* name, const char* description, bool (*available)(), const char* peak) {
  return {.name = name,
          .description = description,
          .available = available,
          .qlinear_conv = Prepare::template qlinear_conv<ImageLayout::channels_first>,
          .conv_integer = Prepare::conv_integer,
          .quantize_linear = Prepare::quantize_linear,
          .dequantize_linear = Prepare::dequantize_linear,
          .qlinear_conv_channels_last = Prepare::template qlinear_conv<ImageLayout::channels_last>,
          .micro_kernels = &Prepare::kMicroKernels,
          .peak = peak};
}

#define QCONFORM_KERNELS(set_name, description, cpu, elementwise, peak)                         \
  kernel_set<Prepare<convolution_##set_name, elementwise_##elementwise, peak_loop_##set_name>>( \
      #set_name, description, [] { return cpu; }, peak),
constexpr KernelSet kKernelSets[] = {
    {.name = "scalar",
     .description = "the reference: plain loops over exact integers",
     .available = [] { return true; },
     .qlinear_conv = prepare_scalar_qlinear_conv,
     .conv_integer = prepare_scalar_conv_integer,
     .quantize_linear = prepare_scalar_quantize_linear,
     .dequantize_linear = prepare_scalar_dequantize_linear},
#include "reference/kernels/kernels.inc"
};
#undef QCONFORM_KERNELS

}  // namespace

std::span<const KernelSet> kernel_sets() {
  return kKernelSets;
}

}  // namespace qconform::reference
