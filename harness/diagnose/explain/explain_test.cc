// Planted defects are named; what nobody modelled is not.
#include "harness/diagnose/explain/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "harness/diagnose/explain/explain_power.h"
#include "harness/diagnose/explain/probes.h"
#include "harness/forms/defects/defect_files.h"
#include "harness/model/case_builder.h"
#include "harness/model/defects/arithmetic.h"
#include "harness/model/text.h"
#include "harness/suites/drawn.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/test_scale.h"

namespace qconform::diagnose {
namespace {

Plant plant(std::string_view op_type, std::initializer_list<const char*> ids) {
  Plant result{find_operator("", op_type), {}};
  for (const char* id : ids) result.defects.push_back(find_defect(id));
  return result;
}

Explanation explanation_of(const Plant& planted) {
  const Trial trial = try_to_explain(planted, {});
  EXPECT_TRUE(trial.explanation.has_value()) << planted.name() << " never fails";
  return trial.explanation.value_or(Explanation());
}

TEST(Explain, NamesOneDefect) {
  for (const Plant& planted : {plant("ConvInteger", {"pad-raw-zero"}), plant("QLinearConv", {"pair-sat-i16"}),
                               plant("QuantizeLinear", {"half-away"}), plant("DequantizeLinear", {"neg-axis"}),
                               plant("ConvInteger", {"asym-pads-symmetrised"})}) {
    const Explanation e = explanation_of(planted);
    EXPECT_EQ(e.status, Status::explained) << planted.name();
    EXPECT_EQ(e.signature(), planted.defects[0]->id);
    EXPECT_EQ(e.support.reproduced_cases, e.support.cases);
    EXPECT_EQ(e.support.explained, e.support.wrong);
    EXPECT_GE(e.support.failing, 3U);
  }
}

// The element of y that "y[0,1]" names; its shape's text for "shape of y".
std::string value_named(const Tensor& y, const std::string& element) {
  if (element == "shape of y") return fmt::format("[{}]", fmt::join(y.shape, ","));
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    std::vector<std::int64_t> position;
    std::int64_t rest = i;
    for (std::size_t axis = y.shape.size(); axis-- > 0; rest /= y.shape[axis])
      position.insert(position.begin(), rest % y.shape[axis]);
    if (element == fmt::format("y[{}]", fmt::join(position, ","))) return qconform::element_text(y, i);
  }
  return "no such element";
}

std::string computed_by(const Operator& op, const std::string& name, const SeparatingCase& experiment) {
  const Outcome outcome = Plant{&op, {find_defect(name)}}.runner()(experiment.test_case);
  const auto* produced = std::get_if<outcome::Produced>(&outcome);
  return produced == nullptr ? "nothing" : value_named(produced->outputs.front(), experiment.element);
}

TEST(Explain, ShowsANameByACaseThatTellsItFromTheSecondBest) {
  for (const Plant& planted : {plant("QLinearConv", {"half-away"}), plant("ConvInteger", {"pads-order"}),
                               plant("QLinearConv", {"k-tail"}), plant("DequantizeLinear", {"neg-axis"})}) {
    SCOPED_TRACE(planted.name());
    const Explanation e = explanation_of(planted);
    ASSERT_TRUE(e.experiment.has_value());
    const SeparatingCase& experiment = *e.experiment;
    EXPECT_EQ(experiment.name, planted.defects[0]->id);
    EXPECT_EQ(experiment.answered, experiment.predicted);
    EXPECT_EQ(computed_by(*planted.op, experiment.name, experiment), experiment.predicted);
    if (experiment.second.empty()) continue;
    EXPECT_NE(experiment.predicted_otherwise, experiment.predicted);
    EXPECT_EQ(computed_by(*planted.op, experiment.second, experiment), experiment.predicted_otherwise);
  }
}

TEST(Explain, SaysNothingOfShapesWhereNoCaseIsLookedAt) {
  const Pattern none = pattern_of(std::span<const Observation* const>());
  EXPECT_EQ(none.id, "everywhere");
  EXPECT_EQ(none.description, "no place that is known");
}

TEST(Explain, NamesTwoDefects) {
  for (const Plant& planted :
       {plant("ConvInteger", {"batch0-buffer", "w-zp-ignored"}), plant("QuantizeLinear", {"half-away", "vec4-tail"})}) {
    const Explanation e = explanation_of(planted);
    EXPECT_EQ(e.status, Status::explained) << planted.name();
    ASSERT_FALSE(e.candidates.empty());
    std::vector<const Defect*> wanted = planted.defects;
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(e.candidates.front().defects, wanted) << planted.name();
  }
}

// Random failures of a backend with two defects, made small: how many lost what they showed.
int lost_on_the_way(const Plant& planted, bool holds_the_cause) {
  int lost = 0;
  const Runner run = planted.runner();
  std::optional<Explanation> explanation;
  for (std::uint64_t i = 0, failing = 0; i < 4000 && failing < 12; ++i) {
    const auto failure = Observation::of(random_case(7, i), run, {});
    if (failure == nullptr || !failure->is_failure() || &failure->modelled().op() != planted.op) continue;
    ++failing;
    if (!explanation) explanation = explain(failure->copy(), run, {});
    const auto shown = shown_defects(*explanation, *failure, {});
    if (!shown || shown->defects.size() > 1) continue;
    const auto cause = same_cause(*explanation, *failure, {});
    const auto smallest = shrink::shrink(failure->test_case(), run, {}, {1000, 1000, {}}, std::nullopt,
                                         holds_the_cause ? cause : shrink::HasCause());
    Expected expected = expect(smallest.smallest, {});
    assess(smallest.smallest, expected);
    if (!cause(expected, run(smallest.smallest))) ++lost;
  }
  return lost;
}

TEST(Explain, ItsCauseStaysWhileACaseIsMadeSmaller) {
  int lost = 0;
  for (const Plant& planted : {plant("QLinearConv", {"pads-order", "w-scale-group-local"}),
                               plant("ConvInteger", {"kernel-transposed", "pair-sat-i16-by-tap"}),
                               plant("QuantizeLinear", {"half-away", "vec4-tail"})}) {
    lost += lost_on_the_way(planted, false);
    EXPECT_EQ(lost_on_the_way(planted, true), 0) << planted.name();
  }
  EXPECT_GT(lost, 0) << "no failure here slips to the other defect: nothing is held";
}

// A legal arithmetic beside the defect is told as such, not as a second defect.
TEST(Explain, TellsTheArithmeticFromTheDefect) {
  const Explanation e = explanation_of(plant("QLinearConv", {"k-tail", "scale-associate-right"}));
  EXPECT_EQ(e.status, Status::explained);
  EXPECT_EQ(e.signature(), "k-tail");
  EXPECT_EQ(e.arithmetic, "multiplier-sw-by-sy");
}

// A failing random case of a backend, explained with what it says of its own arithmetic.
Explanation explained_on_base(const Runner& run) {
  for (std::uint64_t i = 0; i < 4000; ++i) {
    Case drawn = random_case(7, i);
    if (drawn.node().op_type != "QLinearConv") continue;
    auto observation = Observation::of(std::move(drawn), run, {});
    if (observation == nullptr || !observation->is_failure()) continue;
    BaseArithmetic base = learn_base(run, observation->modelled().op(), {}, 100);
    ExplainOptions options;
    options.base = std::move(base.arithmetic);
    options.telling = std::move(base.telling);
    return explain(std::move(observation), run, {}, options);
  }
  return {};
}

// The reference's stages, changed by `change`.
Runner runner_with(void (*change)(const ModelledCase& modelled, Stages& stages)) {
  return [change](const Case& test_case) -> Outcome {
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) return outcome::Unsupported{"out of contract"};
    Stages stages;
    change(*modelled, stages);
    auto y = modelled->run(stages);
    if (!y) return outcome::Unsupported{"no output"};
    return outcome::Produced{std::move(*y)};
  };
}

