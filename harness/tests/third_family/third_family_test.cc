// Every engine works on a family that lies in a folder of its own, with nothing else changed: this program has its own
// list of families in place of that of harness/operators/families.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/backends/kinds.h"
#include "harness/backends/sandbox/sandbox.h"
#include "harness/backends/select.h"
#include "harness/bench/bench.h"
#include "harness/diagnose/audit/audit.h"
#include "harness/diagnose/explain/campaign_diagnosis.h"
#include "harness/diagnose/explain/explain.h"
#include "harness/diagnose/identify/identify.h"
#include "harness/engine/execute.h"
#include "harness/engine/findings.h"
#include "harness/engine/relation_check.h"
#include "harness/engine/run_suites.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/forms/json/case_json.h"
#include "harness/model/case_builder.h"
#include "harness/model/layers.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/cross_check.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/linear/linear.h"
#include "harness/suites/drawn.h"
#include "harness/suites/stored_cases.h"
#include "harness/suites/sweep/suite.h"
#include "harness/tests/network.h"
#include "harness/tests/third_family/halve.h"
#include "reports/render/forms.h"
#include "reports/render/terminal.h"

namespace qconform {

std::span<const Family* const> families() {
  static const std::array<const Family*, 4> all{&convolution_family(), &linear_family(), &testing::halving_family(),
                                                &testing::bare_family()};
  return all;
}

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::halve_case;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// floor(x / 2 + 1/2) of either operator, written down without the harness.
class HalfUp final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (!classify(test_case).lowered) return outcome::Rejected{"out of contract"};
    if (test_case.node().op_type != "Halve" && test_case.node().op_type != "Bare")
      return outcome::Unsupported{"halves alone"};
    return std::make_unique<Prepared>(test_case);
  }

 private:
  class Prepared final : public PreparedCase {
   public:
    explicit Prepared(const Case& test_case) : case_(test_case) {}
    void run(OutputSink& sink) override {
      const Tensor& x = *case_.input(0);
      const std::span<std::byte> y = sink.allocate(x.type, x.shape);
      const std::int64_t zero_point = case_.input(1) == nullptr ? 0 : integer_at(*case_.input(1), 0);
      const std::int64_t lowest = x.type == ElementType::int8 ? -128 : 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double half = static_cast<double>(integer_at(x, static_cast<std::int64_t>(i))) / 2;
        const auto answer = static_cast<std::int64_t>(std::floor(half + 0.5)) + zero_point;
        y[i] = static_cast<std::byte>(std::clamp(answer, lowest, lowest + 255) & 0xFF);
      }
    }

   private:
    const Case& case_;
  };
  BackendInfo info_{"half-up", "1", "test"};
};

std::unique_ptr<Backend> right_backend() {
  return backend::defect_model(diagnose::DefectModel(), "right");
}

std::unique_ptr<Backend> with_defect(std::string_view id) {
  auto selected = backend::select("defect:" + std::string(id), RoundingProfile::correctly_rounded);
  EXPECT_TRUE(selected.has_value()) << id;
  return std::move(*selected);
}

// Returns the first `count` cases of Halve in the random suite.
std::vector<Case> random_halves(std::size_t count) {
  std::vector<Case> cases;
  for (std::uint64_t index = 0; cases.size() < count; ++index) {
    Case drawn = random_case(1, index);
    if (drawn.node().op_type == "Halve") cases.push_back(std::move(drawn));
  }
  return cases;
}

Case as_bare(Case test_case) {
  test_case.node().op_type = "Bare";
  return test_case;
}

std::vector<std::unique_ptr<Suite>> suite_of(std::vector<Case> cases) {
  std::vector<std::unique_ptr<Suite>> suite;
  suite.push_back(std::make_unique<testing::ListedSuite>(std::move(cases), "halves"));
  return suite;
}

// The first one that the backend fails.
Case failing_case(Backend& backend, bool is_bare = false) {
  const shrink::Runner run = shrink::in_process(backend);
  for (Case& drawn : random_halves(200)) {
    Case candidate = is_bare ? as_bare(std::move(drawn)) : std::move(drawn);
    if (is_failure(judge(expect(candidate, {}), run(candidate)).kind)) return candidate;
  }
  ADD_FAILURE() << backend.info().name << " never fails";
  return {};
}

