// Errors that a user can act on, which name field, value and rule; failures of the machine; and what was thrown.
#pragma once

#include <cxxabi.h>
#include <tl/expected.hpp>

#include <stdexcept>
#include <string>
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

// Failures of the machine, for which no backend is to blame.

/// Returns the message of `error`, a value of errno, and the limit of this process behind it, if there is one: "Too
/// many open files (the limit is 256: ulimit -n)".
[[nodiscard]] std::string machine_reason(int error);

/// The machine has no more of something: processes, files, memory. Whoever runs cases stops with its message, and
/// keeps what has been done: it is no outcome of a case.
class MachineFailure final : public std::runtime_error {
 public:
  /// `error` is a value of errno.
  MachineFailure(const std::string& what, int error) : std::runtime_error(what + ": " + machine_reason(error)) {}
};

// Exceptions of code that is not qconform's.

/// Inside of a handler, or in a terminate handler that was called for an exception: what was thrown, as
/// "std::runtime_error: no kernel", "int: 7" or "an exception that is not C++'s". Ends where it gets long.
[[nodiscard]] std::string thrown_text();

/// Returns the Result of `open`, or an error of `field` where `open` throws.
template <typename Open>
[[nodiscard]] auto opened_without_throwing(const char* field, const Open& open) -> decltype(open()) {
  try {
    return open();
  } catch (const MachineFailure&) {
    throw;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return fail(field, "threw while it was opened: " + thrown_text());
  }
}

}  // namespace qconform

// Results passed on.

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
