// Diagnosis calls these functions of the family of QuantizeLinear and DequantizeLinear: Family says what each of them
// does.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/model/defects/arithmetic.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/defects/expression.h"
#include "harness/model/operator.h"

namespace qconform::diagnose {

[[nodiscard]] std::optional<Tensor> run_linear(const Case& test_case, const Lowered& lowered, const Stages& stages);
[[nodiscard]] std::span<const DefectList> linear_defects();
[[nodiscard]] std::span<const ExpressionSlot> linear_slots();
[[nodiscard]] const FeatureList& linear_case_features();
void place_by_parameter(const Lowered& lowered, std::span<Element> elements);
[[nodiscard]] std::vector<Choice> linear_choices();
[[nodiscard]] std::vector<Experiment> linear_experiments();

}  // namespace qconform::diagnose