TEST(ThirdFamily, OperatorsAreFound) {
  ASSERT_NE(find_operator("", "Halve"), nullptr);
  EXPECT_EQ(family_of("ai.onnx", "Halve"), &testing::halving_family());
  EXPECT_EQ(family_of("", "Bare"), &testing::bare_family());
  Case unknown = halve_case("Third", make::int8({1}, {1}));
  EXPECT_THAT(classify(unknown).contract.violation->text(), HasSubstr("Halve"));
  Case early = halve_case("Halve", make::int8({1}, {1}));
  early.node().opset_version = 9;
  EXPECT_THAT(classify(early).contract.violation->text(), HasSubstr("Halve exists since opset 10"));
  EXPECT_EQ(classify(halve_case("Halve", make::int32({1}, {1}))).expectation(), Expectation::invalid);
}

TEST(ThirdFamily, IsJudgedElementByElement) {
  const Case test_case = halve_case("Halve", make::int8({5}, {-3, -1, 1, 3, 127}), 100);
  Expected expected = expect(test_case, {});
  ASSERT_EQ(expected.output, make::int8({5}, {98, 100, 100, 102, 127}));
  EXPECT_EQ(judge(expected, outcome::Produced{*expected.output}).kind, VerdictKind::pass);
  const Verdict verdict = judge(expected, outcome::Produced{make::int8({5}, {98, 100, 101, 102, 127})});
  EXPECT_EQ(verdict.kind, VerdictKind::wrong);
  ASSERT_TRUE(verdict.worst.has_value());
  EXPECT_THAT(verdict.worst->index, ElementsAre(2));
  EXPECT_EQ(verdict.worst->admissible, "{100}");
  EXPECT_EQ(verdict.worst->exact, "1 / 2, zero point 100");
  assess(test_case, expected);
  EXPECT_EQ(expected.corner_cases[CornerCase::tie_negative], 2U);
  EXPECT_EQ(expected.corner_cases[CornerCase::clamp_high], 1U);
}

TEST(ThirdFamily, IsPartOfTheRandomSuite) {
  std::map<std::string, int> drawn;
  for (std::uint64_t index = 0; index < 2000; ++index) {
    const Case test_case = random_case(3, index);
    ++drawn[test_case.node().op_type];
    EXPECT_EQ(classify(test_case).expectation(), Expectation::valid) << test_case.node().op_type << " " << test_case.id;
  }
  EXPECT_EQ(drawn.size(), 5U) << "all but Bare, which has no generator";
  EXPECT_GT(drawn["Halve"], 100);
}

TEST(ThirdFamily, IsSweptThroughAllTriples) {
  const auto& plans = sweep::plans();
  const auto plan =
      std::find_if(plans.begin(), plans.end(), [](const sweep::Plan& p) { return p.swept.model().name == "Halve"; });
  ASSERT_NE(plan, plans.end());
  EXPECT_EQ(plan->proof.coverage.covered, plan->proof.coverage.feasible);
  EXPECT_EQ(plan->proof.coverage.infeasible, 0U);
  for (std::size_t index = 0; index < plan->rows.size(); ++index) {
    const Case test_case = sweep::sweep_case(*plan, index, 1);
    EXPECT_EQ(classify(test_case).expectation(), Expectation::valid) << test_case.id;
    EXPECT_EQ(plan->swept.classify(test_case, sweep::ask_all), plan->rows[index]) << test_case.id;
  }
}

TEST(ThirdFamily, DirectedCasesReachTheirCornerCases) {
  std::set<std::string> reached;
  for (std::uint64_t index = 0; index < directed_aims(); ++index) {
    if (directed_attempt(1, index).node().op_type != "Halve") continue;
    const Case test_case = directed_case(1, index);
    Expected expected = expect(test_case, {});
    assess(test_case, expected);
    EXPECT_GT(expected.corner_cases[corner_case_with_id(test_case.tags.at(0))->corner_case], 0U) << test_case.note;
    reached.insert(test_case.tags.at(0));
  }
  EXPECT_THAT(reached, UnorderedElementsAre("tie-positive", "tie-negative", "tie-odd-zero-point", "edge-below",
                                            "edge-low", "edge-high", "edge-above", "clamp-low", "clamp-high"));
}

TEST(ThirdFamily, HasMutantsInContract) {
  Rng rng(1);
  for (const char* op_type : {"Halve", "Bare"}) {
    int holding = 0;
    int different = 0;
    constexpr int kMutants = 400;
    const Case original = halve_case(op_type, make::int8({2, 3}, {1, 2, 3, 4, 5, 6}), 1);
    for (int i = 0; i < kMutants; ++i) {
      const Case mutant = mutate(original, rng);
      holding += classify(mutant).contract.holds() ? 1 : 0;
      different += digest_of(mutant) != digest_of(original) ? 1 : 0;
    }
    EXPECT_GT(holding, kMutants * 9 / 10) << "one in sixteen is spoilt";
    EXPECT_GT(different, kMutants * 3 / 4) << op_type;
  }
}

