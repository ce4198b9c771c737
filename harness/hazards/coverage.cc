#include "harness/hazards/coverage.h"

namespace qconform {

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

}  // namespace qconform
