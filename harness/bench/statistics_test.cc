#include "harness/bench/statistics.h"

#include <gtest/gtest.h>

namespace qconform::bench {
namespace {

TEST(Statistics, QuantilesInterpolate) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(quantile({10, 20, 30, 40, 50}, 0.25), 20);
  EXPECT_DOUBLE_EQ(quantile({10, 20}, 0.75), 17.5);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.975), 7);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
}

TEST(Statistics, ARatioIsTakenRoundByRound) {
  // A machine that is half as fast in every second round: neither's median tells, the pairs do.
  const std::vector<double> ours{1, 2, 1, 2, 1, 2, 1};
  const std::vector<double> others{3, 6, 3, 6, 3, 6, 3};
  Rng rng(1);
  const Interval ratio = speed_ratio(ours, others, rng);
  EXPECT_DOUBLE_EQ(ratio.value, 3);
  EXPECT_DOUBLE_EQ(ratio.low, 3);
  EXPECT_DOUBLE_EQ(ratio.high, 3);
}

TEST(Statistics, NoiseWidensTheInterval) {
  const std::vector<double> ours(9, 1.0);
  const std::vector<double> others{1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8};
  Rng rng(1);
  const Interval ratio = speed_ratio(ours, others, rng);
  EXPECT_DOUBLE_EQ(ratio.value, 1.4);
  EXPECT_LT(ratio.low, 1.4);
  EXPECT_GE(ratio.low, 1.0);
  EXPECT_GT(ratio.high, 1.4);
  EXPECT_LE(ratio.high, 1.8);
}

TEST(Statistics, TheMeanIsGeometric) {
  const std::vector<double> one{1, 1, 1};
  const std::vector<double> two{2, 2, 2};
  const std::vector<double> eight{8, 8, 8};
  const PairedRounds layers[] = {{one, two}, {one, eight}};
  Rng rng(1);
  const Interval mean = geometric_mean(layers, rng);
  EXPECT_NEAR(mean.value, 4, 1e-12);
  EXPECT_NEAR(mean.low, 4, 1e-12);
  EXPECT_NEAR(mean.high, 4, 1e-12);
}

}  // namespace
}  // namespace qconform::bench
