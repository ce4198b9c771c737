// Finds the inputs of a case by their roles, from the names in its operator's signature.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/core/case.h"

namespace qconform::shrink {

enum class Part : std::uint8_t { data, scale, zero_point };

struct Role {
  std::size_t position;  ///< among the case's inputs, where it is present
  Part part;
  std::string_view name;  ///< ONNX's
  bool required;
  const Tensor* zero_point;  ///< of data: the zero point of its own, or null
};

/// One for each input that is there, in the order of the inputs. Inputs that the operator does not
/// have are not listed. The case must outlive the result.
[[nodiscard]] std::vector<Role> roles_of(const Case& test_case);

/// The value that contributes nothing: the element's zero point, where it has one, else 0.
[[nodiscard]] std::int64_t neutral_value(const Case& test_case, const Role& role, std::int64_t index);

/// The position of the input with that name in the operator's signature.
[[nodiscard]] std::optional<std::size_t> position_of(const Case& test_case, std::string_view name);

/// The case's tensor of that name, or null.
[[nodiscard]] const Tensor* tensor_named(const Case& test_case, std::string_view name);

}  // namespace qconform::shrink
