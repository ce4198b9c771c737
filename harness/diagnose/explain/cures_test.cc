#include "harness/diagnose/explain/cures.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/backends/select.h"
#include "harness/backends/specification.h"
#include "harness/base/text.h"
#include "harness/diagnose/explain/campaign_diagnosis.h"
#include "harness/engine/run_suites.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/operators/graph/unit.h"
#include "harness/suites/stored_cases.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/stand_ins.h"

namespace qconform::diagnose {
namespace {

constexpr std::string_view kListed = "off";
constexpr Switch kParts[] = {{"exact", "1"},       {kListed, "A", true}, {kListed, "B", true}, {kListed, "C", true},
                             {kListed, "D", true}, {kListed, "E", true}, {kListed, "F", true}, {kListed, "G", true},
                             {kListed, "H", true}, {kListed, "I", true}, {kListed, "J", true}};

// A library whose parts are wrong: the id of a case, "A+B", names those of which each makes it wrong. "kernel" is in no
// part. Each has an element of its own, as far as there are as many. The first that is on refuses the case where the id
// is "A+B+refused".
class FlawedBackend final : public Backend {
 public:
  explicit FlawedBackend(const backend::Specification& what) : info_{backend::text_of(what), "1", "test"} {
    for (const backend::Setting& setting : what.settings) {
      if (setting.key != kListed) {
        off_.push_back(setting.key + "=" + setting.value);
        continue;
      }
      for (const std::string_view part : split(setting.value, ";")) off_.emplace_back(part);
    }
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    const Expected expected = expect(test_case, Policy{});
    // Not every case that is made of a failing one has values.
    if (!expected.output) return outcome::Unsupported{"no values"};
    Tensor y = *expected.output;
    std::set<std::size_t> wrong;
    const auto elements = static_cast<std::size_t>(y.elements());
    for (const std::string_view part : split(test_case.id, "+")) {
      const bool is_on = part != "refused" && std::find(off_.begin(), off_.end(), part) == off_.end();
      if (is_on && test_case.id.ends_with("refused")) return outcome::Rejected{"broken by " + std::string(part)};
      if (is_on && elements > 0) wrong.insert(static_cast<unsigned char>(part[0]) % elements);
    }
    for (const std::size_t i : wrong) y.bytes[i * (y.bytes.size() / elements)] ^= std::byte{64};
    return std::make_unique<testing::PreparedOutput>(std::move(y));
  }

 private:
  BackendInfo info_;
  std::vector<std::string> off_;
};

// The limits of memory under which the library was opened since the test began, in bytes.
std::set<std::int64_t>& opened_within() {
  static std::set<std::int64_t> limits;
  return limits;
}

backend::Library flawed() {
  backend::Library library{
      "flawed",
      "a library of wrong parts",
      {{"plain", "all"}, {{"exact", "1"}, {kListed, "TEXT"}}},
      [] {
        return backend::LibraryState{"1", {}};
      },
  };
  library.start = [](const backend::Specification& what,
                     const SandboxLimits& limits) -> Result<std::unique_ptr<Backend>> {
    opened_within().insert(limits.memory);
    return std::make_unique<FlawedBackend>(what);
  };
  library.levels = {"plain", "all"};
  library.switches.assign(std::begin(kParts), std::end(kParts));
  return library;
}

class CuresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    backend::offer_libraries(std::span(&library_, 1));
    opened_within().clear();
  }
  void TearDown() override { backend::offer_libraries({}); }

  static std::unique_ptr<Backend> opened(const char* name, const backend::SandboxPolicy& sandbox = {}) {
    auto backend = backend::select(name, RoundingProfile::correctly_rounded, sandbox);
    EXPECT_TRUE(backend) << backend.error().text();
    return backend ? std::move(*backend) : nullptr;
  }

  static Case wrong_by(const std::string& parts, std::uint8_t weight = 5) {
    return ConvIntegerBuilder()
        .id(parts)
        .x(make::uint8({1, 1, 2, 2}, {1, 2, 3, 4}))
        .w(make::uint8({1, 1, 1, 1}, {weight}))
        .build();
  }
  static std::string cure(Cures& cures, const std::string& wrong_parts) {
    return cures.cure_of(wrong_by(wrong_parts), Policy{}).value_or("none");
  }

  backend::Library library_ = flawed();
};

TEST_F(CuresTest, AreTheFewestPartsThatHaveToBeSwitchedOff) {
  const auto backend = opened("flawed@all");
  Cures cures(*backend);
  ASSERT_TRUE(cures.has_switches());
  EXPECT_EQ(cure(cures, "B"), "cured-by:B");
  EXPECT_EQ(cure(cures, "exact=1"), "cured-by:exact=1");
  EXPECT_EQ(cure(cures, "kernel"), "none");
  EXPECT_TRUE(cures.is_broad("cured-by:exact=1"));
  EXPECT_FALSE(cures.is_broad("cured-by:B"));
}

