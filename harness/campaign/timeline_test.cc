// How a campaign went, and the cases that it lists: functions of its blocks, whatever order and parts they come in.
#include "harness/campaign/timeline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <set>
#include <vector>

#include "harness/campaign/aggregate_archive.h"
#include "harness/campaign/case_rows.h"
#include "harness/forms/archive/json_archives.h"
#include "harness/forms/archive/report_archive.h"

namespace qconform::campaign {
namespace {

using Numbers = std::vector<std::uint64_t>;

// Made up from the block's number; most blocks reach one corner case.
CampaignTimeline timeline_of(std::uint64_t block) {
  FirstCases reached;
  if (block % 5 != 0) reached[static_cast<CornerCase>(block % kCornerCases)] = 512 * block + block % 100;
  return timeline_of_block({block, 512, block % 3, 0}, reached);
}

// Blocks of shards that lie far apart, each once.
Numbers arbitrary_blocks() {
  const auto block = [](const auto& drawn) { return (drawn.first << 36) + drawn.second; };
  const auto some = *rc::gen::container<std::set<std::uint64_t>>(rc::gen::map(
      rc::gen::pair(rc::gen::inRange<std::uint64_t>(0, 3), rc::gen::inRange<std::uint64_t>(0, 2000)), block));
  Numbers blocks(some.begin(), some.end());
  // A stretch without gaps, so that groups have to be joined.
  const auto stretch = *rc::gen::inRange<std::uint64_t>(0, 1000);
  for (std::uint64_t i = 0; i < stretch; ++i) blocks.push_back((std::uint64_t{3} << 36) + i);
  return blocks;
}

Numbers shuffled(Numbers numbers) {
  for (std::size_t i = numbers.size(); i > 1; --i)
    std::swap(numbers[i - 1], numbers[*rc::gen::inRange<std::size_t>(0, i)]);
  return numbers;
}

void join(const CampaignTimeline& from, CampaignTimeline& into) {
  merge(from, into);
}
void join(const CaseRows& from, CaseRows& into) {
  into.add(from);
}

template <typename Sum, typename Of>
Sum sum_in_order(const Numbers& numbers, Of of) {
  Sum sum;
  for (const std::uint64_t number : numbers) join(of(number), sum);
  return sum;
}

// Adds the blocks up into three parts first, and then the parts.
template <typename Sum, typename Of>
Sum sum_of_parts(const Numbers& numbers, Of of) {
  std::vector<Sum> parts(3);
  for (const std::uint64_t number : numbers) join(of(number), parts[*rc::gen::inRange<std::size_t>(0, 3)]);
  Sum sum;
  for (const Sum& part : parts) join(part, sum);
  return sum;
}

RC_GTEST_PROP(Timeline, DependsOnTheBlocksAlone, ()) {
  const Numbers blocks = arbitrary_blocks();
  const auto timeline = sum_in_order<CampaignTimeline>(blocks, timeline_of);
  RC_ASSERT(sum_in_order<CampaignTimeline>(shuffled(blocks), timeline_of) == timeline);
  RC_ASSERT(sum_of_parts<CampaignTimeline>(blocks, timeline_of) == timeline);
}

RC_GTEST_PROP(Timeline, HasFewGroupsAndLosesNothing, ()) {
  const Numbers blocks = arbitrary_blocks();
  const auto timeline = sum_in_order<CampaignTimeline>(blocks, timeline_of);
  RC_ASSERT(timeline.groups.size() <= kMostGroups);
  std::uint64_t cases = 0;
  std::uint64_t failures = 0;
  for (const CampaignTimeline::Group& group : timeline.groups) {
    RC_ASSERT(group.first % timeline.group_blocks == 0);
    cases += group.cases;
    failures += group.failures;
  }
  RC_ASSERT(cases == 512 * blocks.size());
  const auto add = [](std::uint64_t sum, std::uint64_t block) { return sum + block % 3; };
  RC_ASSERT(failures == std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0}, add));
  // With narrower groups there would be too many.
  if (timeline.group_blocks > 1) {
    std::set<std::uint64_t> narrower;
    for (const std::uint64_t block : blocks) narrower.insert(block / (timeline.group_blocks / 2));
    RC_ASSERT(narrower.size() > kMostGroups);
  }
  for (const auto& [id, first] : timeline.corner_cases) {
    const auto reaches = [h = corner_case_with_id(id)->corner_case](std::uint64_t b) {
      return b % 5 != 0 && static_cast<CornerCase>(b % kCornerCases) == h;
    };
    RC_ASSERT(reaches(first / 512) && first % 512 == first / 512 % 100);
    for (const std::uint64_t block : blocks) RC_ASSERT(!reaches(block) || block >= first / 512);
  }
}

