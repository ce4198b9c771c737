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
/// The same of text of several lines, some of it of our own: line ends, tabs and the colours of coloured() stay.
[[nodiscard]] std::string shown_lines(std::string_view text);

enum class Colour : std::uint8_t { red, green, yellow, bold };
[[nodiscard]] std::string coloured(std::string_view text, Colour colour);

/// Columns that a line of shown text takes: one for each character, none for colours.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// At most so many columns of it, "..." in place of what is cut off. Of text without colours.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace qconform
