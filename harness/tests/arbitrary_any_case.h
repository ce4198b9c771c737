// Arbitrary cases for property tests: right ones by accident only, mostly malformed in every way
// that a Case can express. Everything a Case holds varies, so that a form that loses some of it is
// found out. Valid cases, which shrink to valid ones, are in arbitrary_case.h.
//
// Kept within what every form must hold: texts are valid UTF-8, attribute names of one case differ,
// tensors have known types and consistent bytes, booleans are 0 or 1.
#pragma once

#include <rapidcheck.h>

#include <iosfwd>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/tensor.h"

namespace qconform {

// RapidCheck prints a counterexample that is a tensor or a case by these.
void showValue(const Tensor& tensor, std::ostream& out);
void showValue(const Case& test_case, std::ostream& out);

}  // namespace qconform

namespace qconform::testing {

/// Every type that a Tensor can hold.
[[nodiscard]] std::vector<ElementType> known_types();

/// Up to about 100 elements of any known type, every bit pattern; empty tensors and scalars often.
[[nodiscard]] rc::Gen<Tensor> arbitrary_tensor();

[[nodiscard]] rc::Gen<Case> any_case();

/// Equality of everything that a case holds, floats bit for bit: NaN equals itself and -0 is not 0.
[[nodiscard]] bool bitwise_equal(Case a, Case b);

}  // namespace qconform::testing

namespace rc {

template <>
struct Arbitrary<qconform::Tensor> {
  static Gen<qconform::Tensor> arbitrary() { return qconform::testing::arbitrary_tensor(); }
};

template <>
struct Arbitrary<qconform::Case> {
  static Gen<qconform::Case> arbitrary() { return qconform::testing::any_case(); }
};

}  // namespace rc
