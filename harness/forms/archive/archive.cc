#include "harness/forms/archive/archive.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

#include "harness/core/version.h"
#include "harness/forms/json/json_text.h"

namespace qconform {
namespace {

// Describes a number of fewer bits than an archive's numbers have.
template <typename Number>
void describe_narrow(Archive& archive, Number& value, const FieldRule& rule) {
  constexpr std::int64_t kMost = std::numeric_limits<Number>::max();
  auto wide = static_cast<std::int64_t>(value);
  archive.value(wide, rule);
  if (!archive.fills()) return;
  const std::int64_t least = rule.minimum.value_or(0);
  if (wide < least || wide > kMost) {
    return archive.refuse(fmt::format("expected a number from {} to {}, got {}", least, kMost, wide));
  }
  value = static_cast<Number>(wide);
}

}  // namespace

void describe(Archive& archive, int& value, const FieldRule& rule) {
  describe_narrow(archive, value, rule);
}

void describe(Archive& archive, std::uint32_t& value, const FieldRule& rule) {
  describe_narrow(archive, value, rule);
}

void describe_name(Archive& archive, std::size_t& position, const FieldRule& rule, const char* what) {
  std::string name(archive.fills() ? std::string_view() : rule.names[position]);
  archive.value(name, rule);
  if (!archive.fills() || !archive.is_sound()) return;
  const auto found = std::find(rule.names.begin(), rule.names.end(), name);
  if (found == rule.names.end()) return archive.refuse(fmt::format("no {} \"{}\"", what, name));
  position = static_cast<std::size_t>(found - rule.names.begin());
}

void describe_constant(Archive& archive, std::string_view key, std::string_view text) {
  if (!archive.begin_member(key, {}, Presence::always, true)) return;
  archive.constant(text);
  archive.end_member();
}

void describe_format(Archive& archive, std::string_view format, std::uint64_t version) {
  // A document that is read without the key may be anything, so its absence is an error of its own.
  const Presence presence = archive.fills() ? Presence::omitted : Presence::always;
  if (!archive.begin_member("format", {}, presence, true)) {
    return archive.refuse(fmt::format("misses the key \"format\": this is no {}", format));
  }
  archive.constant(format);
  archive.end_member();
  if (!archive.begin_member("version", {}, Presence::always, true)) return;
  archive.version(version);
  archive.end_member();
}

namespace {

template <typename T>
void describe_stated(Archive& archive, std::string_view key, const std::function<T()>& compute, const FieldRule& rule,
                     const std::function<std::string(T stated, T computed)>& contradiction) {
  T stated = archive.fills() ? T() : compute();
  if (!archive.begin_member(key, rule, Presence::always, true)) return;
  archive.value(stated, rule);
  archive.end_member();
  if (!archive.fills()) return;
  archive.check_at_end([&archive, key, compute, stated, contradiction] {
    if (const T computed = compute(); stated != computed) archive.refuse_member(key, contradiction(stated, computed));
  });
}

}  // namespace

void describe_derived(Archive& archive, std::string_view key, std::function<std::uint64_t()> sum,
                      const FieldRule& rule) {
  describe_stated<std::uint64_t>(archive, key, sum, rule, [](std::uint64_t stated, std::uint64_t parts) {
    return fmt::format("{}, but its parts are {} together", stated, parts);
  });
}

void describe_derived(Archive& archive, std::string_view key, std::function<bool()> conclusion, const char* source,
                      const FieldRule& rule) {
  describe_stated<bool>(archive, key, conclusion, rule, [source](bool stated, bool concluded) {
    return fmt::format("{}, but the {} say {}", stated, source, concluded);
  });
}

namespace {

constexpr std::size_t kMostListed = std::size_t{1} << 20;

class JsonWriter final : public Archive {
 public:
  explicit JsonWriter(Json& document) : stack_{&document} {}