void use_way(const char* choice, const char* variant, Stages& stages) {
  find_variant(*find_choice("QLinearConv", choice), variant)->replace(stages);
}

TEST(Explain, TriesDefectsOnTheBackendsOwnArithmetic) {
  const Explanation e = explained_on_base(runner_with([](const ModelledCase&, Stages& stages) {
    use_way("product", "divide-first", stages);
    find_defect("zp-in-f32")->apply(stages);
  }));
  EXPECT_EQ(e.status, Status::explained);
  EXPECT_EQ(e.signature(), "zp-in-f32");
  EXPECT_EQ(e.base(), "divide-first");
}

// One arithmetic for all nodes there is none.
TEST(Explain, TriesDefectsOnArithmeticsThatDifferByLayout) {
  const Explanation e = explained_on_base(runner_with([](const ModelledCase& modelled, Stages& stages) {
    const bool is_depthwise = modelled.family().arithmetic.layout_of(modelled.lowered()).starts_with("depthwise");
    use_way("product", is_depthwise ? "f64" : "divide-first", stages);
    find_defect("pad-raw-zero")->apply(stages);
  }));
  EXPECT_EQ(e.status, Status::explained);
  EXPECT_EQ(e.signature(), "pad-raw-zero");
  EXPECT_NE(e.base().find("f64 (depthwise, depthwise-multiplier)"), std::string::npos) << e.base();
}