// A set that cured one case may have more parts than another one needs.
TEST_F(CuresTest, OfOneCaseAreNotNamedForAnother) {
  const auto backend = opened("flawed@all");
  Cures cures(*backend);
  EXPECT_EQ(cure(cures, "A+C"), "cured-by:A+C");
  EXPECT_EQ(cure(cures, "C"), "cured-by:C");
  EXPECT_EQ(cure(cures, "A"), "cured-by:A");
  EXPECT_EQ(cure(cures, "A+C"), "cured-by:A+C");
}

// Each part makes the case wrong by itself: it counts for one of them, the same each time.
TEST_F(CuresTest, OfACaseOfSeveralDefectsNameOne) {
  const auto backend = opened("flawed@all");
  Cures cures(*backend);
  const Policy policy;
  const Case both = wrong_by("A+C", 1);
  const auto cause = [&](const Case& test_case) {
    const auto found = cures.cause_of(test_case, policy);
    return found ? fmt::format("{} beside {}", found->name, fmt::join(found->beside, "+")) : "none";
  };
  EXPECT_EQ(cause(both), "cured-by:A beside C");
  EXPECT_EQ(cause(wrong_by("A+C", 2)), "cured-by:C beside A") << "no case counts for it yet";
  EXPECT_EQ(cause(both), "cured-by:A beside C");
  EXPECT_EQ(cause(wrong_by("B", 3)), "cured-by:B beside ");
  EXPECT_EQ(cause(wrong_by("C+D+refused", 6)), "cured-by:C beside D") << "D is new, and not what refuses it";
  EXPECT_EQ(cause(wrong_by("kernel", 4)), "none");
  EXPECT_TRUE(cures.cures("cured-by:A of Conv, by one", both, policy));
  EXPECT_TRUE(cures.cures("cured-by:C: Conv for Relu", both, policy));
  EXPECT_FALSE(cures.cures("cured-by:B", both, policy));
  EXPECT_FALSE(cures.cures("cured-by:A", wrong_by("A+kernel"), policy)) << "what stays wrong was cured by nothing";
}

TEST_F(CuresTest, EachHaveTheirOwnElements) {
  const auto backend = opened("flawed@all");
  Cures cures(*backend);
  EXPECT_EQ(cures.own_elements("cured-by:A", wrong_by("A+C"), Policy{}), 1U);
  EXPECT_EQ(cures.own_elements("cured-by:C", wrong_by("A+B+C"), Policy{}), 1U);
  EXPECT_EQ(cures.own_elements("cured-by:A", wrong_by("A"), Policy{}), 0U) << "all of them";
}

TEST_F(CuresTest, AreSettingsOfTheBackend) {
  EXPECT_EQ(cure_in("cured-by:A+C of DequantizeLinear+Gemm, by one", *opened("flawed@all")), "all,off=A;C");
  EXPECT_EQ(cure_in("cured-by:exact=1, crashed", *opened("flawed@all")), "all,exact=1");
  EXPECT_EQ(cure_in("unexplained:everywhere", *opened("flawed@all")), "");
  EXPECT_TRUE(opened("flawed@plain")->switches().empty()) << "the first level optimizes nothing";
  EXPECT_TRUE(opened("flawed")->switches().empty());
}

TEST_F(CuresTest, AreOfALibraryWithoutLevelsAsWell) {
  library_.levels.clear();
  EXPECT_FALSE(opened("flawed")->switches().empty());
}

// A fused node takes quantization along, and a layout of the library's own changes names of domains alone.
TEST(Rewriting, IsNamedByWhatComesAndGoes) {
  const auto graph = [](std::vector<std::pair<std::string, std::string>> nodes) {
    CaseGraph made;
    for (const auto& [domain, op_type] : nodes) made.nodes.push_back({op_type, domain, {}, {}, {}});
    return made;
  };
  const CaseGraph off = graph({{"", "DequantizeLinear"}, {"com.microsoft.nchwc", "Conv"}, {"", "Softmax"}});
  const CaseGraph on = graph({{"", "Conv"}, {"com.microsoft", "QLinearSoftmax"}});
  const Rewriting rewriting = rewriting_between(off, on);
  EXPECT_EQ(rewriting.name(), "QLinearSoftmax for Softmax");
  EXPECT_EQ(rewriting.came, (Counts{{"Conv", 1}, {"com.microsoft::QLinearSoftmax", 1}}));
  EXPECT_EQ(rewriting_between(off, graph({{"com.microsoft.nchwc", "Conv"}, {"", "Softmax"}})).name(),
            "nothing for DequantizeLinear");
  EXPECT_EQ(rewriting_between(off, off).name(), "");
}

// An experiment runs third-party code as the backend itself does.
TEST_F(CuresTest, KeepToTheLimitsOfTheBackend) {
  backend::SandboxPolicy sandbox;
  sandbox.limits.memory = 77;
  const auto backend = opened("flawed@all", sandbox);
  Cures cures(*backend);
  EXPECT_EQ(cure(cures, "A+C"), "cured-by:A+C");
  EXPECT_EQ(opened_within(), std::set<std::int64_t>{77});
}

