// Cases, their elements and exact values as text for a reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/tensor.h"
#include "reference/numerics/right_values.h"

namespace qconform {

/// Element `index` as a number: exact for integers of up to 53 bits and every float type; the byte of a bool; NaN for a
/// complex one.
[[nodiscard]] double number_at(const Tensor& tensor, std::int64_t index);

/// An integer, the byte of a bool, or a float in the shortest decimal that reads back; "1.5-2i" for a complex one.
[[nodiscard]] std::string element_text(const Tensor& tensor, std::int64_t index);

/// accumulator * x_scale * w_scale / y_scale as integer part and fraction: "214 + 3/8". Where the
/// fraction has more digits than a reader wants, as a decimal: "214.500000119". Finite scales, y_scale not 0.
[[nodiscard]] std::string scaled_value_text(std::int64_t accumulator, float x_scale, float w_scale, float y_scale);

/// "2", "[1,0,1,0]"; a text as it is.
[[nodiscard]] std::string attribute_text(const Attribute::Value& value);

/// Names the kind of case in a refusal, "takes no ...": "graphs of several nodes", or the operator of the only node.
[[nodiscard]] std::string kind_text(const Case& test_case);

/// Summarizes what the case computes on: "x [1,2,1,1] * w [1,2,1,1], pads [0,1,0,0]", "x float [3], y_scale float [3]".
/// It leaves out scalars behind the first input, and an operator's kernel_shape.
[[nodiscard]] std::string summary_of(const Case& test_case);

/// The values of the case's inputs in row-major order: "x {1, -2}, y_scale {0.5}". An input of more than 16 elements
/// has its shape in their place: "x [1,3,8,8]".
[[nodiscard]] std::string values_text(const Case& test_case);

using reference::RightValues;

/// "{213, 214}", "{-3..5}", "[0.1, 0.2]", "{nan, any NaN}", "any value"
[[nodiscard]] std::string text_of(const RightValues& right);

}  // namespace qconform
