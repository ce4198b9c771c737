// Strength-3 covering array.
#pragma once

#include <vector>

#include "harness/suites/sweep/model.h"

namespace qconform::sweep {

/// Rows that the model allows and that cover every feasible triple: strength 3. The same rows on
/// every machine and compiler. The model has three parameters or more.
[[nodiscard]] std::vector<Row> covering_array(const Model& model);

}  // namespace qconform::sweep
