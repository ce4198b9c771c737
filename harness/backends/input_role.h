// What an input of a case is to a backend.
#pragma once

#include <cstddef>

#include "harness/core/case.h"
#include "harness/operators/operator.h"

namespace qconform {

/// An unknown operator or position counts as data, which libraries do not fold into anything.
[[nodiscard]] inline InputRole role_of(const Case& test_case, std::size_t position) {
  const Operator* known = operator_of(test_case);
  return known != nullptr && position < known->inputs.size() ? known->inputs[position].role : InputRole::data;
}

}  // namespace qconform
