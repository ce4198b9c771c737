// A case of an element-wise operator taken apart, for its relations.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "harness/model/operator.h"
#include "harness/model/relations/relation.h"
#include "reference/linear_quantization/linear_quantization.h"

namespace qconform::relations {

/// QuantizeLinear or DequantizeLinear.
struct Linear final : Parts {
  reference::QuantizationLayout layout;
  std::vector<double> scale;       ///< one per parameter of the layout, exact
  std::vector<double> zero_point;  ///< one per parameter of the layout; 0 where omitted
  ElementType y_type = ElementType::undefined;
};

/// The parts of a subject; null for other families.
[[nodiscard]] const Linear* linear_of(const RelationSubject& subject);

/// Family::relations.take_apart
[[nodiscard]] std::unique_ptr<const Parts> take_linear_apart(const Case& test_case, const Lowered& lowered);

[[nodiscard]] std::span<const FamilyRelation> parameter_relations();
[[nodiscard]] std::span<const FamilyRelation> element_relations();
[[nodiscard]] std::span<const FamilyRelation> round_trip_relations();

}  // namespace qconform::relations
