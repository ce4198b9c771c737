// Changes to the attributes of a case.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/core/case.h"

namespace qconform::shrink {

/// Replaces the attribute of that name, or adds it.
void set_attribute(Case& test_case, std::string_view name, Attribute::Value value);
void erase_attribute(Case& test_case, std::string_view name);

/// The attribute's list of integers; null when it is absent or of another type.
[[nodiscard]] std::vector<std::int64_t>* integers_of(Case& test_case, std::string_view name);
[[nodiscard]] const std::vector<std::int64_t>* integers_of(const Case& test_case, std::string_view name);
/// The attribute's integer, or `absent`.
[[nodiscard]] std::int64_t integer_of(const Case& test_case, std::string_view name, std::int64_t absent);

}  // namespace qconform::shrink
