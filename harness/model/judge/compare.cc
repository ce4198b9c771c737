#include "harness/model/judge/judge.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "harness/model/text.h"

namespace qconform {

namespace {

// memcmp compares many bytes at a time; vectors of std::byte compare them one by one.
bool are_same(const Tensor& a, const Tensor& b) {
  if (a.bytes.size() != b.bytes.size()) return false;
  return a.bytes.empty() || std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

double distance(double error) {
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : std::fabs(error);
}

// Tells right from wrong where the element is not the exact one.
bool examine(const Lowered& lowered, const Tensor& got, std::int64_t index, const Policy& policy, TierCounts& tiers) {
  const ElementOpinion opinion = lowered.examine(index, got, policy);
  if (opinion.tiers) tiers.add(*opinion.tiers);
  return opinion.right;
}

}  // namespace

bool is_right(const Lowered& lowered, const Tensor& got, const Tensor& exact, const Tensor* pinned,
              const Policy& policy, std::int64_t index, TierCounts& tiers) {
  const bool is_exact = bits_at(got, index) == bits_at(exact, index);
  const bool is_pinned = pinned == nullptr || bits_at(*pinned, index) == bits_at(got, index);
  const bool right = is_exact ? is_pinned : examine(lowered, got, index, policy, tiers);
  return policy.pinned && pinned != nullptr ? is_pinned : right;
}

Comparison compare(const Lowered& lowered, const Tensor& got, const Tensor& exact, const Tensor* pinned,
                   const Policy& policy) {
  Comparison result;
  const std::int64_t elements = exact.elements();
  std::uint64_t as_exact = 0;
  if (are_same(got, exact) && (pinned == nullptr || are_same(*pinned, exact))) {
    as_exact = static_cast<std::uint64_t>(elements);
  } else {
    for (std::int64_t i = 0; i < elements; ++i) {
      if (bits_at(got, i) == bits_at(exact, i)) ++as_exact;
      if (is_right(lowered, got, exact, pinned, policy, i, result.tiers)) continue;
      ++result.wrong;
      const double error = number_at(got, i) - number_at(pinned == nullptr ? exact : *pinned, i);
      result.errors.add(error);
      const double off = distance(error);
      if (result.worst >= 0 && off <= result.worst_distance) continue;
      result.worst = i;
      result.worst_distance = off;
    }
  }
  if (lowered.has_tiers()) result.tiers.add(reference::TierSet::all(), as_exact);
  return result;
}

namespace {

constexpr std::size_t kMostBytes = 160;

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::vector<std::string> names_in(const Case& test_case) {
  std::vector<std::string> names = test_case.input_names;
  names.insert(names.end(), test_case.outputs.begin(), test_case.outputs.end());
  for (const Node& node : test_case.nodes) names.insert(names.end(), node.outputs.begin(), node.outputs.end());
  std::erase(names, "");
  return names;
}

// A name of the case, alone or with what a library appends: "conv_1", "conv_1_dq", "conv_1/output".
bool is_a_name(std::string_view word, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    if (!word.starts_with(name)) return false;
    return word.size() == name.size() || !std::isalpha(static_cast<unsigned char>(word[name.size()]));
  });
}

// Drops quoted text, and what stands in parentheses behind a space and is no operator: "(y_dq)".
std::string without_quotations(std::string_view message) {
  std::string text;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    const bool opens = c == '(' && (i == 0 || message[i - 1] == ' ') && i + 1 < message.size() &&
                       std::isupper(static_cast<unsigned char>(message[i + 1])) == 0;
    const bool is_apostrophe = c == '\'' && i > 0 && is_word(message[i - 1]);
    const char closing = opens ? ')' : (c == '"' || (c == '\'' && !is_apostrophe)) ? c : '\0';
    const std::size_t end = closing == '\0' ? std::string_view::npos : message.find(closing, i + 1);
    if (end == std::string_view::npos) {
      text += c;
    } else {
      i = end;
    }
  }
  return text;
}

// A word without its numbers; empty of a path, an address, a name, and a number.
std::string stable_part(std::string_view word, const std::vector<std::string>& names) {
  const bool is_path = (word.find('/') != std::string_view::npos && word.size() > 1) ||
                       word.find(".h:") != std::string_view::npos || word.find(".cc:") != std::string_view::npos;
  if (is_path || word.starts_with("0x")) return {};
  const auto first = std::find_if(word.begin(), word.end(), is_word);
  if (is_a_name(word.substr(static_cast<std::size_t>(first - word.begin())), names)) return {};
  std::string kept;
  for (const char c : word) {
    if (!is_digit(c)) kept += c;
  }
  return std::any_of(kept.begin(), kept.end(), [](char c) { return is_word(c); }) ? kept : std::string();
}

}  // namespace

std::string message_signature(std::string_view message, const Case& test_case) {
  const std::vector<std::string> names = names_in(test_case);
  const std::string plain = without_quotations(message);
  std::string signature;
  for (std::size_t begin = 0; begin < plain.size();) {
    const std::size_t end = std::min(plain.find_first_of(" \t\n,[]{}", begin), plain.size());
    const std::string part = stable_part(std::string_view(plain).substr(begin, end - begin), names);
    if (!part.empty()) signature += (signature.empty() ? "" : " ") + part;
    begin = end + 1;
  }
  if (signature.size() > kMostBytes) {
    const std::size_t space = signature.rfind(' ', kMostBytes);
    signature.resize(space == std::string::npos ? kMostBytes : space);
  }
  return signature;
}

}  // namespace qconform