  void value(bool& value, const FieldRule& /*rule*/) override { top() = value; }
  void value(std::uint64_t& value, const FieldRule& rule) override {
    if (rule.form == Form::hex) {
      top() = fmt::format("{:016x}", value);
    } else {
      top() = value;
    }
  }
  void value(std::int64_t& value, const FieldRule& /*rule*/) override { top() = value; }
  void value(double& value, const FieldRule& rule) override {
    const bool is_far = rule.form == Form::distance && value > std::numeric_limits<double>::max();
    top() = is_far ? Json("inf") : Json(value);
  }
  void value(std::string& value, const FieldRule& /*rule*/) override { top() = value; }
  void constant(std::string_view text) override { top() = text; }
  void version(std::uint64_t number) override { top() = number; }

  // A list of members that grows copies all keys.
  void begin_object(const TypeInfo& /*type*/) override {
    constexpr std::size_t kMostly = 8;
    make_room(kMostly);
  }
  void end_object() override {}
  bool begin_member(std::string_view key, const FieldRule& /*rule*/, Presence /*presence*/, bool is_there) override {
    if (is_there) enter(std::string(key));
    return is_there;
  }
  void end_member() override { stack_.pop_back(); }

  std::size_t begin_list(std::size_t size, const FieldRule& /*rule*/) override {
    top() = Json::array();
    top().get_ref<Json::array_t&>().reserve(size);
    return size;
  }
  void begin_element(std::size_t /*index*/) override {
    auto& list = top().get_ref<Json::array_t&>();
    stack_.push_back(&list.emplace_back());
  }
  void end_element() override { stack_.pop_back(); }
  void end_list() override {}

  std::vector<std::string> begin_map(std::vector<std::string> keys, const FieldRule& /*rule*/) override {
    make_room(keys.size());
    return keys;
  }
  void begin_entry(const std::string& key) override { enter(key); }
  void end_entry() override { stack_.pop_back(); }
  void end_map() override {}

  bool begin_nullable(bool is_null, const FieldRule& /*rule*/) override {
    if (is_null) top() = nullptr;
    return !is_null;
  }
  void end_nullable() override {}

 private:
  Json& top() { return *stack_.back(); }
  void make_room(std::size_t members) {
    top() = Json::object();
    top().get_ref<Json::object_t&>().reserve(members);
  }
  // Keys are different ones: no need to look for them.
  void enter(std::string key) {
    auto& members = top().get_ref<Json::object_t&>();
    static_cast<std::vector<Json::object_t::value_type>&>(members).emplace_back(std::move(key), nullptr);
    stack_.push_back(&members.back().second);
  }

  std::vector<Json*> stack_;  ///< the values under way, the innermost last
};

class JsonReader final : public Archive {
 public:
  JsonReader(const Json& document, Author author) : holds_rules_(author == Author::people) {
    frames_.push_back({.value = &document});
  }

  [[nodiscard]] const std::optional<Error>& error() const { return fields_.error(); }

  [[nodiscard]] bool fills() const override { return true; }
  void value(bool& value, const FieldRule& /*rule*/) override { read(value); }
  void value(std::uint64_t& value, const FieldRule& rule) override {
    rule.form == Form::hex ? read_hex(value) : read(value);
  }
  void value(std::int64_t& value, const FieldRule& /*rule*/) override { read(value); }
  void value(double& value, const FieldRule& rule) override {
    if (rule.form == Form::distance && is_sound() && top() == "inf") {
      value = std::numeric_limits<double>::infinity();
      return;
    }
    read(value);
    if (rule.form == Form::plain || !is_sound() || value >= 0) return;
    refuse(fmt::format("expected {}, not negative, got {}", rule.form == Form::seconds ? "seconds" : "a number",
                       brief(top())));
  }
  void value(std::string& value, const FieldRule& rule) override {
    read(value);
    if (is_sound() && holds_rules_) check_text(value, rule);
  }
  void constant(std::string_view text) override {
    if (is_sound() && top() != text) refuse(fmt::format("expected \"{}\", got {}", text, brief(top())));
  }
  void version(std::uint64_t number) override {
    std::uint64_t stated = number;
    read(stated);
    if (stated < number) refuse(fmt::format("there is no version {}", stated));
    if (stated <= number) return;
    refuse(
        fmt::format("{}: written by a newer qconform; this one, {}, reads up to version {}", stated, kVersion, number));
  }

