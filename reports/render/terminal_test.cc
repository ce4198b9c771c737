#include "reports/render/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "harness/backends/select.h"
#include "harness/base/text.h"
#include "harness/engine/run_suites.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/graphs/node_lowering.h"
#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"
#include "harness/report/campaign_result.h"
#include "harness/tests/arbitrary_archive.h"
#include "harness/tests/network.h"
#include "harness/tests/stand_ins.h"
#include "reports/gate/gate.h"
#include "reports/render/forms.h"
#include "reports/render/matrix.h"

namespace qconform::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Nothing that would control a terminal, and no line that begins within another's text ("line\nline").
void expect_harmless(const std::string& text) {
  for (const std::string_view line : split(text, "\n")) {
    RC_ASSERT(shown(line) == line);
    RC_ASSERT(!line.starts_with("line") || line.starts_with("line\\x0aline"));
  }
}

RC_GTEST_PROP(Terminal, GetsNoControlCharacterOfAReport, ()) {
  const Report report = testing::arbitrary_report();
  expect_harmless(headline(report));
  for (const std::size_t columns : {0U, 40U, 80U, 200U}) {
    expect_harmless(summary(report, {.columns = columns}));
    expect_harmless(summary(report, {.verbose = true, .columns = columns}));
    expect_harmless(summary(report, {.brief = true, .columns = columns}));
    expect_harmless(matrix_table(matrix_of(report), Painter(false), columns));
  }
}

RC_GTEST_PROP(Terminal, GetsNoControlCharacterOfAGate, ()) {
  Report before = testing::arbitrary_report();
  const Report now = testing::arbitrary_report();
  before.profile = now.profile;
  before.overflow = now.overflow;
  const auto comparison = gate::compare({"before.json", before}, {"now.json", now}, nullptr);
  RC_ASSERT(comparison.has_value());
  expect_harmless(gate::to_text(*comparison, Painter(false)));
}

RC_GTEST_PROP(Markdown, HasNoControlCharacter, ()) {
  const std::string text = to_markdown(testing::arbitrary_report(), kCommentBytes);
  RC_ASSERT(shown_lines(text) == text);
}

RC_GTEST_PROP(Junit, HasNoControlCharacter, ()) {
  const std::string text = to_junit(testing::arbitrary_report());
  RC_ASSERT(shown_lines(text) == text);
  for (const std::string_view line : split(text, "\n")) {
    RC_ASSERT(!line.starts_with("line") || line.starts_with("line\\x0aline"));
  }
}

// Whatever a report holds, the last line, the exit code, JSON, Markdown and the page's data state one result.
RC_GTEST_PROP(Conclusions, AgreeInEveryForm, ()) {
  const Report report = testing::arbitrary_report();
  const std::string text = conclusions(report, false);
  RC_ASSERT(!text.empty() && text.back() == '\n');
  const auto lines = split(std::string_view(text).substr(0, text.size() - 1), "\n");
  const bool all_conform = report.conclusion() == Conclusion::conforms;
  RC_ASSERT(lines.back().starts_with("conforms") == all_conform);
  RC_ASSERT(to_markdown(report, kCommentBytes).starts_with("### qconform: conforms\n") == all_conform);
  const auto json = nlohmann::json::parse(to_json(report));
  RC_ASSERT(json["conforms"].get<bool>() == report.conforms());
  RC_ASSERT((json["conclusion"] == "conforms") == all_conform);
  RC_ASSERT(report.conforms() == (all_conform || report.conclusion() == Conclusion::agrees_in_part));
  for (std::size_t i = 0; i < report.backends.size(); ++i) {
    const BackendResult& backend = report.backends[i];
    const bool one_conforms = backend.conclusion() == Conclusion::conforms;
    RC_ASSERT(lines[i].starts_with("conforms") == one_conforms);
    RC_ASSERT((json["backends"][i]["conclusion"] == "conforms") == one_conforms);
    if (backend.decides && !backend.conforms() && !(report.campaign && report.campaign->is_part())) {
      RC_ASSERT(!report.conforms());
    }
  }
}