// How often each relation was broken, and how often it held.
std::map<std::string, std::pair<int, int>> relations_on(Backend& backend) {
  std::map<std::string, std::pair<int, int>> found;
  GuardedOutput output;
  for (const Case& base : random_halves(60)) {
    const auto subject = relations::subject_of(base);
    const FormedOutput formed = run_for_output(backend, base, output);
    EXPECT_TRUE(subject && formed.tensor);
    for (const relations::Relation& relation : relations::relations()) {
      const RelationCheck check = check_relation(relation, *subject, *formed.tensor, backend, output, {});
      if (check.outcome == RelationOutcome::broken) ++found[std::string(relation.id)].first;
      if (check.outcome == RelationOutcome::held) ++found[std::string(relation.id)].second;
    }
  }
  return found;
}

TEST(ThirdFamily, IsHeldToItsRelation) {
  const auto of_right = relations_on(*right_backend());
  EXPECT_EQ(of_right.size(), 2U) << "its own and repetition";
  EXPECT_EQ(of_right.at("y-zero-point-moved").first, 0);
  EXPECT_GT(of_right.at("y-zero-point-moved").second, 20);
  EXPECT_GT(relations_on(*with_defect("zp-before-round")).at("y-zero-point-moved").first, 0);
  EXPECT_THAT(relations::find_relation("y-zero-point-moved")->operators, HasSubstr("Halve"));
}

TEST(ThirdFamily, HasTheFormsOfCases) {
  const testing::TemporaryFolder folder;
  for (const Case& test_case : random_halves(20)) {
    const auto from_json = read_cases_json(case_json(test_case));
    ASSERT_TRUE(from_json) << from_json.error().text();
    EXPECT_THAT(*from_json, ElementsAre(test_case));
    const auto model = case_to_model(test_case);
    ASSERT_TRUE(model) << model.error().text();
    const auto from_model = case_from_model(*model);
    ASSERT_TRUE(from_model) << from_model.error().text();
    EXPECT_EQ(*from_model, test_case);
    ASSERT_TRUE(write_case_folder(test_case, folder.path() / test_case.id));
    const auto from_folder = read_case_folder(folder.path() / test_case.id);
    ASSERT_TRUE(from_folder) << from_folder.error().text();
    EXPECT_THAT(*from_folder, ElementsAre(test_case));
  }
}

using ThirdFamilyInModels = testing::ModelFixture;

TEST_F(ThirdFamilyInModels, GivesCases) {
  testing::Network net;
  net.input("x", ElementType::uint8, {2, 3});
  net.node("Halve", {"x", net.zero_point("z")}, "y");
  net.node("Bare", {"x"}, "w");
  const auto source = open(net);
  const std::vector<Case> cases = cases_of(*source);
  ASSERT_THAT(source->skipped(), IsEmpty());
  ASSERT_EQ(cases.size(), 2U);
  for (const Case& found : cases) {
    EXPECT_EQ(classify(found).expectation(), Expectation::valid) << found.id;
    EXPECT_THAT(found.input(0)->shape, ElementsAre(2, 3)) << found.id << ": " << found.note;
  }
  EXPECT_EQ(integer_at(*cases[0].input(1), 0), 128);
}

// The ONNX library has never heard of it, which is no verdict on the case.
TEST(ThirdFamily, IsNotComparedWithALibraryThatLacksIt) {
  const CrossCheck check = cross_check(halve_case("Halve", make::int8({1}, {1})));
  EXPECT_FALSE(check.comparable);
  EXPECT_THAT(check.differences, IsEmpty());
}

// A half is never beyond int32.
bool cannot_show(const diagnose::Defect& defect) {
  return defect.id == "int32-before-clamp" || defect.id == "zp-wraps-int32";
}

