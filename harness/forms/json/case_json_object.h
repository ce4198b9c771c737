// Cases and tensors as nlohmann objects, for writers of larger documents. Internal to the harness.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/case.h"
#include "harness/forms/json/json_fields.h"
#include "harness/forms/json/json_text.h"

namespace qconform {

/// {"type": "uint8", "shape": [2], "data": [1, 2]}, with "fill" instead of "data" where more than 16
/// elements are all the same; "name" comes first unless it is empty.
[[nodiscard]] Json tensor_object(const Tensor& tensor, std::string_view name = {});

/// An element of "cases".
[[nodiscard]] Json case_object(const Case& test_case);

/// Reads what tensor_object writes. `bytes_left` is what tensors may still take; it is reduced.
/// A "name" is checked by the caller.
bool read_tensor(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left,
                 Tensor& out);

/// Members that may be absent: "expectation" of `object`, and a list of texts under `key`.
bool read_expectation(JsonFields& fields, const Json& object, const std::string& where, Expectation& out);
bool read_texts(JsonFields& fields, const Json& object, const std::string& where, std::string_view key,
                std::vector<std::string>& out);
[[nodiscard]] Json texts_object(const std::vector<std::string>& texts);
/// Reads what case_object writes.
bool read_case(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left, Case& out);

}  // namespace qconform
