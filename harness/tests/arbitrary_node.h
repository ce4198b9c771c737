// Random nodes of the operators that graphs may have, for tests.
#pragma once

#include <string_view>

#include "harness/core/case.h"
#include "harness/model/draws/rng.h"

namespace qconform::testing {

/// A graph of that operator alone, followed by an Identity for each output; mostly within the contract. Data are small
/// multiples of 1/4. Null shapes and attributes are as the opset has them.
[[nodiscard]] Case arbitrary_node(Rng& rng, std::string_view op_type, std::int64_t opset_version);

}  // namespace qconform::testing
