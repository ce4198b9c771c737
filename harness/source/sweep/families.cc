#include "harness/source/sweep/convolution.h"
#include "harness/source/sweep/dequantize_linear.h"
#include "harness/source/sweep/model.h"
#include "harness/source/sweep/quantize_linear.h"

namespace qconform::sweep {

const std::vector<Family>& families() {
  static const std::vector<Family> all{convolution_family(), quantize_linear_family(), dequantize_linear_family()};
  return all;
}

}  // namespace qconform::sweep
