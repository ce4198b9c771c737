#include "harness/operators/convolution/convolution.h"

#include <array>

#include "harness/bench/layers.h"
#include "harness/operators/convolution/diagnosis.h"
#include "harness/operators/convolution/directed.h"
#include "harness/operators/convolution/lowered_convolution.h"

namespace qconform {
namespace {

Case draw_convolution_for(Rng& rng, const Operator& known, Hazard hazard) {
  return directed::draw_convolution(rng, known.name, hazard);
}

}  // namespace

const Family& convolution_family() {
  static const std::array operators{qlinear_conv_operator(), conv_integer_operator()};
  static const Family family{.name = "convolution",
                             .operators = operators,
                             .draw_for = draw_convolution_for,
                             .layer_sets = bench::convolution_layer_sets,
                             .layer = bench::convolution_layer,
                             .measure_layer = bench::measure_convolution,
                             .run = diagnose::run_convolution,
                             .use_profile = diagnose::use_requantization,
                             .defects = diagnose::convolution_defects,
                             .arithmetics = diagnose::requantization_arithmetics,
                             .arithmetics_diverge = diagnose::requantizations_diverge,
                             .case_features = diagnose::convolution_case_features,
                             .place = diagnose::place_in_convolution,
                             .choices = diagnose::convolution_choices,
                             .experiments = diagnose::convolution_experiments,
                             .profile_of = diagnose::profile_of_requantization};
  return family;
}

const reference::ConvolutionOperands* operands_of(const Lowered& lowered) {
  const auto* convolution = dynamic_cast<const LoweredConvolution*>(&lowered);
  return convolution == nullptr ? nullptr : &convolution->operands();
}

}  // namespace qconform
