// The relations of convolutions, one function for each file.
#pragma once

#include <span>

#include "harness/suites/relations/relation.h"

namespace qconform::relations {

[[nodiscard]] std::span<const FamilyRelation> signedness_relations();
[[nodiscard]] std::span<const FamilyRelation> padding_relations();
[[nodiscard]] std::span<const FamilyRelation> kernel_relations();
[[nodiscard]] std::span<const FamilyRelation> axis_relations();
[[nodiscard]] std::span<const FamilyRelation> channel_relations();
[[nodiscard]] std::span<const FamilyRelation> batch_relations();
[[nodiscard]] std::span<const FamilyRelation> requantization_relations();  ///< scales and accumulators, too

}  // namespace qconform::relations
