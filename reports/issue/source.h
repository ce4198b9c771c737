// Pieces of C++ source text that the programs have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/tensor.h"
#include "harness/model/judge/judge.h"

namespace qconform::report {

/// "std::uint8_t"; types without one in C++ stand as the unsigned integers of their codes, packed ones as bytes.
[[nodiscard]] std::string_view element_type_text(ElementType type);

/// "std::uint8_t x[] = {1, 2};\n" on as many lines as it takes; of a tensor without elements one that is never read.
[[nodiscard]] std::string array_text(std::string_view name, const Tensor& tensor);

/// "{1, 2, 3}"
[[nodiscard]] std::string list_text(const std::vector<std::int64_t>& values);

/// A float32 that reads back: "0.1F", "-INFINITY".
[[nodiscard]] std::string float_text(float value);

/// A message as several string literals, base64 in them.
[[nodiscard]] std::string base64_text(std::string_view bytes);

/// kModel, and `std::string decoded(const std::string& text)`, which gives its bytes.
[[nodiscard]] std::string model_text(std::string_view bytes);

/// kRight and `int check(const void* y)`, which prints what is not right and returns 1 if anything is not; for a case
/// that must be refused, `check` says so and returns 1 whatever y is. `layout`: of the y that it is given.
[[nodiscard]] std::string check_text(const Expected& expected, Layout layout = Layout::channels_first);

}  // namespace qconform::report