RC_GTEST_PROP(Timeline, IsReadAsItWasWritten, ()) {
  const auto timeline = sum_in_order<CampaignTimeline>(arbitrary_blocks(), timeline_of);
  RC_ASSERT(*from_cbor<CampaignTimeline>(to_cbor(timeline), "course") == timeline);
}

// Two backends; the symptom is common, rare or none.
CaseRows rows_at(std::uint64_t index) {
  CaseRow row;
  row.op_type = index % 2 == 0 ? "QLinearConv" : "ConvInteger";
  row.backends.resize(2);
  row.backends[0].tier = reference::Tier::float32;
  if (index % 3 == 0) row.backends[0] = {VerdictKind::wrong, std::nullopt, index, "common", ""};
  if (index % 50 == 7) row.backends[1] = {VerdictKind::crashed, std::nullopt, 0, "rare", "waiver"};
  CaseRows rows;
  rows.add({{index, row}});
  return rows;
}

Numbers arbitrary_cases() {
  const auto some = *rc::gen::container<std::set<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 100000));
  Numbers cases(some.begin(), some.end());
  const auto stretch = *rc::gen::inRange<std::uint64_t>(0, 400);
  for (std::uint64_t i = 0; i < stretch; ++i) cases.push_back(200000 + i);
  return cases;
}

RC_GTEST_PROP(CaseRows, DependOnTheCasesAlone, ()) {
  const Numbers cases = arbitrary_cases();
  const std::string chosen = encode_rows(sum_in_order<CaseRows>(cases, rows_at));
  RC_ASSERT(encode_rows(sum_in_order<CaseRows>(shuffled(cases), rows_at)) == chosen);
  RC_ASSERT(encode_rows(sum_of_parts<CaseRows>(cases, rows_at)) == chosen);
  RC_ASSERT(encode_rows(*decode_rows(chosen)) == chosen);
}

TEST(CaseRows, HoldSomeOfEachKind) {
  Numbers cases(3000);
  std::iota(cases.begin(), cases.end(), std::uint64_t{0});
  const CaseRows rows = sum_in_order<CaseRows>(cases, rows_at);
  std::map<std::string, std::size_t> found;
  for (const auto& [index, row] : rows.rows()) {
    if (row.failures().empty()) ++found[row.op_type];
    for (const CaseRow::OfBackend& of : row.backends) {
      if (!of.symptom.empty()) ++found[row.op_type + " " + of.symptom];
    }
  }
  EXPECT_EQ(found["QLinearConv"], CaseRows::kPassing);
  EXPECT_EQ(found["ConvInteger"], CaseRows::kPassing);
  EXPECT_GE(found["QLinearConv common"], CaseRows::kFailing);
  EXPECT_GE(found["ConvInteger rare"], CaseRows::kFailing);
  EXPECT_LE(rows.rows().size(), 2 * CaseRows::kPassing + 3 * CaseRows::kFailing);
  EXPECT_EQ(rows.firsts().at({0, "ConvInteger", "common", ""}), 3U);
  EXPECT_EQ(rows.firsts().at({1, "ConvInteger", "rare", "waiver"}), 7U);
  EXPECT_EQ(rows.failing(), 1000U + 60U - 20U) << "every third, every fiftieth, and those that are both";
}

}  // namespace
}  // namespace qconform::campaign
