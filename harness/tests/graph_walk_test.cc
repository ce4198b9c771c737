// Whatever a graph is and whatever a backend answers, qconform says what is wrong with which, and does not fail itself.
#include "fuzz/graph_walk.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "harness/forms/json/case_json.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/family.h"
#include "harness/operators/graph/graph.h"
#include "harness/suites/select.h"
#include "harness/tests/temporary_folder.h"
#include "harness/tests/test_scale.h"

namespace qconform::fuzz {
namespace {

// All graphs of a suite, or the first so many.
std::vector<Case> graphs_of(const std::string& suite, std::uint64_t seed, std::size_t most) {
  std::vector<Case> graphs;
  auto sources = open_suite(suite, {.seed = seed, .cases = {}});
  if (!sources) ADD_FAILURE() << sources.error().text();
  for (std::size_t i = 0; sources && i < sources->size(); ++i) {
    for (auto next = (*sources)[i]->next(); next && *next && graphs.size() < most; next = (*sources)[i]->next()) {
      if (is_judged_as_graph(**next)) graphs.push_back(std::move(**next));
    }
  }
  return graphs;
}

// Draws from the suites and the corpus; three of four graphs get damage.
class Graphs {
 public:
  explicit Graphs(std::uint64_t seed)
      : seed_(seed), listed_(graphs_of(QCONFORM_SOURCE_DIRECTORY "/corpus/graph", seed, 1000)) {
    for (Case& unit : graphs_of("qdq", seed, 300)) listed_.push_back(std::move(unit));
  }

  [[nodiscard]] Case at(std::uint64_t index) const {
    Rng rng(seed_, index);
    Case graph = drawn(rng);
    graph.id = "walk." + std::to_string(index);
    if (!rng.chance(1, 4)) damage_graph(graph, rng);
    return graph;
  }

 private:
  [[nodiscard]] Case drawn(Rng& rng) const {
    switch (rng.below(4)) {
      case 0: return listed_[rng.below(static_cast<std::uint32_t>(listed_.size()))];
      case 1: {
        const auto& corner_case = corner_cases()[rng.below(static_cast<std::uint32_t>(corner_cases().size()))];
        if (!graph_operator().corner_cases.contains(corner_case)) return drawn(rng);
        return graph_family().draws.draw_for(rng, graph_operator(), corner_case.corner_case, {});
      }
      default: return graph_case(rng.next(), rng.next());
    }
  }

  std::uint64_t seed_;
  std::vector<Case> listed_;
};

void walk_graphs(std::uint64_t seed, std::uint64_t count) {
  const testing::TemporaryFolder folder;
  GraphWalk walk(folder.path());
  const Graphs graphs(seed);
  constexpr std::uint64_t kInAReport = 8;
  constexpr std::uint64_t kReportTurn = 256;
  std::vector<Case> reported;
  for (std::uint64_t i = 0; i < count; ++i) {
    Case graph = graphs.at(i);
    const std::string problem = walk.take(graph, i);
    ASSERT_EQ(problem, "") << graph.id << " of seed " << seed << "\n" << case_json(graph);
    const bool is_wired = check_wiring(graph).has_value();  // readers of files refuse the others
    if (is_wired && i % kReportTurn < 2 * kInAReport) reported.push_back(std::move(graph));
    if (reported.size() < kInAReport) continue;
    const std::string of_report = walk.report(std::exchange(reported, {}), i);
    ASSERT_EQ(of_report, "") << "the report that ends with " << i;
  }
  const Walked& walked = walk.walked();
  EXPECT_GE(walked.wired, count / 3);
  EXPECT_GE(walked.in_contract, count / 5);
  EXPECT_GE(walked.failing, count / 8);
  EXPECT_GE(walked.shrunk, count / 64);
  EXPECT_GE(walked.explained, count / 256);
  EXPECT_GE(walked.mapped, count / 128);
  EXPECT_GE(walked.findings, count / 256);
}

TEST(GraphWalk, NoGraphAndNoAnswerMakesTheProgramFail) {
  walk_graphs(1, static_cast<std::uint64_t>(testing::scaled(1000)));
}

class GraphWalkOfSeed : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(GraphWalkOfSeed, SlowNoGraphAndNoAnswerMakesTheProgramFail) {
  walk_graphs(GetParam(), static_cast<std::uint64_t>(testing::scaled(6250)));
}

// A hundred thousand graphs.
INSTANTIATE_TEST_SUITE_P(All, GraphWalkOfSeed, ::testing::Range<std::uint64_t>(1, 17));

}  // namespace
}  // namespace qconform::fuzz
