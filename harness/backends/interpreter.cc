#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "harness/backends/interpreter.h"
#include "harness/backends/kinds.h"
#include "harness/core/version.h"
#include "harness/graphs/wiring.h"
#include "harness/model/operator.h"
#include "reference/graph/interpreter.h"
#include "reference/numerics/bits.h"

namespace qconform::backend {

namespace {

using reference::graph::Arithmetic;
using reference::graph::SumOrder;

class InterpreterBackend final : public Backend {
 public:
  InterpreterBackend(const Arithmetic& arithmetic, std::string name)
      : arithmetic_(arithmetic), info_{std::move(name), kVersion, "in-tree", true} {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    auto taken = interpretable(test_case, "the interpreter");
    if (auto* refusal = std::get_if<outcome::Unsupported>(&taken)) return std::move(*refusal);
    if (auto* refusal = std::get_if<outcome::Rejected>(&taken)) return std::move(*refusal);
    return std::make_unique<InterpretedGraph>(std::move(std::get<GraphProgram>(taken)), arithmetic_,
                                              std::vector<reference::graph::StepResult>());
  }

 private:
  Arithmetic arithmetic_;
  BackendInfo info_;
};

Result<SumOrder> order_named(std::string_view name) {
  if (name == "forward") return SumOrder::forward;
  if (name == "backward") return SumOrder::backward;
  if (name == "pairwise") return SumOrder::pairwise;
  if (name == "blocked") return SumOrder::blocked;
  return fail("--backend", "order: expected forward, backward, pairwise or blocked, got " + std::string(name));
}

Result<Arithmetic> arithmetic_of(const Specification& what) {
  Arithmetic arithmetic;
  for (const auto& [key, value] : what.settings) {
    if (key == "order") {
      QCONFORM_ASSIGN(arithmetic.order, order_named(value));
      continue;
    }
    if (value != "0" && value != "1") return fail("--backend", key + ": expected 0 or 1, got " + value);
    bool& chosen = key == "fma"           ? arithmetic.fma
                   : key == "double-sums" ? arithmetic.double_sums
                                          : arithmetic.flush_subnormals;
    chosen = value == "1";
  }
  return arithmetic;
}

}  // namespace

Accepted accepted_by_interpreter() {
  return {{},
          {{"order", "forward, backward, pairwise or blocked"},
           {"fma", "0 or 1"},
           {"flush-subnormals", "0 or 1"},
           {"double-sums", "0 or 1"}}};
}

Result<std::unique_ptr<Backend>> interpreter(const Specification& what) {
  QCONFORM_TRY(check_version(what, kVersion));
  QCONFORM_TRY(check_settings(what, accepted_by_interpreter()));
  QCONFORM_ASSIGN(const auto arithmetic, arithmetic_of(what));
  return std::make_unique<InterpreterBackend>(arithmetic, text_of(what));
}

namespace {

// Types that the reference has no name for hold integers and truth values.
std::vector<std::byte> bytes_of(ElementType type, ElementType element, const std::vector<double>& values) {
  if (element != ElementType::undefined) return reference::graph::to_bytes(element, values);
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
  if (graph->value_is_open) return outcome::Rejected{contract.implementation_defined.front().text()};
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
