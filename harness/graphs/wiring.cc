#include "harness/graphs/wiring.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "harness/base/text.h"
#include "harness/core/limits.h"
#include "harness/graphs/lowering.h"

namespace qconform {
namespace {

constexpr const char* kRule = "graph";

Result<void> check_count(const std::string& field, std::size_t count, std::size_t limit) {
  if (count <= limit) return {};
  return fail(field, fmt::format("{} exceed the limit of {}", count, limit), "limit");
}

// The names that are taken so far.
class Values {
 public:
  Result<void> add(const std::string& name, const std::string& field) {
    if (name.empty()) return fail(field, "a value has no name", kRule);
    if (name.starts_with("qconform.")) return fail(field, quoted_name(name) + " is a name of qconform's own", kRule);
    if (names_.insert(name).second) return {};
    return fail(field, quoted_name(name) + " names two values", kRule);
  }
  [[nodiscard]] bool has(const std::string& name) const { return names_.contains(name); }

 private:
  std::set<std::string> names_;
};

Result<void> check_one_node(const Case& test_case) {
  const Node& node = test_case.node();
  if (!node.inputs.empty() || !node.outputs.empty() || !test_case.input_names.empty() || !test_case.outputs.empty() ||
      test_case.fed_inputs != 0) {
    return fail("nodes", "the values of a case of one node have no names", kRule);
  }
  return {};
}

Result<void> check_tensors(const Case& test_case, Values& values) {
  QCONFORM_TRY(check_count("inputs", test_case.inputs.size(), limits::kGraphTensors));
  if (test_case.input_names.size() != test_case.inputs.size()) {
    return fail("inputs",
                fmt::format("{} tensors have {} names", test_case.inputs.size(), test_case.input_names.size()), kRule);
  }
  if (test_case.fed_inputs > test_case.inputs.size()) {
    return fail("inputs",
                fmt::format("{} of {} are inputs of the graph", test_case.fed_inputs, test_case.inputs.size()), kRule);
  }
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const std::string field = fmt::format("inputs[{}]", i);
    if (!test_case.inputs[i]) return fail(field, "has no tensor", kRule);
    QCONFORM_TRY(values.add(test_case.input_names[i], field));
  }
  return {};
}

Result<void> check_node(const Node& node, const std::string& field, Values& values) {
  QCONFORM_TRY(check_count(field + ".inputs", node.inputs.size(), limits::kInputs));
  QCONFORM_TRY(check_count(field + ".outputs", node.outputs.size(), limits::kInputs));
  for (const std::string& name : node.inputs) {
    if (!name.empty() && !values.has(name)) {
      return fail(field + ".inputs", quoted_name(name) + " is no tensor of the case and no output of an earlier node",
                  kRule);
    }
  }
  std::size_t computed = 0;
  for (const std::string& name : node.outputs) {
    if (name.empty()) continue;
    ++computed;
    QCONFORM_TRY(values.add(name, field + ".outputs"));
  }
  if (computed == 0) return fail(field + ".outputs", "the node computes nothing", kRule);
  return {};
}

Result<void> check_versions(const Case& test_case) {
  std::map<std::string, std::int64_t> versions;
  for (const Node& node : test_case.nodes) {
    const std::string domain = node.domain == "ai.onnx" ? "" : node.domain;
    const std::int64_t version = versions.emplace(domain, node.opset_version).first->second;
    if (version != node.opset_version) {
      return fail("opset_version",
                  fmt::format("domain {} has versions {} and {}", quoted_name(domain), version, node.opset_version),
                  kRule);
    }
  }
  return {};
}

Result<void> check_outputs(const Case& test_case, const Values& values) {
  if (test_case.outputs.empty()) return fail("outputs", "the graph has none", kRule);
  QCONFORM_TRY(check_count("outputs", test_case.outputs.size(), limits::kInputs));
  std::set<std::string> named(test_case.input_names.begin(), test_case.input_names.end());
  for (const std::string& name : test_case.outputs) {
    if (!values.has(name)) return fail("outputs", quoted_name(name) + " is computed by no node", kRule);
    if (!named.insert(name).second) return fail("outputs", quoted_name(name) + " is an input, or named twice", kRule);
  }
  return {};
}

}  // namespace

Result<void> check_wiring(const Case& test_case) {
  if (test_case.nodes.empty()) return fail("nodes", "the graph has none", kRule);
  QCONFORM_TRY(check_count("nodes", test_case.nodes.size(), limits::kNodes));
  if (test_case.is_one_node()) {
    QCONFORM_TRY(check_one_node(test_case));
  } else if (test_case.nodes.size() == 1 &&
             !is_quantized_graph_operator(test_case.node().domain, test_case.node().op_type)) {
    return fail("nodes", test_case.node().op_type + " alone stands in the case itself: its values have no names",
                kRule);
  } else {
    Values values;
    QCONFORM_TRY(check_tensors(test_case, values));
    for (std::size_t i = 0; i < test_case.nodes.size(); ++i) {
      QCONFORM_TRY(check_node(test_case.nodes[i], fmt::format("nodes[{}]", i), values));
    }
    QCONFORM_TRY(check_outputs(test_case, values));
    QCONFORM_TRY(check_versions(test_case));
  }
  const std::size_t recorded = test_case.recorded_outputs.size();
  if (recorded == 0 || recorded == test_case.output_count()) return {};
  return fail("recorded_outputs", fmt::format("{} are recorded of {}", recorded, test_case.output_count()), kRule);
}

}  // namespace qconform
