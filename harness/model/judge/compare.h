// Compares an output with the right answers, element by element, and reduces messages of refusals to what they say of
// any case.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/core/case.h"
#include "harness/core/tensor.h"
#include "harness/core/verdict.h"
#include "harness/model/operator.h"

namespace qconform {

struct Comparison {
  std::uint64_t wrong = 0;
  std::int64_t worst = -1;    ///< flat index of the wrong element farthest from the reference's
  double worst_distance = 0;  ///< infinite where values cannot be compared (NaN against a number)
  TierCounts tiers;           ///< how many elements lie in each tier, where the operator has tiers
  ErrorHistogram errors;      ///< the errors of the wrong elements
};

/// Whether element `index` of `got` is right; the arguments are those of compare(). An element that is not
/// the exact one is counted in `tiers`.
[[nodiscard]] bool is_right(const Lowered& lowered, const Tensor& got, const Tensor& exact, const Tensor* pinned,
                            const Policy& policy, std::int64_t index, TierCounts& tiers);

/// `got` and `exact` have the same type and shape; `exact` is the reference's answer, correctly
/// rounded. Where `pinned` is given it holds the only right values. Elements that equal the exact
/// ones are right at once; the others are examined one by one.
[[nodiscard]] Comparison compare(const Lowered& lowered, const Tensor& got, const Tensor& exact, const Tensor* pinned,
                                 const Policy& policy);

// Signatures of a library's messages, whatever case they are about.

/// The message without what changes from case to case and from run to run: numbers, quoted text, addresses, paths, and
/// the names of the case's tensors, with what a library appends to them. Operators and the other words stay, one space
/// between them, at most 160 bytes. The same message about another case gives the same signature.
[[nodiscard]] std::string message_signature(std::string_view message, const Case& test_case);

}  // namespace qconform
