// JSON text to and from nlohmann's object. Internal to the harness: public headers do not show it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "harness/base/error.h"
#include "harness/core/limits.h"

namespace qconform {

/// Keys keep their order, so that a file can be written the way it is read.
using Json = nlohmann::ordered_json;

/// How large a text may be; the depth is within limits::kJsonDepth always.
struct JsonLimits {
  std::size_t values = limits::kJsonValues;
  std::size_t keys = limits::kJsonKeys;  ///< of one object
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

}  // namespace qconform
