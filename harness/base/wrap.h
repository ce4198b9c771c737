// Lines that are longer than a terminal is wide.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qconform {

/// Breaks lines between words. What comes below begins where the line's text does: behind its label ("    when
/// padded"), else two columns farther in than the line. Lines that people copy, commands and paths ("replay qconform
/// replay ..."), stay whole: where the terminal breaks them, it copies them whole.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns);

}  // namespace qconform
