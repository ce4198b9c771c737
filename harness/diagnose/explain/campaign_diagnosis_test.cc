// A campaign's failures, grouped by what is wrong with the kernel.
#include "harness/diagnose/explain/campaign_diagnosis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/backends/kinds.h"
#include "harness/backends/select.h"
#include "harness/engine/run_suites.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/forms/defects/defect_files.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/operator.h"
#include "harness/operators/graph/graph.h"
#include "harness/suites/drawn.h"
#include "harness/suites/stored_cases.h"
#include "harness/tests/planted_kernels.h"
#include "harness/tests/stand_ins.h"
#include "harness/tests/test_scale.h"

namespace qconform::diagnose {
namespace {

using DrawAt = Case (*)(std::uint64_t seed, std::uint64_t index);

// Random cases of some operators.
class OperatorSuite final : public Suite {
 public:
  OperatorSuite(std::uint64_t count, std::vector<std::string> op_types, DrawAt draw = &random_case)
      : left_(count), op_types_(std::move(op_types)), draw_(draw) {}
  [[nodiscard]] std::string name() const override { return "random"; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (left_-- == 0) return std::nullopt;
    for (;;) {
      Case drawn = draw_(1, index_++);
      if (std::find(op_types_.begin(), op_types_.end(), drawn.node().op_type) != op_types_.end()) return drawn;
    }
  }

 private:
  std::uint64_t left_;
  std::vector<std::string> op_types_;
  DrawAt draw_;
  std::uint64_t index_ = 0;
};

Report run_on(std::unique_ptr<Backend> backend, std::unique_ptr<Suite> suite, bool shrinks = false,
              const CampaignDiagnosis::Limits& limits = {}) {
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::move(suite));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::move(backend));
  CampaignDiagnosis diagnosis(backends, {}, limits);
  SuiteRunOptions options;
  options.diagnoser = &diagnosis;
  options.results = RowsKept::all;
  Report report;
  EXPECT_TRUE(run_suites(suites, backends, options, report).has_value());
  if (shrinks) {
    shrink::shrink_findings(report, backends, {}, {.each = {}, .diagnoser = &diagnosis},
                            [&](Finding& finding, std::size_t number) { diagnosis.refine(finding, number); });
  }
  return report;
}

Report run_random(std::unique_ptr<Backend> backend, std::uint64_t cases, std::vector<std::string> op_types,
                  bool shrinks = false) {
  return run_on(std::move(backend), std::make_unique<OperatorSuite>(cases, std::move(op_types)), shrinks);
}

bool contains(const std::vector<std::string>& list, const std::string& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

// The diagnosis learns a model where no known one explains the failures, and reports one finding like any other.
TEST(CampaignDiagnosis, LearnsWhatNoModelExplains) {
  const auto parsed = Expression::parse(*find_slot("ConvInteger", "w_zero_point.index"), "channel / group_channels");
  DefectModel model;
  ASSERT_TRUE(model.add(model_of("ConvInteger", *parsed)).has_value());
  const Report report = run_random(backend::defect_model(std::move(model), "unknown"), 600, {"ConvInteger"});
  ASSERT_EQ(report.findings.size(), 1U);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.signature, "w_zero_point.index = channel / group_channels");
  ASSERT_TRUE(finding.diagnosis.has_value());
  EXPECT_EQ(finding.diagnosis->status, "learnt");
  ASSERT_EQ(finding.diagnosis->defects.size(), 1U);
  EXPECT_EQ(finding.diagnosis->defects[0].description,
            "behaves as: w_zero_point.index = channel / group_channels; right is channel (which w_zero_point an output "
            "channel has)");
  EXPECT_EQ(finding.diagnosis->defects[0].stages, "w_zero_point");
}

