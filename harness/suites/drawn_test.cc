#include "harness/suites/drawn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "harness/core/profile.h"
#include "harness/engine/contracts.h"
#include "harness/model/draws/draws.h"
#include "harness/model/family.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/operators/convolution/hooks.h"
#include "harness/report/corner_case_coverage.h"
#include "harness/suites/fuzz_within.h"
#include "harness/tests/stand_ins.h"
#include "harness/tests/test_scale.h"
#include "reference/numerics/floats.h"

namespace qconform {
namespace {

// Written down once. A change here means that every seed in every report and every shared finding
// stops reproducing: it belongs into the change log.
constexpr std::uint64_t kDigestOfSeed1 = 5420488762166430474U;

TEST(RandomSuite, HasTheSameCasesOnEveryMachineAndCompiler) {
  EXPECT_EQ(testing::digest_of_cases([](std::uint64_t index) { return random_case(1, index); }, 2000), kDigestOfSeed1);
}

TEST(RandomSuite, CaseDependsOnSeedAndIndexAlone) {
  RandomSuite source(5, 40);
  testing::expect_cases_of(
      source, [](std::uint64_t index) { return random_case(5, index); }, 40);
  EXPECT_NE(digest_of(random_case(5, 0)), digest_of(random_case(6, 0)));
  EXPECT_NE(digest_of(random_case(5, 0)), digest_of(random_case(5, 1)));
}

TEST(RandomSuite, EveryCaseIsValid) {
  const auto cases = static_cast<std::uint64_t>(testing::scaled(20000));
  for (std::uint64_t index = 0; index < cases; ++index) {
    const Case test_case = random_case(2, index);
    const Classification result = classify(test_case);
    const auto* remark = result.deciding_remark();
    ASSERT_EQ(result.expectation(), Expectation::valid)
        << test_case.id << " " << test_case.node().op_type << ": " << (remark == nullptr ? "" : remark->text());
  }
}

TEST(FuzzSuite, MixesRandomAndDirectedCasesAndHasNoEnd) {
  FuzzSuite source(3, std::nullopt);
  std::uint64_t aimed = 0;
  constexpr std::uint64_t kCases = 8 * kSwarmBlock;
  for (std::uint64_t index = 0; index < kCases; ++index) {
    const auto next = source.next();
    ASSERT_TRUE(next.has_value() && next->has_value());
    EXPECT_EQ(**next, fuzz_case(3, index));
    EXPECT_EQ(classify(**next).expectation(), Expectation::valid) << (*next)->id;
    aimed += (*next)->note.starts_with("aims for") ? 1 : 0;
  }
  EXPECT_EQ(aimed, kCases / 8);
}

TEST(FuzzSuite, WithoutGraphsHasRandomCasesInTheirPlaces) {
  std::uint64_t graphs = 0;
  for (std::uint64_t aim = 0; aim < directed_aims(); ++aim) {
    const std::uint64_t index = aim / kSwarmBlock * 8 * kSwarmBlock + aim % kSwarmBlock;  // each eighth block aims
    const Case usual = fuzz_case(3, index);
    const bool is_graph = is_judged_as_graph(usual);
    graphs += is_graph ? 1 : 0;
    EXPECT_EQ(fuzz_case_without_graphs(3, index), is_graph ? random_case(3, index) : usual) << index;
  }
  EXPECT_GT(graphs, 0U);
}

// Shares of the bytes of all tensors in which most bytes are one of `common`, and how many such tensors there are.
struct Shares {
  double tensors = 0;
  std::vector<double> each;
  double rest = 0;
};

Shares shares_of(ElementType type, std::int64_t quiet, const std::vector<int>& common) {
  constexpr int kTensors = 4000;
  Rng rng(7);
  std::vector<int> counts(common.size());
  int tensors = 0;
  int bytes = 0;
  for (int i = 0; i < kTensors; ++i) {
    const Tensor data = random_data8(rng, type, {5, 41}, quiet);
    std::vector<int> here;
    for (const int value : common) {
      here.push_back(static_cast<int>(std::count(data.bytes.begin(), data.bytes.end(), std::byte(value))));
    }
    if (std::accumulate(here.begin(), here.end(), 0) * 2 < static_cast<int>(data.bytes.size())) continue;
    ++tensors;
    bytes += static_cast<int>(data.bytes.size());
    std::transform(here.begin(), here.end(), counts.begin(), counts.begin(), std::plus<>());
  }
  Shares shares{static_cast<double>(tensors) / kTensors, {}, 1};
  for (const int count : counts) {
    shares.each.push_back(static_cast<double>(count) / bytes);
    shares.rest -= shares.each.back();
  }
  return shares;
}

TEST(RandomData, IsAtBothEndsOrQuietAsOftenAsStated) {
  for (const bool is_signed : {false, true}) {
    const ElementType type = is_signed ? ElementType::int8 : ElementType::uint8;
    const Shares ends = shares_of(type, 3, is_signed ? std::vector{0x80, 0x7F} : std::vector{0x00, 0xFF});
    EXPECT_NEAR(ends.tensors, 1.0 / 4, 0.03);
    for (const double share : ends.each) EXPECT_NEAR(share, 7.0 / 16, 0.01);
    EXPECT_NEAR(ends.rest, 1.0 / 8, 0.01);
    const Shares quiet = shares_of(type, is_signed ? -3 : 3, {is_signed ? 0xFD : 0x03});
    EXPECT_NEAR(quiet.tensors, 3.0 / 4 / 6, 0.02);
    EXPECT_NEAR(quiet.rest, 1.0 / 4, 0.01);
  }
}

// The suite must vary what the kernels branch on; a generator that stopped doing so would go unseen.
TEST(RandomSuite, ReachesWhatKernelsBranchOn) {
  std::map<std::string, int> seen;
  const auto mark = [&](const std::string& what) { ++seen[what]; };
  for (std::uint64_t index = 0; index < 4000; ++index) {
    const Case c = random_case(3, index);
    mark(c.node().op_type);
    for (const Attribute& attribute : c.node().attributes) mark(attribute.name);
    if (c.node().op_type != "QLinearConv") continue;
    mark("x " + name_of(c.input(0)->type) + " w " + name_of(c.input(3)->type) + " y " + name_of(c.input(7)->type));
    mark("rank " + std::to_string(c.input(0)->shape.size()));
    mark(c.input(4)->is_scalar() ? "per tensor" : "per channel");
    mark(c.input(8) == nullptr ? "no bias" : "bias");
    mark(c.input(0)->shape[0] > 1 ? "batch" : "single");
  }
  const std::set<std::string> wanted{
      "QLinearConv", "ConvInteger",  "QuantizeLinear", "DequantizeLinear", "auto_pad",    "dilations",
      "group",       "kernel_shape", "pads",           "strides",          "axis",        "rank 3",
      "rank 4",      "rank 5",       "rank 6",         "per tensor",       "per channel", "bias",
      "no bias",     "batch",        "single"};
  for (const std::string& what : wanted) EXPECT_GT(seen[what], 4) << what;
  int mixes = 0;
  for (const auto& [what, count] : seen) mixes += what.starts_with("x ") && count > 100 ? 1 : 0;
  EXPECT_EQ(mixes, 8) << "every mix of int8 and uint8 for x, w and y";
}

bool differs_from_one(const Case& c, const char* name) {
  const Attribute* attribute = c.attribute(name);
  if (attribute == nullptr) return false;
  for (const std::int64_t v : std::get<std::vector<std::int64_t>>(attribute->value)) {
    if (v != 1) return true;
  }
  return false;
}

struct ShownFeature {
  Feature feature;
  bool (*is_in)(const Case& c);
};

constexpr ShownFeature kShown[] = {
    {feature::batch, [](const Case& c) { return c.input(0)->shape[0] > 1; }},
    {feature::groups, [](const Case& c) { return c.input(0)->shape[1] != c.input(3)->shape[1]; }},
    {feature::strides, [](const Case& c) { return differs_from_one(c, "strides"); }},
    {feature::dilations, [](const Case& c) { return differs_from_one(c, "dilations"); }},
    {feature::per_channel, [](const Case& c) { return !c.input(4)->is_scalar(); }},
    {feature::bias, [](const Case& c) { return c.input(8) != nullptr; }},
};

// In every block, what is left out is absent and what is common is more frequent than as usual.
TEST(Swarm, BlocksHaveTheirOwnFeatures) {
  constexpr std::uint64_t kBlocks = 60;
  for (const auto& [feature, is_in] : kShown) {
    std::array<std::array<int, 2>, 3> cases{};  // by weight: all, and with the feature
    for (std::uint64_t index = 0; index < kBlocks * kSwarmBlock; ++index) {
      const Case c = random_case(11, index);
      if (c.node().op_type != "QLinearConv") continue;
      const std::uint32_t weight = Swarm::of_case(11, index).scaled(feature, 1);
      auto& [all, with] = cases[std::min<std::uint32_t>(weight, 2)];
      ++all;
      with += is_in(c) ? 1 : 0;
    }
    for (const auto& [all, with] : cases) ASSERT_GT(all, 200);
    EXPECT_EQ(cases[0][1], 0);
    EXPECT_GT(cases[1][1] * 20, cases[1][0]) << "usual, but rare";
    EXPECT_GT(cases[2][1] * cases[1][0], cases[1][1] * cases[2][0]) << "common, but not more frequent than usual";
  }
}

// Two features of one position would come and go together.
TEST(Swarm, FeaturesHavePositionsOfTheirOwn) {
  std::set<int> positions;
  const auto take = [&](Feature feature) {
    EXPECT_LT(feature.position, kFeatures);
    EXPECT_TRUE(positions.insert(feature.position).second) << int{feature.position};
  };
  for (const Feature feature : feature::kShared) take(feature);
  for (const Family* family : families()) {
    for (const Feature feature : family->draws.features) take(feature);
    for (const Operator& known : family->operators) {
      if (known.usual_weight != 0) take(known.feature);
    }
  }
}

TEST(FuzzSuite, HasSizesAtWhichKernelsChangeTheirWay) {
  std::set<std::string> sizes;
  for (std::uint64_t i = 1; i <= 300; ++i) {
    const Case test_case = fuzz_case(1, i * kFuzzSizes - 1);
    ASSERT_EQ(classify(test_case).expectation(), Expectation::valid) << test_case.id;
    if (!test_case.tags.empty() && test_case.tags[0].starts_with("size=")) sizes.insert(test_case.tags[0]);
  }
  EXPECT_GT(sizes.size(), 150U);
  EXPECT_TRUE(fuzz_case(1, kFuzzSizes).tags.empty());
}

TEST(Swarm, ABlockSharesItsWeights) {
  for (std::uint64_t index = 0; index < 4 * kSwarmBlock; ++index) {
    const Swarm swarm = Swarm::of_case(7, index);
    const Swarm first = Swarm::of_case(7, index / kSwarmBlock * kSwarmBlock);
    for (std::uint8_t f = 0; f < kFeatures; ++f) EXPECT_EQ(swarm.scaled({f}, 5), first.scaled({f}, 5));
  }
}

// Cases of campaigns lie inside what the backends take, and depend on seed, index and contracts alone.

constexpr const char* kInt8 =
    "convolutions: operator=QLinearConv, x type=int8, w type=int8, y type=int8, spatial rank=2, w zero point=middle";
constexpr const char* kUint8 = "QuantizeLinear: y type=uint8";

std::vector<sweep::SweepContract> stated(const std::string& text) {
  const auto contracts = stated_contracts(text);
  EXPECT_TRUE(contracts) << contracts.error().text();
  return contracts ? plain(*contracts) : std::vector<sweep::SweepContract>{};
}

bool lies_inside(const Case& test_case, const std::vector<sweep::SweepContract>& contracts) {
  const auto place = sweep::place_of(test_case, classify(test_case));
  return place && contracts[place->plan].takes_anything() && contracts[place->plan].takes(place->row);
}

TEST(FuzzWithin, HasThreeTurnsOfFourInside) {
  const auto contracts = stated(kInt8);
  const FuzzWithin cases({contracts});
  std::set<std::string> aims;
  for (std::uint64_t index = 0; index < 4 * kFuzzTurn; ++index) {
    const Case test_case = cases.at(5, index);
    if (index >= 3 * kFuzzTurn) {
      ASSERT_EQ(test_case, fuzz_case(5, index));
      continue;
    }
    ASSERT_TRUE(lies_inside(test_case, contracts)) << test_case.id;
    ASSERT_EQ(classify(test_case).expectation(), Expectation::valid) << test_case.id;
    if (test_case.note.starts_with("aims for")) aims.insert(test_case.note);
  }
  EXPECT_GE(aims.size(), 20U);
}

TEST(CorpusWithin, HasReviewedCasesInTheTypesThatAreTaken) {
  const auto contracts = stated(kInt8);
  const auto suite = corpus_within("corpus within", contracts);
  std::set<std::string> notes;
  while (const auto test_case = *suite->next()) {
    ASSERT_TRUE(lies_inside(*test_case, contracts)) << test_case->id;
    EXPECT_TRUE(test_case->recorded_outputs.empty()) << test_case->id;
    notes.insert(test_case->note);
  }
  EXPECT_GT(notes.size(), 30U);
  EXPECT_TRUE(notes.contains("B = 2^31-1 and -2^31: the sums 2147483647 and -2147483648 are inside int32"));
}

TEST(DrawsWithin, AreRowsWhereNoDrawGetsThere) {
  const auto contracts =
      stated("QuantizeLinear: x type=float16, y type=int4, layout=partial last block, block size=32");
  for (const auto make : {directed_within, random_within}) {
    const auto suite = make("within", contracts, 1);
    int cases = 0;
    while (const auto test_case = *suite->next()) {
      ASSERT_TRUE(lies_inside(*test_case, contracts)) << test_case->id;
      ++cases;
    }
    EXPECT_GT(cases, 200);
  }
}

TEST(FuzzWithin, DependsOnSeedIndexAndContractsAlone) {
  const FuzzWithin cases({stated(kInt8)});
  const FuzzWithin again({stated(kInt8)});
  const Case later = cases.at(5, 700);
  static_cast<void>(again.at(9, 3));
  EXPECT_EQ(again.at(5, 700), later);
  EXPECT_NE(again.at(6, 700).inputs, later.inputs);
}

TEST(FuzzWithin, TakesTurnsOverContracts) {
  const auto first = stated(kInt8);
  const auto second = stated(kUint8);
  const FuzzWithin cases({first, second, first});
  for (std::uint64_t index = 0; index < kFuzzTurn; index += 7) {
    ASSERT_TRUE(lies_inside(cases.at(5, index), first)) << index;
    ASSERT_TRUE(lies_inside(cases.at(5, kFuzzTurn + index), second)) << index;
  }
}

TEST(FuzzWithin, IsFuzzWhereNothingIsNarrow) {
  Contracts nothing = whole_contracts();
  for (auto& learnt : nothing) learnt.contract.taken.assign(learnt.contract.taken.size(), 0);
  const FuzzWithin cases({plain(whole_contracts()), plain(nothing)});
  for (std::uint64_t index = 0; index < 20; ++index) EXPECT_EQ(cases.at(5, index), fuzz_case(5, index));
}

// Written down once, like that of the random suite: a change belongs into the change log.
constexpr std::uint64_t kDigestOfDirectedSeed1 = 17070630003710988763U;

TEST(DirectedSuite, HasTheSameCasesOnEveryMachineAndCompiler) {
  EXPECT_EQ(testing::digest_of_cases([](std::uint64_t index) { return directed_case(1, index); }, 600),
            kDigestOfDirectedSeed1);
}

TEST(DirectedSuite, CaseDependsOnSeedAndIndexAlone) {
  DirectedSuite source(5, 20);
  EXPECT_EQ(source.size(), 20U);
  testing::expect_cases_of(
      source, [](std::uint64_t index) { return directed_case(5, index); }, 20);
  EXPECT_NE(digest_of(directed_case(5, 0)), digest_of(directed_case(6, 0)));
}

// Counts what some thousands of cases reach, over any seed.
struct SuiteStatistics {
  CornerCaseCoverage coverage;
  std::uint64_t cases = 0;
  std::uint64_t with_exact_ties = 0;
  std::uint64_t vacuous = 0;
  std::set<std::string> missed;  ///< cases that do not reach what they aim for
};

void add(const Case& test_case, SuiteStatistics& statistics) {
  Expected expected = expect(test_case, {});
  ++statistics.cases;
  const auto* remark = expected.classification.deciding_remark();
  ASSERT_EQ(expected.classification.expectation(), Expectation::valid)
      << test_case.id << " " << test_case.node().op_type << ": " << (remark == nullptr ? "" : remark->text());
  ASSERT_TRUE(expected.output.has_value()) << test_case.id;
  assess(test_case, expected);
  statistics.coverage.add(test_case.subject(), "", expected.corner_cases);
  if (expected.corner_cases[CornerCase::tie_positive] + expected.corner_cases[CornerCase::tie_negative] > 0)
    ++statistics.with_exact_ties;
  if (!expected.vacuous_because.empty()) ++statistics.vacuous;
  const CornerCaseInfo* target = corner_case_with_id(test_case.tags.at(0));
  ASSERT_NE(target, nullptr);
  if (expected.corner_cases[target->corner_case] == 0)
    statistics.missed.insert(test_case.subject() + " " + std::string(target->id));
}

TEST(DirectedSuite, EveryCaseIsValidAndReachesItsCornerCase) {
  SuiteStatistics statistics;
  const std::uint64_t cases = directed_aims() * static_cast<std::uint64_t>(testing::scaled(10));
  for (std::uint64_t index = 0; index < cases; ++index) add(directed_case(3, index), statistics);
  EXPECT_TRUE(statistics.missed.empty()) << statistics.missed.size() << " targets missed, first "
                                         << *statistics.missed.begin();
  for (const CornerCaseInfo& info : corner_cases()) {
    for (const std::string_view op_type : operator_names()) {
      if (!concerns(info, op_type)) continue;
      const auto& totals = statistics.coverage.by_operator().at(std::string(op_type)).at("");
      EXPECT_GT(totals[static_cast<std::size_t>(info.corner_case)].cases, 0U) << info.id << " of " << op_type;
    }
  }
  const auto share = [&](std::uint64_t count) { return static_cast<double>(count) / static_cast<double>(cases); };
  EXPECT_GT(share(statistics.with_exact_ties), 0.15);
  EXPECT_LT(share(statistics.vacuous), 0.02);
}

}  // namespace
}  // namespace qconform
