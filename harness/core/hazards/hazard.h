// Hazards: situations, by value, in which real kernels go wrong. Coverage is counted by them: a suite
// that reaches none proves little, however many cases it has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace qconform {

enum class Hazard : std::uint8_t {
#define QCONFORM_HAZARD(name, ...) name,
#include "harness/core/hazards/hazards.inc"
#undef QCONFORM_HAZARD
};

inline constexpr std::size_t kHazards =
#define QCONFORM_HAZARD(...) 1 +
#include "harness/core/hazards/hazards.inc"
#undef QCONFORM_HAZARD
    0;

/// Hazards that come together: an operator that has one of a topic has the others too, as a rule.
enum class HazardTopic : std::uint8_t {
  rounding,        ///< of a value to an integer output, which saturates
  requantization,  ///< of an integer sum with a bias, by several scales
  scales,
  sums,         ///< of integer products
  differences,  ///< between an input and its zero point
  windows,      ///< with padding, strides and dilations
  channels,     ///< with groups, batches and the tails of vectors
  elements,     ///< of any type, with a scale of their own or of their axis or block
  dequantization,
  graphs,  ///< of several nodes, and how they are fused
};

struct HazardInfo {
  Hazard hazard;
  std::string_view id;     ///< "tie-positive"
  std::string_view label;  ///< what is counted, in the plural: "positive ties"
  HazardTopic topic;
  std::string_view rules;        ///< ids, separated by spaces
  std::string_view explanation;  ///< two or three sentences
};

/// The hazards that concern an operator: those of some topics, and further ones.
class HazardSet {
 public:
  constexpr HazardSet(std::initializer_list<HazardTopic> topics = {}, std::initializer_list<Hazard> further = {}) {
    for (const HazardTopic topic : topics) topics_ |= std::uint64_t{1} << static_cast<int>(topic);
    for (const Hazard hazard : further) further_[word_of(hazard)] |= bit_of(hazard);
  }
  [[nodiscard]] constexpr bool contains(const HazardInfo& info) const {
    return (topics_ >> static_cast<int>(info.topic) & 1U) != 0 ||
           (further_[word_of(info.hazard)] & bit_of(info.hazard)) != 0;
  }

 private:
  static constexpr std::size_t word_of(Hazard hazard) { return static_cast<std::size_t>(hazard) / 64; }
  static constexpr std::uint64_t bit_of(Hazard hazard) {
    return std::uint64_t{1} << (static_cast<unsigned>(hazard) % 64);
  }

  std::uint64_t topics_ = 0;
  std::array<std::uint64_t, (kHazards + 63) / 64> further_{};
};

/// All hazards, in the order of the enumeration.
[[nodiscard]] std::span<const HazardInfo> hazards();
[[nodiscard]] const HazardInfo& info_of(Hazard hazard);
/// The hazard with that id, or null.
[[nodiscard]] const HazardInfo* hazard_with_id(std::string_view id);

/// How many elements of one case reach each hazard. Output elements, or input elements where the
/// hazard is about an input; windows examined for the hazards of int16 sums (harness/operators/convolution/hazards.cc).
class HazardCounts {
 public:
  void add(Hazard hazard, std::int64_t elements = 1) {
    counts_[static_cast<std::size_t>(hazard)] += static_cast<std::uint64_t>(elements);
  }
  [[nodiscard]] std::uint64_t operator[](Hazard hazard) const { return counts_[static_cast<std::size_t>(hazard)]; }
  [[nodiscard]] const std::array<std::uint64_t, kHazards>& all() const { return counts_; }

 private:
  std::array<std::uint64_t, kHazards> counts_{};
};

}  // namespace qconform