Report report_with(std::size_t operators) {
  Report report;
  BackendResult backend;
  backend.info = {"mine", "1.0", "plugin"};
  for (std::size_t i = 0; i < operators; ++i) {
    OperatorResult& result = backend.operators["Operator" + std::to_string(i)];
    result.verdicts[static_cast<std::size_t>(VerdictKind::pass)] = 1203;
    result.verdicts[static_cast<std::size_t>(VerdictKind::wrong)] = i;
  }
  report.backends.push_back(backend);
  return report;
}

TEST(Terminal, ShowsTheLayersThatTheJsonHas) {
  Report report;
  ModelRun& run = report.model.emplace();
  const std::string signs = ".,?Ww";
  const LayerState states[] = {LayerState::right, LayerState::fed_wrong, LayerState::not_judged, LayerState::wrong,
                               LayerState::wrong_behind};
  std::string line;
  for (std::size_t i = 0; i < 130; ++i) {
    run.layers.push_back({.id = "layer" + std::to_string(i), .state = states[i % 5]});
    line += signs[i % 5];
  }
  const std::string text = summary(report, {});
  EXPECT_THAT(text, HasSubstr("      1  " + line.substr(0, 100) + "\n    101  " + line.substr(100) + "\n"));
  EXPECT_THAT(text, HasSubstr("the first wrong layer: 4 of 130, layer3\n"));
  EXPECT_THAT(text, HasSubstr("and 32 more\n"));
  const auto json = nlohmann::json::parse(to_json(report)).at("model");
  const std::map<std::string, char> sign{
      {"right", '.'}, {"fed-wrong", ','}, {"not-judged", '?'}, {"wrong", 'W'}, {"wrong-behind", 'w'}};
  std::string stated;
  for (const auto& layer : json.at("layers")) stated += sign.at(layer.at("state"));
  EXPECT_EQ(stated, line);
  EXPECT_EQ(json.at("first_wrong"), 3);
  EXPECT_THAT(summary(Report{}, {}), Not(HasSubstr("layer")));
}

std::size_t widest(const std::string& text) {
  std::size_t columns = 0;
  for (const std::string_view line : split(text, "\n")) columns = std::max(columns, columns_of(line));
  return columns;
}

TEST(Terminal, TablesFit) {
  const Report report = report_with(6);
  for (const std::size_t columns : {40U, 80U, 100U, 200U}) {
    for (const bool brief : {false, true}) {
      const std::string text = summary(report, {.colour = true, .brief = brief, .columns = columns});
      EXPECT_LE(widest(text), columns) << text;
      EXPECT_THAT(text, HasSubstr("1,203"));
      EXPECT_THAT(text, HasSubstr("Operator5"));
    }
  }
  EXPECT_EQ(summary(report, {.columns = 200}), summary(report, {}));
}

TEST(Terminal, ATableTooWideSaysWhatTheWideOneSays) {
  const std::string text = summary(report_with(2), {.columns = 40});
  EXPECT_THAT(text, HasSubstr("  Operator0  right 1,203\n"));
  EXPECT_THAT(text, HasSubstr("  Operator1  right 1,203, wrong 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("declined")));
}

// A time alone could be the backend's, a job's or the whole run's.
TEST(Summary, SaysOfEveryTimeWhatTookIt) {
  Report report;
  BackendResult& backend = report.backends.emplace_back();
  backend.info = {"mine", "1", "plugin"};
  backend.seconds = 11;
  backend.operators["QLinearConv"].verdicts[static_cast<std::size_t>(VerdictKind::wrong)] = 3;
  report.times = {
      .generate = 1, .reference = 20, .statistics = 2, .backend = 11, .judge = 5, .diagnose = 9, .total = 49};
  Finding& finding = report.findings.emplace_back();
  finding.op_type = "QLinearConv";
  finding.backend = "mine";
  finding.example.nodes.emplace_back().op_type = "QLinearConv";
  finding.shrinking = Shrinking{.ending = "minimal", .runs = 37, .steps = 2, .seconds = 0.003};
  const std::set<std::string> labels{"backend",  "generate", "reference", "statistics", "backends", "judge",
                                     "diagnose", "all",      "shrinking", "together,",  "together"};
  for (const bool is_campaign : {false, true}) {
    if (is_campaign) report.campaign.emplace();
    const std::string text = summary(report, {.verbose = true});
    const std::regex time(R"((\S+) ([0-9.,]+ m?s)\b)");
    std::size_t times = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), time), end; at != end; ++at, ++times) {
      EXPECT_TRUE(labels.contains((*at)[1])) << at->str() << " in\n" << text;
    }
    EXPECT_EQ(times, 9U) << text;
  }
}

