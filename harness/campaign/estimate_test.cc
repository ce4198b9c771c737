#include "harness/campaign/estimate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <vector>

#include "harness/base/rng.h"

namespace qconform::campaign {
namespace {

TEST(CasesBetween, AreThoseKnownWhereNothingIsLeft) {
  const SampledFailures whole{.rest = 0, .sampled = 16, .found = 9};
  EXPECT_EQ(cases_between(9, {&whole, 1}), (CasesBetween{9, 9}));
  EXPECT_EQ(cases_between(3, {}), (CasesBetween{3, 3}));
}

TEST(CasesBetween, LeaveOpenWhatHasNoSample) {
  const SampledFailures open[] = {{.rest = 100}, {.rest = 50}};
  EXPECT_EQ(cases_between(2, open), (CasesBetween{2, 152}));
}

RC_GTEST_PROP(CasesBetween, HoldWhatIsKnownAndNoMoreThanIsThere, (std::uint32_t known, std::uint16_t rest)) {
  const auto sampled = *rc::gen::inRange<std::uint64_t>(0, 300);
  const auto found = *rc::gen::inRange<std::uint64_t>(0, sampled + 1);
  const SampledFailures part{rest, sampled, found};
  const CasesBetween between = cases_between(known, {&part, 1});
  RC_ASSERT(between.least >= known);
  RC_ASSERT(between.least <= between.most);
  RC_ASSERT(between.most <= known + std::uint64_t{rest});
}

// Draws cases of parts without replacement, of which a share has the cause, and counts how often the interval holds the
// number that is true.
TEST(CasesBetween, HoldTheTruthNineteenTimesOfTwenty) {
  struct Part {
    std::uint32_t cases, with_cause, sampled;
  };
  const std::vector<std::vector<Part>> worlds{
      {{5000, 700, 256}},
      {{5000, 40, 256}},
      {{300, 150, 16}, {40, 3, 16}},
      {{900, 30, 16}, {2000, 500, 128}, {60, 60, 16}},
  };
  constexpr int kRepeats = 2000;
  Rng rng(11);
  for (std::size_t world = 0; world < worlds.size(); ++world) {
    int held = 0;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      std::vector<SampledFailures> drawn;
      std::uint64_t known = 0;
      std::uint64_t truth = 0;
      for (const Part& part : worlds[world]) {
        std::uint32_t with_cause = part.with_cause;
        for (std::uint32_t left = part.cases; left > part.cases - part.sampled; --left)
          with_cause -= rng.below(left) < with_cause ? 1 : 0;
        const std::uint64_t found = part.with_cause - with_cause;
        drawn.push_back({part.cases - part.sampled, part.sampled, found});
        known += found;
        truth += part.with_cause;
      }
      const CasesBetween between = cases_between(known, drawn);
      held += between.least <= truth && truth <= between.most ? 1 : 0;
    }
    EXPECT_GE(held, kRepeats * 93 / 100) << "world " << world;
  }
}

}  // namespace
}  // namespace qconform::campaign
