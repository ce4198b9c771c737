#include "harness/base/text.h"

#include <algorithm>
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
  struct Candidate {
    std::size_t distance;
    std::string_view name;
  };
  std::vector<Candidate> candidates;
  for (const std::string_view known : names) {
    const std::size_t distance = edit_distance(name, known);
    if (contains(known, name) || contains(name, known) || distance * 3 <= name.size()) {
      candidates.push_back({distance, known});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
  if (candidates.size() > kMostNames) candidates.resize(kMostNames);
  std::vector<std::string_view> near;
  for (const Candidate& candidate : candidates) near.push_back(candidate.name);
  return near;
}

std::string ending_with_guess(std::string_view name, std::span<const std::string_view> names) {
  const auto near = near_names(name, names);
  return near.empty() ? "." : ", is it " + std::string(near.front()) + "?";
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

}  // namespace qconform
