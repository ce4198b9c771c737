// The names of the operators that qconform knows.
#pragma once

#include <span>
#include <string_view>

namespace qconform {

/// Of operators(), in their order.
[[nodiscard]] std::span<const std::string_view> operator_names();

}  // namespace qconform
