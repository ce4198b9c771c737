#include "harness/diagnose/identify/identify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/backends/kinds.h"
#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/forms/json/case_json.h"
#include "harness/forms/json/profile_file.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/judge/judge.h"
#include "harness/model/text.h"
#include "harness/suites/drawn.h"
#include "harness/tests/stand_ins.h"

namespace qconform::diagnose {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

std::unique_ptr<Backend> backend_named(const std::string& name,
                                       RoundingProfile arithmetic = RoundingProfile::correctly_rounded) {
  auto selected = backend::select(name, arithmetic);
  EXPECT_TRUE(selected.has_value()) << name;
  return std::move(*selected);
}

Identification identified(const std::string& name, RoundingProfile arithmetic = RoundingProfile::correctly_rounded) {
  const auto backend = backend_named(name, arithmetic);
  return identify(*backend, {});
}

// An experiment builds on those before it of its operator, and on no other: a test that looks at answers of one
// operator performs no more than its experiments.
Identification identified_in(std::string_view op_type, const std::string& name,
                             RoundingProfile arithmetic = RoundingProfile::correctly_rounded) {
  const auto backend = backend_named(name, arithmetic);
  return identify(*backend, {.wants = [op_type](const Experiment& e) { return e.op_type == op_type; }});
}

const Answer& answer_of(const Identification& found, std::string_view op_type, const std::string& choice) {
  for (const Answer& answer : found.answers) {
    if (answer.op_type == op_type && answer.choices.front()->id == choice) return answer;
  }
  throw std::out_of_range(choice);
}

// "ort-f32, half-even, integer", and further survivors behind a bar.
std::string variants_of(const Answer& answer) {
  std::string text;
  for (const Candidate* const candidate : answer.survivors()) {
    if (!text.empty()) text += " | ";
    for (const Variant* const variant : candidate->variants)
      text += (variant == candidate->variants.front() ? "" : ", ") + variant->id;
  }
  return text;
}

std::string variants_in(std::string_view op_type, const std::string& choice, const std::string& name) {
  return variants_of(answer_of(identified_in(op_type, name), op_type, choice));
}

std::string requantization_of(const std::string& name,
                              RoundingProfile arithmetic = RoundingProfile::correctly_rounded) {
  return variants_of(answer_of(identified_in("QLinearConv", name, arithmetic), "QLinearConv", "product"));
}

TEST(Identify, NamesTheArithmeticOfTheKernelsUnderEachProfile) {
  EXPECT_EQ(requantization_of("scalar"), "exact, half-even, integer");
  EXPECT_EQ(requantization_of("scalar", RoundingProfile::ort_f32), "ort-f32, half-even, integer");
  EXPECT_THAT(requantization_of("scalar", RoundingProfile::onnx_reference),
              HasSubstr("f32-multiplier-widened, zero-point-first-f64, integer"));
}

// Identification tells apart, by name, even what the default profile admits.
TEST(Identify, NamesEveryDefectModelThatIsAdmitted) {
  for (const Defect& defect : defects()) {
    for (const std::string_view op_type : defect.admitted) {
      if (find_operator("", op_type)->judges_graphs) continue;  // graphs are not asked how they are computed
      const Identification found = identified_in(op_type, "defect:" + std::string(defect.id));
      std::vector<std::string_view> named;
      for (const Answer& answer : found.answers) {
        if (answer.survivors().size() != 1) continue;
        for (const Variant* const variant : answer.survivors().front()->variants) named.push_back(variant->defect);
      }
      EXPECT_THAT(named, Contains(defect.id)) << op_type;
    }
  }
}

TEST(Identify, NamesModelsOutsideTheAdmissibleSetToo) {
  EXPECT_EQ(requantization_of("defect:half-away"), "exact, half-away, integer");
  EXPECT_THAT(requantization_of("defect:zp-before-round"), StartsWith("exact, zero-point-first, integer"));
  // Its product is an integer: no rounding is left to be seen, and none is named.
  const Identification fixed_point = identified_in("QLinearConv", "defect:double-round");
  EXPECT_EQ(variants_of(answer_of(fixed_point, "QLinearConv", "product")), "q31-double-round, half-even, integer");
  const Answer& answer = answer_of(fixed_point, "QLinearConv", "product");
  const Variant* const settling = answer.settling(*answer.survivors().front(), 1);
  ASSERT_NE(settling, nullptr);
  EXPECT_EQ(settling->id, "q31-double-round");
  EXPECT_THAT(identification_json(fixed_point), HasSubstr("\"rounding\": \"Q31: the product rounds twice"));
  EXPECT_EQ(variants_in("QLinearConv", "sum", "defect:pair-sat-i16"), "pair-sat-i16");
  EXPECT_EQ(variants_in("ConvInteger", "sum", "defect:pair-sat-i16"), "pair-sat-i16");
  EXPECT_EQ(variants_in("ConvInteger", "overflow", "defect:i32-sat"), "saturate32");
}

// A kernel whose arithmetic is not on the list.
TEST(Identify, SaysThatItKnowsNoneWhereNoneFits) {
  const Identification found = identified_in("ConvInteger", "defect:k-tail");
  const Answer& sum = answer_of(found, "ConvInteger", "sum");
  EXPECT_TRUE(sum.survivors().empty());
  ASSERT_NE(sum.nearest_eliminated(), nullptr);
  EXPECT_GT(sum.nearest_eliminated()->refuted_elements, 0U);
  const PinnedProfile profile = pinned_profile(found);
  const auto pin =
      std::find_if(profile.pins.begin(), profile.pins.end(), [](const Pin& p) { return p.op_type == "ConvInteger"; });
  ASSERT_NE(pin, profile.pins.end());
  EXPECT_EQ(pin->variants.count("sum"), 0U);
}

// Types that the wrapped backend would take, but for some.
class Choosy final : public Backend {
 public:
  explicit Choosy(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] const BackendInfo& info() const override { return inner_->info(); }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (test_case.node().op_type != "QLinearConv") return outcome::Unsupported{"only QLinearConv"};
    const Tensor& w = *test_case.input(3);
    if (w.type != ElementType::int8 || test_case.input(0)->type != ElementType::int8) {
      return outcome::Unsupported{"only int8"};
    }
    if (!test_case.input(4)->is_scalar() || test_case.input(8) != nullptr || w.shape.size() != 3) {
      return outcome::Unsupported{"only one scale, no bias, one axis"};
    }
    return inner_->prepare(test_case);
  }

