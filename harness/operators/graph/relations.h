// The metamorphic relations of quantized graphs.
#pragma once

#include <span>

#include "harness/model/relations/relation.h"

namespace qconform::relations {

[[nodiscard]] std::span<const FamilyRelation> graph_relations();

}  // namespace qconform::relations
