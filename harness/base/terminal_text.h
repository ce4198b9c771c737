// Text for terminals: what of other people's text may be sent to one, colours, and how many columns text takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace qconform {

/// Other people's text in one line: control characters, line ends, characters that turn the direction of text, and
/// bytes that are not UTF-8 as "\\x1b" and "\\u202e", so that none of them reaches the terminal.
[[nodiscard]] std::string shown(std::string_view text);
/// Escapes text of several lines as shown() does, but keeps line ends, tabs and the colours of coloured(): some of the
/// text is qconform's own.
[[nodiscard]] std::string shown_lines(std::string_view text);

enum class Colour : std::uint8_t { red, green, yellow, bold };
[[nodiscard]] std::string coloured(std::string_view text, Colour colour);

/// Columns that a line of shown text takes: one for each character, none for colours.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// Cuts `text`, which has no colours, to at most `columns` columns; "..." stands for the part cut off.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace qconform