// Fixed point whose multiplier is formed in float32 differs from the model of fixed point near ties alone.
TEST(Explain, IsNotCertainOfAModelThatTheBackendDiffersFrom) {
  const Explanation twice = explained_on_base(
      runner_with([](const ModelledCase&, Stages& stages) { use_way("product", "q31-double-round-f32", stages); }));
  EXPECT_GE(twice.status, Status::partial) << twice.signature();
  const Explanation once = explained_on_base(runner_with(
      [](const ModelledCase&, Stages& stages) { use_way("product", "q31-single-round-f32-sw-by-sy", stages); }));
  EXPECT_GE(once.status, Status::partial) << once.signature();
}

// An arithmetic that is itself wrong is told by its defect, not by one that shows nowhere beside it.
TEST(Explain, NamesTheDefectOfAWrongArithmetic) {
  const Runner run = runner_of(DefectModel(RoundingProfile::onnx_reference));
  const Case failing = QLinearConvBuilder()
                           .x(make::filled(ElementType::uint8, {1, 1, 1}, 1))
                           .w(make::filled(ElementType::int8, {1, 1, 1}, 1))
                           .y_scale(2)
                           .y_zero_point(1)
                           .build();
  auto observation = Observation::of(failing, run, {});
  ASSERT_NE(observation, nullptr);
  ASSERT_TRUE(observation->is_failure());
  const Explanation e = explain(std::move(observation), run, {});
  EXPECT_EQ(e.signature(), "zp-before-round") << name_of(e.status);
  EXPECT_EQ(e.arithmetic, "f32-multiplier-widened");
}

struct HeldOut {
  std::string_view op_type;
  const char* id;
  std::string_view pattern;
  const char* condition;
};

TEST(Explain, DoesNotGuessWhatIsNotModelled) {
  for (const HeldOut& held :
       {HeldOut{"ConvInteger", "pad-reads-neighbour", "border", nullptr},
        HeldOut{"ConvInteger", "no-valid-tap", "padding-only", "reaches padding-only windows"},
        HeldOut{"ConvInteger", "batch0-buffer", "later-images", "reaches outputs of later images"},
        HeldOut{"QuantizeLinear", "half-up", "ties", nullptr},
        HeldOut{"QLinearConv", "half-up", "ties", "reaches exact ties"},
        HeldOut{"DequantizeLinear", "vec4-tail", "tail-elements-4", "elements % 4 != 0"}}) {
    TrialOptions options;
    options.hold_out = true;
    options.further = 400;
    options.failing = 60;
    const Trial trial = try_to_explain(plant(held.op_type, {held.id}), options);
    ASSERT_TRUE(trial.explanation.has_value()) << held.id << " never fails";
    const Explanation& e = *trial.explanation;
    EXPECT_TRUE(e.status == Status::partial || e.status == Status::unexplained || trial.grade == Grade::learnt)
        << held.id << ": " << name_of(e.status);
    EXPECT_EQ(e.pattern.id, held.pattern) << held.id;
    if (e.status == Status::unexplained) {
      EXPECT_EQ(e.signature(), "unexplained:" + std::string(held.pattern));
    }
    const Soundness& sound = trial.soundness;
    EXPECT_GT(sound.failing, 50U) << held.id;
    EXPECT_EQ(sound.outside_pattern, 0U) << held.id << ": " << e.pattern.id;
    EXPECT_EQ(sound.outside_region, 0U) << held.id << ": " << e.region.text();
    const auto& conditions = e.region.conditions;
    if (held.condition != nullptr) {
      EXPECT_NE(std::find(conditions.begin(), conditions.end(), held.condition), conditions.end())
          << held.id << ": " << e.region.text();
    }
  }
}

