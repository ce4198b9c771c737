#include "harness/base/text.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <numeric>

namespace qconform {

namespace {

constexpr std::size_t kMostNames = 3;

// Insertions, deletions and replacements that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

bool contains(std::string_view text, std::string_view part) {
  return part.size() >= 2 && text.find(part) != std::string_view::npos;
}

}  // namespace

std::vector<std::string_view> near_names(std::string_view name, std::span<const std::string_view> names) {
  struct NearName {
    std::size_t distance;
    std::string_view name;
  };
  std::vector<NearName> candidates;
  for (const std::string_view known : names) {
    const std::size_t distance = edit_distance(name, known);
    if (contains(known, name) || contains(name, known) || distance * 3 <= name.size()) {
      candidates.push_back({distance, known});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const NearName& a, const NearName& b) { return a.distance < b.distance; });
  if (candidates.size() > kMostNames) candidates.resize(kMostNames);
  std::vector<std::string_view> near;
  for (const NearName& candidate : candidates) near.push_back(candidate.name);
  return near;
}

std::string ending_with_guess(std::string_view name, std::span<const std::string_view> names) {
  const auto near = near_names(name, names);
  return near.empty() ? "." : "; did you mean " + std::string(near.front()) + "?";
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    const std::size_t next = text.find(separator, at);
    parts.push_back(text.substr(at, next - at));
    if (next == std::string_view::npos) return parts;
    at = next + separator.size();
  }
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::string copied_word(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::none_of(text.begin(), text.end(), is_control)) return shell_word(text);
  constexpr std::string_view kHexCharacters = "0123456789abcdef";
  std::string word = "$'";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (is_control(c)) {
      word.append("\\x").append(1, kHexCharacters[code / 16]).append(1, kHexCharacters[code % 16]);
    } else {
      if (c == '\'' || c == '\\') word += '\\';
      word += c;
    }
  }
  return word + "'";
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::string with_thousands(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string printable(std::string_view name) {
  constexpr std::size_t kShown = 64;
  std::string text;
  for (const char character : name.substr(0, kShown)) {
    const auto code = static_cast<unsigned char>(character);
    text += code < 0x20 || code == 0x7F ? '?' : character;
  }
  return text + (name.size() > kShown ? "..." : "");
}

std::string quoted_name(std::string_view name) {
  return "'" + printable(name) + "'";
}

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

namespace {

constexpr std::array<std::string_view, 7> kCopied{"replay ", "report ",  "page ",    "matrix ",
                                                  "result ", "written ", "example: "};

std::size_t spaces_before(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool is_copied(std::string_view line) {
  line.remove_prefix(spaces_before(line));
  return std::any_of(kCopied.begin(), kCopied.end(), [&](std::string_view word) { return line.starts_with(word); });
}

// The column at which the text behind a label begins: after the first two spaces among the first columns.
std::size_t indent_of(std::string_view line, std::size_t columns) {
  const std::size_t begin = spaces_before(line);
  const std::size_t gap = line.find("  ", begin);
  if (gap != std::string_view::npos) {
    const std::size_t text = std::min(line.find_first_not_of(' ', gap), line.size());
    const std::size_t indent = columns_of(line.substr(0, text));
    if (indent <= columns / 2) return indent;
  }
  return begin + 2;
}

// The words of a line, each with the spaces before it.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' ', spaces_before(line)), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

void append_wrapped(std::string_view line, std::size_t columns, std::string& result) {
  const std::string indent(indent_of(line, columns), ' ');
  std::size_t at = 0;
  for (std::string_view word : words_of(line)) {
    const std::size_t width = columns_of(word);
    if (at > indent.size() && at + width > columns) {
      word.remove_prefix(spaces_before(word));
      result += "\n" + indent;
      at = indent.size();
    }
    result += word;
    at += columns_of(word);
  }
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string result;
  bool is_first = true;
  for (const std::string_view line : split(text, "\n")) {
    result += is_first ? "" : "\n";
    is_first = false;
    if (columns_of(line) <= columns || is_copied(line)) {
      result += line;
    } else {
      append_wrapped(line, columns, result);
    }
  }
  return result;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace qconform
