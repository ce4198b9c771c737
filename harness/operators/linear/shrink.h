// How failing cases of element-wise operators become smaller: what Family says of it.
#pragma once

#include <optional>
#include <vector>

#include "harness/model/reductions/reductions.h"

namespace qconform::shrink {

void jump_to_element(Subject& subject);  ///< one element, its parameters scalar

[[nodiscard]] std::vector<Extent> linear_extents(const Case& test_case, const std::vector<std::int64_t>& wrong_element);
[[nodiscard]] std::optional<Case> without_dimension(const Case& test_case, std::size_t dimension);
[[nodiscard]] std::int64_t parameter_of_wrong_element(const Case& test_case, const Tensor& parameter,
                                                      const std::vector<std::int64_t>& wrong_element);

}  // namespace qconform::shrink
