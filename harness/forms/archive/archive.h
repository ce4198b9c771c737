// An archive walks over described values (fields.h): it writes or reads them as JSON documents or CBOR, invents them,
// or states their JSON Schema.
//
// describe(archive, value, rule) tells an archive what there is, once for all archives: the archive's virtual functions
// take values by reference, and those that fill values change them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/fields.h"

namespace qconform {

class Archive {
 public:
  Archive() = default;
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  virtual ~Archive() = default;

  /// Values are changed: read or invented.
  [[nodiscard]] virtual bool fills() const { return false; }

  virtual void value(bool& value, const FieldRule& rule) = 0;
  virtual void value(std::uint64_t& value, const FieldRule& rule) = 0;
  virtual void value(std::int64_t& value, const FieldRule& rule) = 0;
  virtual void value(double& value, const FieldRule& rule) = 0;
  virtual void value(std::string& value, const FieldRule& rule) = 0;
  /// Describes a text that is always this one.
  virtual void constant(std::string_view text) = 0;
  /// The version of a document's form: no other one is read.
  virtual void version(std::uint64_t number) = 0;

  virtual void begin_object(const TypeInfo& type) = 0;
  virtual void end_object() = 0;
  /// False where there is no such member, which is told by `is_there` or by what is read: then nothing is to be
  /// described.
  [[nodiscard]] virtual bool begin_member(std::string_view key, const FieldRule& rule, Presence presence,
                                          bool is_there) = 0;
  virtual void end_member() = 0;

  /// Members that several types have: those of `name`, within the object under way.
  virtual void begin_base(const TypeInfo& /*type*/) {}
  virtual void end_base() {}

  /// The number of elements that are to be described.
  [[nodiscard]] virtual std::size_t begin_list(std::size_t size, const FieldRule& rule) = 0;
  virtual void begin_element(std::size_t index) = 0;
  virtual void end_element() = 0;
  virtual void end_list() = 0;

  /// The keys of an object that any keys may have.
  [[nodiscard]] virtual std::vector<std::string> begin_map(std::vector<std::string> keys, const FieldRule& rule) = 0;
  virtual void begin_entry(const std::string& key) = 0;
  virtual void end_entry() = 0;
  virtual void end_map() = 0;

  /// A value that may be null. False where it is: then nothing is to be described.
  [[nodiscard]] virtual bool begin_nullable(bool is_null, const FieldRule& rule) = 0;
  virtual void end_nullable() = 0;

  /// Says what is wrong with what was read, at the value under way or at a path from there: "low", "by[3].types",
  /// "[2]". The first refusal counts.
  virtual void refuse(const std::string& /*message*/) {}
  virtual void refuse_member(std::string_view /*path*/, const std::string& /*message*/) {}
  /// Nothing that was refused: what was read can be relied on.
  [[nodiscard]] virtual bool is_sound() const { return true; }
  /// Runs at the end of the object under way, where values were read.
  virtual void check_at_end(std::function<void()> /*check*/) {}
};

inline void describe(Archive& archive, bool& value, const FieldRule& rule) {
  archive.value(value, rule);
}
inline void describe(Archive& archive, std::uint64_t& value, const FieldRule& rule) {
  archive.value(value, rule);
}
inline void describe(Archive& archive, std::int64_t& value, const FieldRule& rule) {
  archive.value(value, rule);
}
inline void describe(Archive& archive, double& value, const FieldRule& rule) {
  archive.value(value, rule);
}
inline void describe(Archive& archive, std::string& value, const FieldRule& rule) {
  archive.value(value, rule);
}
/// Refuses what the type does not hold.
void describe(Archive& archive, int& value, const FieldRule& rule);
void describe(Archive& archive, std::uint32_t& value, const FieldRule& rule);

/// One of the rule's names, by its position; `what` says what has no such name: "no verdict \"odd\"".
void describe_name(Archive& archive, std::size_t& position, const FieldRule& rule, const char* what);
/// An enumeration, whose values are the positions of its names.
template <typename Enum>
requires std::is_enum_v<Enum>
void describe_name(Archive& archive, Enum& value, const FieldRule& rule, const char* what) {
  auto position = static_cast<std::size_t>(value);
  describe_name(archive, position, rule, what);
  value = static_cast<Enum>(position);
}

template <typename T>
concept Described = requires {
  T::kDescribedFrom;
};

template <Described T>
void describe(Archive& archive, T& value, const FieldRule& rule);
template <typename T>
void describe(Archive& archive, std::optional<T>& value, const FieldRule& rule);
template <typename T>
void describe(Archive& archive, std::vector<T>& values, const FieldRule& rule);
template <typename T>
void describe(Archive& archive, std::map<std::string, T>& values, const FieldRule& rule);

namespace describing {

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
bool is_by_default(const T& value) {
  if constexpr (requires { value.empty(); }) {
    return value.empty();
  } else if constexpr (std::equality_comparable<T>) {
    return value == T();
  } else {
    return false;
  }
}

template <int kLine, typename T>
void describe_line(Archive& archive, T& value) {
  if constexpr (requires { T::describe_line(Line<kLine>{}, archive, value); }) {
    T::describe_line(Line<kLine>{}, archive, value);
  }
}

template <typename T, int... kOffset>
void describe_lines(Archive& archive, T& value, std::integer_sequence<int, kOffset...> /*offsets*/) {
  (describe_line<T::kDescribedFrom + kOffset>(archive, value), ...);
}

inline FieldRule rule_of_items(const FieldRule& rule) {
  return rule.items == nullptr ? FieldRule{} : *rule.items;
}

}  // namespace describing

/// The members of a value, within the object under way.
template <Described T>
void describe_members(Archive& archive, T& value) {
  describing::describe_lines(archive, value, std::make_integer_sequence<int, kMostDescribedLines>{});
}

/// The members of a value that the object under way has besides its own.
template <Described T>
void describe_base(Archive& archive, T& value) {
  archive.begin_base(T::kSchema);
  describe_members(archive, value);
  archive.end_base();
}

template <Described T>
void describe(Archive& archive, T& value, const FieldRule& /*rule*/) {
  archive.begin_object(T::kSchema);
  describe_members(archive, value);
  archive.end_object();
}

/// Outside of members: null for none.
template <typename T>
void describe(Archive& archive, std::optional<T>& value, const FieldRule& rule) {
  if (archive.begin_nullable(!value, rule)) {
    if (!value) value.emplace();
    describe(archive, *value, rule);
    archive.end_nullable();
  } else if (archive.fills()) {
    value.reset();
  }
}

template <typename T>
void describe(Archive& archive, std::vector<T>& values, const FieldRule& rule) {
  const std::size_t size = archive.begin_list(values.size(), rule);
  if (size != values.size()) values.resize(size);
  const FieldRule items = describing::rule_of_items(rule);
  for (std::size_t i = 0; i < size; ++i) {
    archive.begin_element(i);
    describe(archive, values[i], items);
    archive.end_element();
  }
  archive.end_list();
}

template <typename T>
void describe(Archive& archive, std::map<std::string, T>& values, const FieldRule& rule) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : values) keys.push_back(key);
  const FieldRule items = describing::rule_of_items(rule);
  for (const std::string& key : archive.begin_map(std::move(keys), rule)) {
    archive.begin_entry(key);
    describe(archive, values[key], items);
    archive.end_entry();
  }
  archive.end_map();
}

