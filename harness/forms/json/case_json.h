// Cases as JSON: the form that people review. docs/formats.md describes it, and
// corpus/schema/cases-1.schema.json states it for other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/limits.h"
#include "harness/core/tensor.h"
#include "harness/forms/json/json_text.h"

namespace qconform {

// Tensors and their elements as JSON. An element: integers and bool as integers, float and double as numbers
// ("nan", "inf", "-inf" and, for any other NaN, the bit pattern "0x7fc00001" as strings), every
// other type as its bit pattern ("0x3c00"). Internal to the harness.

/// The element whose stored bits these are. `type` is known and has at most 64 bits.
[[nodiscard]] Json element_json(ElementType type, std::uint64_t bits);

/// The stored bits of an element, or nothing when `value` is none of that type or out of its range.
/// Decimal numbers are read to the nearest double, and that to the nearest float.
[[nodiscard]] std::optional<std::uint64_t> element_bits(ElementType type, const Json& value);

/// A bit pattern as text, and back: "0x" and digits/4 lower-case hexadecimal digits.
[[nodiscard]] std::string bit_pattern(std::uint64_t bits, int width);
[[nodiscard]] std::optional<std::uint64_t> bits_of_pattern(std::string_view text, int width);

// Texts and files of cases.

/// Limits on reading beyond those on the text itself.
struct CaseJsonLimits {
  std::int64_t tensor_bytes = limits::kJsonTensorBytes;  ///< bytes of all tensors in the text together
};

/// A file with these cases. Lossless for every case whose tensors hold as many bytes as their type
/// and shape ask for: read_cases_json gives back the same, bit for bit.
[[nodiscard]] std::string cases_json(std::span<const Case> cases);
[[nodiscard]] std::string case_json(const Case& test_case);

/// Reads strictly. An error's field is the JSON path: "cases[3].inputs[1].data[7]: 300 is not a
/// uint8". Hostile text costs no more than the limits allow, and no exception leaves.
[[nodiscard]] Result<std::vector<Case>> read_cases_json(std::string_view text, const CaseJsonLimits& allowed = {});

/// These read and write a file; an error's field begins with the path. Saving replaces the file in one step.
[[nodiscard]] Result<std::vector<Case>> load_cases(const std::filesystem::path& path);
[[nodiscard]] Result<void> save_cases(const std::filesystem::path& path, std::span<const Case> cases);

/// A file that holds exactly one case, for replaying it.
[[nodiscard]] Result<Case> load_case(const std::filesystem::path& path);

// Cases and tensors as nlohmann objects, for writers of larger documents. Internal to the harness.

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
