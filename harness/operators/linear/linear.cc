#include "harness/operators/linear/linear.h"

#include <array>

#include "harness/model/layers.h"
#include "harness/operators/linear/diagnosis.h"
#include "harness/operators/linear/relation_parts.h"
#include "harness/operators/linear/shrink.h"
#include "harness/operators/linear/suites.h"

namespace qconform {

namespace {

std::span<const sweep::SweptModel> swept_linear_models() {
  static const std::array models{sweep::swept_quantize_linear(), sweep::swept_dequantize_linear()};
  return models;
}

std::span<const relations::FamilyRelation> linear_relations() {
  using namespace relations;
  static const std::vector<FamilyRelation> all =
      joined({parameter_relations(), element_relations(), round_trip_relations()});
  return all;
}

std::span<const shrink::Reduction> linear_reductions() {
  static constexpr std::array all{
      shrink::Reduction{shrink::Stage::element, "one element", shrink::jump_to_element},
  };
  return all;
}

constexpr std::array<std::string_view, 5> kLinearAttributes{"block_size", "axis", "output_dtype", "precision",
                                                            "saturate"};

}  // namespace

const Family& linear_family() {
  static const std::array operators{quantize_linear_operator(), dequantize_linear_operator()};
  static const Family family{.name = "linear",
                             .operators = operators,
                             .swept_models = swept_linear_models,
                             .data_shape = linear_data_shape,
                             .parameter_shape = linear_parameter_shape,
                             .attributes = kLinearAttributes,
                             .change = mutation::change_linear,
                             .solve_tie = mutation::solve_linear_tie,
                             .relations = linear_relations,
                             .take_apart = relations::take_linear_apart,
                             .reductions = linear_reductions,
                             .extents = shrink::linear_extents,
                             .without_dimension = shrink::without_dimension,
                             .parameter_index = shrink::parameter_of_wrong_element,
                             .layer_sets = bench::linear_layer_sets,
                             .run = diagnose::run_linear,
                             .defects = diagnose::linear_defects,
                             .expressions = diagnose::linear_slots,
                             .case_features = diagnose::linear_case_features,
                             .place = diagnose::place_by_parameter,
                             .choices = diagnose::linear_choices,
                             .experiments = diagnose::linear_experiments};
  return family;
}

const reference::QuantizationLayout* layout_of(const Lowered& lowered) {
  if (const auto* quantize = quantize_linear_of(lowered)) return &quantize->layout;
  const auto* dequantize = dequantize_linear_of(lowered);
  return dequantize == nullptr ? nullptr : &dequantize->layout;
}

}  // namespace qconform
