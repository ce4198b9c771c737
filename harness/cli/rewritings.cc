#include "harness/cli/report_output.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "harness/backends/select.h"
#include "harness/base/process.h"
#include "harness/forms/archive/archive.h"
#include "harness/model/operator.h"

namespace qconform::cli {
namespace {

constexpr ForkLimits kLimits{.cpu_seconds = 120, .address_space = std::uint64_t{64} << 30};

// Answer of the process that asks a backend for its rewritten graphs.
struct Rewritings {
  using Graphs = std::map<std::string, CaseGraph>;

  QC_DESCRIBED();
  QC_FIELD(FusionCounts, counts, {}, "counts");
  QC_FIELD(Graphs, findings, {}, "findings");  ///< rewritten examples of findings, by the finding's id
};

std::string full_name(const std::string& domain, const std::string& op_type) {
  return domain.empty() || domain == "ai.onnx" ? op_type : domain + "." + op_type;
}

using NodeCounts = FusionCounts::ByOperator;

template <typename Nodes>
NodeCounts nodes_by_operator(const Nodes& nodes) {
  NodeCounts counts;
  for (const auto& node : nodes) ++counts[full_name(node.domain, node.op_type)];
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
    const std::string name = full_name(node.domain, node.op_type);
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

// Without workers: the fork is one. What has a program of its own answers from there.
Result<std::string> ask(const std::string& backend_name, std::span<const AskedGraph> graphs, const Policy& policy) {
  backend::SandboxPolicy here;
  here.which = backend::SandboxPolicy::Which::none;
  here.shows_graphs = true;
  QCONFORM_ASSIGN(const auto backend, backend::select(backend_name, arithmetic_of(policy.profile), here));
  Rewritings result;
  for (const AskedGraph& asked : graphs) {
    auto graph = backend->rewritten(*asked.test_case);
    if (!graph) continue;
    if (asked.finding.empty()) {
      count(*asked.test_case, *graph, result.counts);
    } else {
      PlainNames(*asked.test_case).apply(*graph);
      result.findings[asked.finding] = std::move(*graph);
    }
  }
  return to_cbor(result);
}

// Asks in a process of its own. If that dies, asks for both halves again, so that one graph alone is lost.
void ask_in_processes(const std::string& backend_name, std::span<const AskedGraph> graphs, const Policy& policy,
                      Rewritings& told) {
  if (graphs.empty()) return;
  const auto bytes = run_forked("rewritten graphs", kLimits, [&] { return ask(backend_name, graphs, policy); });
  auto read = bytes ? from_cbor<Rewritings>(*bytes, "rewritten graphs") : tl::unexpected(bytes.error());
  if (!read) {
    if (graphs.size() == 1) return;
    const std::size_t half = graphs.size() / 2;
    ask_in_processes(backend_name, graphs.first(half), policy, told);
    return ask_in_processes(backend_name, graphs.subspan(half), policy, told);
  }
  told.counts.graphs += read->counts.graphs;
  told.counts.fused += read->counts.fused;
  add_counts(read->counts.operators, told.counts.operators);
  add_counts(read->counts.dropped, told.counts.dropped);
  add_counts(read->counts.in_float, told.counts.in_float);
  told.findings.merge(read->findings);
}

// Process backends, plugins, and backends on another processor cannot show their graphs.
bool can_be_asked(const BackendInfo& info) {
  return info.kind != "process" && info.kind != "plugin" && info.on_command_line().find('[') == std::string::npos;
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

void add_rewritings(const GraphSample& sample, bool is_expected, const Policy& policy, Report& report) {
  if (sample.cases().empty()) return;
  for (BackendResult& backend : report.backends) {
    std::vector<AskedGraph> graphs;
    for (const Case& test_case : sample.cases()) graphs.push_back({&test_case});
    std::vector<Finding*> findings;
    for (Finding& finding : report.findings) {
      if (finding.backend != backend.info.name || !is_judged_as_graph(finding.example)) continue;
      findings.push_back(&finding);
      graphs.push_back({&finding.example, finding.id});
    }
    Rewritings told;
    if (can_be_asked(backend.info)) ask_in_processes(backend.info.on_command_line(), graphs, policy, told);
    told.counts.is_expected = is_expected;
    if (told.counts.graphs > 0 || is_expected) backend.fusion = std::move(told.counts);
    for (Finding* finding : findings) {
      if (const auto graph = told.findings.find(finding->id); graph != told.findings.end()) {
        finding->rewritten = graph->second;
      }
    }
  }
}

}  // namespace qconform::cli
