// Numbers out of text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace qconform {

/// The number that the text is from its first to its last character, in digits as std::from_chars() takes them; nothing
/// where it is no number, or none of that type.
template <typename T>
[[nodiscard]] std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace qconform
