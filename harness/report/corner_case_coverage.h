// The corner cases that the cases of a run reached, by operator and element types.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "harness/core/corner_cases/corner_case.h"

namespace qconform {

struct CornerCaseTotal {
  std::uint64_t cases = 0;
  std::uint64_t elements = 0;

  bool operator==(const CornerCaseTotal&) const = default;
};

class CornerCaseCoverage {
 public:
  using Totals = std::array<CornerCaseTotal, kCornerCases>;
  /// By the element types of data, weights and output: "uint8 int8 uint8".
  using ByTypes = std::map<std::string, Totals>;

  // Compiled once: maps of maps are a good part of each file that has a report.
  CornerCaseCoverage();
  CornerCaseCoverage(const CornerCaseCoverage& other);
  CornerCaseCoverage(CornerCaseCoverage&& other) noexcept;
  CornerCaseCoverage& operator=(const CornerCaseCoverage& other);
  CornerCaseCoverage& operator=(CornerCaseCoverage&& other) noexcept;
  ~CornerCaseCoverage();

  /// Adds one case.
  void add(const std::string& op_type, const std::string& types, const CornerCaseCounts& counts);

  /// Adds several cases.
  void add(const std::string& op_type, const std::string& types, const Totals& totals);
  void add(const CornerCaseCoverage& other);
  /// Notes cases of an operator that reached no corner case.
  void note(const std::string& op_type);

  [[nodiscard]] const std::map<std::string, ByTypes>& by_operator() const { return by_operator_; }
  [[nodiscard]] CornerCaseTotal total(CornerCase corner_case) const;
  /// Whether a case of an operator that the corner case concerns was added.
  [[nodiscard]] bool is_applicable(CornerCase corner_case) const;

  /// Whether both have the same counts, and the same corner cases concern their operators.
  bool operator==(const CornerCaseCoverage& other) const;

 private:
  std::map<std::string, ByTypes> by_operator_;
};

}  // namespace qconform