 private:
  std::unique_ptr<Backend> inner_;
};

TEST(Identify, FindsAFormThatABackendTakes) {
  Choosy choosy(backend_named("defect:scale-double"));
  const Identification found = identify(choosy, {});
  const Answer& answer = answer_of(found, "QLinearConv", "product");
  ASSERT_FALSE(answer.forms.empty());
  for (const ProbeForm& form : answer.forms) {
    EXPECT_EQ(form.rank, 3);
    EXPECT_FALSE(form.bias);
    EXPECT_EQ(form.w, ElementType::int8);
  }
  EXPECT_THAT(variants_of(answer), HasSubstr("f64, half-even"));
  const Answer& declined = answer_of(found, "QuantizeLinear", "division");
  EXPECT_TRUE(declined.forms.empty());
  EXPECT_EQ(declined.declined, "only QLinearConv");
}

// The refuting case, replayed: the backend gives `got`, and not what was predicted.
TEST(Identify, EveryEliminationCanBeReplayed) {
  const auto backend = backend_named("scalar");
  const Identification found = identify(*backend, {.seed = 5});
  std::size_t replayed = 0;
  for (const Answer& answer : found.answers) {
    for (const Candidate& candidate : answer.candidates) {
      if (!candidate.refutation || ++replayed % 16 != 0) continue;
      const auto read = read_cases_json(case_json(candidate.refutation->test_case));
      ASSERT_TRUE(read.has_value());
      GuardedOutput output;
      const Outcome outcome = execute(*backend, read->front(), output);
      const Tensor& y = *output_of(outcome);
      EXPECT_EQ(element_text(y, candidate.refutation->element), candidate.refutation->got);
      EXPECT_NE(candidate.refutation->predicted, candidate.refutation->got);
    }
  }
  EXPECT_GT(replayed, 100U);
}

TEST(Identify, TheSameSeedGivesTheSameAnswer) {
  EXPECT_EQ(identification_json(identified("defect:reciprocal")), identification_json(identified("defect:reciprocal")));
}

// Computes as the reference but for the defect, where the node is of that layout and x of that type, if there is one.
class DefectInSome final : public Backend {
 public:
  DefectInSome(std::string_view defect, std::string_view layout, std::optional<ElementType> x = std::nullopt)
      : defect_(*find_defect(defect)), layout_(layout), x_(x) {}
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (test_case.node().op_type != "QLinearConv") return outcome::Unsupported{"another operator"};
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) return outcome::Rejected{"out of contract"};
    Stages stages;
    const bool is_laid_out =
        layout_.empty() || modelled->family().arithmetic.layout_of(modelled->lowered()).starts_with(layout_);
    if (is_laid_out && (!x_ || *x_ == test_case.input(0)->type)) defect_.apply(stages);
    return std::make_unique<testing::PreparedOutput>(*modelled->run(stages));
  }

 private:
  const Defect& defect_;
  std::string_view layout_;
  std::optional<ElementType> x_;
  BackendInfo info_{"defect-in-some", "1", "test"};
};

