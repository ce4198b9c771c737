// An error that a user can act on: which field, which value, which rule.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace qconform {

struct Error {
  std::string field;    ///< attribute, input, option or file that is wrong; may be empty
  std::string message;  ///< what was expected and what was found
  std::string rule;     ///< rule id of docs/numerics.md, or empty

  /// "pads: expected 4 values (2 spatial dims, begin and end), got 3 [rule C8]"
  [[nodiscard]] std::string text() const {
    return (field.empty() ? "" : field + ": ") + message + (rule.empty() ? "" : " [rule " + rule + "]");
  }

  /// The same error seen from further out: "model.onnx: node 3: pads: ...".
  [[nodiscard]] Error in(const std::string& context) const {
    return {field.empty() ? context : context + ": " + field, message, rule};
  }
};

template <typename T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(std::string field, std::string message, std::string rule = {}) {
  return tl::unexpected<Error>(Error{std::move(field), std::move(message), std::move(rule)});
}

}  // namespace qconform