TEST(SecondsLeft, AreNotToldFromTooFew) {
  for (double done = 0; done <= 1000; ++done) {
    for (const double seconds : {0.0, 1.0, 4.9, 5.0, 100.0}) {
      const auto left = seconds_left(done, 1000, seconds);
      EXPECT_EQ(left.has_value(), done >= 30 && seconds >= 5) << done << " in " << seconds << " s";
      if (!left) continue;
      EXPECT_DOUBLE_EQ(*left, seconds * (1000 - done) / done);
    }
  }
  EXPECT_FALSE(seconds_left(1001, 1000, 100).has_value());
}

TEST(FindingText, ListsWhatTwoModelsHaveInCommonOnceAndLikensWhatIsCertain) {
  Finding finding;
  finding.diagnosis.emplace();
  finding.diagnosis->status = "explained";
  finding.diagnosis->defects = {{.id = "a", .stages = "tail_round", .evidence = "OpenCV 4.6.0"},
                                {.id = "b", .stages = "round", .evidence = "OpenCV 4.6.0"}};
  std::vector<Fact> facts = facts_of(finding);
  const auto text_of = [&](std::string_view label) {
    const auto found = std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.label == label; });
    return found == facts.end() ? "" : found->value;
  };
  EXPECT_EQ(text_of("resembles"), "OpenCV 4.6.0");
  EXPECT_EQ(text_of("look at"), "tail_round, round") << "one is no part of the other";
  finding.diagnosis->status = "reproduced";
  facts = facts_of(finding);
  EXPECT_EQ(text_of("resembles"), "");
}

// Whatever else speaks for a cause, passing cases that contradict it are told.
TEST(FindingText, SaysHowManyPassingCasesContradictTheCause) {
  for (const std::uint64_t trial_cases : {0U, 2U}) {
    Finding finding;
    Diagnosis& diagnosis = finding.diagnosis.emplace();
    diagnosis.status = "reproduced";
    diagnosis.defects = {{.id = "a"}};
    diagnosis.examined = 9;
    diagnosis.trial_cases = diagnosis.trial_reproduced = trial_cases;
    const auto support = [&] {
      const std::vector<Fact> facts = facts_of(finding);
      const auto found = std::find_if(facts.begin(), facts.end(), [](const Fact& f) { return f.label == "support"; });
      return found == facts.end() ? std::string() : found->value;
    };
    EXPECT_THAT(support(), Not(HasSubstr("in some of its paths")));
    diagnosis.contradicting = 3;
    EXPECT_THAT(support(),
                HasSubstr("gets 3 passing cases wrong, so the backend has the defect in some of its paths only"));
    EXPECT_THAT(support(), Not(HasSubstr("no passing case")));
  }
}

