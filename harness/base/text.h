// Text for people, terminals and shells: what a user may have meant by a name that does not exist, names out of files
// and processes, words of a command line, numbers, wrapped lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qconform {

/// Up to three of `names`, nearest first: those that contain `name` or are contained in it, and those
/// within a third of its length in edits. Names at the same distance keep their order.
[[nodiscard]] std::vector<std::string_view> near_names(std::string_view name, std::span<const std::string_view> names);

/// Returns the end of a message such as "no backend "scaler"": "; did you mean scalar?" for the nearest of `names`, "."
/// where none is near.
[[nodiscard]] std::string ending_with_guess(std::string_view name, std::span<const std::string_view> names);

/// The parts between separators: one more than there are of those.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, std::string_view separator);
/// `text` without the spaces at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// `text` as one word of a POSIX shell: in single quotes where it needs any.
[[nodiscard]] std::string shell_word(std::string_view text);
/// `text` as one word of a command that people copy: as shell_word(), but control characters, which no terminal is to
/// see, stand escaped in $'', which bash and zsh know.
[[nodiscard]] std::string copied_word(std::string_view text);

/// "12,345,678"
[[nodiscard]] std::string with_thousands(std::uint64_t number);

/// A name out of a file or a process, as it may stand in a message: at most 64 bytes; control characters are replaced.
[[nodiscard]] std::string printable(std::string_view name);
/// The printable() name in single quotes.
[[nodiscard]] std::string quoted_name(std::string_view name);

// Text for terminals: what of other people's text may be sent to one, colours, and how many columns text takes.

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

// Lines that are longer than a terminal is wide.

/// Breaks lines between words. What comes below begins where the line's text does: behind its label ("    when
/// padded"), else two columns farther in than the line. Lines that people copy, commands and paths ("replay qconform
/// replay ..."), stay whole: where the terminal breaks them, it copies them whole.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns);

/// Bytes in base64, in one line.
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace qconform
