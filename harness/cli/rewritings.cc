#include "harness/cli/report_output.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/diagnose/explain/cures.h"
#include "harness/model/operator.h"

namespace qconform::cli {
namespace {

struct Rewritings {
  FusionCounts counts;
  std::map<std::string, CaseGraph> findings;  ///< rewritten examples of findings, by the finding's id
};

using NodeCounts = FusionCounts::ByOperator;

template <typename Nodes>
NodeCounts nodes_by_operator(const Nodes& nodes) {
  NodeCounts counts;
  for (const auto& node : nodes) ++counts[operator_name(node.domain, node.op_type)];
  return counts;
}

bool quantizes(std::string_view op_type) {
  return op_type == "QuantizeLinear" || op_type == "DequantizeLinear";
}

// The types of what the graph's nodes of DequantizeLinear read, by the name of what they give.
std::map<std::string, std::string> dequantized_types(const CaseGraph& graph) {
  std::map<std::string, std::string> types;
  for (const auto* values : {&graph.inputs, &graph.initializers, &graph.computed}) {
    for (const CaseGraph::Value& value : *values) types[value.name] = value.type;
  }
  std::map<std::string, std::string> dequantized;
  for (const CaseGraph::Node& node : graph.nodes) {
    if (node.op_type == "DequantizeLinear") dequantized[node.outputs.front()] = types[node.inputs.front()];
  }
  return dequantized;
}

// Nodes of the case's operators that still read what a DequantizeLinear gives, by operator and the first such type.
NodeCounts nodes_in_float(const NodeCounts& stated, const CaseGraph& rewritten) {
  const auto dequantized = dequantized_types(rewritten);
  NodeCounts counts;
  for (const CaseGraph::Node& node : rewritten.nodes) {
    const std::string name = operator_name(node.domain, node.op_type);
    if (quantizes(node.op_type) || stated.count(name) == 0) continue;
    const auto reads = std::find_if(node.inputs.begin(), node.inputs.end(),
                                    [&](const std::string& input) { return dequantized.count(input) != 0; });
    if (reads == node.inputs.end()) continue;
    const std::string& type = dequantized.at(*reads);
    ++counts[type.empty() ? name : name + " " + type];
  }
  return counts;
}

// Counts what the backend made of the case.
void count(const Case& test_case, const CaseGraph& rewritten, FusionCounts& counts) {
  const NodeCounts stated = nodes_by_operator(test_case.nodes);
  const NodeCounts left = nodes_by_operator(rewritten.nodes);
  bool is_rewritten = false;
  for (const auto& [name, count] : left) {
    if (stated.count(name) != 0) continue;
    counts.operators[name] += count;
    is_rewritten = true;
  }
  for (const auto& [name, count] : stated) {
    const auto found = left.find(name);
    const std::uint64_t now = found == left.end() ? 0 : found->second;
    if (now >= count) continue;
    counts.dropped[name] += count - now;
    is_rewritten = is_rewritten || quantizes(name);
  }
  add_counts(nodes_in_float(stated, rewritten), counts.in_float);
  ++counts.graphs;
  counts.fused += is_rewritten ? 1 : 0;
}

// Names that a backend makes up may be others each time: they are numbered.
class PlainNames {
 public:
  explicit PlainNames(const Case& test_case) {
    for (const std::string& name : test_case.input_names) names_[name] = name;
    for (const Node& node : test_case.nodes) {
      for (const std::string& name : node.outputs) names_[name] = name;
    }
    names_[""] = "";
  }

  void apply(CaseGraph& graph) {
    for (CaseGraph::Node& node : graph.nodes) {
      for (std::string& name : node.inputs) rename(name);
      for (std::string& name : node.outputs) rename(name);
    }
    for (auto* values : {&graph.inputs, &graph.initializers, &graph.computed}) {
      for (CaseGraph::Value& value : *values) rename(value.name);
    }
  }

 private:
  void rename(std::string& name) {
    const auto [known, is_new] = names_.try_emplace(name);
    if (is_new) known->second = "new." + std::to_string(++count_);
    name = known->second;
  }

  std::map<std::string, std::string> names_;
  std::size_t count_ = 0;
};

// A graph that is asked about: of the sample, or a finding's example.
struct AskedGraph {
  const Case* test_case = nullptr;
  std::string finding = {};  // its id; empty of the sample
};

// Asks a backend that shows graphs: one that ends its worker is lost alone.
Rewritings told_by(Backend* shown, std::span<const AskedGraph> graphs) {
  Rewritings told;
  for (const AskedGraph& asked : graphs) {
    auto graph = shown == nullptr ? std::nullopt : shown->rewritten(*asked.test_case);
    if (!graph) continue;
    if (asked.finding.empty()) {
      count(*asked.test_case, *graph, told.counts);
    } else {
      PlainNames(*asked.test_case).apply(*graph);
      told.findings[asked.finding] = std::move(*graph);
    }
  }
  return told;
}

// Tells of findings with a cure which nodes it keeps, and which it keeps from coming.
void add_cured_rewritings(Backend& backend, std::span<Finding* const> findings) {
  std::map<std::string, std::vector<Finding*>> by_cure;
  for (Finding* finding : findings) {
    const bool is_cured = finding->rewritten && finding->diagnosis && !finding->diagnosis->cured_by.empty();
    if (is_cured) by_cure[finding->diagnosis->cured_by].push_back(finding);
  }
  for (const auto& [cure, cured] : by_cure) {
    const auto off = diagnose::switches_in(cured.front()->signature, backend.switches());
    const auto shown = backend.without(off, true);
    for (Finding* finding : cured) {
      const auto right = shown == nullptr ? std::nullopt : shown->rewritten(finding->example);
      if (!right) continue;
      auto [went, came] = diagnose::rewriting_between(*right, *finding->rewritten);
      finding->diagnosis->went = std::move(went);
      finding->diagnosis->came = std::move(came);
    }
  }
}

}  // namespace

void GraphSample::add(const Case& test_case) {
  if (!is_judged_as_graph(test_case) || cases_.size() == kMostCases) return;
  std::size_t bytes = 0;
  for (const auto& input : test_case.inputs) bytes += input ? input->bytes.size() : 0;
  if (bytes_ + bytes > kMostBytes) return;
  bytes_ += bytes;
  cases_.push_back(test_case);
}

void add_rewritings(const GraphSample& sample, bool is_expected, std::span<const std::unique_ptr<Backend>> backends,
                    Report& report) {
  if (sample.cases().empty()) return;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    BackendResult& result = report.backends[i];
    std::vector<AskedGraph> graphs;
    for (const Case& test_case : sample.cases()) graphs.push_back({&test_case});
    std::vector<Finding*> findings;
    for (Finding& finding : report.findings) {
      if (finding.backend != result.info.name || !is_judged_as_graph(finding.example)) continue;
      findings.push_back(&finding);
      graphs.push_back({&finding.example, finding.id});
    }
    Rewritings told = told_by(backends[i]->without({}, true).get(), graphs);
    told.counts.is_expected = is_expected;
    if (told.counts.graphs > 0 || is_expected) result.fusion = std::move(told.counts);
    for (Finding* finding : findings) {
      if (const auto graph = told.findings.find(finding->id); graph != told.findings.end()) {
        finding->rewritten = graph->second;
      }
    }
    add_cured_rewritings(*backends[i], findings);
  }
}

}  // namespace qconform::cli
