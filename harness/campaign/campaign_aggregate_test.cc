// Findings of blocks add up to the same whoever ran the blocks, however often, and in whichever order.

#include "harness/campaign/campaign_aggregate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "harness/campaign/block_run.h"
#include "harness/campaign/journal.h"
#include "harness/forms/archive/archive.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/tests/aggregate_bytes.h"
#include "harness/tests/planted_kernels.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::campaign {
namespace {

// How a campaign went, and the cases that it lists: functions of its blocks, whatever order and parts they come in.

using Numbers = std::vector<std::uint64_t>;

// Made up from the block's number; most blocks reach one corner case.
CampaignTimeline timeline_of(std::uint64_t block) {
  FirstCases reached;
  if (block % 5 != 0) reached[block % kCornerCases] = 512 * block + block % 100;
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

namespace fs = std::filesystem;
using qconform::testing::bytes_without_times;
using qconform::testing::TemporaryFolder;

// Some that pass and some that fail, on one backend.
std::map<std::uint64_t, CaseRow> rows_of(std::uint64_t block) {
  std::map<std::uint64_t, CaseRow> rows;
  for (std::uint64_t i = 0; i < 4; ++i) {
    CaseRow& row = rows[block * kBlockCases + i];
    row.op_type = i == 0 ? "ConvInteger" : "QLinearConv";
    CaseRow::OfBackend& of = row.backends.emplace_back();
    if (i < 2) continue;
    of = {VerdictKind::wrong, reference::Tier::float32, i, "symptom-" + std::to_string(block % 3), ""};
  }
  return rows;
}

// A block's aggregate, made up from its number: small, and with something of everything that is added up.
CampaignAggregate aggregate_of(std::uint64_t block, std::uint64_t cases = kBlockCases) {
  CampaignAggregate aggregate;
  aggregate.suite.cases = cases;
  aggregate.suite.digest = block * 0x9E3779B97F4A7C15U + cases;
  aggregate.suite.expectations["valid"] = cases;
  aggregate.suite.disputed = {"case-" + std::to_string(block)};
  CornerCaseCoverage::Totals reached{};
  reached[block % kCornerCases] = {1, block};
  aggregate.corner_cases.add("QLinearConv", "uint8 int8 uint8", reached);
  aggregate.backends.resize(1);
  OperatorResult& result = aggregate.backends[0].operators["QLinearConv"];
  result.verdicts[0] = cases;
  result.errors.add(static_cast<double>(block) - 9);
  result.unsupported_reasons["reason " + std::to_string(block % 100)] = 1;
  aggregate.backends[0].worst = {
      {"case-" + std::to_string(block), {{0}, "1", "{2}", "2", static_cast<double>(block % 7)}}};
  Failures& found = aggregate.failures[{0, "QLinearConv", "symptom-" + std::to_string(block % 3), ""}];
  found.cases = 1 + block % 2;
  found.smallest = {100 - block % 5, block * kBlockCases, {}};
  found.sample.add(block * 0x9E3779B97F4A7C15U, diagnose::CaseTraits{block, {static_cast<std::uint32_t>(block)}});
  aggregate.passing.try_emplace({0, "QLinearConv"}, CampaignAggregate::kSampled)
      .first->second.add(block, diagnose::CaseTraits{block, {static_cast<std::uint32_t>(block)}});
  FirstCases first;
  first[block % kCornerCases] = block * kBlockCases + 3;
  aggregate.timeline = timeline_of_block({block, cases, found.cases, static_cast<double>(block) / 7}, first);
  aggregate.rows.add(rows_of(block));
  aggregate.times.total = 1;
  return aggregate;
}

CampaignAggregate sum_of(const std::set<std::uint64_t>& blocks) {
  CampaignAggregate sum;
  for (const std::uint64_t block : blocks) sum.add(aggregate_of(block));
  return sum;
}

// Spans of up to 8 blocks among the first 64, which may overlap and repeat.
rc::Gen<std::vector<Span>> arbitrary_spans() {
  return rc::gen::container<std::vector<Span>>(rc::gen::map(
      rc::gen::pair(rc::gen::inRange<std::uint64_t>(0, 64), rc::gen::inRange(0, 4)), [](const auto& drawn) {
        const std::uint64_t blocks = std::uint64_t{1} << drawn.second;
        return Span{drawn.first / blocks * blocks, blocks, kBlockCases};
      }));
}

CampaignAggregate aggregate_of(const Span& span) {
  CampaignAggregate sum;
  for (std::uint64_t i = 0; i < span.blocks; ++i) sum.add(aggregate_of(span.first + i, span.cases));
  return sum;
}

std::set<std::uint64_t> blocks_in(const std::vector<Span>& spans) {
  std::set<std::uint64_t> blocks;
  for (const Span& span : spans) {
    for (std::uint64_t i = 0; i < span.blocks; ++i) blocks.insert(span.first + i);
  }
  return blocks;
}

RC_GTEST_PROP(Blocks, CountEveryBlockOnceInWhateverSpansAndOrder, ()) {
  const auto spans = *arbitrary_spans();
  BlockAggregates blocks;
  for (const Span& span : spans) static_cast<void>(blocks.insert(span, aggregate_of(span)));
  RC_ASSERT(bytes_without_times(blocks.total()) == bytes_without_times(sum_of(blocks_in(spans))));
  for (const std::uint64_t block : blocks_in(spans)) RC_ASSERT(blocks.holds({block, 1, kBlockCases}));
}

TEST(Blocks, NeedOneSpanForEachBinaryDigit) {
  BlockAggregates blocks;
  for (std::uint64_t block = 0; block < 1000; ++block) {
    ASSERT_TRUE(blocks.insert({block, 1, kBlockCases}, aggregate_of(block)));
  }
  EXPECT_EQ(blocks.spans().whole().size(), 6U);  // 1000 = 512 + 256 + 128 + 64 + 32 + 8
  CampaignResult result;
  describe(blocks.spans(), result);
  ASSERT_EQ(result.blocks.size(), 1U);
  EXPECT_EQ(result.blocks[0].end, 1000U);
}

TEST(Blocks, APartGivesWayToMoreOfItsBlock) {
  BlockAggregates blocks;
  EXPECT_TRUE(blocks.insert({3, 1, 10}, aggregate_of(3, 10)));
  EXPECT_FALSE(blocks.insert({3, 1, 9}, aggregate_of(3, 9)));
  EXPECT_TRUE(blocks.insert({3, 1, 20}, aggregate_of(3, 20)));
  EXPECT_EQ(blocks.total().suite.cases, 20U);
  EXPECT_TRUE(blocks.insert({3, 1, kBlockCases}, aggregate_of(3)));
  EXPECT_FALSE(blocks.insert({3, 1, 30}, aggregate_of(3, 30)));
  EXPECT_EQ(blocks.total().suite.cases, kBlockCases);
  EXPECT_TRUE(blocks.spans().parts().empty());
}

Identity identity() {
  Identity identity;
  identity.version = "1";
  identity.seed = 7;
  identity.block_cases = kBlockCases;
  identity.backends = {"scalar"};
  return identity;
}

void write_journal(const fs::path& path, const std::vector<Span>& spans) {
  JournalWriter writer;
  ASSERT_TRUE(writer.open(path).has_value());
  std::vector<Record> records{{RecordKind::identity, {}, encode_identity(identity())}};
  for (const Span& span : spans) records.push_back({RecordKind::blocks, span, encode_aggregate(aggregate_of(span))});
  ASSERT_TRUE(writer.append(records).has_value());
}

// The aggregate, and which blocks are in it.
std::string merged(const std::vector<fs::path>& journals, const fs::path& out) {
  auto result = merge(journals, out);
  if (!result) return result.error().text();
  std::string text;
  for (const auto& [first, end] : result->snapshot.result.blocks)
    text += std::to_string(first) + "-" + std::to_string(end) + " ";
  return text + bytes_without_times(result->snapshot.aggregate);
}

RC_GTEST_PROP(Merge, IsAssociativeCommutativeAndIdempotent, ()) {
  const TemporaryFolder folder;
  std::vector<fs::path> parts;
  std::set<std::uint64_t> all;
  for (const char* name : {"a", "b", "c"}) {
    const auto spans = *arbitrary_spans();
    for (const std::uint64_t block : blocks_in(spans)) all.insert(block);
    parts.push_back(folder.path() / name);
    write_journal(parts.back(), spans);
  }
  const std::string together = merged(parts, folder.path() / "abc");
  RC_ASSERT(together.substr(together.find(bytes_without_times(sum_of(all)))) == bytes_without_times(sum_of(all)));
  const auto two = [&](const char* out, const fs::path& x, const fs::path& y) {
    static_cast<void>(merged({x, y}, folder.path() / out));
    return folder.path() / out;
  };
  const fs::path ab = two("ab", parts[0], parts[1]);
  const fs::path bc = two("bc", parts[1], parts[2]);
  RC_ASSERT(merged({ab, parts[2]}, folder.path() / "ab-c") == together);
  RC_ASSERT(merged({parts[0], bc}, folder.path() / "a-bc") == together);
  RC_ASSERT(merged({bc, parts[2], ab, parts[0], ab}, folder.path() / "again") == together);
}

// Options that decide a verdict have to agree, and the message says which one does not.
TEST(Merge, RefusesAnotherCampaign) {
  const TemporaryFolder folder;
  write_journal(folder.path() / "a", {{0, 1, kBlockCases}});
  const auto expect_refused = [&](const std::string& option, const auto& change) {
    Identity other = identity();
    change(other);
    JournalWriter writer;
    const auto path = folder.path() / option;
    ASSERT_TRUE(writer.open(path).has_value()) << option;
    ASSERT_TRUE(writer.append({{RecordKind::identity, {}, encode_identity(other)}}).has_value()) << option;
    const auto result = merge({folder.path() / "a", path}, folder.path() / "out");
    ASSERT_FALSE(result.has_value()) << option;
    EXPECT_NE(result.error().text().find(option), std::string::npos) << result.error().text();
  };
  expect_refused("--seed", [](Identity& other) { other.seed = 8; });
  expect_refused("--profile", [](Identity& other) { other.profile = "ort-f32"; });
  expect_refused("--backend", [](Identity& other) { other.backends.emplace_back("scalar"); });
  expect_refused("options of workers", [](Identity& other) { other.sandbox = "all, timeout 1 s"; });
  expect_refused("--only", [](Identity& other) { other.contracts = {{0, whole_contracts()}}; });
  expect_refused("--no-explain", [](Identity& other) { other.explain = !other.explain; });
}

TEST(Identity, OfAJournalInAnotherFormIsRefusedByName) {
  const std::string key = "version";
  for (const char version : {'\x01', '\x03'}) {
    std::string bytes = encode_identity(identity());
    bytes[bytes.find(key) + key.size()] = version;
    const auto read = decode_identity(bytes);
    ASSERT_FALSE(read.has_value());
    EXPECT_NE(read.error().text().find(fmt::format("reads journals of version 2, and this one is of {:d}", version)),
              std::string::npos)
        << read.error().text();
  }
}

std::vector<std::unique_ptr<Backend>> planted_backends() {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(qconform::testing::planted_backend("pad-raw-zero"));
  return backends;
}

TEST(RunBlock, DependsOnNothingThatRanBefore) {
  auto backends = planted_backends();
  const BlockOptions options{.case_at = cases_of(identity()), .judge = {}, .stop = {}, .progress = {}};
  const auto alone = run_block(9, 200, backends, options);
  ASSERT_TRUE(alone.has_value());
  ASSERT_TRUE(run_block(2, 100, backends, options).has_value());
  const auto after = run_block(9, 200, backends, options);
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(bytes_without_times(after->aggregate), bytes_without_times(alone->aggregate));
  EXPECT_EQ(alone->span, (Span{9, 1, 200}));
  EXPECT_FALSE(alone->aggregate.failures.empty());
  const auto again = decode_aggregate(encode_aggregate(alone->aggregate));
  ASSERT_TRUE(again.has_value()) << again.error().text();
  EXPECT_EQ(encode_aggregate(*again), encode_aggregate(alone->aggregate));
}

}  // namespace
}  // namespace qconform::campaign
