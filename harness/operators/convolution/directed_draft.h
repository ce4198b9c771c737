// Directed convolutions are made of these parts: a case that a generator retouches, its output scales, long sums.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/case.h"
#include "harness/model/draws/draws.h"
#include "reference/convolution/convolution.h"

namespace qconform::directed {

/// Wraps a valid QLinearConv or ConvInteger case.
class ConvolutionDraft {
 public:
  explicit ConvolutionDraft(Case test_case)
      : case_(std::move(test_case)), is_qlinear_(case_.node().op_type == "QLinearConv") {}

  [[nodiscard]] const Case& get() const { return case_; }
  [[nodiscard]] bool is_qlinear() const { return is_qlinear_; }
  [[nodiscard]] Tensor& x() { return *case_.inputs[0]; }
  [[nodiscard]] Tensor& w() { return *case_.inputs[is_qlinear_ ? 3 : 1]; }
  [[nodiscard]] std::int64_t output_channels() { return w().shape[0]; }

  // QLinearConv only.
  [[nodiscard]] float x_scale() const { return float_at(*case_.inputs[1], 0); }
  [[nodiscard]] float y_scale() const { return float_at(*case_.inputs[6], 0); }
  [[nodiscard]] float w_scale(std::int64_t channel) const {
    return float_at(*case_.inputs[4], case_.inputs[4]->is_scalar() ? 0 : channel);
  }
  [[nodiscard]] ElementType y_type() const { return case_.inputs[7]->type; }
  void set_x_scale(float value) { case_.inputs[1] = Tensor::scalar(ElementType::float32, value); }
  void set_y_scale(float value) { case_.inputs[6] = Tensor::scalar(ElementType::float32, value); }
  /// One value, or one for each output channel as the case has it already.
  void set_w_scales(const std::vector<float>& values);
  [[nodiscard]] bool has_channel_scales() const { return !case_.inputs[4]->is_scalar(); }
  /// Gives the channels scales and zero points of their own, equal for now.
  void separate_channels();
  void set_y_zero_point(std::int64_t value);
  /// One value for each output channel.
  [[nodiscard]] std::vector<std::int32_t> bias();
  void set_bias(const std::vector<std::int32_t>& values);
  void drop_bias();
  void set_x_zero_point(std::int64_t value);
  /// One value for each output channel; the case has as many already, or one for all, which takes the first.
  void set_w_zero_points(const std::vector<std::int64_t>& values);

  [[nodiscard]] std::int64_t x_zero_point() const;
  [[nodiscard]] std::int64_t w_zero_point(std::int64_t channel) const;

  /// The exact sums, bias included, in the order of y.
  [[nodiscard]] std::vector<std::int64_t> sums() const;
  /// The output channel of element `index` among `elements`, for the geometry of the case.
  [[nodiscard]] std::int64_t channel_of(std::size_t index) const;

 private:
  [[nodiscard]] const reference::ConvolutionOperands& operands() const;

  Case case_;
  bool is_qlinear_;
  mutable std::vector<reference::ConvolutionOperands> operands_;  ///< empty until asked for
};

/// Every element of an 8-bit tensor becomes `value` in `numerator` of `denominator` draws.
void sprinkle(Rng& rng, Tensor& tensor, std::int64_t value, std::uint32_t numerator, std::uint32_t denominator);

/// A y_scale that spreads the values over about `share` of 256 of the output range, and the zero point
/// that centres them.
void fit_output(Rng& rng, ConvolutionDraft& draft, int share);

/// Power-of-two scales under which, by a small change of the bias, one element of every channel lies
/// exactly on a tie. All of float32 arithmetic agrees there: one answer is right.
void make_exact_ties(Rng& rng, ConvolutionDraft& draft);

/// A y_scale that puts one element on a tie as nearly as a float32 can, half of the time one ulp
/// further; under scales by channel, one element of every channel. x_scale stays.
void solve_near_tie(Rng& rng, ConvolutionDraft& draft);

/// A y_scale that puts one element beside a tie: farther from it than roundings between a sum and the
/// output take it, but not than the errors of a sum formed in float32, which grow with every product.
void solve_beside_tie(Rng& rng, ConvolutionDraft& draft);

/// A bias for each channel that leaves some hundreds at most of its first sum, and a multiplier of 1 in the first
/// channel: float32 holds neither a long sum nor such a bias, and what is left shows that.
void cancel_by_bias(Rng& rng, ConvolutionDraft& draft);

/// The zero point that puts the lowest (or highest) rounded value `beyond` steps outside of the
/// output range: 0 is its end. Fits the output first.
void put_at_edge(Rng& rng, ConvolutionDraft& draft, bool high, int beyond);

/// Data near the zero points, sums of at most some hundreds, and a multiplier of 1 and more under which they mostly do
/// not saturate. A bias is small too, and stays away without `has_bias`.
void shrink_sums(Rng& rng, ConvolutionDraft& draft, bool has_bias);

/// Scales under which the multiplier of every channel lies just below a power of two (CornerCase::multiplier_carry):
/// large sums and a multiplier below 1, or small ones and one from about 1 on.
void solve_carry(Rng& rng, ConvolutionDraft& draft);

/// Zero points of x, w and y at ends of their types, and a y_scale under which the outputs lie inside their range.
void move_zero_points_to_ends(Rng& rng, ConvolutionDraft& draft);

/// One of the first three, drawn.
void settle_output(Rng& rng, ConvolutionDraft& draft);

/// A convolution of one or a few outputs over at least `products` products each, nearly all of them
/// with the largest magnitude (255 * 255) and of one sign. Scales are 1.
[[nodiscard]] Case deep_convolution(Rng& rng, std::string_view op_type, std::int64_t products);

}  // namespace qconform::directed
