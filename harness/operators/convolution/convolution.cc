#include "harness/operators/convolution/convolution.h"

#include <array>

#include "harness/model/layers.h"
#include "harness/operators/convolution/diagnosis.h"
#include "harness/operators/convolution/lowered_convolution.h"
#include "harness/operators/convolution/relation_parts.h"
#include "harness/operators/convolution/shrink.h"
#include "harness/operators/convolution/suites.h"

namespace qconform {
namespace {

Case draw_convolution_for(Rng& rng, const Operator& known, Hazard hazard, const Swarm& swarm) {
  return directed::draw_convolution(rng, known.name, hazard, swarm);
}

std::span<const sweep::SweptModel> swept_convolution_models() {
  static const std::array models{sweep::swept_convolutions()};
  return models;
}

std::span<const relations::FamilyRelation> convolution_relations() {
  using namespace relations;
  static const std::vector<FamilyRelation> all =
      joined({signedness_relations(), padding_relations(), kernel_relations(), axis_relations(), channel_relations(),
              batch_relations(), requantization_relations()});
  return all;
}

std::span<const shrink::Reduction> convolution_reductions() {
  static constexpr std::array all{
      shrink::Reduction{shrink::Stage::element, "one window", shrink::jump_to_window},
      shrink::Reduction{shrink::Stage::element, "one output of each image", shrink::one_output_an_image},
      shrink::Reduction{shrink::Stage::indices, "one tap at the same outputs", shrink::one_tap},
      shrink::Reduction{shrink::Stage::sums, "fewer, larger products", shrink::fewer_larger_products},
      shrink::Reduction{shrink::Stage::sums, "few products of extreme values", shrink::few_extreme_products},
      shrink::Reduction{shrink::Stage::sums, "sum into bias", shrink::sum_into_bias},
      shrink::Reduction{shrink::Stage::attributes, "plain strides and dilations", shrink::plain_strides},
      shrink::Reduction{shrink::Stage::attributes, "smaller pads", shrink::smaller_pads},
      shrink::Reduction{shrink::Stage::attributes, "padding as values", shrink::padding_as_values},
      shrink::Reduction{shrink::Stage::attributes, "gaps as taps", shrink::gaps_as_taps},
  };
  return all;
}

constexpr std::array<std::string_view, 6> kConvolutionAttributes{"pads",  "strides",  "dilations",
                                                                 "group", "auto_pad", "kernel_shape"};

}  // namespace

const Family& convolution_family() {
  static const std::array operators{qlinear_conv_operator(), conv_integer_operator()};
  static const Family family{.name = "convolution",
                             .operators = operators,
                             .features = feature::kConvolution,
                             .selecting = feature::kSelectingConvolution,
                             .draw_for = draw_convolution_for,
                             .swept_models = swept_convolution_models,
                             .data_shape = convolution_data_shape,
                             .parameter_shape = convolution_parameter_shape,
                             .attributes = kConvolutionAttributes,
                             .change = mutation::change_convolution,
                             .solve_tie = mutation::solve_convolution_tie,
                             .relations = convolution_relations,
                             .take_apart = relations::take_convolution_apart,
                             .reductions = convolution_reductions,
                             .extents = shrink::convolution_extents,
                             .implied_elements = shrink::implied_elements,
                             .without_dimension = shrink::without_spatial_axis,
                             .parameter_index = shrink::channel_of_wrong_element,
                             .with_gathered_scales = shrink::with_gathered_multiplier,
                             .layer_sets = bench::convolution_layer_sets,
                             .layer = bench::convolution_layer,
                             .measure_layer = bench::measure_convolution,
                             .run = diagnose::run_convolution,
                             .use_profile = diagnose::use_requantization,
                             .defects = diagnose::convolution_defects,
                             .expressions = diagnose::convolution_slots,
                             .arithmetics = diagnose::requantization_arithmetics,
                             .arithmetics_diverge = diagnose::requantizations_diverge,
                             .case_features = diagnose::convolution_case_features,
                             .place = diagnose::place_in_convolution,
                             .choices = diagnose::convolution_choices,
                             .experiments = diagnose::convolution_experiments,
                             .admits = diagnose::admits_requantization,
                             .layouts = diagnose::kLayouts,
                             .layout_of = diagnose::layout_of_convolution,
                             .profile_of = diagnose::profile_of_requantization};
  return family;
}

const reference::ConvolutionOperands* operands_of(const Lowered& lowered) {
  const auto* convolution = dynamic_cast<const LoweredConvolution*>(&lowered);
  return convolution == nullptr ? nullptr : &convolution->operands();
}

}  // namespace qconform
