// Text on its way into a shell's command line.
#pragma once

#include <string>
#include <string_view>

namespace qconform {

/// `text` as one word of a POSIX shell: in single quotes where it needs any.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace qconform
