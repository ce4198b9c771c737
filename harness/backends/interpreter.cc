#include "harness/backends/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/kinds.h"
#include "harness/core/version.h"
#include "harness/forms/archive/archive.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/operator.h"
#include "reference/graph/interpreter.h"
#include "reference/numerics/element.h"

namespace qconform::backend {
namespace {

using reference::graph::InterpreterArithmetic;
using reference::graph::SumOrder;

class InterpreterBackend final : public Backend {
 public:
  InterpreterBackend(const InterpreterArithmetic& arithmetic, std::string name)
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
  InterpreterArithmetic arithmetic_;
  BackendInfo info_;
};

Result<SumOrder> order_named(std::string_view name) {
  if (name == "forward") return SumOrder::forward;
  if (name == "backward") return SumOrder::backward;
  if (name == "pairwise") return SumOrder::pairwise;
  if (name == "blocked") return SumOrder::blocked;
  return fail("--backend", "order: expected forward, backward, pairwise or blocked, got " + std::string(name));
}

Result<InterpreterArithmetic> arithmetic_of(const Specification& what) {
  InterpreterArithmetic arithmetic;
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
  if (!is_judged_as_graph(test_case)) {
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

InterpretedGraph::InterpretedGraph(GraphProgram graph, const reference::graph::InterpreterArithmetic& arithmetic,
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

// Graphs whose quantized units run on a kernel set; all else is interpreted.

namespace {

using reference::KernelSet;
using reference::graph::FloatBias;
using reference::graph::FusedUnit;
using reference::graph::Program;
using reference::graph::StepResult;

using AllValues = std::vector<std::vector<double>>;

// The data as the convolution reads it.
std::vector<double> arranged(const FusedUnit& unit, const std::vector<double>& x) {
  if (unit.x_index.empty()) return x;
  std::vector<double> result;
  result.reserve(unit.x_index.size());
  for (const std::int64_t index : unit.x_index) {
    result.push_back(index < 0 ? unit.convolution.operands.x_zero_point : x[static_cast<std::size_t>(index)]);
  }
  return result;
}

// One integer convolution, and the activations behind it.
StepResult result_of(const Program& program, FusedUnit unit, const KernelSet& kernels) {
  std::shared_ptr<const reference::PreparedNode> node =
      kernels.qlinear_conv(unit.convolution, RoundingProfile::correctly_rounded, unit.w);
  const ElementType x_type = program.values[unit.x].type;
  const reference::graph::Value& y = program.values[program.steps[unit.quantize].result];
  std::size_t elements = 1;
  for (const std::int64_t extent : y.shape) elements *= static_cast<std::size_t>(extent);
  return [node = std::move(node), unit = std::move(unit), x_type, y_type = y.type, elements](const AllValues& values) {
    const std::vector<std::byte> x = reference::graph::to_bytes(x_type, arranged(unit, values[unit.x]));
    std::vector<std::byte> bytes(elements);
    node->run(x, bytes);
    std::vector<double> result = reference::graph::from_bytes(y_type, bytes, elements);
    for (const FusedUnit::Clamp& clamp : unit.clamps) {
      for (double& element : result) {
        element = std::min(std::max(element, static_cast<double>(clamp.lowest)), static_cast<double>(clamp.highest));
      }
    }
    return result;
  };
}

// Steps that nothing needs beside the units have no result.
void leave_out_unneeded(const Program& program, std::vector<StepResult>& instead, const std::vector<FusedUnit>& units) {
  std::set<reference::graph::ValueId> needed(program.outputs.begin(), program.outputs.end());
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    const auto& step = program.steps[i];
    if (needed.count(step.result) == 0) {
      instead[i] = [](const AllValues&) { return std::vector<double>(); };
      continue;
    }
    const auto unit = std::find_if(units.begin(), units.end(), [&](const FusedUnit& u) { return u.quantize == i; });
    if (unit != units.end()) {
      needed.insert(unit->x);
    } else {
      needed.insert(step.operands.begin(), step.operands.end());
    }
  }
}

class FusedBackend final : public Backend {
 public:
  FusedBackend(const KernelSet& kernels, FloatBias float_bias, std::string name)
      : kernels_(kernels), float_bias_(float_bias), info_{std::move(name), kVersion, "in-tree", true} {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    auto taken = interpretable(test_case, "fused");
    if (auto* refusal = std::get_if<outcome::Unsupported>(&taken)) return std::move(*refusal);
    if (auto* refusal = std::get_if<outcome::Rejected>(&taken)) return std::move(*refusal);
    auto& graph = std::get<GraphProgram>(taken);
    const std::vector<FusedUnit> units = fused_units(graph.program, float_bias_);
    std::vector<StepResult> instead(graph.program.steps.size());
    for (const FusedUnit& unit : units) instead[unit.quantize] = result_of(graph.program, unit, kernels_);
    if (!units.empty()) leave_out_unneeded(graph.program, instead, units);
    return std::make_unique<InterpretedGraph>(std::move(graph), reference::graph::InterpreterArithmetic{},
                                              std::move(instead));
  }

  [[nodiscard]] std::optional<CaseGraph> rewritten(const Case& test_case) override;

 private:
  const KernelSet& kernels_;
  FloatBias float_bias_;
  BackendInfo info_;
};

// A QLinearConv in the place of each unit.
std::optional<CaseGraph> FusedBackend::rewritten(const Case& test_case) {
  const auto taken = interpretable(test_case, "fused");
  const auto* graph = std::get_if<GraphProgram>(&taken);
  if (graph == nullptr) return std::nullopt;
  CaseGraph result = shown_graph(test_case);
  std::vector<bool> is_gone(test_case.nodes.size(), false);
  for (const FusedUnit& unit : fused_units(graph->program, float_bias_)) {
    for (const std::size_t node : unit.nodes) is_gone[node] = true;
    const std::size_t last = unit.nodes.back();
    is_gone[last] = false;
    std::vector<std::string> inputs{graph->names[unit.x]};
    for (const std::size_t node : unit.nodes) {
      for (const std::string& input : test_case.nodes[node].inputs) {
        const bool is_computed_here = std::any_of(unit.nodes.begin(), unit.nodes.end(), [&](std::size_t other) {
          const auto& outputs = test_case.nodes[other].outputs;
          return std::find(outputs.begin(), outputs.end(), input) != outputs.end();
        });
        if (!is_computed_here && std::find(inputs.begin(), inputs.end(), input) == inputs.end()) {
          inputs.push_back(input);
        }
      }
    }
    result.nodes[last] = {"QLinearConv", "", {}, std::move(inputs), test_case.nodes[last].outputs};
  }
  std::size_t node = 0;
  std::erase_if(result.nodes, [&](const CaseGraph::Node&) { return is_gone[node++]; });
  return result;
}

}  // namespace

Accepted accepted_by_fused() {
  return {{}, {{"kernels", "NAME"}, {"float-bias", "exact or rounded"}}};
}

Result<std::unique_ptr<Backend>> fused(const Specification& what) {
  QCONFORM_TRY(check_version(what, kVersion));
  QCONFORM_TRY(check_settings(what, accepted_by_fused()));
  std::string wanted;  // the kernel set
  FloatBias float_bias = FloatBias::exact;
  for (const auto& [key, value] : what.settings) {
    if (key == "kernels") {
      wanted = value;
    } else if (value == "rounded") {
      float_bias = FloatBias::rounded;
    } else if (value != "exact") {
      return fail("--backend",
                  fmt::format("\"{}\": no float-bias \"{}\"; expected exact or rounded", text_of(what), value));
    }
  }
  const KernelSet* chosen = nullptr;
  for (const KernelSet& set : reference::kernel_sets()) {
    if ((wanted.empty() || wanted == set.name) && set.available()) chosen = &set;
  }
  if (chosen != nullptr) return std::make_unique<FusedBackend>(*chosen, float_bias, text_of(what));
  return fail("--backend", fmt::format("\"{}\": no kernel set {} runs on this CPU", text_of(what), wanted));
}

namespace {

class GraphText final : public PreparedCase {
 public:
  GraphText(std::string bytes, std::size_t outputs) : bytes_(std::move(bytes)), outputs_(outputs) {}
  void run(OutputSink& sink) override {
    for (std::size_t other = 1; other < outputs_; ++other) {
      (void)sink.allocate(other, ElementType::uint8, std::vector<std::int64_t>{0});
    }
    const auto to = sink.allocate(0, ElementType::uint8, std::vector{static_cast<std::int64_t>(bytes_.size())});
    std::memcpy(to.data(), bytes_.data(), std::min(to.size(), bytes_.size()));
  }

 private:
  std::string bytes_;
  std::size_t outputs_;  // how many outputs the case has: each is asked for
};

class RewritingTold final : public Backend {
 public:
  explicit RewritingTold(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] const BackendInfo& info() const override { return inner_->info(); }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    const auto graph = inner_->rewritten(test_case);
    if (!graph) return outcome::Unsupported{"it does not show what it computes"};
    return std::make_unique<GraphText>(to_cbor(*graph), test_case.output_count());
  }

 private:
  std::unique_ptr<Backend> inner_;
};

class RewritingAsked final : public Backend {
 public:
  explicit RewritingAsked(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}
  [[nodiscard]] const BackendInfo& info() const override { return inner_->info(); }
  [[nodiscard]] Preparation prepare(const Case& /*test_case*/) override {
    return outcome::Unsupported{"it only shows what it would compute"};
  }
  [[nodiscard]] std::optional<CaseGraph> rewritten(const Case& test_case) override {
    Worker& worker = *inner_->worker();
    worker.start(test_case);
    const Outcome outcome = worker.finish();
    const auto* produced = std::get_if<outcome::Produced>(&outcome);
    if (produced == nullptr) return std::nullopt;
    const auto& output = produced->outputs.front().bytes;
    const std::string bytes(reinterpret_cast<const char*>(output.data()), output.size());
    auto graph = from_cbor<CaseGraph>(bytes, "rewritten graph");
    return graph ? std::optional(std::move(*graph)) : std::nullopt;
  }

 private:
  std::unique_ptr<Backend> inner_;
};

}  // namespace

std::unique_ptr<Backend> rewriting_told(std::unique_ptr<Backend> inner) {
  return std::make_unique<RewritingTold>(std::move(inner));
}

std::unique_ptr<Backend> rewriting_asked(std::unique_ptr<Backend> inner) {
  return std::make_unique<RewritingAsked>(std::move(inner));
}

}  // namespace qconform::backend