// Takes the pads of a line for each other. A known model reproduces that where auto_pad states them.
class SwapsPadsOfLines final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return right_->info(); }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    Case swapped = test_case;
    if (test_case.input(0)->shape.size() == 3) {
      for (Attribute& attribute : swapped.node().attributes) swap(attribute);
    }
    return right_->prepare(swapped);
  }

 private:
  static void swap(Attribute& attribute) {
    if (auto* text = std::get_if<std::string>(&attribute.value)) {
      if (*text == "SAME_UPPER" || *text == "SAME_LOWER") *text = *text == "SAME_UPPER" ? "SAME_LOWER" : "SAME_UPPER";
    }
    auto* pads = std::get_if<std::vector<std::int64_t>>(&attribute.value);
    if (attribute.name == "pads" && pads != nullptr) std::reverse(pads->begin(), pads->end());
  }

  std::unique_ptr<Backend> right_ =
      backend::in_tree(reference::kernel_sets().front(), RoundingProfile::correctly_rounded, "swaps pads of lines");
};

TEST(CampaignDiagnosis, TellsNoNameThatHasASmallPartOfTheFailures) {
  const Report report = run_random(std::make_unique<SwapsPadsOfLines>(), 3000, {"ConvInteger"});
  ASSERT_EQ(report.findings.size(), 1U) << "one cause";
  ASSERT_TRUE(report.findings[0].diagnosis.has_value());
  EXPECT_EQ(report.findings[0].diagnosis->status, "unexplained");
  EXPECT_TRUE(report.findings[0].diagnosis->defects.empty());
}

// Has a defect in one path, which it takes by what no feature of a case tells.
class InOnePath final : public Backend {
 public:
  explicit InOnePath(const std::string& defect)
      : wrong_(*backend::select(defect, RoundingProfile::correctly_rounded)) {}
  [[nodiscard]] const BackendInfo& info() const override { return right_->info(); }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    return (digest_of(test_case) % 3 == 0 ? *wrong_ : *right_).prepare(test_case);
  }

 private:
  std::unique_ptr<Backend> right_ =
      backend::in_tree(reference::kernel_sets().front(), RoundingProfile::correctly_rounded, "in one path");
  std::unique_ptr<Backend> wrong_;
};

TEST(CampaignDiagnosis, NamesADefectOfOnePath) {
  for (const char* const name : {"w-zp-ignored", "pads-order"}) {
    const Report report = run_random(std::make_unique<InOnePath>(std::string("defect:") + name), 1500, {"ConvInteger"});
    ASSERT_EQ(report.findings.size(), 1U) << name;
    ASSERT_TRUE(report.findings[0].diagnosis.has_value()) << name;
    ASSERT_EQ(report.findings[0].diagnosis->defects.size(), 1U) << name;
    EXPECT_EQ(report.findings[0].diagnosis->defects[0].id, name);
    EXPECT_GT(report.findings[0].diagnosis->contradicting, 0U) << name << ": other paths are right";
  }
}

// Gives no values where there are groups.
class BreaksOnGroups final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return right_->info(); }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    const Attribute* group = test_case.node().attribute("group");
    const auto* count = group == nullptr ? nullptr : std::get_if<std::int64_t>(&group->value);
    if (count != nullptr && *count > 1) return outcome::BrokenInterface{"has no groups"};
    return right_->prepare(test_case);
  }

 private:
  std::unique_ptr<Backend> right_ =
      backend::in_tree(reference::kernel_sets().front(), RoundingProfile::correctly_rounded, "breaks on groups");
};

TEST(CampaignDiagnosis, TellsOnWhatAKernelFailsThatGivesNoValues) {
  const Report report = run_random(std::make_unique<BreaksOnGroups>(), 800, {"ConvInteger"});
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].kind, VerdictKind::broken_interface);
  ASSERT_TRUE(report.findings[0].diagnosis.has_value());
  const Diagnosis& diagnosis = *report.findings[0].diagnosis;
  EXPECT_FALSE(diagnosis.is_of_values());
  EXPECT_TRUE(diagnosis.defects.empty());
  EXPECT_EQ(diagnosis.when, std::vector<std::string>{"group > 1"});
  EXPECT_GE(diagnosis.precision, 0.99);
}

