#include "harness/operators/convolution/convolution.h"

#include <array>

#include "harness/bench/layers.h"
#include "harness/operators/convolution/lowered_convolution.h"

namespace qconform {

const Family& convolution_family() {
  static const std::array operators{qlinear_conv_operator(), conv_integer_operator()};
  static const Family family{.name = "convolution",
                             .operators = operators,
                             .layer_sets = bench::convolution_layer_sets,
                             .layer = bench::convolution_layer,
                             .measure_layer = bench::measure_convolution};
  return family;
}

const reference::ConvolutionOperands* operands_of(const Lowered& lowered) {
  const auto* convolution = dynamic_cast<const LoweredConvolution*>(&lowered);
  return convolution == nullptr ? nullptr : &convolution->operands();
}

}  // namespace qconform