// DequantizeLinear -> Conv -> Relu -> QuantizeLinear, one weight; the bias is that of both images.
Case fused_unit(std::int32_t bias) {
  GraphBuilder graph(13);
  const auto dequantized = [&](const std::string& q, const std::string& scale, const std::string& zero_point) {
    return graph.node("DequantizeLinear", {q, scale, zero_point});
  };
  const std::string one = graph.initializer(make::float32(1));
  const std::string x = dequantized(graph.input(make::uint8({2, 1, 1, 1}, {100, 10})), one,
                                    graph.initializer(make::integer(ElementType::uint8, 50)));
  const std::string w = dequantized(graph.initializer(make::int8({1, 1, 1, 1}, {1})), one,
                                    graph.initializer(make::integer(ElementType::int8, 0)));
  const std::string b = dequantized(graph.initializer(make::int32({1}, {bias})), one,
                                    graph.initializer(make::integer(ElementType::int32, 0)));
  const std::string sum = graph.node("Relu", {graph.node("Conv", {x, w, b})});
  return graph.build(
      {graph.node("QuantizeLinear", {sum, one, graph.initializer(make::integer(ElementType::uint8, 100))})});
}

TEST(CuresOfPlugins, AreTheSwitchesThatTheyState) {
  const std::string name = "plugin:" QCONFORM_PLUGINS "/unit.so@wrong=yes";
  auto opened = backend::select(name, RoundingProfile::correctly_rounded);
  ASSERT_TRUE(opened) << opened.error().text();
  Backend& backend = **opened;
  ASSERT_EQ(backend.switches().size(), 2U);
  Cures cures(backend);
  EXPECT_EQ(cures.cure_of(fused_unit(0), Policy{}), "cured-by:relu-fusion=off");
  EXPECT_EQ(cures.cure_of(fused_unit(60), Policy{}), "cured-by:bias-fusion=off") << "no sum is negative";
  EXPECT_EQ(cures.cure_of(fused_unit(20), Policy{}), "cured-by:relu-fusion=off+bias-fusion=off");
  EXPECT_FALSE(cures.is_broad("cured-by:relu-fusion=off"));
  EXPECT_EQ(cure_in("cured-by:relu-fusion=off of Relu", backend), "wrong=yes,relu-fusion=off");
  EXPECT_EQ(backend.without(backend.switches(), true), nullptr) << "it shows no graphs";
}

std::map<std::string, std::uint64_t> cases_by_cure(std::vector<Case> cases) {
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<testing::ListedSuite>(std::move(cases)));
  auto backends = backend::select_all({"flawed@all"}, RoundingProfile::correctly_rounded, {});
  if (!backends) return {{backends.error().text(), 0}};
  CampaignDiagnosis::Limits limits;
  limits.each.work = limits.learning = limits.examining = 1 << 16;  // no model of a defect has these failures
  CampaignDiagnosis diagnosis(*backends, {}, limits);
  SuiteRunOptions options;
  options.diagnoser = &diagnosis;
  Report report;
  EXPECT_TRUE(run_suites(suites, *backends, options, report));
  std::map<std::string, std::uint64_t> counts;
  for (const Finding& finding : report.findings) {
    EXPECT_TRUE(finding.diagnosis) << finding.signature;
    const std::string cure = finding.diagnosis ? finding.diagnosis->cured_by : finding.signature;
    EXPECT_TRUE(counts.emplace(cure, finding.cases).second) << "two findings of " << cure;
  }
  return counts;
}

std::vector<Case> units_wrong_by(std::size_t count, const std::function<std::string(std::size_t)>& parts) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < count; ++i) {
    Rng rng(1, i);
    cases.push_back(unit::build({}, rng));
    cases.back().id = parts(i);
  }
  return cases;
}

// Units of which one part or another makes the results wrong: a finding for each, with the settings that cure it.
TEST_F(CuresTest, GroupTheFindingsOfARun) {
  const auto found = cases_by_cure(units_wrong_by(8, [](std::size_t i) { return i % 2 == 0 ? "B" : "A"; }));
  EXPECT_EQ(found, (std::map<std::string, std::uint64_t>{{"all,off=A", 4}, {"all,off=B", 4}}));
}

TEST_F(CuresTest, TellTenDefectsApartOfWhichEachCaseHasThree) {
  const auto letter = [](std::size_t i) { return std::string(1, static_cast<char>('A' + i % 10)); };
  const auto found = cases_by_cure(units_wrong_by(
      60, [&](std::size_t i) { return letter(i) + "+" + letter(i + 1 + i % 3) + "+" + letter(i + 5 + i % 4); }));
  std::uint64_t cases = 0;
  for (const auto& [cure, count] : found) {
    EXPECT_EQ(cure.size(), std::string_view("all,off=A").size()) << cure;
    cases += count;
  }
  EXPECT_EQ(found.size(), 10U);
  EXPECT_EQ(cases, 60U);
}

}  // namespace
}  // namespace qconform::diagnose
