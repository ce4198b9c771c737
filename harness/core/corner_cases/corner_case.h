// Corner cases: situations, by value, in which real kernels go wrong. Coverage is counted by them: a suite
// that reaches none proves little, however many cases it has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace qconform {

enum class CornerCase : std::uint8_t {
#define QCONFORM_CORNER_CASE(name, ...) name,
#include "harness/core/corner_cases/corner_cases.inc"
#undef QCONFORM_CORNER_CASE
};

inline constexpr std::size_t kCornerCases =
#define QCONFORM_CORNER_CASE(...) 1 +
#include "harness/core/corner_cases/corner_cases.inc"
#undef QCONFORM_CORNER_CASE
    0;

/// Corner cases that come together: an operator that has one of a topic has the others too, as a rule.
enum class CornerCaseTopic : std::uint8_t {
  rounding,        ///< rounding of a value to an integer output, which saturates
  requantization,  ///< requantization of an integer sum with a bias, by several scales
  scales,
  sums,         ///< sums of integer products
  differences,  ///< differences between an input and its zero point
  windows,      ///< windows with padding, strides and dilations
  channels,     ///< channels, groups, batches and the tails of vectors
  elements,     ///< elements of any type, with a scale of their own or of their axis or block
  dequantization,
  graphs,  ///< graphs of several nodes, and how they are fused
};

struct CornerCaseInfo {
  CornerCase corner_case;
  std::string_view id;     ///< "tie-positive"
  std::string_view label;  ///< name of the things that are counted: "positive ties"
  CornerCaseTopic topic;
  std::string_view rules;        ///< ids, separated by spaces
  std::string_view explanation;  ///< two or three sentences
};

/// The corner cases that concern an operator: those of some topics, and further ones.
class CornerCaseSet {
 public:
  constexpr CornerCaseSet(std::initializer_list<CornerCaseTopic> topics = {},
                          std::initializer_list<CornerCase> further = {}) {
    for (const CornerCaseTopic topic : topics) topics_ |= std::uint64_t{1} << static_cast<int>(topic);
    for (const CornerCase corner_case : further) further_[word_of(corner_case)] |= bit_of(corner_case);
  }
  [[nodiscard]] constexpr bool contains(const CornerCaseInfo& info) const {
    return (topics_ >> static_cast<int>(info.topic) & 1U) != 0 ||
           (further_[word_of(info.corner_case)] & bit_of(info.corner_case)) != 0;
  }

 private:
  static constexpr std::size_t word_of(CornerCase corner_case) { return static_cast<std::size_t>(corner_case) / 64; }
  static constexpr std::uint64_t bit_of(CornerCase corner_case) {
    return std::uint64_t{1} << (static_cast<unsigned>(corner_case) % 64);
  }

  std::uint64_t topics_ = 0;
  std::array<std::uint64_t, (kCornerCases + 63) / 64> further_{};
};

/// All corner cases, in the order of the enumeration.
[[nodiscard]] std::span<const CornerCaseInfo> corner_cases();
[[nodiscard]] const CornerCaseInfo& info_of(CornerCase corner_case);
/// The corner case with that id, or null.
[[nodiscard]] const CornerCaseInfo* corner_case_with_id(std::string_view id);

/// How many elements of one case reach each corner case. Output elements, or input elements where the
/// corner case is about an input; windows examined for the corner cases of int16 sums
/// (harness/operators/convolution/corner_cases.cc).
class CornerCaseCounts {
 public:
  void add(CornerCase corner_case, std::int64_t elements = 1) {
    counts_[static_cast<std::size_t>(corner_case)] += static_cast<std::uint64_t>(elements);
  }
  [[nodiscard]] std::uint64_t operator[](CornerCase corner_case) const {
    return counts_[static_cast<std::size_t>(corner_case)];
  }
  [[nodiscard]] const std::array<std::uint64_t, kCornerCases>& all() const { return counts_; }

 private:
  std::array<std::uint64_t, kCornerCases> counts_{};
};

}  // namespace qconform
