// Operators whose right answers are a short list of bit patterns for each element: QuantizeLinear and
// DequantizeLinear.
#pragma once

#include "harness/operators/operator.h"

namespace qconform {

/// Judges by admissible_bits(), which derived classes provide.
class LoweredByBits : public Lowered {
 public:
  [[nodiscard]] ElementOpinion examine(std::int64_t index, const Tensor& got, const Policy& policy) const override;
  [[nodiscard]] bool is_determined(std::int64_t index, const Policy& policy) const override;
  [[nodiscard]] std::string admissible_text(std::int64_t index, const Policy& policy) const override;
};

}  // namespace qconform
