// Described values to and from JSON documents, and to and from CBOR, which journals keep.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "harness/base/error.h"
#include "harness/forms/archive/archive.h"

namespace qconform {

using Json = nlohmann::ordered_json;
using Describe = std::function<void(Archive&)>;

/// Describes a value that does not change: for archives that fill nothing.
template <typename T>
[[nodiscard]] Describe description_of(const T& value) {
  return [&value](Archive& archive) { describe(archive, const_cast<T&>(value), FieldRule{}); };
}

/// Texts that are not UTF-8 are kept as they are: who prints the document replaces them.
[[nodiscard]] Json write_document(const Describe& describe);

/// Who writes a document: of what people write, each member is held against its rule (FieldRule).
enum class Author : std::uint8_t { qconform, people };

/// Reads strictly: all members that there must be, none that is unknown. Errors name the JSON path.
[[nodiscard]] Result<void> read_document(const Json& json, const Describe& describe, Author author = Author::qconform);
template <typename T>
[[nodiscard]] Result<T> read_document(const Json& json, Author author = Author::qconform) {
  T value;
  QCONFORM_TRY(read_document(
      json, [&](Archive& archive) { describe(archive, value, FieldRule{}); }, author));
  return value;
}

[[nodiscard]] std::string write_cbor(const Describe& describe);
/// Errors have the field `what`.
[[nodiscard]] Result<void> read_cbor(std::string_view bytes, const char* what, const Describe& describe);

template <typename T>
[[nodiscard]] std::string to_cbor(const T& value) {
  return write_cbor(description_of(value));
}
template <typename T>
[[nodiscard]] Result<T> from_cbor(std::string_view bytes, const char* what) {
  T value;
  QCONFORM_TRY(read_cbor(bytes, what, [&](Archive& archive) { describe(archive, value, FieldRule{}); }));
  return value;
}

}  // namespace qconform
