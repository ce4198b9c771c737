// The relations of QuantizeLinear and DequantizeLinear, one function for each file.
#pragma once

#include <span>

#include "harness/suites/relations/relation.h"

namespace qconform::relations {

[[nodiscard]] std::span<const FamilyRelation> parameter_relations();
[[nodiscard]] std::span<const FamilyRelation> element_relations();
[[nodiscard]] std::span<const FamilyRelation> round_trip_relations();

}  // namespace qconform::relations
