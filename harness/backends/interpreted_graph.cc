#include "harness/backends/interpreted_graph.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "harness/graphs/wiring.h"
#include "harness/model/operator.h"
#include "reference/numerics/bits.h"

namespace qconform::backend {
namespace {

// Types that the reference has no name for hold integers and truth values.
std::vector<std::byte> bytes_of(ElementType type, reference::Element element, const std::vector<double>& values) {
  if (element != reference::Element::none) return reference::graph::to_bytes(element, values);
  const int bits = type == ElementType::boolean ? 8 : bits_of(type);
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(bits / 8));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto raw = static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i]));
    reference::store_bits(bytes, bits, static_cast<std::int64_t>(i), raw);
  }
  return bytes;
}

}  // namespace

std::variant<GraphProgram, outcome::Unsupported, outcome::Rejected> interpretable(const Case& test_case,
                                                                                  const char* name) {
  if (const auto wired = check_wiring(test_case); !wired) return outcome::Rejected{wired.error().text()};
  if (test_case.is_one_node()) {
    return outcome::Unsupported{std::string(name) + " computes graphs of several nodes, not one " +
                                operator_name(test_case)};
  }
  reference::Contract contract;
  auto graph = lower_graph(test_case, contract);
  if (!graph) {
    const reference::Remark& remark = *contract.violation;
    if (remark.rule == "limit" || remark.rule == "operator") return outcome::Unsupported{remark.text()};
    return outcome::Rejected{remark.text()};
  }
  if (graph->value_is_open) return outcome::Rejected{contract.latitude.front().text()};
  return std::move(*graph);
}

InterpretedGraph::InterpretedGraph(GraphProgram graph, const reference::graph::Arithmetic& arithmetic,
                                   std::vector<reference::graph::StepResult> instead)
    : graph_(std::move(graph)), arithmetic_(arithmetic), instead_(std::move(instead)) {}

void InterpretedGraph::run(OutputSink& sink) {
  const auto values = interpret(graph_.program, arithmetic_, instead_);
  for (std::size_t output = 0; output < graph_.program.outputs.size(); ++output) {
    const auto id = graph_.program.outputs[output];
    const auto& value = graph_.program.values[id];
    const std::vector<std::byte> bytes = bytes_of(graph_.types[id], value.type, values[id]);
    const std::span<std::byte> y = sink.allocate(output, graph_.types[id], value.shape);
    if (!y.empty()) std::memcpy(y.data(), bytes.data(), std::min(y.size(), bytes.size()));
  }
}

}  // namespace qconform::backend
