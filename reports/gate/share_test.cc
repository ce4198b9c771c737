#include "reports/gate/share.h"

#include <gtest/gtest.h>

namespace qconform::gate {
namespace {

TEST(Share, OfTheSameCasesEveryOneCounts) {
  EXPECT_EQ(trend({3, 100}, {4, 100}, true), Trend::higher);
  EXPECT_EQ(trend({3, 100}, {2, 100}, true), Trend::lower);
  EXPECT_EQ(trend({3, 100}, {3, 100}, true), Trend::same);
}

TEST(Share, OfOtherCasesIgnoresChance) {
  EXPECT_EQ(trend({30, 1000}, {36, 1000}, false), Trend::same);
  EXPECT_EQ(trend({30, 1000}, {80, 1000}, false), Trend::higher);
  EXPECT_EQ(trend({80, 1000}, {30, 1000}, false), Trend::lower);
  EXPECT_EQ(trend({0, 1000}, {1, 1000}, false), Trend::same);
  EXPECT_EQ(trend({50, 1000}, {500, 10000}, false), Trend::same);
  EXPECT_EQ(trend({0, 0}, {1, 0}, false), Trend::higher) << "no whole: the parts themselves";
}

// Values of R's phyper(k - 1, marked, all - marked, drawn, lower.tail = FALSE).
TEST(Share, TheProbabilityIsThatOfFishersTest) {
  EXPECT_NEAR(chance_of_at_least({1, 10}, {5, 10}), 0.070433436532507, 1e-12);
  EXPECT_NEAR(chance_of_at_least({0, 5}, {3, 5}), 1.0 / 12, 1e-12);
  EXPECT_NEAR(chance_of_at_least({4, 10}, {0, 10}), 1.0, 1e-12);
}

}  // namespace
}  // namespace qconform::gate