struct Withheld {
  std::string_view op_type;
  const char* id;
  const char* learnt;
};

TEST(Explain, LearnsWhatIsNotModelled) {
  for (const Withheld& withheld :
       {Withheld{"ConvInteger", "batch0-buffer", "image = 0"}, Withheld{"ConvInteger", "pad-raw-zero", "pad = 0"},
        Withheld{"QLinearConv", "w-scale-group-local", "w_scale.index = channel % group_channels"},
        Withheld{"QuantizeLinear", "half-up", "round = half_up"}}) {
    TrialOptions options;
    options.hold_out = true;
    options.further = 0;
    options.failing = 0;
    const Trial trial = try_to_explain(plant(withheld.op_type, {withheld.id}), options);
    ASSERT_TRUE(trial.explanation.has_value()) << withheld.id << " never fails";
    EXPECT_EQ(trial.grade, Grade::learnt) << withheld.id;
    EXPECT_EQ(trial.explanation->signature(), withheld.learnt);
    EXPECT_EQ(trial.explanation->support.reproduced_cases, trial.explanation->support.cases);
    EXPECT_GE(trial.explanation->agreed, 8U);
  }
}

// Expressions that no defect model has.
TEST(Explain, LearnsWhatNobodyHasSeen) {
  for (const auto& [op_type, slot, text] :
       {std::tuple("QLinearConv", "w_zero_point.index", "channel / group_channels"),
        std::tuple("QLinearConv", "x_difference", "wrap8(x) - zero_point"),
        std::tuple("QuantizeLinear", "round", "half_down"), std::tuple("ConvInteger", "tap.place", "clamped")}) {
    const Defect& model = model_of(op_type, *Expression::parse(*find_slot(op_type, slot), text));
    const Trial trial = try_to_explain(Plant{find_operator("", op_type), {&model}}, {});
    ASSERT_TRUE(trial.explanation.has_value()) << model.id << " never fails";
    EXPECT_EQ(trial.explanation->status, Status::learnt) << model.id;
    EXPECT_TRUE(trial.grade == Grade::named || trial.grade == Grade::learnt) << trial.explanation->signature();
  }
}

// Rewritings are told apart as stages are, and none takes the place of one that is not known.
TEST(Explain, NamesModelsOfGraphs) {
  for (const char* id : {"relu-dropped", "bias-raw", "s8u8-one-side", "softmax-wraps"}) {
    const Plant planted = plant("Graph", {id});
    const Trial trial = try_to_explain(planted, {.search = 2000});
    ASSERT_TRUE(trial.explanation) << id;
    EXPECT_EQ(trial.grade, Grade::named) << id << ": " << trial.explanation->signature();
    const Trial held_out = try_to_explain(planted, {.search = 2000, .further = 0, .failing = 0, .hold_out = true});
    EXPECT_GE(held_out.explanation->status, Status::partial) << id << ": " << held_out.explanation->signature();
  }
}

// One failing case is no ground for certainty, however well a model fits it, and however often it comes up.
TEST(Explain, IsNotCertainOfOneCase) {
  const Plant planted = plant("ConvInteger", {"x-zp-ignored"});
  const Runner run = planted.runner();
  const Case failing = ConvIntegerBuilder().x_zero_point(1).build();
  const Runner alone = [&](const Case& test_case) -> Outcome {
    if (digest_of(test_case) != digest_of(failing)) return outcome::Unsupported{"another case"};
    return run(test_case);
  };
  const Explanation e = explain(Observation::of(failing, alone, {}), alone, {}, {.neighbours = {failing, failing}});
  EXPECT_TRUE(e.status == Status::ambiguous || e.status == Status::reproduced) << name_of(e.status);
  EXPECT_EQ(e.support.cases, 1U);
  EXPECT_TRUE(e.support.reproduces_case);
}

