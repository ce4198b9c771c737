// Convolutions with many products to a sum: where float32 and int32 accumulators end.
#pragma once

#include "harness/core/case.h"
#include "harness/suites/rng.h"

namespace qconform::directed {

/// A convolution of one or a few outputs over at least `products` products each, nearly all of them
/// with the largest magnitude (255 * 255) and of one sign. Scales are 1.
[[nodiscard]] Case deep_convolution(Rng& rng, std::string_view op_type, std::int64_t products);

}  // namespace qconform::directed