// The planted kernels are written without the models.
TEST(CampaignDiagnosis, OneDefectIsOneFindingWithItsRegion) {
  const Report report =
      run_random(qconform::testing::planted_backend("pad-raw-zero"), 1000, {"QLinearConv", "ConvInteger"});
  ASSERT_EQ(report.findings.size(), 2U) << "one for each convolution";
  for (const Finding& finding : report.findings) {
    EXPECT_EQ(finding.signature, "pad-raw-zero");
    ASSERT_TRUE(finding.diagnosis.has_value());
    const Diagnosis& diagnosis = *finding.diagnosis;
    EXPECT_EQ(diagnosis.status, "explained");
    ASSERT_EQ(diagnosis.defects.size(), 1U);
    EXPECT_EQ(diagnosis.defects[0].rule, "C1");
    EXPECT_EQ(diagnosis.examined, finding.cases);
    EXPECT_EQ(diagnosis.failing, finding.cases);
    EXPECT_TRUE(contains(diagnosis.when, "padded"));
    EXPECT_TRUE(contains(diagnosis.when, "x_zero_point != 0"));
    EXPECT_LT(diagnosis.passing_inside * 4, diagnosis.passing);
  }
}

// The case that stands beside a finding must not contradict what is told with it.
TEST(CampaignDiagnosis, TheSmallestCaseMeetsEveryCondition) {
  std::size_t conditions = 0;
  for (const char* const name :
       {"defect:pad-raw-zero", "defect:half-away", "defect:pads-order", "defect:w-zp-first-channel"}) {
    auto backend = backend::select(name, RoundingProfile::correctly_rounded);
    ASSERT_TRUE(backend) << backend.error().text();
    for (const Finding& finding : run_random(std::move(*backend), 400, {"QLinearConv"}, true).findings) {
      ASSERT_TRUE(finding.diagnosis.has_value());
      Expected expected = expect(finding.example, {});
      assess(finding.example, expected);
      const CaseTraits traits = features_of(finding.example, expected);
      for (const std::string& condition : finding.diagnosis->when) {
        ++conditions;
        EXPECT_TRUE(Condition::parse(condition)->holds(traits))
            << name << ": the smallest case lacks \"" << condition << '"';
      }
    }
  }
  EXPECT_GT(conditions, 0U);
}

// A suite's first cases, and nothing but them until it comes to the later ones: what fails early finds no further
// cases to be explained by.
struct Shyness {
  std::uint64_t cases;       ///< how many cases it lasts
  std::uint64_t digest = 0;  ///< digest of the case that the suite is at
  bool is_over = false;
};

class Shy final : public Backend {
 public:
  Shy(std::unique_ptr<Backend> rest, const Shyness& shyness) : rest_(std::move(rest)), shyness_(shyness) {}
  [[nodiscard]] const BackendInfo& info() const override { return rest_->info(); }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (!shyness_.is_over && digest_of(test_case) != shyness_.digest) return outcome::Unsupported{"not yet"};
    return rest_->prepare(test_case);
  }

 private:
  std::unique_ptr<Backend> rest_;
  const Shyness& shyness_;
};

class NotingSuite final : public Suite {
 public:
  NotingSuite(std::unique_ptr<Suite> rest, Shyness& shyness) : rest_(std::move(rest)), shyness_(shyness) {}
  [[nodiscard]] std::string name() const override { return rest_->name(); }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    auto drawn = rest_->next();
    if (drawn && *drawn) shyness_.digest = digest_of(**drawn);
    shyness_.is_over = given_++ >= shyness_.cases;
    return drawn;
  }

 private:
  std::unique_ptr<Suite> rest_;
  Shyness& shyness_;
  std::uint64_t given_ = 0;
};

Report run_shy(const std::string& name, Shyness shyness) {
  auto backend = backend::select(name, RoundingProfile::correctly_rounded);
  EXPECT_TRUE(backend) << backend.error().text();
  auto suite = std::make_unique<OperatorSuite>(300, std::vector<std::string>{"QLinearConv"}, &fuzz_case);
  return run_on(std::make_unique<Shy>(std::move(*backend), shyness),
                std::make_unique<NotingSuite>(std::move(suite), shyness));
}

