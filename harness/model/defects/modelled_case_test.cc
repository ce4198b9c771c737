// The pipeline without defects is the reference.
#include "harness/model/defects/modelled_case.h"

#include <gtest/gtest.h>

#include "harness/core/profile.h"
#include "harness/operators/convolution/pipeline.h"
#include "harness/suites/random.h"
#include "harness/suites/select.h"
#include "harness/tests/test_scale.h"

namespace qconform::diagnose {
namespace {

void expect_reference(const Case& test_case) {
  const auto modelled = ModelledCase::prepare(test_case);
  if (modelled == nullptr) return;
  for (const RoundingProfile profile : reference::kAllRoundingProfiles) {
    const std::optional<Tensor> output = modelled->run(Model(profile));
    ASSERT_TRUE(output.has_value());
    ASSERT_EQ(*output, modelled->lowered().evaluate(profile)) << test_case.provenance.source << " " << test_case.id;
    if (modelled->op().name != "QLinearConv") return;
  }
}

TEST(Pipeline, WithoutDefectsIsTheReferenceOnRandomCases) {
  const auto cases = static_cast<std::uint64_t>(testing::scaled(6000));
  for (std::uint64_t i = 0; i < cases; ++i) expect_reference(random_case(20, i));
}

TEST(Pipeline, WithoutDefectsIsTheReferenceOnTheCorpus) {
  auto sources = open_suite("corpus", {});
  ASSERT_TRUE(sources) << sources.error().text();
  for (const auto& source : *sources) {
    for (auto next = source->next(); next && *next; next = source->next()) expect_reference(**next);
  }
}

TEST(Pipeline, TakesEveryExpression) {
  for (const reference::FloatExpression& expression : reference::float_expressions()) {
    Stages stages;
    use_expression(stages, expression);
    const Model model(stages);
    EXPECT_EQ(model.stages("QLinearConv").get(stage::product).expression, &expression);
  }
}

}  // namespace
}  // namespace qconform::diagnose
