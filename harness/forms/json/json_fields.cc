#include "harness/forms/json/json_fields.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "harness/forms/json/element_json.h"

namespace qconform {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_utf8(const std::string& text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

std::optional<std::string> bytes_from_hex(const std::string& digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const std::size_t high = kHexDigits.find(digits[i]);
    const std::size_t low = kHexDigits.find(digits[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string names(std::span<const std::string_view> keys) {
  std::string text;
  for (const std::string_view key : keys) text += (text.empty() ? "" : ", ") + std::string(key);
  return text;
}

}  // namespace

std::string json_path(const std::string& where, std::string_view key) {
  return where.empty() ? std::string(key) : where + "." + std::string(key);
}

std::string json_path(const std::string& where, std::size_t index) {
  return where + "[" + std::to_string(index) + "]";
}

Json text_json(const std::string& text) {
  if (is_utf8(text)) return text;
  std::string digits;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    digits += kHexDigits[byte / 16];
    digits += kHexDigits[byte % 16];
  }
  Json object = Json::object();
  object["hex"] = std::move(digits);
  return object;
}

bool JsonFields::refuse(std::string where, std::string message, std::string rule) {
  return refuse(Error{std::move(where), std::move(message), std::move(rule)});
}

bool JsonFields::refuse(Error error) {
  if (!error_) error_ = std::move(error);
  return false;
}

bool JsonFields::object(const Json& value, const std::string& where, std::span<const std::string_view> required,
                        std::span<const std::string_view> optional) {
  if (!value.is_object()) return refuse(where, "expected an object, got " + brief(value));
  const auto has = [](std::span<const std::string_view> keys, const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  for (auto member = value.begin(); member != value.end(); ++member) {
    if (has(required, member.key()) || has(optional, member.key())) continue;
    return refuse(where, "unknown key " + brief(member.key()) + "; known are " + names(required) +
                             (optional.empty() ? "" : ", " + names(optional)));
  }
  for (const std::string_view key : required) {
    if (!value.contains(key)) return refuse(where, "misses the key \"" + std::string(key) + "\"");
  }
  return true;
}

bool JsonFields::array(const Json& value, const std::string& where, std::size_t limit) {
  if (!value.is_array()) return refuse(where, "expected an array, got " + brief(value));
  if (value.size() <= limit) return true;
  return refuse(where, std::to_string(value.size()) + " elements exceed the limit of " + std::to_string(limit),
                "limit");
}

bool JsonFields::read(const Json& value, const std::string& where, std::string& out) {
  if (value.is_string()) {
    out = value.get_ref<const std::string&>();
    return true;
  }
  if (!value.is_object()) return refuse(where, "expected a string, got " + brief(value));
  if (!object(value, where, {"hex"})) return false;
  const Json& digits = value["hex"];
  std::optional<std::string> bytes;
  if (digits.is_string()) bytes = bytes_from_hex(digits.get_ref<const std::string&>());
  if (!bytes) return refuse(json_path(where, "hex"), "expected pairs of digits 0-9, a-f, got " + brief(digits));
  out = std::move(*bytes);
  return true;
}

bool JsonFields::read(const Json& value, const std::string& where, std::int64_t& out) {
  if (!value.is_number_integer()) return refuse(where, "expected an integer, got " + brief(value));
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return refuse(where, brief(value) + " exceeds 64 bits with a sign");
  }
  out = value.get<std::int64_t>();
  return true;
}

bool JsonFields::read(const Json& value, const std::string& where, std::uint64_t& out) {
  if (!value.is_number_unsigned()) {
    return refuse(where, "expected an integer that is not negative, got " + brief(value));
  }
  out = value.get<std::uint64_t>();
  return true;
}

bool JsonFields::read(const Json& value, const std::string& where, double& out) {
  if (!value.is_number()) return refuse(where, "expected a number, got " + brief(value));
  out = value.get<double>();
  return true;
}

bool JsonFields::read(const Json& value, const std::string& where, bool& out) {
  if (!value.is_boolean()) return refuse(where, "expected true or false, got " + brief(value));
  out = value.get<bool>();
  return true;
}

bool JsonFields::read(const Json& value, const std::string& where, float& out) {
  const std::optional<std::uint64_t> bits = element_bits(ElementType::float32, value);
  if (!bits) return refuse(where, brief(value) + " is not a float");
  out = std::bit_cast<float>(static_cast<std::uint32_t>(*bits));
  return true;
}

}  // namespace qconform
