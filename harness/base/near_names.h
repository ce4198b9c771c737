// What a user may have meant by a name that does not exist.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace qconform {

/// Up to three of `names`, nearest first: those that contain `name` or are contained in it, and those
/// within a third of its length in edits. Names at the same distance keep their order.
[[nodiscard]] std::vector<std::string_view> near_names(std::string_view name, std::span<const std::string_view> names);

}  // namespace qconform
