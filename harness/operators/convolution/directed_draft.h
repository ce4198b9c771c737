// Directed convolutions are made of these parts: changes to the data and the output scales of one that is drawn, and
// long sums.
#pragma once

#include <cstdint>

#include "harness/model/draws/draws.h"
#include "harness/operators/convolution/description.h"

namespace qconform::directed {

/// Gives the channels of a QLinearConv scales and zero points of their own, equal for now.
void separate_channels(Convolution& c);

/// Every element of an 8-bit tensor becomes `value` in `numerator` of `denominator` draws.
void sprinkle(Rng& rng, Tensor& tensor, std::int64_t value, std::uint32_t numerator, std::uint32_t denominator);

/// A y_scale that spreads the values over about `share` of 256 of the output range, and the zero point
/// that centres them.
void fit_output(Rng& rng, Convolution& c, int share);

/// Power-of-two scales under which, by a small change of the bias, one element of every channel lies
/// exactly on a tie. All of float32 arithmetic agrees there: one answer is right.
void make_exact_ties(Rng& rng, Convolution& c);

/// A y_scale that puts one element on a tie as nearly as a float32 can, half of the time one ulp
/// further; under scales by channel, one element of every channel. x_scale stays.
void solve_near_tie(Rng& rng, Convolution& c);

/// A y_scale that puts one element beside a tie: farther from it than roundings between a sum and the
/// output take it, but not than the errors of a sum formed in float32, which grow with every product.
void solve_beside_tie(Rng& rng, Convolution& c);

/// A bias for each channel that leaves some hundreds at most of its first sum, and a multiplier of 1 in the first
/// channel: float32 holds neither a long sum nor such a bias, and what is left shows that.
void cancel_by_bias(Rng& rng, Convolution& c);

/// The zero point that puts the lowest (or highest) rounded value `beyond` steps outside of the
/// output range: 0 is its end. Fits the output first.
void put_at_edge(Rng& rng, Convolution& c, bool high, int beyond);

/// Data near the zero points, sums of at most some hundreds, and a multiplier of 1 and more under which they mostly do
/// not saturate. A bias is small too, and stays away without `has_bias`.
void shrink_sums(Rng& rng, Convolution& c, bool has_bias);

/// Scales under which the multiplier of every channel lies just below a power of two (CornerCase::multiplier_carry):
/// large sums and a multiplier below 1, or small ones and one from about 1 on.
void solve_carry(Rng& rng, Convolution& c);

/// Zero points of x, w and y at ends of their types, and a y_scale under which the outputs lie inside their range.
void move_zero_points_to_ends(Rng& rng, Convolution& c);

/// Does what one of fit_output(), solve_near_tie() and make_exact_ties() does: drawn.
void settle_output(Rng& rng, Convolution& c);

/// A convolution of one or a few outputs over at least `products` products each, nearly all of them
/// with the largest magnitude (255 * 255) and of one sign. Scales are 1.
[[nodiscard]] Convolution deep_convolution(Rng& rng, bool is_quantized, std::int64_t products);

}  // namespace qconform::directed
