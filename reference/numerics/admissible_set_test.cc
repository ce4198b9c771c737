#include "reference/numerics/admissible.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <vector>

namespace qconform::reference {
namespace {

AdmissibleSet of(std::initializer_list<IntegerRange> intervals) {
  AdmissibleSet set(*intervals.begin());
  for (const IntegerRange& interval : intervals) set.include(interval);
  return set;
}

TEST(AdmissibleSet, Text) {
  EXPECT_EQ(AdmissibleSet(213).text(), "{213}");
  EXPECT_EQ(of({{213, 214}}).text(), "{213, 214}");
  EXPECT_EQ(of({{-3, 5}}).text(), "{-3..5}");
  EXPECT_EQ(of({{200, 255}, {0, 0}}).text(), "{0, 200..255}");
}

TEST(AdmissibleSet, JoinsNeighbours) {
  EXPECT_EQ(of({{1, 2}, {3, 4}}).text(), "{1..4}");
  EXPECT_EQ(of({{1, 2}, {4, 4}}).text(), "{1, 2, 4}");
  EXPECT_EQ(of({{1, 1}, {5, 5}, {9, 9}, {2, 8}}).text(), "{1..9}");
}

TEST(AdmissibleSet, ReachesBothEndsOfTheType) {
  constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  const AdmissibleSet ends = of({{kMax, kMax}, {kMin, kMin}});
  EXPECT_EQ(ends.count(), 2);
  EXPECT_EQ(ends.nearest(-1), kMin);
  EXPECT_EQ(ends.nearest(0), kMax);
  EXPECT_EQ(of({{kMin, kMax}}).count(), std::int64_t{1} << 32);
}

// Against std::set: the same members, whatever the order of inclusion.
RC_GTEST_PROP(AdmissibleSetProperty, IsTheUnionOfWhatItIncludes, ()) {
  const auto starts = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-40, 40)));
  std::set<std::int32_t> members;
  std::optional<AdmissibleSet> set;
  for (const int lo : starts) {
    const int hi = lo + *rc::gen::inRange(0, 6);
    for (int value = lo; value <= hi; ++value) members.insert(value);
    if (set) {
      set->include(IntegerRange{lo, hi});
    } else {
      set.emplace(IntegerRange{lo, hi});
    }
  }
  RC_ASSERT(set->count() == static_cast<std::int64_t>(members.size()));
  RC_ASSERT(set->smallest() == *members.begin());
  RC_ASSERT(set->largest() == *members.rbegin());
  RC_ASSERT(set->is_singleton() == (members.size() == 1));
  for (std::int32_t value = -50; value <= 60; ++value) {
    RC_ASSERT(set->contains(value) == (members.count(value) == 1));
    const std::int32_t nearest = set->nearest(value);
    RC_ASSERT(members.count(nearest) == 1);
    for (const std::int32_t member : members) RC_ASSERT(std::abs(member - value) >= std::abs(nearest - value));
  }
  for (std::size_t i = 1; i < set->intervals().size(); ++i) {
    RC_ASSERT(set->intervals()[i - 1].hi + 1 < set->intervals()[i].lo);
  }
}

TEST(AdmissibleSet, ContainsItsSubsets) {
  const AdmissibleSet set = of({{1, 4}, {8, 9}});
  EXPECT_TRUE(set.contains(of({{2, 3}, {8, 8}})));
  EXPECT_TRUE(set.contains(set));
  EXPECT_FALSE(set.contains(of({{2, 3}, {7, 8}})));
  EXPECT_FALSE(set.contains(of({{4, 8}})));
}

}  // namespace
}  // namespace qconform::reference
