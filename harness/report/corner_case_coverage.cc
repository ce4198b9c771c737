#include "harness/report/corner_case_coverage.h"
#include "harness/model/operator.h"

#include <algorithm>
#include <tuple>

namespace qconform {

CornerCaseCoverage::CornerCaseCoverage() = default;
CornerCaseCoverage::CornerCaseCoverage(const CornerCaseCoverage& other) = default;
CornerCaseCoverage::CornerCaseCoverage(CornerCaseCoverage&& other) noexcept = default;
CornerCaseCoverage& CornerCaseCoverage::operator=(const CornerCaseCoverage& other) = default;
CornerCaseCoverage& CornerCaseCoverage::operator=(CornerCaseCoverage&& other) noexcept = default;
CornerCaseCoverage::~CornerCaseCoverage() = default;

void CornerCaseCoverage::note(const std::string& op_type) {
  by_operator_.try_emplace(op_type);
}

void CornerCaseCoverage::add(const std::string& op_type, const std::string& types, const CornerCaseCounts& counts) {
  Totals& totals = by_operator_[op_type][types];
  for (std::size_t i = 0; i < kCornerCases; ++i) {
    if (counts.all()[i] == 0) continue;
    ++totals[i].cases;
    totals[i].elements += counts.all()[i];
  }
}

void CornerCaseCoverage::add(const std::string& op_type, const std::string& types, const Totals& totals) {
  Totals& sum = by_operator_[op_type][types];
  for (std::size_t i = 0; i < kCornerCases; ++i) {
    sum[i].cases += totals[i].cases;
    sum[i].elements += totals[i].elements;
  }
}

void CornerCaseCoverage::add(const CornerCaseCoverage& other) {
  for (const auto& [op_type, by_types] : other.by_operator_) {
    note(op_type);
    for (const auto& [types, totals] : by_types) add(op_type, types, totals);
  }
}

CornerCaseTotal CornerCaseCoverage::total(CornerCase corner_case) const {
  CornerCaseTotal sum;
  for (const auto& [op_type, by_types] : by_operator_) {
    for (const auto& [types, totals] : by_types) {
      sum.cases += totals[static_cast<std::size_t>(corner_case)].cases;
      sum.elements += totals[static_cast<std::size_t>(corner_case)].elements;
    }
  }
  return sum;
}

bool CornerCaseCoverage::is_applicable(CornerCase corner_case) const {
  for (const auto& [op_type, by_types] : by_operator_) {
    if (concerns(info_of(corner_case), op_type)) return true;
  }
  return false;
}

bool CornerCaseCoverage::operator==(const CornerCaseCoverage& other) const {
  const auto reached = [](const CornerCaseCoverage& coverage) {
    std::map<std::tuple<std::string, std::string, std::size_t>, CornerCaseTotal> result;
    for (const auto& [op_type, by_types] : coverage.by_operator_) {
      for (const auto& [types, totals] : by_types) {
        for (std::size_t i = 0; i < kCornerCases; ++i) {
          if (totals[i].cases > 0) result[{op_type, types, i}] = totals[i];
        }
      }
    }
    return result;
  };
  const auto agree = [&](const CornerCaseInfo& info) {
    return is_applicable(info.corner_case) == other.is_applicable(info.corner_case);
  };
  return std::all_of(corner_cases().begin(), corner_cases().end(), agree) && reached(*this) == reached(other);
}

}  // namespace qconform