// Expects that the places in which a report tells of one finding's cases agree.
void expect_consistent(const Report& report) {
  std::map<std::string, std::uint64_t> counted;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    EXPECT_EQ(report.findings[i].id, "F" + std::to_string(i + 1));
    ASSERT_TRUE(report.findings[i].diagnosis.has_value());
  }
  for (const CaseResult& row : report.results->rows) ++counted[row.backends[0].finding];
  counted.erase("");
  EXPECT_EQ(counted.size(), report.findings.size());
  for (const Finding& finding : report.findings) EXPECT_EQ(counted[finding.id], finding.cases) << finding.id;
}

// Graphs of one output.
class GraphSuite final : public Suite {
 public:
  [[nodiscard]] std::string name() const override { return "graphs"; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    while (index_ < 1500) {
      Case drawn = graph_case(3, index_++);
      if (drawn.output_count() == 1) return drawn;
    }
    return std::nullopt;
  }

 private:
  std::uint64_t index_ = 0;
};

// Answers what is right, as `alter` changes it.
class Altered final : public Backend {
 public:
  using Alter = void (*)(const Case& test_case, Tensor& y);
  Altered(std::string name, Alter alter) : info_{std::move(name), "1", "test"}, alter_(alter) {}
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    const Expected expected = expect(test_case, {});
    if (!expected.output) return outcome::Unsupported{"out of contract"};
    Tensor y = *expected.output;
    alter_(test_case, y);
    return std::make_unique<testing::PreparedOutput>(std::move(y));
  }

 private:
  BackendInfo info_;
  Alter alter_;
};

bool has_operator(const Case& test_case, std::string_view op_type) {
  return std::any_of(test_case.nodes.begin(), test_case.nodes.end(),
                     [&](const Node& node) { return node.op_type == op_type; });
}

// Changes every element of the graphs that have a Relu.
void change_behind_relu(const Case& test_case, Tensor& y) {
  if (!has_operator(test_case, "Relu")) return;
  for (std::byte& value : y.bytes) value ^= std::byte{0x55};
}

// The operators around the Relu differ, and so do the smallest failing parts.
TEST(CampaignDiagnosis, ADefectInGraphsOfManyKindsIsOneFinding) {
  const Report report =
      run_on(std::make_unique<Altered>("wrong behind Relu", change_behind_relu), std::make_unique<GraphSuite>(), true);
  ASSERT_EQ(report.findings.size(), 1U);
  const Finding& finding = report.findings[0];
  EXPECT_GT(finding.cases, 50U);
  EXPECT_TRUE(contains(finding.diagnosis->when, "Relu")) << finding.diagnosis->when.size();
  EXPECT_NE(finding.signature.find("Relu"), std::string::npos) << finding.signature;
}

// Early failures come before what explains them, and get another name or are told with less certainty.
TEST(CampaignDiagnosis, ADefectWhoseFirstCasesAreNotExplainedIsOneFinding) {
  for (const char* const name : {"half-away", "w-zp-ignored"}) {
    const Report report = run_shy("defect:" + std::string(name), {40});
    SCOPED_TRACE(name);
    expect_consistent(report);
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_EQ(report.findings[0].signature, name);
    EXPECT_EQ(report.findings[0].diagnosis->status, "explained");
    EXPECT_EQ(report.findings[0].diagnosis->examined, report.findings[0].cases);
  }
}

// Another backend for each kind of case.
class ByKind final : public Backend {
 public:
  using Choose = std::size_t (*)(const Case& test_case);

  ByKind(const std::vector<std::string>& names, Choose choose) : choose_(choose) {
    for (const std::string& name : names) {
      auto backend = backend::select(name, RoundingProfile::correctly_rounded);
      EXPECT_TRUE(backend) << backend.error().text();
      backends_.push_back(std::move(*backend));
    }
  }
  [[nodiscard]] const BackendInfo& info() const override { return backends_[0]->info(); }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    return backends_[choose_(test_case)]->prepare(test_case);
  }

 private:
  Choose choose_;
  std::vector<std::unique_ptr<Backend>> backends_;
};

std::map<std::string, const Finding*> by_signature(const Report& report) {
  std::map<std::string, const Finding*> findings;
  for (const Finding& finding : report.findings) findings[finding.signature] = &finding;
  return findings;
}

