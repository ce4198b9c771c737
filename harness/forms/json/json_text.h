// JSON text to and from nlohmann's object, and its members by path. Internal to the harness: public headers do not show
// it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/limits.h"

namespace qconform {

/// Keys keep their order, so that a file can be written the way it is read.
using Json = nlohmann::ordered_json;

/// How large a text may be; the depth is within limits::kJsonDepth always.
struct JsonLimits {
  std::size_t values = limits::kJsonValues;
  std::size_t keys = limits::kJsonKeys;  ///< the most keys of one object
  std::int64_t bytes = limits::kJsonFileBytes;
};

/// Parses strictly: RFC 8259, valid UTF-8, no comments, nothing behind the value, no duplicate keys.
/// "-0" becomes the floating-point number -0.0.
[[nodiscard]] Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// Text for people: what fits in 100 columns stands on one line, long arrays of scalars are
/// wrapped, everything else has one member or element per line. Ends with a newline.
[[nodiscard]] std::string print_json(const Json& value);

/// A short rendering of one value for a message: `"abc"`, `300`, `an array`.
[[nodiscard]] std::string brief(const Json& value);

// Strict reading of JSON values into C++ ones. Internal to the harness.

/// "cases[3]" + "inputs" = "cases[3].inputs"; "cases" + 3 = "cases[3]".
[[nodiscard]] std::string json_path(const std::string& where, std::string_view key);
[[nodiscard]] std::string json_path(const std::string& where, std::size_t index);

/// Text as a JSON value: a string where the bytes are UTF-8, else {"hex": "ff00"}.
[[nodiscard]] Json text_json(const std::string& text);

/// Reads values and keeps the first error. Every function returns false after an error, so that
/// reading is a chain of &&. `where` is the JSON path of the value, for the message.
class JsonFields {
 public:
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  bool refuse(std::string where, std::string message, std::string rule = {});
  bool refuse(Error error);

  /// An object that has all of `required`, and nothing beyond these and `optional`.
  bool object(const Json& value, const std::string& where, std::initializer_list<std::string_view> required,
              std::initializer_list<std::string_view> optional = {}) {
    return object(value, where, std::span(required.begin(), required.size()),
                  std::span(optional.begin(), optional.size()));
  }
  bool object(const Json& value, const std::string& where, std::span<const std::string_view> required,
              std::span<const std::string_view> optional);
  /// An array of at most `limit` elements.
  bool array(const Json& value, const std::string& where, std::size_t limit);

  bool read(const Json& value, const std::string& where, std::string& out);
  bool read(const Json& value, const std::string& where, std::int64_t& out);
  bool read(const Json& value, const std::string& where, std::uint64_t& out);
  bool read(const Json& value, const std::string& where, float& out);
  bool read(const Json& value, const std::string& where, double& out);
  bool read(const Json& value, const std::string& where, bool& out);
  template <typename T>
  bool read_list(const Json& value, const std::string& where, std::size_t limit, std::vector<T>& out);

  /// A member that may be absent: `out` then stays as it is.
  template <typename T>
  bool read_optional(const Json& object, const std::string& where, std::string_view key, T& out) {
    const auto found = object.find(key);
    return found == object.end() || read(*found, json_path(where, key), out);
  }

 private:
  std::optional<Error> error_;
};

template <typename T>
bool JsonFields::read_list(const Json& value, const std::string& where, std::size_t limit, std::vector<T>& out) {
  if (!array(value, where, limit)) return false;
  out.resize(value.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!read(value[i], json_path(where, i), out[i])) return false;
  }
  return true;
}

}  // namespace qconform