// By what they hold for: "exact, half-even, integer".
std::map<std::string, std::string> requantizations_of(std::string_view defect, std::string_view layout,
                                                      std::optional<ElementType> x = std::nullopt) {
  DefectInSome backend(defect, layout, x);
  std::map<std::string, std::string> found;
  for (const Answer& answer :

       identify(
           backend,
           {.wants = [](const Experiment& e) { return e.choices.front() == "product" && e.op_type == "QLinearConv"; }})
           .answers) {
    if (answer.choices.front()->id == "product") found[answer.holds_for] = variants_of(answer);
  }
  return found;
}

TEST(Identify, TellsLayoutsApart) {
  EXPECT_THAT(requantizations_of("half-away", "depthwise"),
              UnorderedElementsAre(Pair("all but depthwise, depthwise-multiplier", "exact, half-even, integer"),
                                   Pair("depthwise, depthwise-multiplier", "exact, half-away, integer")));
  EXPECT_THAT(
      requantizations_of("half-up", "1x1"),
      UnorderedElementsAre(Pair("all but 1x1", "exact, half-even, integer"), Pair("1x1", "exact, half-up, integer")));
  EXPECT_THAT(requantizations_of("half-up", "depthwise-multiplier", ElementType::uint8),
              UnorderedElementsAre(Pair("all but x uint8 (depthwise-multiplier)", "exact, half-even, integer"),
                                   Pair("x uint8 (depthwise-multiplier)", "exact, half-up, integer")));
}

TEST(Identify, TellsSignednessApart) {
  EXPECT_THAT(
      requantizations_of("half-up", "", ElementType::uint8),
      UnorderedElementsAre(Pair("x int8", "exact, half-even, integer"), Pair("x uint8", "exact, half-up, integer")));
}

Policy pinned_policy(const Identification& found) {
  Policy policy;
  policy.pinned = std::make_shared<const PinnedProfile>(pinned_profile(found));
  return policy;
}

std::size_t failures(Backend& backend, const Policy& policy) {
  std::size_t failed = 0;
  GuardedOutput output;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const Case test_case = random_case(3, i);
    failed += is_failure(judge(expect(test_case, policy), execute(backend, test_case, output)).kind) ? 1 : 0;
  }
  return failed;
}

TEST(PinnedProfile, HoldsABackendToWhatItDid) {
  const auto away = backend_named("defect:truncate");
  const Policy policy = pinned_policy(identify(*away, {}));
  EXPECT_EQ(failures(*away, policy), 0U);
  EXPECT_GT(failures(*backend_named("scalar"), policy), 0U) << "right, but not what was pinned";
  EXPECT_GT(failures(*away, {}), 0U);
}

TEST(PinnedProfile, HoldsABackendToWhatItDidInEachLayout) {
  DefectInSome backend("truncate", "depthwise");
  const Identification found = identify(backend, {});
  EXPECT_EQ(failures(backend, pinned_policy(found)), 0U);
  const auto read = read_pinned_profile_json(pinned_profile_json(pinned_profile(found)));
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(*read, pinned_profile(found));
  DefectInSome elsewhere("truncate", "windows");
  EXPECT_GT(failures(elsewhere, pinned_policy(found)), 0U);
}

TEST(PinnedProfile, SurvivesItsFile) {
  const PinnedProfile profile = pinned_profile(identified("scalar"));
  EXPECT_EQ(profile.pins.size(), 4U);
  const auto read = read_pinned_profile_json(pinned_profile_json(profile));
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(*read, profile);
}

TEST(PinnedProfile, MistakesInTheFileAreNamed) {
  const auto message = [](const std::string& pins) {
    const auto read =
        read_pinned_profile_json(R"({"format":"qconform-profile","version":1,"name":"x","pins":[)" + pins + "]}");
    return read ? std::string() : read.error().text();
  };
  EXPECT_EQ(message(R"({"operator":"ConvInteger","ways":{"sum":"exact"}})"), "");
  EXPECT_THAT(message(R"({"operator":"Conv","ways":{}})"), HasSubstr("pins[0].operator: no operator \"Conv\""));
  EXPECT_THAT(message(R"({"operator":"ConvInteger","ways":{"product":"f64"}})"),
              HasSubstr("pins[0].ways: no choice \"product\"; there are sum, overflow"));
  EXPECT_THAT(message(R"({"operator":"ConvInteger","ways":{"sum":"f64"}})"),
              HasSubstr("pins[0].ways.sum: no variant \"f64\"; there are exact"));
  EXPECT_THAT(message(R"({"operator":"ConvInteger","types":{"x":"byte"},"ways":{}})"),
              HasSubstr("pins[0].types.x: no type \"byte\""));
  EXPECT_THAT(message(R"({"operator":"ConvInteger","layout":"deep","ways":{}})"),
              HasSubstr("pins[0].layout: no layout \"deep\"; there are 1x1, windows, groups, depthwise"));
  EXPECT_THAT(message(R"({"operator":"ConvInteger"})"), HasSubstr("ways"));
  EXPECT_FALSE(read_pinned_profile_json("{}").has_value());
}

}  // namespace
}  // namespace qconform::diagnose
