// A type that is written as JSON says so where its members are declared: one line declares a member, names it in JSON
// and documents it. Archives (archive.h) write, read, invent such values and write their JSON Schema.
//
//   struct Progress {
//     QC_DESCRIBED("", "How far it has come.");
//     QC_FIELD(std::uint64_t, cases, {}, "cases", .doc = "Done, of all runs.");   // type, member, initializer, key,
//     FieldRule QC_FIELD(double, seconds, {}, "seconds", .form = Form::seconds);
//   };
//
// Members of the JSON object stand in the order of these lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace qconform {

/// Whether a member is there.
enum class Presence : std::uint8_t {
  always,
  omitted  ///< left out where the value is as by default
};

/// How a number is written.
enum class Form : std::uint8_t {
  plain,
  seconds,  ///< a double that is not negative; the schema says so under that name
  amount,   ///< a double that is not negative
  hex,      ///< 64 bits as 16 hexadecimal digits
  distance  ///< a double that is not negative; infinity is "inf"
};

/// Describes a member beyond its type. The schema states all of it. The reader holds texts against `names`, `pattern`
/// and `min_length`, and lists against their numbers of items, where people write the document (Author::people); of
/// what qconform writes it reads all the same. Only the schema uses the `minimum` of 64-bit integers.
struct FieldRule {
  const char* doc = "";                          ///< for the schema; may be empty
  Presence presence = Presence::always;          ///< an optional has `omitted`, always
  Form form = Form::plain;                       ///< how a number is written
  const char* def = "";                          ///< the schema states the value once, under this name
  const char* def_doc = "";                      ///< the description that it has there
  const char* pattern = "";                      ///< regular expression that a text matches
  const char* pattern_says = "";                 ///< the pattern in words, for the error of the reader
  std::span<const std::string_view> names = {};  ///< the only texts that there are, or the only keys of a map
  const char* names_def = "";                    ///< the schema states these texts once, under this name
  std::optional<std::int64_t> minimum = {};      ///< least value of an integer; 0 where nothing is said
  std::uint64_t min_length = 0;                  ///< least length of a text
  std::uint64_t min_items = 0;                   ///< least number of items of a list
  std::uint64_t max_items = 0;                   ///< greatest number of items of a list; 0 where there is no limit
  const FieldRule* items = nullptr;              ///< rule for each item of a list or value of a map
  const char* required_key = "";                 ///< the key that a map always has
};

/// Names a described type, for the schema.
struct TypeInfo {
  std::string_view name = {};  ///< in the schema's $defs; empty where the schema states the type in place
  std::string_view doc = {};
  bool is_base = false;  ///< other types have its members and more
};

/// A line of a struct that describes something.
template <int kLine>
struct Line {};

// The most lines between QC_DESCRIBED and the last described member of a type.
inline constexpr int kMostDescribedLines = 96;

}  // namespace qconform

// NOLINTBEGIN(bugprone-macro-parentheses): types and initializers take no parentheses.

/// Names the type for the schema. The arguments initialize TypeInfo's members.
#define QC_DESCRIBED(...)                                     \
  static constexpr ::qconform::TypeInfo kSchema{__VA_ARGS__}; \
  static constexpr int kDescribedFrom = __LINE__

/// Statements about `self`, a value of this type, for `archive`.
#define QC_LINE(...)                                                                                   \
  template <typename AnyArchive, typename Self>                                                        \
  static void describe_line(::qconform::Line<__LINE__> /*line*/, [[maybe_unused]] AnyArchive& archive, \
                            [[maybe_unused]] Self& self) {                                             \
    __VA_ARGS__;                                                                                       \
  }                                                                                                    \
  static_assert(true)

/// A member that is declared elsewhere: the expression stands behind "self.".
#define QC_PART(key, expression, ...) \
  QC_LINE(describe_field(archive, key, self.expression, ::qconform::FieldRule{__VA_ARGS__}))

/// Declares and describes a member.
#define QC_FIELD(type, name, initializer, key, ...) \
  type name initializer;                            \
  QC_PART(key, name, __VA_ARGS__)

// NOLINTEND(bugprone-macro-parentheses)