TEST(FindingText, SaysWhichElementsAreOfOneCauseAlone) {
  Finding finding;
  Diagnosis& diagnosis = finding.diagnosis.emplace();
  diagnosis.status = "unexplained";
  diagnosis.cured_by = "all,off=A";
  diagnosis.beside = {"off=B"};
  diagnosis.own_elements = 4;
  const std::vector<Fact> facts = facts_of(finding);
  const auto cured = std::find_if(facts.begin(), facts.end(), [](const Fact& fact) { return fact.label == "cured"; });
  ASSERT_NE(cured, facts.end());
  EXPECT_THAT(cured->value, HasSubstr("off as well: off=B; with the others off, the example has 4 wrong elements"));
}

// Tests the lines of runs about the quantized nodes of whole models.

using ::qconform::testing::Network;
using ::testing::StartsWith;
using enum ElementType;

TEST(ShareText, IsAllOnlyOfAllAndNoneOnlyOfNone) {
  EXPECT_EQ(share_text(2, 141), "1.4 %");
  EXPECT_EQ(share_text(139, 141), "98.6 %");
  EXPECT_EQ(share_text(141, 141), "100 %");
  EXPECT_EQ(share_text(0, 141), "0 %");
  EXPECT_EQ(share_text(99'999, 100'000), "99.9 %");
  EXPECT_EQ(share_text(1, 100'000), "0.1 %");
  EXPECT_EQ(share_text(1, 2), "50 %");
}

// A random model: all values are matrices of 4 by 4, and the maker knows each value's type.
class RandomModel {
 public:
  explicit RandomModel(std::uint64_t seed) : rng_(seed, 0) {
    net_.model().mutable_opset_import(0)->set_version(21);
    net_.add_opset("com.example", 1);
    net_.input("x", float32, {4, 4});
    net_.input("q", uint8, {4, 4});
    values_ = {{float32, {"x"}}, {uint8, {"q"}}, {int32, {}}};
    net_.constant("w", Tensor::of<std::int8_t>(int8, {4, 4}, std::vector<std::int8_t>(16, 3)));
    net_.scale("s");
    net_.zero_point("z");
    for (std::int64_t nodes = rng_.between(4, 16); nodes > 0; --nodes) add_node();
    if (rng_.below(3) == 0) add_function();
    const auto& last = values_[float32].back();
    net_.graph().add_output()->set_name(last);
  }

  Network& net() { return net_; }
  [[nodiscard]] std::uint64_t quantized() const { return quantized_; }

 private:
  std::string any(ElementType type) {
    return values_[type][rng_.below(static_cast<std::uint32_t>(values_[type].size()))];
  }

  // Counts the node by the definition: by its name, or because data of 8 bits go in or come out.
  onnx::NodeProto& add(const std::string& op_type, const std::vector<std::string>& inputs, ElementType result,
                       bool is_quantized, const std::string& domain = "") {
    const std::string name = "v" + std::to_string(next_++);
    onnx::NodeProto& node = net_.node(op_type, inputs, name, domain);
    values_[result].push_back(name);
    quantized_ += is_quantized ? 1 : 0;
    return node;
  }

  void add_node() {
    const std::vector<std::string> qlinear{any(uint8), "s", "z", any(uint8), "s", "z", "s", "z"};
    switch (rng_.below(15)) {
      case 0:
      case 1: add("QuantizeLinear", {any(float32), "s", "z"}, uint8, true); break;
      case 2:
      case 3: add("DequantizeLinear", {any(uint8), "s", "z"}, float32, true); break;
      case 4: add("Relu", {any(float32)}, float32, false); break;
      case 5: add("MatMul", {any(float32), any(float32)}, float32, false); break;
      case 6: add("Mystery", {any(float32)}, float32, false, "com.example"); break;
      case 7: add("Identity", {any(uint8)}, uint8, true); break;
      case 8: add("MatMulInteger", {any(uint8), "w", "z"}, int32, true); break;
      case 9: add("QLinearMatMul", qlinear, uint8, true); break;
      case 10: add("QLinearAdd", qlinear, uint8, true, "com.microsoft"); break;
      case 11: add("QuickGelu", {any(float32)}, float32, false, "com.microsoft"); break;
      case 12: {
        onnx::NodeProto& node = add("DynamicQuantizeLinear", {any(float32)}, uint8, true);
        node.add_output(node.output(0) + "_s");
        node.add_output(node.output(0) + "_z");
        break;
      }
      case 13:
        if (!values_[int32].empty()) Network::integer(add("Cast", {any(int32)}, float32, false), "to", 1);
        break;
      default: add("Transpose", {"w"}, int8, true); break;  // it moves a constant
    }
  }

  // Its nodes stand where it is called.
  void add_function() {
    onnx::FunctionProto& function = *net_.model().add_functions();
    function.set_name("F");
    function.set_domain("com.example");
    for (const char* input : {"a", "scale", "zero_point"}) function.add_input(input);
    function.add_output("b");
    function.add_opset_import()->set_version(21);
    const auto add_step = [&](const char* op_type, std::initializer_list<const char*> inputs, const char* output) {
      onnx::NodeProto& node = *function.add_node();
      node.set_op_type(op_type);
      for (const char* input : inputs) node.add_input(input);
      node.add_output(output);
    };
    add_step("Relu", {"a"}, "inside");
    add_step("QuantizeLinear", {"inside", "scale", "zero_point"}, "b");
    for (int call = 0; call < 2; ++call) add("F", {any(float32), "s", "z"}, uint8, true, "com.example");
  }

  Rng rng_;
  Network net_;
  std::map<ElementType, std::vector<std::string>> values_;
  std::uint64_t quantized_ = 0;
  int next_ = 0;
};

using RunOfModels = testing::ModelFixture;

Report report_of(std::unique_ptr<Suite> suite) {
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::move(suite));
  auto backends = backend::select_all({"scalar", "interpreter"}, RoundingProfile::correctly_rounded, {});
  EXPECT_TRUE(backends.has_value());
  backends->push_back(std::make_unique<testing::RefusingBackend>());
  Report report;
  report.environment.started = "2026-01-01T00:00:00Z";
  report.profile = "conformance";
  report.overflow = "wrap";
  EXPECT_TRUE(run_suites(suites, *backends, {}, report).has_value());
  report.backends.back().decides = false;
  return report;
}

std::uint64_t sum_of(const nlohmann::ordered_json& coverage) {
  std::uint64_t sum = coverage["covered"];
  for (const auto& part : coverage["uncovered"]) {
    EXPECT_FALSE(part["reason"].get<std::string>().empty());
    sum += part["nodes"].get<std::uint64_t>();
  }
  EXPECT_EQ(coverage["quantized"], sum);
  return sum;
}

// Adds up the lines that the text has for a model and a backend: judged nodes and those that are listed.
std::uint64_t sum_in_text(const std::string& text, const std::string& backend) {
  std::uint64_t sum = 0;
  std::string part;
  for (const std::string_view view : split(text, "\n")) {
    std::string line(view);
    if (line.starts_with("judged ")) {
      std::vector<std::string> names;
      const std::string listed = line.substr(line.find("): ") + 3);
      for (const std::string_view name : split(listed, ", ")) names.emplace_back(name);
      const bool is_its = std::find(names.begin(), names.end(), backend) != names.end();
      if (is_its) sum += std::stoull(line.substr(7));
    } else if (line == "  in no case:") {
      part = backend;
    } else if (line.starts_with("  not judged on ")) {
      part = line.substr(16, line.size() - 17);
    } else if (!line.starts_with("      ")) {
      part.clear();
    } else if (part == backend) {
      sum += std::stoull(line);
    }
  }
  return sum;
}

bool is_tested(const std::string& op_type) {
  const std::size_t colons = op_type.find("::");
  const std::string domain = colons == std::string::npos ? "" : op_type.substr(0, colons);
  const std::string name = colons == std::string::npos ? op_type : op_type.substr(colons + 2);
  return find_operator(domain, name) != nullptr || lowering::find_node_operator(name, kNewestOpset, domain) != nullptr;
}

// Judged and listed nodes are all quantized nodes, wherever a report says so; no operator that is tested is called
// untested; and what was judged in part is never said to conform.
TEST_F(RunOfModels, AccountForEveryQuantizedNode) {
  std::size_t short_models = 0;
  std::size_t whole_models = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RandomModel model(seed);
    if (model.quantized() == 0) continue;
    const Report report = report_of(open(model.net(), seed));
    const std::string text = summary(report, {});
    const auto json = nlohmann::ordered_json::parse(to_json(report));
    EXPECT_EQ(sum_of(json["suites"][0]["quantized_nodes"]), model.quantized()) << seed;
    EXPECT_THAT(text, StartsWith("judged "));
    for (const BackendResult& backend : report.backends) {
      EXPECT_EQ(sum_in_text(text, backend.info.name), model.quantized()) << seed << "\n" << text;
    }
    for (const auto& backend : json["backends"]) {
      const auto& coverage = backend["quantized_nodes"][0];
      EXPECT_EQ(sum_of(coverage), model.quantized()) << seed << backend["name"];
      for (const auto& part : coverage["uncovered"]) {
        const std::string reason = part["reason"];
        EXPECT_TRUE(reason.find("does not test") == std::string::npos || !is_tested(part["operator"])) << part;
        EXPECT_THAT(text, HasSubstr(part["operator"].get<std::string>() + ": " + reason + "\n"));
      }
    }
    for (const bool brief : {false, true}) {
      const std::string shown_text = summary(report, {.brief = brief}) + conclusions(report, false);
      for (const BackendResult& backend : report.backends) {
        const bool is_short = backend.is_short_of_nodes();
        (is_short ? short_models : whole_models) += 1;
        if (!is_short) continue;
        EXPECT_THAT(shown_text, Not(HasSubstr("conforms: " + backend.info.name)));
        if (backend.is_judged()) {
          EXPECT_THAT(shown_text, HasSubstr("agrees on "));
        }
      }
    }
    const bool any_short = std::any_of(report.backends.begin(), report.backends.end(), [](const auto& backend) {
      return backend.decides && backend.is_short_of_nodes();
    });
    EXPECT_EQ(to_markdown(report, kCommentBytes).starts_with("### qconform: conforms"),
              report.conforms() && !any_short);
  }
  EXPECT_GT(short_models, 20U);
}

