// Rounding by definition, on rationals of unlimited size. Tests only.
//
// Written from the definitions and not from the reference: nothing of reference/numerics is used.
#pragma once

#include <gmpxx.h>

namespace qconform::reference::oracle {

/// The value of a finite float, exactly.
[[nodiscard]] mpq_class exact(double value);

/// Round to the nearest integer, ties to even.
[[nodiscard]] mpz_class rne(const mpq_class& value);

/// The distance from the nearest tie (an integer plus one half), in [0, 1/2].
[[nodiscard]] mpq_class distance_from_tie(const mpq_class& value);

/// IEEE rounding to the nearest float32, ties to even: subnormal results, and infinities from
/// overflow, included. A zero, also one from underflow, has the sign of `value`; 0 gives +0.
[[nodiscard]] float rn32(const mpq_class& value);

/// IEEE rounding to the nearest float64, ties to even: subnormal results, and infinities from overflow, included. A
/// zero, also one from underflow, has the sign of `value`; 0 gives +0.
[[nodiscard]] double rn64(const mpq_class& value);

}  // namespace qconform::reference::oracle