  void begin_object(const TypeInfo& /*type*/) override {
    if (is_sound() && !top().is_object()) refuse("expected an object, got " + brief(top()));
    objects_.emplace_back();
  }
  void end_object() override {
    const ObjectMembers object = std::move(objects_.back());
    objects_.pop_back();
    if (!is_sound()) return;
    for (const auto& [key, value] : top().items()) {
      if (has(object.always, key) || has(object.sometimes, key)) continue;
      refuse(fmt::format("unknown key {}; known are {}", brief(key), names(object)));
      return;
    }
    for (const auto& check : object.checks) check();
  }
  bool begin_member(std::string_view key, const FieldRule& /*rule*/, Presence presence, bool /*is_there*/) override {
    if (!is_sound()) return false;
    (presence == Presence::always ? objects_.back().always : objects_.back().sometimes).push_back(key);
    const auto found = top().find(key);
    if (found == top().end()) {
      if (presence == Presence::always) refuse(fmt::format("misses the key \"{}\"", key));
      return false;
    }
    frames_.push_back({.value = &*found, .key = std::string(key)});
    return true;
  }
  void end_member() override { frames_.pop_back(); }

  std::size_t begin_list(std::size_t /*size*/, const FieldRule& rule) override {
    if (!is_sound() || !fields_.array(top(), path(), kMostListed)) return 0;
    const std::size_t size = top().size();
    if (holds_rules_) check_size(size, rule);
    return is_sound() ? size : 0;
  }
  void begin_element(std::size_t index) override {
    frames_.push_back({.value = is_sound() ? &top()[index] : &top(), .index = index});
  }
  void end_element() override { frames_.pop_back(); }
  void end_list() override {}

  std::vector<std::string> begin_map(std::vector<std::string> /*keys*/, const FieldRule& rule) override {
    std::vector<std::string> keys;
    if (!is_sound()) return keys;
    if (!top().is_object()) refuse("expected an object, got " + brief(top()));
    next_entry_.push_back(0);
    if (!is_sound()) return keys;
    for (const auto& [key, value] : top().items()) {
      const bool is_known =
          rule.names.empty() || std::find(rule.names.begin(), rule.names.end(), key) != rule.names.end();
      const char* const what = *rule.names_def == '\0' ? "key" : rule.names_def;
      if (!is_known) refuse(fmt::format("no {} \"{}\"; there are {}", what, key, fmt::join(rule.names, ", ")));
      keys.push_back(key);
    }
    return is_sound() ? keys : std::vector<std::string>{};
  }
  // In the order of begin_map(): looking for a key goes through all of them.
  void begin_entry(const std::string& key) override {
    const Json* value = &top();
    if (is_sound()) value = &*std::next(value->begin(), static_cast<std::ptrdiff_t>(next_entry_.back()++));
    frames_.push_back({.value = value, .key = key});
  }
  void end_entry() override { frames_.pop_back(); }
  void end_map() override {
    if (!next_entry_.empty()) next_entry_.pop_back();
  }

  bool begin_nullable(bool /*is_null*/, const FieldRule& /*rule*/) override { return is_sound() && !top().is_null(); }
  void end_nullable() override {}

  void refuse(const std::string& message) override { fields_.refuse(path(), message); }
  void refuse_member(std::string_view from_here, const std::string& message) override {
    fields_.refuse(from_here.starts_with('[') ? path() + std::string(from_here) : json_path(path(), from_here),
                   message);
  }
  [[nodiscard]] bool is_sound() const override { return !fields_.error(); }
  void check_at_end(std::function<void()> check) override { objects_.back().checks.push_back(std::move(check)); }