TEST(ThirdFamily, HasItsDefectsAndThoseOfAllQuantizingOperators) {
  auto suite = suite_of(random_halves(300));
  const auto audit = diagnose::audit("halves", suite, {});
  ASSERT_TRUE(audit) << audit.error().text();
  std::vector<std::string_view> killed;
  for (const diagnose::Mutant& mutant : audit->mutants) {
    if (mutant.op->name != "Halve") continue;
    EXPECT_EQ(mutant.fate() == diagnose::Fate::killed, !cannot_show(*mutant.defect)) << mutant.defect->id;
    if (!cannot_show(*mutant.defect)) killed.push_back(mutant.defect->id);
  }
  EXPECT_THAT(killed, UnorderedElementsAre("half-away", "half-up", "truncate", "zp-before-round", "zp-in-f32",
                                           "clamp-before-zp", "wrap-not-saturate", "halved-by-shift"));
  EXPECT_GT(audit->reached("Halve", CornerCase::tie_negative), 0U);
}

diagnose::Explanation explained(Backend& backend) {
  const diagnose::Runner run = shrink::in_process(backend);
  auto observation = diagnose::Observation::of(failing_case(backend), run, {});
  return observation == nullptr ? diagnose::Explanation() : diagnose::explain(std::move(observation), run, {});
}

// Returns the signature of a defect. It names all defects that compute the same of every half.
std::string_view signature_of(const diagnose::Defect& defect) {
  for (const std::string_view alike : {"clamp-before-zp|wrap-not-saturate", "zp-before-round|zp-in-f32"}) {
    if (alike.starts_with(defect.id) || alike.ends_with(defect.id)) return alike;
  }
  return defect.id;
}

TEST(ThirdFamily, IsExplainedByItsDefects) {
  for (const diagnose::Defect& defect : diagnose::defects()) {
    if (!defect.operators.contains("Halve") || cannot_show(defect)) continue;
    const diagnose::Explanation e = explained(*with_defect(defect.id));
    const std::string_view signature = signature_of(defect);
    EXPECT_EQ(e.signature(), signature);
    const bool is_alone = signature == defect.id;
    EXPECT_EQ(e.status, is_alone ? diagnose::Status::explained : diagnose::Status::ambiguous) << defect.id;
  }
  HalfUp foreign;
  const diagnose::Explanation e = explained(foreign);
  EXPECT_EQ(e.signature(), "half-up");
  EXPECT_EQ(e.pattern.id, "ties");
}

// The variants that fit, by operator and choice.
std::map<std::string, std::vector<std::string>> identified(Backend& backend) {
  std::map<std::string, std::vector<std::string>> found;
  for (const diagnose::Answer& answer : diagnose::identify(backend, {}).answers) {
    if (answer.op_type != "Halve") continue;
    for (const diagnose::Candidate* candidate : answer.survivors()) {
      found[answer.choices.front()->id].push_back(candidate->variants.front()->id);
    }
  }
  return found;
}

TEST(ThirdFamily, IsIdentifiedByItsVariants) {
  EXPECT_THAT(identified(*right_backend()), ElementsAre(Pair("rounding", ElementsAre("half-even"))));
  EXPECT_THAT(identified(*with_defect("halved-by-shift")), ElementsAre(Pair("rounding", ElementsAre("shifted"))));
  HalfUp foreign;
  EXPECT_THAT(identified(foreign), ElementsAre(Pair("rounding", ElementsAre("half-up"))));
}

TEST(ThirdFamily, ShrinksToOneElement) {
  HalfUp backend;
  for (const bool is_bare : {false, true}) {
    const Case failing = failing_case(backend, is_bare);
    const shrink::Result result = shrink::shrink(failing, shrink::in_process(backend), {});
    EXPECT_EQ(result.ending, shrink::Ending::minimal);
    EXPECT_EQ(result.smallest.input(0)->elements(), 1) << result.smallest.node().op_type;
    EXPECT_NE(integer_at(*result.smallest.input(0), 0) % 2, 0) << "a tie";
    EXPECT_EQ(result.smallest.inputs.size(), 1U) << "no zero point";
  }
}

TEST(ThirdFamily, IsDrawn) {
  HalfUp backend;
  const auto map = element_map_of(halve_case("Halve", make::int8({1, 3}, {1, 2, 3}), 5), backend, {});
  ASSERT_TRUE(map.has_value());
  EXPECT_THAT(map->got.values, ElementsAre("6", "6", "7"));
  EXPECT_THAT(map->expected, ElementsAre("5", "6", "7"));
  EXPECT_THAT(map->wrong, ElementsAre(true, false, false));
  ASSERT_EQ(map->inputs.size(), 2U);
  EXPECT_EQ(map->inputs[1].name, "y_zero_point");
}