/// A member of the object under way. An optional is left out where it holds nothing.
template <typename T>
void describe_field(Archive& archive, std::string_view key, T& value, const FieldRule& rule) {
  if constexpr (describing::kIsOptional<T>) {
    if (archive.begin_member(key, rule, Presence::omitted, value.has_value())) {
      if (!value) value.emplace();
      describe(archive, *value, rule);
      archive.end_member();
    } else if (archive.fills()) {
      value.reset();
    }
  } else {
    const bool is_there = rule.presence != Presence::omitted || !describing::is_by_default(value);
    if (!archive.begin_member(key, rule, rule.presence, is_there)) return;
    describe(archive, value, rule);
    archive.end_member();
  }
}

/// A member that is null where the optional holds nothing.
template <typename T>
void describe_nullable_field(Archive& archive, std::string_view key, std::optional<T>& value, const FieldRule& rule) {
  if (!archive.begin_member(key, rule, rule.presence, true)) return;
  describe(archive, value, rule);
  archive.end_member();
}

/// A member that is an object without a type of its own; `members` describes what it holds.
template <typename Members>
void describe_group(Archive& archive, std::string_view key, const FieldRule& rule, Members members,
                    bool is_there = true) {
  if (!archive.begin_member(key, rule, rule.presence, is_there)) return;
  archive.begin_object({});
  members();
  archive.end_object();
  archive.end_member();
}

/// A member that must always be this text.
void describe_constant(Archive& archive, std::string_view key, std::string_view text);

/// The first members of a document, "format" and "version": nothing else is looked at where they are others.
void describe_format(Archive& archive, std::string_view format, std::uint64_t version);

/// A member that follows from the others. What is read must agree with them: "9, but its parts are 3 together".
void describe_derived(Archive& archive, std::string_view key, std::function<std::uint64_t()> sum,
                      const FieldRule& rule = {});
void describe_derived(Archive& archive, std::string_view key, std::function<bool()> conclusion, const char* source,
                      const FieldRule& rule = {});

// Described values to and from JSON documents, and to and from CBOR, which journals keep.

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

// The JSON Schema (2020-12) of a described value.

/// The texts by which a schema introduces itself; an empty id is left out.
struct SchemaHead {
  std::string_view id;
  std::string_view title;
  std::string_view description;
};

/// `describe` describes any value of the type: its members are stated, not its values.
[[nodiscard]] Json schema_of(const SchemaHead& head, const std::function<void(Archive&)>& describe);

}  // namespace qconform