// Two kernels, each with a defect of its own, behind one name: none is the whole truth.
TEST(CampaignDiagnosis, TwoCausesInDifferentCasesAreTwoFindings) {
  const Report report = run_random(
      std::make_unique<ByKind>(std::vector<std::string>{"defect:w-zp-ignored", "defect:pad-raw-zero"},
                               [](const Case& test_case) { return std::size_t{test_case.inputs[0]->shape[0] > 1}; }),
      600, {"ConvInteger"});
  const auto findings = by_signature(report);
  ASSERT_EQ(findings.size(), 2U);
  for (const char* const name : {"w-zp-ignored", "pad-raw-zero"}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(findings.contains(name));
    const Finding& finding = *findings.at(name);
    EXPECT_EQ(finding.diagnosis->status, "reproduced");
    EXPECT_EQ(finding.diagnosis->examined, finding.cases);
    EXPECT_GE(finding.cases, 20U);
  }
  expect_consistent(report);
}

// A defect beside another one shows with it in some cases, and alone in others.
TEST(CampaignDiagnosis, ACauseIsNotGivenToASetThatHasItAndMore) {
  const Report report = run_random(
      std::make_unique<ByKind>(std::vector<std::string>{"defect:w-zp-ignored", "defect:w-zp-ignored+pads-order"},
                               [](const Case& test_case) { return std::size_t{test_case.inputs[0]->shape[0] > 1}; }),
      600, {"ConvInteger"});
  const auto findings = by_signature(report);
  ASSERT_TRUE(findings.contains("w-zp-ignored"));
  EXPECT_GT(findings.at("w-zp-ignored")->cases, report.backends[0].operators.at("ConvInteger").failing() / 2);
  for (const auto& [signature, finding] : findings) {
    EXPECT_TRUE(signature == "w-zp-ignored" || signature == "pads-order" || signature == "pads-order+w-zp-ignored")
        << signature;
  }
}

// Both defects are certain. A case that one of them alone reproduces is told as that one.
TEST(CampaignDiagnosis, TwoDefectsOfOneKernelAreToldApart) {
  auto backend = backend::select("defect:pad-raw-zero+w-zp-ignored", RoundingProfile::correctly_rounded);
  ASSERT_TRUE(backend) << backend.error().text();
  const Report report = run_random(std::move(*backend), 600, {"ConvInteger"});
  const auto findings = by_signature(report);
  ASSERT_EQ(findings.size(), 3U);
  for (const char* const name : {"pad-raw-zero", "w-zp-ignored", "pad-raw-zero+w-zp-ignored"}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(findings.contains(name));
    EXPECT_EQ(findings.at(name)->diagnosis->status, "explained");
    EXPECT_EQ(findings.at(name)->diagnosis->examined, findings.at(name)->cases);
  }
  expect_consistent(report);
}

// A shape is wrong whatever the arithmetic, and the values beside it are right by an admitted one.
TEST(CampaignDiagnosis, ADefectOfShapeIsFoundUnderAnotherArithmetic) {
  auto backend = backend::select("defect:asym-pads-symmetrised", RoundingProfile::ort_f32);
  ASSERT_TRUE(backend) << backend.error().text();
  const Report report = run_random(std::move(*backend), 600, {"QLinearConv"});
  const auto findings = by_signature(report);
  ASSERT_EQ(findings.size(), 1U);
  ASSERT_TRUE(findings.contains("asym-pads-symmetrised"));
  EXPECT_EQ(findings.begin()->second->diagnosis->status, "explained");
}

