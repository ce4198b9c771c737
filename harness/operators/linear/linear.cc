#include "harness/operators/linear/linear.h"

#include <array>

#include "harness/bench/layers.h"
#include "harness/operators/linear/diagnosis.h"

namespace qconform {

const Family& linear_family() {
  static const std::array operators{quantize_linear_operator(), dequantize_linear_operator()};
  static const Family family{.name = "linear",
                             .operators = operators,
                             .layer_sets = bench::linear_layer_sets,
                             .run = diagnose::run_linear,
                             .defects = diagnose::linear_defects,
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