// A model that reproduces all it was tried on is certain, or says why it is not; a partial one leaves something.
TEST(Explain, APartialExplanationLeavesSomething) {
  std::size_t reproduced = 0;
  for (const auto& [op, id] : {std::pair{"ConvInteger", "x-zp-ignored"}, std::pair{"QLinearConv", "half-away"},
                               std::pair{"QLinearConv", "pad-raw-zero"}, std::pair{"QuantizeLinear", "half-up"}}) {
    const Plant planted = plant(op, {id});
    const Runner run = planted.runner();
    Probes probes(*planted.op, 5);
    std::unique_ptr<Observation> failing;
    while (failing == nullptr || !failing->is_failure()) failing = Observation::of(probes.next(), run, {});
    for (const std::uint64_t cases : {1U, 4U, 20U, 300U}) {
      for (const std::uint64_t work : {std::uint64_t{1} << 10, std::uint64_t{1} << 18, std::uint64_t{1} << 26}) {
        const Explanation e = explain(failing->copy(), run, {}, {.cases = cases, .work = work, .learning_work = 0});
        if (e.status == Status::partial) {
          EXPECT_LT(e.support.reproduced_cases, e.support.cases) << e.signature();
        }
        if (e.status == Status::reproduced) {
          ++reproduced;
          EXPECT_EQ(e.support.reproduced_cases, e.support.cases) << e.signature();
        }
      }
    }
  }
  EXPECT_GT(reproduced, 0U);
}

TEST(Probes, AreSmallCasesInContractAndRepeatable) {
  for (const Operator& op : operators()) {
    if (op.draw == nullptr) continue;
    Probes probes(op, 5);
    Probes again(op, 5);
    probes.add_neighbourhood(Probes(op, 6).next());
    again.add_neighbourhood(Probes(op, 6).next());
    for (int i = 0; i < 60; ++i) {
      const Case drawn = probes.next();
      EXPECT_EQ(drawn, again.next());
      EXPECT_EQ(drawn.subject(), op.name);
      EXPECT_NE(ModelledCase::prepare(drawn), nullptr) << drawn.id;
    }
  }
}

CaseTraits features(std::initializer_list<std::size_t> present) {
  CaseTraits traits;
  for (const std::size_t i : present) traits.features.set(i);
  return traits;
}

TEST(Region, HasRoomForEveryFeature) {
  EXPECT_LE(case_features().size(), kMostFeatures);
  EXPECT_LE(case_sizes().size(), kMostSizes);
}

// Both families have "x uint8".
TEST(Region, ContainsTheCasesThatItWasLearntFrom) {
  for (std::size_t i = 0; i < case_features().size(); ++i) {
    const Region region{.conditions = {std::string(case_features()[i].text)}};
    EXPECT_TRUE(region.contains(features({i}))) << case_features()[i].text;
    EXPECT_FALSE(region.contains(features({}))) << case_features()[i].text;
  }
}

TEST(Region, IsTheConjunctionThatTellsFailingFromPassing) {
  const std::vector<CaseTraits> failing(20, features({1, 2, 5}));
  std::vector<CaseTraits> passing(20, features({1, 5}));
  passing.insert(passing.end(), 20, features({2, 5}));
  passing.push_back(features({1, 2, 5}));
  const Region region = learn_region(failing, passing);
  EXPECT_EQ(region.conditions, (std::vector<std::string>{case_features()[1].text, case_features()[2].text}));
  EXPECT_EQ(region.failing, 20U);
  EXPECT_EQ(region.passing, 41U);
  EXPECT_EQ(region.passing_inside, 1U);
}

// Four failing cases share a feature that nine in ten passing ones have: that is no condition.
TEST(Region, LeavesOutWhatMayBeChance) {
  std::vector<CaseTraits> passing(90, features({3}));
  passing.insert(passing.end(), 10, features({}));
  EXPECT_TRUE(learn_region(std::vector<CaseTraits>(4, features({3})), passing).conditions.empty());
  EXPECT_EQ(learn_region(std::vector<CaseTraits>(2000, features({3})), passing).conditions.size(), 1U);
}

// Most passing cases meet the condition too: it says little of the failing ones.
TEST(Region, TellsNoConditionThatIsNotPrecise) {
  std::vector<CaseTraits> passing(50, features({3}));
  passing.insert(passing.end(), 500, features({}));
  EXPECT_TRUE(learn_region(std::vector<CaseTraits>(200, features({3})), passing).conditions.empty());
  EXPECT_FALSE(suspected_region(std::vector<CaseTraits>(200, features({3})), passing).conditions.empty());
}

