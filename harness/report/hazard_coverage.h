// Which hazards the cases of a run reached, by operator and element types.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "harness/core/hazards/hazard.h"

namespace qconform {

struct HazardTotal {
  std::uint64_t cases = 0;
  std::uint64_t elements = 0;

  bool operator==(const HazardTotal&) const = default;
};

class HazardCoverage {
 public:
  using Totals = std::array<HazardTotal, kHazards>;
  /// By the element types of data, weights and output: "uint8 int8 uint8".
  using ByTypes = std::map<std::string, Totals>;

  // Compiled once: maps of maps are a good part of each file that has a report.
  HazardCoverage();
  HazardCoverage(const HazardCoverage& other);
  HazardCoverage(HazardCoverage&& other) noexcept;
  HazardCoverage& operator=(const HazardCoverage& other);
  HazardCoverage& operator=(HazardCoverage&& other) noexcept;
  ~HazardCoverage();

  /// Adds one case.
  void add(const std::string& op_type, const std::string& types, const HazardCounts& counts);

  /// Adds several cases.
  void add(const std::string& op_type, const std::string& types, const Totals& totals);
  void add(const HazardCoverage& other);
  /// Notes cases of an operator that reached no hazard.
  void note(const std::string& op_type);

  [[nodiscard]] const std::map<std::string, ByTypes>& by_operator() const { return by_operator_; }
  [[nodiscard]] HazardTotal total(Hazard hazard) const;
  /// Whether a case of an operator that the hazard concerns was added.
  [[nodiscard]] bool is_applicable(Hazard hazard) const;

  /// Whether both tell the same: of operators that reached no hazard, which hazards they make applicable.
  bool operator==(const HazardCoverage& other) const;

 private:
  std::map<std::string, ByTypes> by_operator_;
};

}  // namespace qconform
