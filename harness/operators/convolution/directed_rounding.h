// Output scales and zero points for QLinearConv drafts: ties, near ties, ends of the range.
#pragma once

#include "harness/operators/convolution/directed_draft.h"

namespace qconform::directed {

/// A y_scale that spreads the values over about `share` of 256 of the output range, and the zero point
/// that centres them.
void fit_output(Rng& rng, Draft& draft, int share);

/// Power-of-two scales under which, by a small change of the bias, one element of every channel lies
/// exactly on a tie. All of float32 arithmetic agrees there: one answer is right.
void make_exact_ties(Rng& rng, Draft& draft);

/// A y_scale that puts one element on a tie as nearly as a float32 can, half of the time one ulp
/// further; under scales by channel, one element of every channel. x_scale stays.
void solve_near_tie(Rng& rng, Draft& draft);

/// A y_scale that puts one element beside a tie: farther from it than roundings between a sum and the
/// output take it, but not than the errors of a sum formed in float32, which grow with every product.
void solve_beside_tie(Rng& rng, Draft& draft);

/// The zero point that puts the lowest (or highest) rounded value `beyond` steps outside of the
/// output range: 0 is its end. Fits the output first.
void put_at_edge(Rng& rng, Draft& draft, bool high, int beyond);

/// One of the first three, drawn.
void settle_output(Rng& rng, Draft& draft);

}  // namespace qconform::directed
