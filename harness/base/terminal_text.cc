#include "harness/base/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace qconform {
namespace {

constexpr std::string_view kReset = "\x1b[0m";
constexpr std::array<std::string_view, 4> kColours{"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m"};  // as Colour

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0: the text does not begin with a character of UTF-8
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  // Longer than it must be, half of a pair, or beyond the last character.
  constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool is_half = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[bytes] || code > 0x10FFFF || is_half ? Character{} : Character{code, bytes};
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

// Ends of lines and paragraphs, marks and overrides of direction, what has no width: they make text look like other
// text.
bool is_deceptive(char32_t code) {
  return (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || (code >= 0xE0000 && code <= 0xE007F) || code == 0xAD || code == 0x61C ||
         code == 0x180E || code == 0xFEFF;
}

// Length of the colour that the text begins with; 0 where there is none.
std::size_t colour_at(std::string_view text) {
  if (text.starts_with(kReset)) return kReset.size();
  const auto found =
      std::find_if(kColours.begin(), kColours.end(), [&](std::string_view colour) { return text.starts_with(colour); });
  return found == kColours.end() ? 0 : found->size();
}

std::string escaped(std::string_view text, bool keeps_lines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t colour = keeps_lines ? colour_at(text) : 0;
    const Character character = first_character(text);
    std::size_t taken = colour > 0 ? colour : std::max<std::size_t>(character.bytes, 1);
    if (colour > 0 || (keeps_lines && (text[0] == '\n' || text[0] == '\t'))) {
      result += text.substr(0, taken);
    } else if (character.bytes == 0 || (is_control(character.code) && character.bytes == 1)) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (is_control(character.code) || is_deceptive(character.code)) {
      result += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(character.code));
    } else {
      result += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return result;
}

}  // namespace

std::string shown(std::string_view text) {
  return escaped(text, false);
}

std::string shown_lines(std::string_view text) {
  return escaped(text, true);
}

std::string coloured(std::string_view text, Colour colour) {
  return fmt::format("{}{}{}", kColours[static_cast<std::size_t>(colour)], text, kReset);
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::size_t colour = colour_at(text);
    columns += colour > 0 ? 0 : 1;
    text.remove_prefix(colour > 0 ? colour : std::max<std::size_t>(first_character(text).bytes, 1));
  }
  return columns;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  constexpr std::string_view kDots = "...";
  const std::size_t kept = columns > kDots.size() ? columns - kDots.size() : 0;
  std::string result;
  for (std::size_t i = 0; i < kept; ++i) {
    const std::size_t bytes = std::max<std::size_t>(first_character(text).bytes, 1);
    result += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return result + std::string(kDots.substr(0, std::min(columns, kDots.size())));
}

}  // namespace qconform
