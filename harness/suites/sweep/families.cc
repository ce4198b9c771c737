#include "harness/operators/convolution/sweep.h"
#include "harness/operators/linear/sweep_dequantize.h"
#include "harness/operators/linear/sweep_quantize.h"
#include "harness/suites/sweep/model.h"

namespace qconform::sweep {

const std::vector<Family>& families() {
  static const std::vector<Family> all{convolution_family(), quantize_linear_family(), dequantize_linear_family()};
  return all;
}

}  // namespace qconform::sweep
