// Arbitrary valid cases for property tests: random ones of every operator, and ones directed at a
// corner case. They shrink as failing cases of backends do, by the reductions of harness/engine/shrink, so that a
// counterexample is a small valid case too.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <string_view>

#include "harness/core/case.h"
#include "harness/model/draws/draws.h"
#include "harness/tests/arbitrary_any_case.h"

namespace qconform::testing {

/// Every third one is a directed case. A case is of any operator, version and type that the suites
/// `random` and `directed` hold.
[[nodiscard]] rc::Gen<Case> arbitrary_case();

// Random nodes of the operators that graphs may have, for tests.

/// A graph of that operator alone, followed by an Identity for each output; mostly within the contract. Data are small
/// multiples of 1/4. Null shapes and attributes are as the opset has them.
[[nodiscard]] Case arbitrary_node(Rng& rng, std::string_view op_type, std::int64_t opset_version);

}  // namespace qconform::testing
