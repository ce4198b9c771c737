#include "harness/hazards/coverage.h"

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
  Tallies& tallies = by_operator_[op_type][types];
  for (std::size_t i = 0; i < kHazards; ++i) {
    if (counts.all()[i] == 0) continue;
    ++tallies[i].cases;
    tallies[i].elements += counts.all()[i];
  }
}

void HazardCoverage::add(const std::string& op_type, const std::string& types, const Tallies& tallies) {
  Tallies& sum = by_operator_[op_type][types];
  for (std::size_t i = 0; i < kHazards; ++i) {
    sum[i].cases += tallies[i].cases;
    sum[i].elements += tallies[i].elements;
  }
}

void HazardCoverage::add(const HazardCoverage& other) {
  for (const auto& [op_type, by_types] : other.by_operator_) {
    note(op_type);
    for (const auto& [types, tallies] : by_types) add(op_type, types, tallies);
  }
}

HazardTally HazardCoverage::total(Hazard hazard) const {
  HazardTally sum;
  for (const auto& [op_type, by_types] : by_operator_) {
    for (const auto& [types, tallies] : by_types) {
      sum.cases += tallies[static_cast<std::size_t>(hazard)].cases;
      sum.elements += tallies[static_cast<std::size_t>(hazard)].elements;
    }
  }
  return sum;
}

bool HazardCoverage::is_applicable(Hazard hazard) const {
  for (const auto& [op_type, by_types] : by_operator_) {
    if (info_of(hazard).concerns(op_type)) return true;
  }
  return false;
}

bool HazardCoverage::operator==(const HazardCoverage& other) const {
  const auto reached = [](const HazardCoverage& coverage) {
    std::map<std::tuple<std::string, std::string, std::size_t>, HazardTally> result;
    for (const auto& [op_type, by_types] : coverage.by_operator_) {
      for (const auto& [types, tallies] : by_types) {
        for (std::size_t i = 0; i < kHazards; ++i) {
          if (tallies[i].cases > 0) result[{op_type, types, i}] = tallies[i];
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
