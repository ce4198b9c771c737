// LoweredConvolution has the answers that both convolutions have in common.
#pragma once

#include "harness/model/operator.h"
#include "reference/convolution/accumulate.h"

namespace qconform {

class LoweredConvolution : public Lowered {
 public:
  [[nodiscard]] virtual const reference::ConvolutionOperands& operands() const = 0;

  [[nodiscard]] std::vector<std::int64_t> output_shape() const final { return operands().geometry.output_shape(); }
  [[nodiscard]] std::int64_t work() const final;
  /// The part of x under the windows, without what is padding; of w the filters; a parameter for each channel.
  [[nodiscard]] std::optional<Box> read_by(InputRole role, const Box& output) const final;
  [[nodiscard]] std::optional<WindowGeometry> windows() const final;
};

}  // namespace qconform
