// An error that a user can act on: which field, which value, which rule.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace qconform {

struct Error {
  std::string field;    ///< attribute, input, option or file that is wrong; may be empty
  std::string message;  ///< a text that says what was expected and what was found
  std::string rule;     ///< rule id of docs/numerics.md, or empty

  /// "pads: expected 4 values (2 spatial dims, begin and end), got 3 [rule C8]"
  [[nodiscard]] std::string text() const {
    return (field.empty() ? "" : field + ": ") + message + (rule.empty() ? "" : " [rule " + rule + "]");
  }

  /// Returns this error with `context` in front of its field: "model.onnx: node 3: pads: ...".
  [[nodiscard]] Error in(const std::string& context) const {
    return {field.empty() ? context : context + ": " + field, message, rule};
  }
};

template <typename T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(std::string field, std::string message, std::string rule = {}) {
  return tl::unexpected<Error>(Error{std::move(field), std::move(message), std::move(rule)});
}

/// Returns the result unchanged, or its error with `context` in front of the field (Error::in).
template <typename T>
[[nodiscard]] Result<T> in_context(const std::string& context, Result<T> result) {
  if (!result) result.error() = result.error().in(context);
  return result;
}

}  // namespace qconform

/// A statement that evaluates a Result. If it holds an error, the enclosing function returns that error;
/// a value is dropped.
///
///     QCONFORM_TRY(write_file(path, text));
#define QCONFORM_TRY(...)                                        \
  do {                                                           \
    if (auto qconform_result = (__VA_ARGS__); !qconform_result)  \
      return tl::unexpected(std::move(qconform_result).error()); \
  } while (false)

/// Evaluates a Result. If it holds an error, the enclosing function returns that error; a value is moved to
/// `target`, which declares a variable or names one. These are several statements: not for an `if` without
/// braces.
///
///     QCONFORM_ASSIGN(const auto text, read_file(path, limit));
///     QCONFORM_ASSIGN(child_, ChildProcess::start(command_));
#define QCONFORM_ASSIGN(target, ...) QCONFORM_ASSIGN_EXPANDED(__LINE__, target, __VA_ARGS__)
#define QCONFORM_ASSIGN_EXPANDED(line, ...) QCONFORM_ASSIGN_ON_LINE(line, __VA_ARGS__)
#define QCONFORM_ASSIGN_ON_LINE(line, target, ...)                                               \
  auto qconform_result_##line = (__VA_ARGS__);                                                   \
  if (!qconform_result_##line) return tl::unexpected(std::move(qconform_result_##line).error()); \
  target = *std::move(qconform_result_##line)
