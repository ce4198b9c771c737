// Exact rationals, printed for the reader.
#pragma once

#include <cstdint>
#include <string>

namespace qconform {

/// accumulator * x_scale * w_scale / y_scale as integer part and fraction: "214 + 3/8". Where the
/// fraction has more digits than a reader wants, as a decimal: "214.500000119". Finite scales, y_scale not 0.
[[nodiscard]] std::string scaled_value_text(std::int64_t accumulator, float x_scale, float w_scale, float y_scale);

}  // namespace qconform