// With little time each finding has no more cases than it has with enough, and none that nobody looked at.
TEST(CampaignDiagnosis, CountsNoMoreCasesToACauseThanAFullExamination) {
  const auto run = [](std::uint64_t examining) {
    return run_on(
        std::make_unique<ByKind>(std::vector<std::string>{"defect:w-zp-ignored", "defect:pad-raw-zero"},
                                 [](const Case& test_case) { return std::size_t{test_case.inputs[0]->shape[0] > 1}; }),
        std::make_unique<OperatorSuite>(1200, std::vector<std::string>{"ConvInteger"}), false,
        {.examining = examining});
  };
  const Report whole = run(~std::uint64_t{0});
  const Report part = run(std::uint64_t{1} << 18);
  EXPECT_EQ(whole.backends[0].operators.at("ConvInteger").undetermined, 0U);
  EXPECT_GT(part.backends[0].operators.at("ConvInteger").undetermined, 0U);
  const auto all = by_signature(whole);
  for (const Finding& finding : part.findings) {
    ASSERT_TRUE(all.contains(finding.signature)) << finding.signature;
    EXPECT_LE(finding.cases, all.at(finding.signature)->cases) << finding.signature;
  }
}

// Findings of one backend and operator differ in what is wrong, and each shows that in a case of its own. A partial
// explanation leaves something unexplained.
TEST(CampaignDiagnosis, NoTwoFindingsAreOne) {
  const auto stride = static_cast<std::size_t>(std::max(1, 48 / testing::scaled(1)));
  std::size_t several = 0;
  for (const Operator& op : operators()) {
    if (op.name != "QLinearConv" && op.name != "ConvInteger" && op.name != "QuantizeLinear") continue;
    const std::vector<const Defect*> defects = defects_in(op.name);
    for (std::size_t i = 0; i + 1 < defects.size(); i += stride) {
      const std::vector<std::string> names{"defect:" + std::string(defects[i]->id),
                                           "defect:" + std::string(defects[i + 1]->id)};
      SCOPED_TRACE(std::string(op.name) + " " + names[0] + " " + names[1]);
      const auto kind_of = [](const Case& test_case) { return std::size_t{test_case.inputs[0]->elements() < 24}; };
      const Report report = run_random(std::make_unique<ByKind>(names, kind_of), 200, {std::string(op.name)}, true);
      std::set<std::string> signatures;
      std::set<std::uint64_t> smallest;
      for (const Finding& finding : report.findings) {
        EXPECT_TRUE(signatures.insert(finding.signature).second) << finding.signature;
        EXPECT_TRUE(smallest.insert(digest_of(finding.example)).second) << finding.signature;
        if (!finding.diagnosis || finding.diagnosis->status != "partial") continue;
        EXPECT_LT(finding.diagnosis->trial_reproduced, finding.diagnosis->trial_cases) << finding.signature;
      }
      several += report.findings.size() > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(several, 0U);
}

// Every byte of the output is the same, whatever the case.
class Constant final : public Backend {
 public:
  explicit Constant(std::uint64_t& runs) : runs_(runs) {}
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    ++runs_;
    const Classification classification = classify(test_case);
    if (!classification.lowered) return outcome::Rejected{"out of contract"};
    return std::make_unique<Prepared>(classification.lowered->output_type(), classification.lowered->output_shape());
  }

 private:
  class Prepared final : public PreparedCase {
   public:
    Prepared(ElementType type, std::vector<std::int64_t> shape) : type_(type), shape_(std::move(shape)) {}
    void run(OutputSink& sink) override {
      const std::span<std::byte> y = sink.allocate(type_, shape_);
      std::fill(y.begin(), y.end(), std::byte{0x2A});
    }

   private:
    ElementType type_;
    std::vector<std::int64_t> shape_;
  };
  std::uint64_t& runs_;
  BackendInfo info_{"constant", "1", "test"};
};

// Off by one behind a Softmax, and 0 in place of a saturated 255 there.
void change_behind_softmax(const Case& test_case, Tensor& y) {
  if (!has_operator(test_case, "Softmax") || y.type != ElementType::uint8) return;
  for (std::byte& byte : y.bytes) byte = byte == std::byte{255} ? std::byte{0} : byte ^ std::byte{1};
}

Case softmax_of(std::vector<std::int64_t> values) {
  GraphBuilder b(13);
  const auto length = static_cast<std::int64_t>(values.size());
  const std::string x = b.input(make::uint8({1, length}, std::move(values)));
  const std::string zero = b.initializer(make::integer(ElementType::uint8, 0));
  const std::string dx = b.node("DequantizeLinear", {x, b.initializer(make::float32(0x1p-5F)), zero});
  const std::string y = b.node("Softmax", {dx}, {{"axis", std::int64_t{1}}});
  return b.build({b.node("QuantizeLinear", {y, b.initializer(make::float32(0x1p-8F)), zero})});
}

// A smaller Softmax gives 1, which saturates: no smaller case of a wrong rounding, but one of another defect.
TEST(CampaignDiagnosis, WhatShrinkingMeetsIsAFindingOfItsOwn) {
  std::vector<Case> cases{softmax_of({90, 20, 60, 10})};
  CampaignDiagnosis::Limits limits{.learning = 0};
  limits.each.cases = 20;
  limits.each.work = std::uint64_t{1} << 16;
  const Report report = run_on(std::make_unique<Altered>("two-softmax-defects", change_behind_softmax),
                               std::make_unique<testing::ListedSuite>(std::move(cases)), true, limits);
  ASSERT_EQ(report.findings.size(), 2U);
  const Finding& rounding = report.findings[0];
  const Finding& met = report.findings[1];
  ASSERT_TRUE(rounding.verdict.worst && met.verdict.worst);
  EXPECT_EQ(rounding.verdict.worst->distance, 1);
  EXPECT_GT(rounding.shrinking->steps, 0U);
  EXPECT_EQ(rounding.met_while_shrinking, "");
  EXPECT_EQ(met.verdict.worst->distance, 255);
  EXPECT_EQ(met.met_while_shrinking, rounding.id);
  EXPECT_NE(met.signature, rounding.signature);
}

// Shrinking keeps the cause where one is known, whatever else the backend gets wrong in smaller cases.
TEST(CampaignDiagnosis, TheSmallestCaseHasTheCauseOfItsFinding) {
  std::size_t shrunk = 0;
  for (const char* const names : {"w-zp-ignored pad-raw-zero", "half-away w-zp-ignored"}) {
    const std::string text(names);
    const std::size_t space = text.find(' ');
    const Report report =
        run_random(std::make_unique<ByKind>(
                       std::vector<std::string>{"defect:" + text.substr(0, space), "defect:" + text.substr(space + 1)},
                       [](const Case& test_case) { return std::size_t{test_case.inputs[0]->elements() < 12}; }),
                   200, {"QLinearConv"}, true);
    for (const Finding& finding : report.findings) {
      if (finding.signature.find_first_of("+|:") != std::string::npos || finding.shrinking->steps == 0) continue;
      SCOPED_TRACE(text + ": " + finding.signature);
      auto alone = backend::select("defect:" + finding.signature, RoundingProfile::correctly_rounded);
      ASSERT_TRUE(alone) << alone.error().text();
      const Outcome outcome = shrink::in_process(**alone)(finding.example);
      ASSERT_NE(output_of(outcome), nullptr);
      EXPECT_EQ(std::vector<Tensor>{*output_of(outcome)}, finding.example.defect->outputs);
      ++shrunk;
    }
  }
  EXPECT_GT(shrunk, 2U);
}

TEST(CampaignDiagnosis, IsBoundedHoweverManyCasesFail) {
  constexpr std::uint64_t kCases = 600;
  std::uint64_t runs = 0;
  const Report report =
      run_on(std::make_unique<Constant>(runs),
             std::make_unique<OperatorSuite>(kCases, std::vector<std::string>{"QLinearConv"}), false, {.examining = 0});
  std::uint64_t examined = 0;
  for (const Finding& finding : report.findings) {
    EXPECT_NE(finding.diagnosis->status, "explained") << finding.signature;
    EXPECT_EQ(finding.diagnosis->examined, finding.cases) << finding.signature;
    examined += finding.cases;
  }
  const OperatorResult& result = report.backends[0].operators.at("QLinearConv");
  EXPECT_EQ(examined + result.undetermined, result.failing());
  EXPECT_LT(examined, result.failing() / 2);
  EXPECT_GE(examined, result.failing() / CampaignDiagnosis::kExaminedAfterwards);
  EXPECT_LE(runs, kCases + 2 * CampaignDiagnosis::kExplanations * ExplainOptions().cases);
}

}  // namespace
}  // namespace qconform::diagnose
