// The functions of QuantizeLinear and DequantizeLinear that the family hands to engines (linear.cc), and what they
// share: random and swept cases, shapes in models, diagnosis, relations, shrinking, corner cases.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/model/defects/arithmetic.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/defects/expression.h"
#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"
#include "harness/model/reductions/reductions.h"
#include "harness/model/relations/relation.h"
#include "harness/model/sweep/model.h"
#include "harness/onnx/node_inputs.h"
#include "harness/operators/linear/description.h"
#include "reference/linear_quantization/dequantize_linear.h"
#include "reference/linear_quantization/linear_quantization.h"
#include "reference/linear_quantization/quantize_linear.h"

namespace qconform {

namespace feature {
inline constexpr Feature quantize_linear{2};
inline constexpr Feature dequantize_linear{3};
}  // namespace feature

/// Valid, at every version from 10 to 25 and with every element type that the operator takes.
[[nodiscard]] Case random_quantize_linear(Rng& rng);
[[nodiscard]] Case random_dequantize_linear(Rng& rng);

}  // namespace qconform

namespace qconform::sweep {

[[nodiscard]] SweptModel swept_quantize_linear();
[[nodiscard]] SweptModel swept_dequantize_linear();

}  // namespace qconform::sweep

namespace qconform {

[[nodiscard]] Result<InputShape> linear_data_shape(const NodeInputs& inputs);
[[nodiscard]] Result<std::vector<std::int64_t>> linear_parameter_shape(const NodeInputs& inputs, std::string_view name);

}  // namespace qconform

namespace qconform::diagnose {

[[nodiscard]] std::optional<Tensor> run_linear(const Case& test_case, const Lowered& lowered, const Stages& stages);
[[nodiscard]] std::uint64_t linear_element(const Case& test_case, const Lowered& lowered, const Stages& stages,
                                           std::int64_t index);
[[nodiscard]] std::span<const DefectList> linear_defects();
[[nodiscard]] std::span<const ExpressionSlot> linear_slots();
[[nodiscard]] const FeatureList& linear_case_features();
[[nodiscard]] std::vector<CaseSize> linear_sizes(const Case& test_case);
[[nodiscard]] std::optional<Case> draw_linear_like(const Case& test_case, std::span<const std::int64_t> sizes,
                                                   Rng& rng);
[[nodiscard]] std::vector<Coordinate> linear_coordinates(const Lowered& lowered);
void place_by_parameter(const Lowered& lowered, std::span<Element> elements);
[[nodiscard]] std::vector<Choice> linear_choices();
[[nodiscard]] std::vector<Experiment> linear_experiments();

}  // namespace qconform::diagnose

namespace qconform::relations {

// A case taken apart, and its relations.

/// QuantizeLinear or DequantizeLinear, and which element has which parameter.
struct LinearParts final : Parts {
  Case frame;  ///< id, and what is said of the case
  LinearQuantization stated;
  reference::QuantizationLayout layout;

  /// The case of another node, with `suffix` behind its id.
  [[nodiscard]] Case derive(LinearQuantization derived, std::string_view suffix) const;
};

/// The parts of a subject; null for other families.
[[nodiscard]] const LinearParts* linear_of(const RelationSubject& subject);

/// Family::relations.take_apart
[[nodiscard]] std::unique_ptr<const Parts> take_linear_apart(const Case& test_case, const Lowered& lowered);

[[nodiscard]] std::span<const FamilyRelation> parameter_relations();
[[nodiscard]] std::span<const FamilyRelation> element_relations();
[[nodiscard]] std::span<const FamilyRelation> round_trip_relations();

}  // namespace qconform::relations

namespace qconform::shrink {

void jump_to_element(Subject& subject);  ///< one element, its parameters scalar

[[nodiscard]] std::vector<Extent> linear_extents(const Case& test_case, const std::vector<std::int64_t>& wrong_element);
[[nodiscard]] std::optional<Case> without_dimension(const Case& test_case, std::size_t dimension);
[[nodiscard]] std::int64_t parameter_of_wrong_element(const Case& test_case, const Tensor& parameter,
                                                      const std::vector<std::int64_t>& wrong_element);

}  // namespace qconform::shrink

namespace qconform {

// Corner cases of QuantizeLinear and DequantizeLinear.

/// `axis` is the node's attribute. x as the reference takes it.
void count_quantize_corner_cases(const reference::QuantizeLinear& node, std::int64_t axis, std::span<const std::byte> x,
                                 CornerCaseCounts& counts);
void count_dequantize_corner_cases(const reference::DequantizeLinear& node, std::int64_t axis,
                                   std::span<const std::byte> x, CornerCaseCounts& counts);

}  // namespace qconform