TEST(ThirdFamily, IsTimed) {
  auto source = bench::open_layers("halves", {});
  ASSERT_TRUE(source) << source.error().text();
  ASSERT_EQ(source->layers.size(), 1U);
  EXPECT_EQ(source->layers[0].kind, bench::LayerKind::linear);
  EXPECT_EQ(source->layers[0].bytes, std::int64_t{2} << 16);
  EXPECT_EQ(source->layers[0].macs, 0);
  std::vector<bench::LayerSource> sources;
  sources.push_back(std::move(*source));
  const std::vector<bench::Contestant> contestants{
      {"right", []() -> Result<std::unique_ptr<Backend>> { return right_backend(); }},
      {"half-up", []() -> Result<std::unique_ptr<Backend>> { return std::make_unique<HalfUp>(); }}};
  bench::RoundOptions options;
  options.seconds = 0.002;
  bench::BenchResult result;
  ASSERT_TRUE(run_bench(sources, contestants, options, {}, result));
  EXPECT_EQ(result.layers[0].timings[0].verdict.kind, VerdictKind::pass);
  EXPECT_EQ(result.layers[0].timings[1].verdict.kind, VerdictKind::wrong);
}

TEST(ThirdFamily, RunsInAWorker) {
  const auto worker =
      open_in_sandbox([]() -> Result<std::unique_ptr<Backend>> { return std::make_unique<HalfUp>(); }, "half-up", {});
  ASSERT_TRUE(worker) << worker.error().text();
  GuardedOutput output;
  const Outcome outcome = execute(**worker, halve_case("Halve", make::int8({2}, {1, 2})), output);
  ASSERT_TRUE(std::holds_alternative<outcome::Produced>(outcome));
  EXPECT_EQ(*output_of(outcome), make::int8({2}, {1, 1}));
}

// A run of suites as `qconform run` does it, and the same of Bare, of which nobody knows more than its right answers.
Report report_on_halves() {
  std::vector<Case> cases = random_halves(150);
  const std::size_t drawn = cases.size();
  for (std::size_t i = 0; i < drawn; ++i) cases.push_back(as_bare(cases[i]));
  auto suites = suite_of(std::move(cases));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(with_defect("halved-by-shift"));
  backends.push_back(std::make_unique<HalfUp>());
  diagnose::CampaignDiagnosis diagnosis(backends, {});
  SuiteRunOptions options;
  options.diagnoser = &diagnosis;
  Report report;
  EXPECT_TRUE(run_suites(suites, backends, options, report));
  shrink::shrink_findings(report, backends, {}, {.each = {}, .diagnoser = &diagnosis});
  add_element_maps(report, backends, {});
  report.profile = "conformance";
  report.overflow = "wrap";
  return report;
}

TEST(ThirdFamily, IsReported) {
  const Report report = report_on_halves();
  std::map<std::string, std::string> causes;
  for (const Finding& finding : report.findings) {
    causes[finding.backend + " " + finding.example.node().op_type] = finding.signature;
    EXPECT_EQ(finding.example.input(0)->elements(), 1) << finding.example.node().op_type;
    EXPECT_TRUE(finding.element_map.has_value()) << finding.example.node().op_type;
  }
  EXPECT_THAT(causes, ElementsAre(Pair("defect:halved-by-shift Halve", "halved-by-shift"),
                                  Pair("half-up Bare", "wrong"), Pair("half-up Halve", "half-up")));
  EXPECT_GT(report.corner_cases.by_operator().at("Halve").at("int8 int8").at(0).cases, 0U);

  const std::string json = report::to_json(report);
  const auto read = report::read_report(json);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(report::to_json(*read), json);
  EXPECT_THAT(report::summary(report, {.verbose = true}), HasSubstr("Halve"));
  EXPECT_THAT(report::to_markdown(report, report::kCommentBytes), HasSubstr("Halve"));
}

// Everything that needs more than right answers leaves Bare aside.
TEST(ThirdFamily, MayLeaveOutAllButItsRightAnswers) {
  const Case test_case = halve_case("Bare", make::int8({2}, {1, 2}));
  auto suite = suite_of({test_case});
  const auto audit = diagnose::audit("bare", suite, {});
  ASSERT_TRUE(audit) << audit.error().text();
  EXPECT_EQ(audit->not_modelled, 1U);
  GuardedOutput output;
  const Outcome outcome = execute(*right_backend(), test_case, output);
  ASSERT_TRUE(std::holds_alternative<outcome::Unsupported>(outcome));
  EXPECT_THAT(std::get<outcome::Unsupported>(outcome).reason, HasSubstr("Bare"));
}

}  // namespace
}  // namespace qconform
