// Text for people and shells: what a user may have meant by a name that does not exist, names out of files and
// processes, words of a command line, numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qconform {

/// Up to three of `names`, nearest first: those that contain `name` or are contained in it, and those
/// within a third of its length in edits. Names at the same distance keep their order.
[[nodiscard]] std::vector<std::string_view> near_names(std::string_view name, std::span<const std::string_view> names);

/// Returns the end of a message such as "no backend "scaler"": ", is it scalar?" for the nearest of `names`, "." where
/// none is near.
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

}  // namespace qconform
