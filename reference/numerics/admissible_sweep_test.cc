// The randomized checks of the admissible sets at full length.
#include <gtest/gtest.h>

#include "harness/tests/test_scale.h"
#include "reference/tests/admissible.h"

namespace qconform::reference {
namespace {

TEST(AdmissibleLong, FloatExpressionsAreInsideF5OnTwentyMillionElements) {
  check_float_expressions(testing::scaled(20'000'000));
}

TEST(AdmissibleLong, QuickDecisionsAreExactOnTenMillionElements) {
  check_quick_decisions(testing::scaled(10'000'000));
}

}  // namespace
}  // namespace qconform::reference
