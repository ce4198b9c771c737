// Hazards: situations, by value, in which real kernels go wrong. Coverage is counted by them: a suite
// that reaches none proves little, however many cases it has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace qconform {

enum class Hazard : std::uint8_t {
#define QCONFORM_HAZARD(name, ...) name,
#include "harness/hazards/hazards.inc"
#undef QCONFORM_HAZARD
};

inline constexpr std::size_t kHazards =
#define QCONFORM_HAZARD(...) 1 +
#include "harness/hazards/hazards.inc"
#undef QCONFORM_HAZARD
    0;

struct HazardInfo {
  Hazard hazard;
  std::string_view id;           ///< "tie-positive"
  std::string_view label;        ///< what is counted, in the plural: "positive ties"
  std::uint8_t operators;        ///< bits of kHazardOperators
  std::string_view rules;        ///< ids, separated by spaces
  std::string_view explanation;  ///< two or three sentences

  [[nodiscard]] bool concerns(std::string_view op_type) const;
};

/// Bit i of HazardInfo::operators stands for the operator at i.
inline constexpr std::array<std::string_view, 4> kHazardOperators{"QLinearConv", "ConvInteger", "QuantizeLinear",
                                                                  "DequantizeLinear"};

/// All of them, in the order of the enumeration.
[[nodiscard]] std::span<const HazardInfo> hazards();
[[nodiscard]] const HazardInfo& info_of(Hazard hazard);
/// The hazard with that id, or null.
[[nodiscard]] const HazardInfo* hazard_with_id(std::string_view id);

/// How many elements of one case reach each hazard. Output elements, or input elements where the
/// hazard is about an input; windows examined for the hazards of int16 sums (accumulation_hazards.h).
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