TEST_F(RunOfModels, ConformOnlyOnTheShareThatIsDemanded) {
  Network net;
  net.input("x", float32, {4});
  net.node("QuantizeLinear", {"x", net.scale("s"), net.zero_point("z")}, "q");
  net.node("DequantizeLinear", {"q", "s", "z"}, "y");
  net.node("QLinearAdd", {"q", "s", "z", "q", "s", "z", "s", "z"}, "sum", "com.microsoft");
  Report report = report_of(open(net));
  BackendResult& scalar = report.backends[0];
  ASSERT_EQ(scalar.nodes.front().covered, 2U);
  ASSERT_EQ(scalar.nodes.front().quantized(), 3U);
  EXPECT_TRUE(scalar.conforms()) << "nothing was demanded";
  EXPECT_EQ(conclusion_text(scalar), "agrees on 2 of 3 quantized nodes");
  scalar.min_judged = 67;
  EXPECT_FALSE(scalar.conforms());
  EXPECT_EQ(conclusion_text(scalar), "agrees on 2 of 3 quantized nodes");
  EXPECT_THAT(to_junit(report), HasSubstr("--min-judged 67"));
  scalar.min_judged = 66;
  EXPECT_TRUE(scalar.conforms());
  EXPECT_EQ(conclusion_text(scalar), "conforms");
  const auto read = read_report(to_json(report));
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->backends[0].nodes, scalar.nodes);
}

}  // namespace
}  // namespace qconform::report
