#include "harness/forms/json/json_text.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "harness/core/limits.h"
#include "harness/forms/json/case_json.h"

namespace qconform {

namespace {

// nlohmann's messages quote the input, which need not be text.
std::string plain_message(std::string message) {
  const std::size_t end_of_prefix = message.find("] ");
  if (message.starts_with("[json.exception") && end_of_prefix != std::string::npos) {
    message.erase(0, end_of_prefix + 2);
  }
  constexpr std::size_t longest = 300;
  if (message.size() > longest) message = message.substr(0, longest) + "...";
  std::replace_if(
      message.begin(), message.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return message;
}

// Builds the value event by event. nlohmann's own builder takes the last of duplicate keys and knows
// no limits.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  // A negative zero is the one number that arrives here and is not negative.
  bool number_integer(number_integer_t value) override { return value == 0 ? add(-0.0) : add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return refuse("binary data is no JSON"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override;
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    return refuse(plain_message(error.what()));
  }

  Result<Json> take() {
    if (error_) return tl::unexpected<Error>(*error_);
    return std::move(root_);
  }

 private:
  bool refuse(std::string message, std::string rule = {}) {
    if (!error_) error_ = Error{"", std::move(message), std::move(rule)};
    return false;
  }
  bool add(Json value) { return place(std::move(value)) != nullptr; }
  bool open(Json container);
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }
  Json* place(Json value);

  Json root_;
  std::vector<Json*> open_;
  // The keys of each value in open_: a Json object itself looks through all that it has.
  std::vector<std::unordered_set<std::string>> keys_;
  std::string key_;
  JsonLimits limits_;
  std::size_t values_ = 0;
  std::optional<Error> error_;
};

bool Builder::key(string_t& value) {
  auto& keys = keys_.back();
  if (keys.size() >= limits_.keys) {
    return refuse("an object has more than " + std::to_string(limits_.keys) + " keys", "limit");
  }
  if (!keys.insert(value).second) return refuse("duplicate key " + brief(value));
  key_ = std::move(value);
  return true;
}

bool Builder::open(Json container) {
  if (open_.size() >= limits::kJsonDepth) {
    return refuse("nested deeper than " + std::to_string(limits::kJsonDepth) + " levels", "limit");
  }
  Json* placed = place(std::move(container));
  if (placed == nullptr) return false;
  open_.push_back(placed);
  keys_.emplace_back();
  return true;
}

// A container's address stays valid while it is open: its parent grows only after it is closed.
Json* Builder::place(Json value) {
  if (++values_ > limits_.values) {
    refuse("more than " + std::to_string(limits_.values) + " values", "limit");
    return nullptr;
  }
  if (open_.empty()) {
    root_ = std::move(value);
    return &root_;
  }
  Json& parent = *open_.back();
  if (parent.is_object()) {
    auto& members = static_cast<std::vector<Json::object_t::value_type>&>(parent.get_ref<Json::object_t&>());
    return &members.emplace_back(std::move(key_), std::move(value)).second;
  }
  parent.push_back(std::move(value));
  return &parent.back();
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > static_cast<std::size_t>(limits.bytes)) {
    return fail("", "larger than the limit of " + std::to_string(limits.bytes) + " bytes", "limit");
  }
  try {
    Builder builder(limits);
    (void)Json::sax_parse(text, &builder);
    return builder.take();
  } catch (const std::exception& error) {
    return fail("", plain_message(error.what()));
  }
}

namespace {

constexpr std::size_t kColumns = 100;

// Bytes that are not UTF-8 do not occur in what the harness writes; replaced rather than thrown at.
std::string scalar_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A string as JSON text. Strings are many, and most have nothing to escape.
std::string string_text(const std::string& value) {
  const bool is_plain =
      std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  return is_plain ? '"' + value + '"' : scalar_text(value);
}

// Appends the one-line form to `line`; false as soon as it is longer than `room`.
bool append_line(const Json& value, std::size_t room, std::string& line) {
  if (!value.is_structured()) {
    line += value.is_string() ? string_text(value.get_ref<const std::string&>()) : scalar_text(value);
    return line.size() <= room;
  }
  line += value.is_object() ? '{' : '[';
  bool first = true;
  for (auto item = value.begin(); item != value.end(); ++item) {
    if (!first) line += ", ";
    first = false;
    if (value.is_object()) line += string_text(item.key()) + ": ";
    if (!append_line(*item, room, line)) return false;
  }
  line += value.is_object() ? '}' : ']';
  return line.size() <= room;
}

bool all_scalars(const Json& array) {
  for (const Json& element : array) {
    if (element.is_structured()) return false;
  }
  return true;
}

class Printer {
 public:
  // `column` is where the value starts.
  void value(const Json& value, std::size_t indent, std::size_t column) {
    constexpr std::size_t comma = 1;
    const std::size_t room = column + comma < kColumns ? kColumns - column - comma : 0;
    std::string line;
    if (append_line(value, room, line) || !value.is_structured() || value.empty()) {
      text_ += line;
    } else if (value.is_object()) {
      members(value, indent);
    } else if (all_scalars(value)) {
      wrapped(value, indent);
    } else {
      elements(value, indent);
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void new_line(std::size_t indent) { text_.append("\n").append(indent, ' '); }

  void members(const Json& object, std::size_t indent) {
    text_ += '{';
    bool first = true;
    for (auto member = object.begin(); member != object.end(); ++member) {
      if (!first) text_ += ',';
      first = false;
      new_line(indent + 2);
      const std::string key = string_text(member.key()) + ": ";
      text_ += key;
      value(*member, indent + 2, indent + 2 + key.size());
    }
    new_line(indent);
    text_ += '}';
  }

  void elements(const Json& array, std::size_t indent) {
    text_ += '[';
    bool first = true;
    for (const Json& element : array) {
      if (!first) text_ += ',';
      first = false;
      new_line(indent + 2);
      value(element, indent + 2, indent + 2);
    }
    new_line(indent);
    text_ += ']';
  }

  void wrapped(const Json& array, std::size_t indent) {
    text_ += '[';
    std::size_t column = kColumns;
    for (std::size_t i = 0; i < array.size(); ++i) {
      const std::string item = scalar_text(array[i]) + (i + 1 < array.size() ? "," : "");
      if (column + 1 + item.size() > kColumns) {
        new_line(indent + 2);
        column = indent + 2;
      } else {
        text_ += ' ';
        ++column;
      }
      text_ += item;
      column += item.size();
    }
    new_line(indent);
    text_ += ']';
  }

  std::string text_;
};

}  // namespace

std::string print_json(const Json& value) {
  Printer printer;
  printer.value(value, 0, 0);
  return printer.take() + "\n";
}

std::string brief(const Json& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr std::size_t longest = 60;
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  return text;
}

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
