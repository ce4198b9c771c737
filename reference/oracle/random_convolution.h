// Small random convolutions for the reference's own tests, in its terms and in the oracle's.
#pragma once

#include <cstddef>
#include <vector>

#include "reference/convolution/accumulate.h"
#include "reference/oracle/convolution.h"
#include "reference/oracle/random.h"

namespace qconform::reference::oracle {

/// A convolution with its data, and the sums that it must give.
struct RandomConvolution {
  ConvolutionOperands operands;
  std::vector<std::byte> x;
  std::vector<std::byte> w;
  IntegerTensor expected;   ///< by the oracle: exact, bias included
  bool has_padding_window;  ///< some window lies wholly in the padding
};

/// 1 to 4 spatial dimensions, any types, groups, strides, dilations, explicit or SAME padding, zero
/// points per channel. A bias, where there is one, uses the whole int32 range.
[[nodiscard]] RandomConvolution random_convolution(Random& random);

}  // namespace qconform::reference::oracle
