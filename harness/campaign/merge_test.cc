// Findings of blocks add up to the same whoever ran the blocks, however often, and in whichever order.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "harness/backends/kinds.h"
#include "harness/campaign/aggregate_archive.h"
#include "harness/campaign/block_run.h"
#include "harness/campaign/merge.h"
#include "harness/tests/aggregate_bytes.h"
#include "harness/tests/planted_kernels.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::campaign {
namespace {

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
  found.sample.add(block * 0x9E3779B97F4A7C15U, diagnose::FeatureSet(block));
  aggregate.passing.try_emplace({0, "QLinearConv"}, CampaignAggregate::kSampled)
      .first->second.add(block, diagnose::FeatureSet(block));
  aggregate.timeline = timeline_of_block({block, cases, found.cases, static_cast<double>(block) / 7},
                                         {{static_cast<CornerCase>(block % kCornerCases), block * kBlockCases + 3}});
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
  Blocks blocks;
  for (const Span& span : spans) static_cast<void>(blocks.insert(span, aggregate_of(span)));
  RC_ASSERT(bytes_without_times(blocks.total()) == bytes_without_times(sum_of(blocks_in(spans))));
  for (const std::uint64_t block : blocks_in(spans)) RC_ASSERT(blocks.holds({block, 1, kBlockCases}));
}

TEST(Blocks, NeedOneSpanForEachBinaryDigit) {
  Blocks blocks;
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
  Blocks blocks;
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
  for (const char version : {'\x00', '\x02'}) {
    std::string bytes = encode_identity(identity());
    bytes[bytes.find(key) + key.size()] = version;
    const auto read = decode_identity(bytes);
    ASSERT_FALSE(read.has_value());
    EXPECT_NE(read.error().text().find(fmt::format("reads journals of version 1, and this one is of {:d}", version)),
              std::string::npos)
        << read.error().text();
  }
}

std::vector<std::unique_ptr<Backend>> planted_backends() {
  const auto& planted = qconform::testing::planted_kernel_set("pad-raw-zero");
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(backend::in_tree(planted, RoundingProfile::correctly_rounded, "pad-raw-zero"));
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
