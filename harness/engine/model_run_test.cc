#include "harness/engine/model_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qconform {
namespace {

using ::testing::ElementsAre;

// Layers a to f stand in the model's order, cases come in another one; c, d and e lie behind b.
ModelFacts chain() {
  const auto layer = [](const char* id, std::size_t position, std::vector<std::size_t> behind) {
    return ModelLayer{id, position, position + 10, 0, 8, std::move(behind)};
  };
  return {"a run",
          "one fused node instead of two",
          {layer("f", 6, {11}), layer("b", 2, {11}), layer("a", 1, {}), layer("c", 3, {11, 12}), layer("d", 4, {12}),
           layer("e", 5, {12}), layer("left out", 7, {})}};
}

Report judged() {
  Report report;
  report.backends.push_back({.info = {"mine", "1.0", "plugin"}});
  report.results.emplace();
  const auto add = [&](const char* id, VerdictKind verdict, std::uint64_t wrong, const char* finding) {
    report.results->rows.push_back({"model", id, "graph", "", {{verdict, {}, wrong, finding}}});
  };
  add("a", VerdictKind::pass, 0, "");
  add("b", VerdictKind::wrong, 3, "F2");
  add("c", VerdictKind::wrong, 1, "F1");
  add("d", VerdictKind::pass, 0, "");
  add("e", VerdictKind::unsupported, 0, "");
  add("f", VerdictKind::vacuous, 0, "");
  return report;
}

TEST(ModelRun, TellsWrongLayersFromThoseThatFollow) {
  const ModelRun run =
      model_run(chain(), {{"b", {.index = {0}, .got = "3", .admissible = "{7}", .distance = 4}}}, judged());
  std::vector<std::string> ids;
  std::vector<LayerState> states;
  for (const ModelLayerResult& layer : run.layers) {
    ids.push_back(layer.id);
    states.push_back(layer.state);
  }
  EXPECT_THAT(ids, ElementsAre("a", "b", "c", "d", "e", "f"));
  EXPECT_THAT(states, ElementsAre(LayerState::right, LayerState::wrong, LayerState::wrong_behind, LayerState::fed_wrong,
                                  LayerState::not_judged, LayerState::right));
  EXPECT_EQ(run.first_wrong(), 1U);
  EXPECT_EQ(run.layers[1].finding, "F2");
  EXPECT_EQ(run.layers[1].elements, 8U);
  EXPECT_EQ(run.layers[1].wrong_elements, 3U);
  ASSERT_TRUE(run.layers[1].worst);
  EXPECT_EQ(run.layers[1].worst->distance, 4);
  EXPECT_EQ(run.backend, "mine");
  EXPECT_EQ(run.origin, "a run");
  EXPECT_EQ(run.disturbed, "one fused node instead of two");
}

TEST(ModelRun, HasNoLayersWithoutResults) {
  const ModelRun run = model_run(chain(), {}, Report{});
  EXPECT_TRUE(run.layers.empty());
  EXPECT_EQ(run.first_wrong(), std::nullopt);
}

}  // namespace
}  // namespace qconform
