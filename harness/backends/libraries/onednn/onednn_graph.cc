#include "harness/backends/libraries/onednn/onednn.h"

#include "harness/backends/libraries/onednn/onednn_graph_nodes.h"

#if DNNL_VERSION_MAJOR >= 3

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "harness/backends/interpreter.h"
#include "harness/backends/libraries/adapters.h"
#include "harness/graphs/case_graph.h"

namespace qconform::libraries::dnn {
namespace {

using Value = dnnl::graph::logical_tensor;

/// Operations that the library computes together.
struct Partition {
  dnnl::graph::partition made;
  std::vector<std::size_t> operations;  // in their order
  std::vector<std::size_t> inputs;      // numbers of values
  std::vector<std::size_t> outputs;
};

std::vector<std::size_t> ids_of(const std::vector<Value>& ports) {
  std::vector<std::size_t> ids;
  for (const Value& port : ports) ids.push_back(port.get_id());
  return ids;
}

/// Returns the partitions in an order in which each finds its inputs computed; without those that compute nothing.
std::vector<Partition> partitions_of(LibraryGraph& graph, bool fuses) {
  using Policy = dnnl::graph::partition::policy;
  std::vector<Partition> waiting;
  std::set<std::size_t> missing;
  graph.graph.finalize();
  for (auto& made : graph.graph.get_partitions(fuses ? Policy::fusion : Policy::debug)) {
    Partition partition{made, made.get_ops(), ids_of(made.get_input_ports()), ids_of(made.get_output_ports())};
    if (partition.outputs.empty()) continue;
    std::sort(partition.operations.begin(), partition.operations.end());
    missing.insert(partition.outputs.begin(), partition.outputs.end());
    waiting.push_back(std::move(partition));
  }
  std::vector<Partition> ordered;
  const auto is_ready = [&](const Partition& partition) {
    return std::none_of(partition.inputs.begin(), partition.inputs.end(),
                        [&](auto id) { return missing.count(id) != 0; });
  };
  while (!waiting.empty()) {
    const auto next = std::find_if(waiting.begin(), waiting.end(), is_ready);
    if (next == waiting.end()) throw dnnl::error(dnnl_invalid_graph, "its partitions need one another");
    for (const std::size_t id : next->outputs) missing.erase(id);
    ordered.push_back(std::move(*next));
    waiting.erase(next);
  }
  return ordered;
}

std::string name_of(const Partition& partition, const LibraryGraph& graph) {
  std::vector<std::string_view> names;
  for (const std::size_t operation : partition.operations) names.emplace_back(graph.operations[operation].name);
  return fmt::format("{}", fmt::join(names, "+"));
}

class PreparedPartitions final : public PreparedCase {
 public:
  /// `memory`: of the case's inputs, by their place; of those that a partition reads.
  PreparedPartitions(const Case& test_case, GraphProgram lowered, LibraryGraph graph, const dnnl::engine& engine,
                     dnnl::stream& stream, std::vector<std::span<std::byte>> memory)
      : case_(test_case),
        lowered_(std::move(lowered)),
        graph_(std::move(graph)),
        engine_(engine),
        stream_(stream),
        memory_(std::move(memory)) {
    memory_.resize(graph_.values.size());
    for (auto& [id, bytes] : graph_.constants) memory_[id] = bytes.bytes();
  }

  void compile(const std::vector<Partition>& partitions) {
    const auto& outputs = lowered_.program.outputs;
    for (const Partition& partition : partitions) {
      compiled_.push_back({partition.made.compile(values(partition.inputs), values(partition.outputs), engine_),
                           partition.inputs, partition.outputs});
      for (const std::size_t id : partition.outputs) {
        if (std::find(outputs.begin(), outputs.end(), id) != outputs.end()) continue;
        between_.emplace_back(graph_.values[id].get_mem_size());
        memory_[id] = between_.back().bytes();
      }
    }
  }

  void run(OutputSink& sink) override {
    const auto& outputs = lowered_.program.outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto id = outputs[i];
      memory_[id] = sink.allocate(i, lowered_.types[id], lowered_.program.values[id].shape);
    }
    try {
      for (const Compiled& part : compiled_) part.made.execute(stream_, tensors(part.inputs), tensors(part.outputs));
      stream_.wait();
    } catch (const std::exception& error) {
      sink.refuse(refusal(case_, std::string("oneDNN: ") + error.what()));
    }
  }

 private:
  struct Compiled {
    dnnl::graph::compiled_partition made;
    std::vector<std::size_t> inputs, outputs;
  };

