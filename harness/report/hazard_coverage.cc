#include "harness/report/hazard_coverage.h"
#include "harness/model/operator.h"

#include <algorithm>
#include <tuple>

namespace qconform {

HazardCoverage::HazardCoverage() = default;
HazardCoverage::HazardCoverage(const HazardCoverage& other) = default;
HazardCoverage::HazardCoverage(HazardCoverage&& other) noexcept = default;
HazardCoverage& HazardCoverage::operator=(const HazardCoverage& other) = default;
HazardCoverage& HazardCoverage::operator=(HazardCoverage&& other) noexcept = default;
HazardCoverage::~HazardCoverage() = default;

void HazardCoverage::note(const std::string& op_type) {
  by_operator_.try_emplace(op_type);
}

void HazardCoverage::add(const std::string& op_type, const std::string& types, const HazardCounts& counts) {
  Totals& totals = by_operator_[op_type][types];
  for (std::size_t i = 0; i < kHazards; ++i) {
    if (counts.all()[i] == 0) continue;
    ++totals[i].cases;
    totals[i].elements += counts.all()[i];
  }
}

void HazardCoverage::add(const std::string& op_type, const std::string& types, const Totals& totals) {
  Totals& sum = by_operator_[op_type][types];
  for (std::size_t i = 0; i < kHazards; ++i) {
    sum[i].cases += totals[i].cases;
    sum[i].elements += totals[i].elements;
  }
}

void HazardCoverage::add(const HazardCoverage& other) {
  for (const auto& [op_type, by_types] : other.by_operator_) {
    note(op_type);
    for (const auto& [types, totals] : by_types) add(op_type, types, totals);
  }
}

HazardTotal HazardCoverage::total(Hazard hazard) const {
  HazardTotal sum;
  for (const auto& [op_type, by_types] : by_operator_) {
    for (const auto& [types, totals] : by_types) {
      sum.cases += totals[static_cast<std::size_t>(hazard)].cases;
      sum.elements += totals[static_cast<std::size_t>(hazard)].elements;
    }
  }
  return sum;
}

bool HazardCoverage::is_applicable(Hazard hazard) const {
  for (const auto& [op_type, by_types] : by_operator_) {
    if (concerns(info_of(hazard), op_type)) return true;
  }
  return false;
}

bool HazardCoverage::operator==(const HazardCoverage& other) const {
  const auto reached = [](const HazardCoverage& coverage) {
    std::map<std::tuple<std::string, std::string, std::size_t>, HazardTotal> result;
    for (const auto& [op_type, by_types] : coverage.by_operator_) {
      for (const auto& [types, totals] : by_types) {
        for (std::size_t i = 0; i < kHazards; ++i) {
          if (totals[i].cases > 0) result[{op_type, types, i}] = totals[i];
        }
      }
    }
    return result;
  };
  const auto agree = [&](const HazardInfo& info) {
    return is_applicable(info.hazard) == other.is_applicable(info.hazard);
  };
  return std::all_of(hazards().begin(), hazards().end(), agree) && reached(*this) == reached(other);
}

}  // namespace qconform
