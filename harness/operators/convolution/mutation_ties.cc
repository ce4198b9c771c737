// Parameters solved so that an output's value before rounding is half an odd integer, or nearly.
#include <cmath>

#include "harness/mutate/steps.h"
#include "harness/mutate/tensor_values.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/element_text.h"
#include "harness/suites/tie_solver.h"

namespace qconform::mutation {
namespace {

// The sums of QLinearConv are the outputs of ConvInteger.
std::optional<Tensor> sums_of(Case& test_case) {
  Case sums = test_case;
  sums.node().op_type = "ConvInteger";
  sums.inputs.clear();
  for (const char* name : {"x", "w", "x_zero_point", "w_zero_point"}) {
    const Tensor* const input = input_named(test_case, name);
    if (input == nullptr) return std::nullopt;
    sums.inputs.emplace_back(*input);
  }
  const Classification classification = classify(sums);
  if (!classification.lowered) return std::nullopt;
  return classification.lowered->evaluate(RoundingProfile::correctly_rounded);
}

// Which output channel element `index` of [N, M, ...] belongs to.
std::int64_t channel_of(const Tensor& sums, std::int64_t index) {
  return index / elements_of(std::span(sums.shape).subspan(2)) % sums.shape[1];
}

// y_scale = |A| * sx * sw / (q + 1/2), and a zero point that keeps q inside the output's range.
bool solve_scale(Case& test_case, Rng& rng) {
  if (!classify(test_case).lowered) return false;  // types and shapes below are then what they should be
  const std::optional<Tensor> sums = sums_of(test_case);
  if (!sums || sums->elements() == 0) return false;
  const std::int64_t index = draw_index(rng, *sums);
  const Tensor& w_scale = *input_named(test_case, "w_scale");
  const std::int64_t channel = channel_of(*sums, index);
  const Tensor* const bias = input_named(test_case, "B");
  const std::int64_t sum = integer_at(*sums, index) + (bias == nullptr ? 0 : integer_at(*bias, channel));
  const std::int64_t whole = rng.between(0, rng.chance(1, 2) ? 7 : 120);
  const float solved = tie_scale(sum, std::fabs(float_at(*input_named(test_case, "x_scale"), 0)),
                                 std::fabs(float_at(w_scale, w_scale.elements() == 1 ? 0 : channel)), 2 * whole + 1);
  if (!(solved > 0x1p-120F && solved < 0x1p120F)) return false;
  const float y_scale = neighbour(solved, rng.chance(1, 2) ? 0 : rng.between(-2, 2));
  *input_named(test_case, "y_scale") = Tensor::scalar(ElementType::float32, y_scale);
  Tensor& zero_point = *input_named(test_case, "y_zero_point");
  const bool is_signed = zero_point.type == ElementType::int8;
  store_number(zero_point, 0, static_cast<double>((is_signed ? 0 : 127) + rng.between(-7, 7)));
  return true;
}

// Scales that are powers of two, and a bias that makes one sum an odd number of halves: a tie that no
// float32 arithmetic misses (tier F_0).
bool solve_bias(Case& test_case, Rng& rng) {
  if (!classify(test_case).lowered) return false;
  const std::optional<Tensor> sums = sums_of(test_case);
  if (!sums || sums->elements() == 0) return false;
  const std::int64_t channels = sums->shape[1];
  const std::int64_t index = draw_index(rng, *sums);
  if (input_named(test_case, "B") == nullptr) {
    set_input(test_case, "B", reshaped(rng, Tensor::scalar<std::int32_t>(ElementType::int32, 0), {channels}));
  }
  const auto power = [](std::int64_t exponent) { return std::ldexp(1.0, static_cast<int>(exponent)); };
  const std::int64_t zeros = rng.between(0, 12);
  const std::int64_t x_exponent = rng.between(-10, 3);
  const std::int64_t w_exponent = rng.between(-10, 3);
  const std::int64_t odd = 2 * rng.between(-130, 130) + 1;
  const std::int64_t beside = rng.chance(1, 4) ? rng.between(-1, 1) : 0;
  // Half of the multipliers are no power of two: fixed-point ones cannot hold them.
  static constexpr std::int64_t kFactors[] = {1, 1, 1, 3, 5, 7};
  const auto factor = static_cast<double>(rng.pick(kFactors));
  const double wanted = static_cast<double>(odd) * factor * power(zeros) + static_cast<double>(beside);
  store_number(*input_named(test_case, "B"), channel_of(*sums, index),
               wanted - static_cast<double>(integer_at(*sums, index)));
  store_number(*input_named(test_case, "x_scale"), 0, power(x_exponent));
  Tensor& w_scale = *input_named(test_case, "w_scale");
  for (std::int64_t i = 0; i < w_scale.elements(); ++i) store_number(w_scale, i, power(w_exponent));
  store_number(*input_named(test_case, "y_scale"), 0, factor * power(x_exponent + w_exponent + zeros + 1));
  return true;
}

}  // namespace

bool solve_convolution_tie(Case& test_case, Rng& rng) {
  if (test_case.node().op_type != qlinear_conv_operator().name) return false;
  return rng.chance(1, 2) ? solve_bias(test_case, rng) : solve_scale(test_case, rng);
}

}  // namespace qconform::mutation