 private:
  struct Frame {
    const Json* value;
    std::string key{};
    std::size_t index = 0;  ///< the position in a list, where there is no key
  };
  struct ObjectMembers {
    std::vector<std::string_view> always;
    std::vector<std::string_view> sometimes;
    std::vector<std::function<void()>> checks;
  };

  [[nodiscard]] const Json& top() const { return *frames_.back().value; }
  [[nodiscard]] std::string path() const {
    std::string path;
    for (std::size_t i = 1; i < frames_.size(); ++i) {
      path = frames_[i].key.empty() ? json_path(path, frames_[i].index) : json_path(path, frames_[i].key);
    }
    return path;
  }
  static bool has(const std::vector<std::string_view>& keys, std::string_view key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }
  static std::string names(const ObjectMembers& object) {
    std::string text;
    for (const auto* keys : {&object.always, &object.sometimes}) {
      for (const std::string_view key : *keys) text += (text.empty() ? "" : ", ") + std::string(key);
    }
    return text;
  }

  // Paths are made where they are needed: for a message.
  template <typename T>
  void read(T& value) {
    if (!is_sound()) return;
    JsonFields fields;
    if (fields.read(top(), "", value)) return;
    Error error = *fields.error();
    error.field = error.field.empty() ? path() : json_path(path(), error.field);
    fields_.refuse(std::move(error));
  }
  void check_size(std::size_t size, const FieldRule& rule) {
    if (size < rule.min_items) refuse(fmt::format("expected {} or more, got {}", rule.min_items, size));
    if (rule.max_items > 0 && size > rule.max_items) {
      refuse(fmt::format("expected {} at most, got {}", rule.max_items, size));
    }
  }
  void check_text(const std::string& text, const FieldRule& rule) {
    const bool is_named =
        rule.names.empty() || std::find(rule.names.begin(), rule.names.end(), text) != rule.names.end();
    if (!is_named) return refuse(fmt::format("expected one of {}, got {}", fmt::join(rule.names, ", "), brief(top())));
    if (text.size() < rule.min_length) {
      return refuse(fmt::format("expected {} or more characters, got {}", rule.min_length, brief(top())));
    }
    if (*rule.pattern == '\0') return;
    // The library's matcher needs stack for each character.
    constexpr std::size_t kLongest = 256;
    if (text.size() <= kLongest && std::regex_match(text, std::regex(rule.pattern))) return;
    refuse(fmt::format("expected {}, got {}", *rule.pattern_says == '\0' ? rule.pattern : rule.pattern_says,
                       brief(top())));
  }
  void read_hex(std::uint64_t& value) {
    std::string digits;
    read(digits);
    if (!is_sound()) return;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value, 16);
    if (digits.size() == 16 && error == std::errc() && stop == end) return;
    refuse("expected 16 hexadecimal digits, got " + brief(top()));
  }

  bool holds_rules_;
  JsonFields fields_;
  std::vector<Frame> frames_;
  std::vector<ObjectMembers> objects_;
  std::vector<std::size_t> next_entry_;  ///< the number of the next entry, for each map under way
};

}  // namespace

Json write_document(const Describe& describe) {
  Json document;
  JsonWriter writer(document);
  describe(writer);
  return document;
}

Result<void> read_document(const Json& json, const Describe& describe, Author author) {
  JsonReader reader(json, author);
  describe(reader);
  if (reader.error()) return tl::unexpected(*reader.error());
  return {};
}

std::string write_cbor(const Describe& describe) {
  std::string bytes;
  Json::to_cbor(write_document(describe), bytes);
  return bytes;
}

Result<void> read_cbor(std::string_view bytes, const char* what, const Describe& describe) {
  Json document;
  try {
    document = Json::from_cbor(bytes);
  } catch (const Json::exception& error) {
    return fail(what, error.what());
  }
  return in_context(what, read_document(document, describe));
}

}  // namespace qconform
