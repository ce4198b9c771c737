// Every value of every case has a name, and an operator is a graph of one node.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/select.h"
#include "harness/engine/run_suites.h"
#include "harness/forms/json/case_json.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/operator.h"
#include "harness/suites/select.h"
#include "harness/suites/stored_cases.h"

namespace qconform {
namespace {

std::vector<Case> drawn_from(const std::string& suite, std::size_t most) {
  std::vector<Case> cases;
  auto sources = open_suite(suite, {.seed = 3, .cases = most});
  if (!sources) ADD_FAILURE() << sources.error().text();
  for (std::size_t i = 0; sources && i < sources->size(); ++i) {
    for (auto next = (*sources)[i]->next(); next && *next && cases.size() < most; next = (*sources)[i]->next()) {
      cases.push_back(std::move(**next));
    }
  }
  return cases;
}

std::vector<Case> corpus_and_draws() {
  std::vector<Case> cases = drawn_from("corpus", 100000);
  for (const char* suite : {"random", "fuzz", "directed", "graphs", "sweep", "qdq"}) {
    for (Case& drawn : drawn_from(suite, 300)) cases.push_back(std::move(drawn));
  }
  return cases;
}

TEST(Names, BelongToEveryValueOfACase) {
  for (const Case& test_case : corpus_and_draws()) {
    SCOPED_TRACE(test_case.provenance.source + " " + test_case.id);
    std::set<std::string> known{""};
    const std::vector<std::string> inputs = input_names(test_case);
    ASSERT_EQ(inputs.size(), test_case.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(inputs[i].empty(), test_case.input(i) == nullptr) << i;
      EXPECT_TRUE(inputs[i].empty() || known.insert(inputs[i]).second) << inputs[i];
    }
    for (const Node& node : named_nodes(test_case)) {
      for (const std::string& name : node.inputs) EXPECT_TRUE(known.contains(name)) << name;
      for (const std::string& name : node.outputs) EXPECT_TRUE(name.empty() || known.insert(name).second) << name;
    }
    const std::vector<std::string> outputs = output_names(test_case);
    EXPECT_EQ(outputs.size(), test_case.output_count());
    for (const std::string& name : outputs) EXPECT_TRUE(!name.empty() && known.contains(name)) << name;
  }
}

// Writes the operator as a graph of one node: other names, and the tensors in the reverse order.
Json as_graph(const Case& test_case) {
  const Json alone = case_object(test_case);
  Json object = alone;
  Json node = Json::object();
  for (const char* member : {"op_type", "domain", "opset_version", "attributes"}) {
    if (alone.contains(member)) node[member] = alone[member];
    object.erase(member);
  }
  node["inputs"] = object["inputs"] = object["initializers"] = Json::array();
  node["outputs"] = object["outputs"] = Json::array({"result"});
  for (const Json& tensor : alone["inputs"]) {
    const std::string name = tensor.is_null() ? "" : "tensor" + std::to_string(node["inputs"].size());
    node["inputs"].push_back(name);
    if (tensor.is_null()) continue;
    Json named = tensor;
    named["name"] = name;
    Json& list = object[object["initializers"].empty() ? "initializers" : "inputs"];
    list.insert(list.begin(), named);
  }
  object["nodes"] = Json::array({node});
  if (object.contains("recorded_output")) object["recorded_outputs"] = Json::array({object["recorded_output"]});
  object.erase("recorded_output");
  return object;
}

TEST(Names, OfAGraphOfOneNodeMakeNoOtherCase) {
  std::set<std::string> compared;
  for (const Case& test_case : corpus_and_draws()) {
    const bool is_alone = !is_judged_as_graph(test_case) && operator_of(test_case) != nullptr;
    if (!is_alone || test_case.inputs.empty()) continue;
    SCOPED_TRACE(test_case.provenance.source + " " + test_case.id);
    Json document = Json::object();
    document["format"] = "qconform-cases";
    document["version"] = 1;
    document["cases"] = Json::array({as_graph(test_case)});
    const auto read = read_cases_json(document.dump());
    ASSERT_TRUE(read) << read.error().text();
    const Case& again = read->front();
    EXPECT_EQ(computation_of(again), computation_of(test_case));
    EXPECT_EQ(again.recorded_outputs, test_case.recorded_outputs);
    EXPECT_EQ(again.subject(), test_case.subject());
    EXPECT_EQ(operator_of(again), operator_of(test_case));
    EXPECT_EQ(classify(again).expectation(), classify(test_case).expectation());
    compared.insert(again.subject());
  }
  EXPECT_EQ(compared.size(), 4U);
}

// Graphs of one node are judged as graphs are, and counted under their operator.
TEST(Reports, SpeakOfTheOperatorOfAGraphOfOneNode) {
  std::vector<Case> cases = drawn_from("graphs", 400);
  std::erase_if(cases, [](const Case& drawn) { return drawn.nodes.size() > 1 || !is_judged_as_graph(drawn); });
  ASSERT_GT(cases.size(), 5U);
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<testing::ListedSuite>(std::move(cases)));
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(*backend::select("interpreter", RoundingProfile::correctly_rounded));
  Report report;
  ASSERT_TRUE(run_suites(suites, backends, {}, report));
  EXPECT_GT(report.backends[0].operators.size(), 1U);
  EXPECT_FALSE(report.backends[0].operators.contains(std::string(kGraphSubject)));
  EXPECT_FALSE(report.corner_cases.by_operator().empty());
  EXPECT_FALSE(report.corner_cases.by_operator().contains(std::string(kGraphSubject)));
}

}  // namespace
}  // namespace qconform