  [[nodiscard]] std::vector<Value> values(const std::vector<std::size_t>& ids) const {
    std::vector<Value> result;
    for (const std::size_t id : ids) result.push_back(graph_.values[id]);
    return result;
  }
  [[nodiscard]] std::vector<dnnl::graph::tensor> tensors(const std::vector<std::size_t>& ids) const {
    std::vector<dnnl::graph::tensor> result;
    for (const std::size_t id : ids) result.emplace_back(graph_.values[id], engine_, memory_[id].data());
    return result;
  }

  const Case& case_;
  GraphProgram lowered_;
  LibraryGraph graph_;
  const dnnl::engine& engine_;
  dnnl::stream& stream_;
  std::vector<std::span<std::byte>> memory_;  // by value
  std::vector<AlignedBytes> between_;         // memory of values that go from one partition to another
  std::vector<Compiled> compiled_;
};

class GraphBackend final : public Backend {
 public:
  GraphBackend(BackendInfo info, bool fuses)
      : info_(std::move(info)), fuses_(fuses), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override { return prepare_on_own_tensors(*this, test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    auto taken = backend::interpretable(test_case, "its graph interface");
    if (auto* refusal = std::get_if<outcome::Unsupported>(&taken)) return std::move(*refusal);
    if (auto* refusal = std::get_if<outcome::Rejected>(&taken)) return std::move(*refusal);
    try {
      return compiled(test_case, std::move(std::get<GraphProgram>(taken)), inputs);
    } catch (const std::exception& error) {
      return refused(test_case, std::string("oneDNN: ") + error.what());
    }
  }

  [[nodiscard]] std::optional<CaseGraph> rewritten(const Case& test_case) override;

 private:
  Preparation compiled(const Case& test_case, GraphProgram lowered, InputMemory& inputs) {
    auto graph = library_graph(test_case, lowered);
    if (!graph) return outcome::Unsupported{graph.error()};
    const std::vector<Partition> partitions = partitions_of(*graph, fuses_);
    std::vector<std::span<std::byte>> memory(test_case.inputs.size());
    for (const Partition& partition : partitions) {
      if (!partition.made.is_supported()) {
        return outcome::Unsupported{
            fmt::format("it does not support {} with these types, shapes and attributes", name_of(partition, *graph))};
      }
      for (const std::size_t id : partition.inputs) {
        if (id < memory.size() && memory[id].empty()) memory[id] = inputs.bytes(id);
      }
    }
    auto prepared = std::make_unique<PreparedPartitions>(test_case, std::move(lowered), std::move(*graph), engine_,
                                                         stream_, std::move(memory));
    prepared->compile(partitions);
    return prepared;
  }

  BackendInfo info_;
  bool fuses_;
  dnnl::engine engine_;
  dnnl::stream stream_;
};

// A partition of several operations is one node, named after them.
CaseGraph with_partitions(const Case& test_case, const GraphProgram& lowered, const LibraryGraph& graph,
                          const std::vector<Partition>& partitions) {
  CaseGraph shown = shown_graph(test_case);
  std::vector<bool> is_gone(test_case.nodes.size(), false);
  const auto names = [&](const std::vector<std::size_t>& ids) {
    std::vector<std::string> result;
    for (const std::size_t id : ids) result.push_back(id < lowered.names.size() ? lowered.names[id] : "");
    return result;
  };
  for (const Partition& partition : partitions) {
    if (partition.operations.size() < 2) continue;
    for (const std::size_t operation : partition.operations) is_gone[graph.operations[operation].node] = true;
    const std::size_t last = graph.operations[partition.operations.back()].node;
    is_gone[last] = false;
    shown.nodes[last] = {name_of(partition, graph), "onednn", {}, names(partition.inputs), names(partition.outputs)};
  }
  std::size_t node = 0;
  std::erase_if(shown.nodes, [&](const CaseGraph::Node&) { return is_gone[node++]; });
  return shown;
}

std::optional<CaseGraph> GraphBackend::rewritten(const Case& test_case) {
  const auto taken = backend::interpretable(test_case, "its graph interface");
  const auto* lowered = std::get_if<GraphProgram>(&taken);
  if (lowered == nullptr) return std::nullopt;
  try {
    auto graph = library_graph(test_case, *lowered);
    if (!graph) return std::nullopt;
    return with_partitions(test_case, *lowered, *graph, partitions_of(*graph, fuses_));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::unique_ptr<Backend> graph_backend(BackendInfo info, bool fuses) {
  // It knows constants by where they lie, and the next case has others there.
  dnnl::graph::set_constant_tensor_cache_capacity(dnnl::engine::kind::cpu, 0);
  return std::make_unique<GraphBackend>(std::move(info), fuses);
}

}  // namespace qconform::libraries::dnn

#else

namespace qconform::libraries::dnn {

std::unique_ptr<Backend> graph_backend(BackendInfo /*info*/, bool /*fuses*/) {
  return nullptr;
}

}  // namespace qconform::libraries::dnn

#endif