// Small outputs are right by chance: larger ones tell, and every failing case has the condition.
TEST(Region, LeavesOutSmallOutputsThatAreRightByChance) {
  const auto of_elements = [](std::uint32_t elements, CaseTraits traits) {
    traits.elements = elements;
    return traits;
  };
  std::vector<CaseTraits> failing(40, of_elements(200, features({3})));
  failing.insert(failing.end(), 20, of_elements(2, features({3, 4})));
  std::vector<CaseTraits> passing(300, of_elements(2, features({3})));
  passing.insert(passing.end(), 300, of_elements(200, features({4})));
  const Region region = learn_region(failing, passing);
  EXPECT_EQ(region.conditions, (std::vector<std::string>{case_features()[3].text}));
  EXPECT_EQ(region.elements, 16U);
  EXPECT_EQ(region.failing, 40U);
  EXPECT_EQ(region.passing, 300U);
  EXPECT_EQ(region.passing_inside, 0U);
  failing.push_back(of_elements(2, features({})));
  EXPECT_TRUE(learn_region(failing, passing).conditions.empty()) << "a failing case lacks the condition";
}

TEST(Region, LearnsBoundsOfSizes) {
  std::vector<CaseTraits> failing;
  std::vector<CaseTraits> passing;
  for (std::uint32_t size = 1; size <= 400; ++size) {
    CaseTraits traits;
    traits.sizes[1] = size;
    traits.sizes[2] = 1 + size % 7;
    (size >= 257 ? failing : passing).push_back(traits);
  }
  const Region region = learn_region(failing, passing);
  EXPECT_EQ(region.conditions, std::vector<std::string>{case_sizes()[1] + " >= 257"});
  EXPECT_GT(region.precision, 0.99);
  EXPECT_GT(region.recall, 0.95);
  EXPECT_LT(region.recall, 1) << "the bound is unknown where the case that has it is held back";
  EXPECT_TRUE(region.contains(failing.front()));
  EXPECT_FALSE(region.contains(passing.back()));
}

// A hundred failing cases share what all passing ones but one have: the one may pass for another reason.
TEST(Region, DoesNotRestOnOneCase) {
  const std::vector<CaseTraits> failing(100, features({1, 2}));
  std::vector<CaseTraits> passing(5, features({1, 2}));
  passing.insert(passing.end(), 200, features({2}));
  passing.push_back(features({1}));
  EXPECT_EQ(learn_region(failing, passing).conditions, (std::vector<std::string>{case_features()[1].text}));
  const std::vector<std::string> both{case_features()[1].text, case_features()[2].text};
  EXPECT_EQ(suspected_region(failing, passing).conditions, both);
  passing.insert(passing.end(), 5, features({1}));
  EXPECT_EQ(learn_region(failing, passing).conditions, both);
}

TEST(Pattern, IsTheNarrowestPlaceOfAllWrongElements) {
  const Case test_case = ConvIntegerBuilder()
                             .x(make::filled(ElementType::uint8, {2, 1, 4, 6}, 3))
                             .w(make::filled(ElementType::int8, {5, 1, 1, 1}, 1))
                             .build();
  // Wrong in the last of five channels, in both images.
  const Runner run = [](const Case& c) -> Outcome {
    Tensor y = *expect(c, {}).output;
    for (const std::int64_t image : {0, 1}) set_raw_bits_at(y.bytes, 32, (image * 5 + 4) * 24 + 7, 99);
    return outcome::Produced{std::move(y)};
  };
  const auto observation = Observation::of(test_case, run, {});
  ASSERT_NE(observation, nullptr);
  const Observation* const all[] = {observation.get()};
  const Pattern pattern = pattern_of(all);
  EXPECT_EQ(pattern.id, "tail-channels-4");
  EXPECT_EQ(pattern.wrong, 2U);
  EXPECT_EQ(pattern.there, 48U);
  EXPECT_EQ(errors_of(all).highest, 96);
  EXPECT_EQ(errors_of(all).too_high, 2U);
}

}  // namespace
}  // namespace qconform::diagnose
