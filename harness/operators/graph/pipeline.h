// A quantized graph as a pipeline of stages: the passes of an optimiser that rewrite it, then its numbers.
//
// As written, no pass changes anything, and the numbers are exact: the reference's answer. A defect of an optimiser is
// a pass that rewrites wrongly; one of a fused kernel computes a step wrongly.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "harness/graphs/case_graph.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/operator.h"
#include "reference/graph/sets.h"

namespace qconform::diagnose {

using GraphElements = std::vector<double>;  ///< the elements of one value, row-major

/// A step of a program, with what is computed before it.
struct GraphStep {
  const reference::graph::Program& program;
  std::size_t number;                                      ///< the step's number
  const std::vector<GraphElements>& values;                ///< by ValueId; those behind the step too, as they would be
  const std::vector<bool>& is_constant;                    ///< by ValueId: initializers, which an optimiser may convert
  const std::vector<std::optional<std::size_t>>& made_by;  ///< by ValueId: the step; nothing of what is stated

  [[nodiscard]] const reference::graph::Step& step() const { return program.steps[number]; }
  [[nodiscard]] const GraphElements& operand(std::size_t i) const { return values[step().operands[i]]; }
  [[nodiscard]] const GraphElements& result() const { return values[step().result]; }
  /// The step of that kind that computes a value; null where there is none.
  template <typename What>
  [[nodiscard]] const What* made(reference::graph::ValueId id) const {
    return made_by[id] ? std::get_if<What>(&program.steps[*made_by[id]].what) : nullptr;
  }
  [[nodiscard]] const reference::graph::Step& maker(reference::graph::ValueId id) const {
    return program.steps[*made_by[id]];
  }
};

/// Holds the change that a kernel makes to a step: another result, or other operands. Neither: the result stays.
struct GraphChange {
  std::optional<GraphElements> result{};
  std::vector<std::pair<std::size_t, GraphElements>> operands{};
};

namespace graph_stage {

using Rewrite = Case (*)(const Case& test_case);
inline Case kept(const Case& test_case) {
  return test_case;
}

// Passes, in this order.
inline constexpr Stage<Rewrite> pairs{{"pairs"}, kept};              ///< pairs of Q and DQ
inline constexpr Stage<Rewrite> signs{{"signs"}, kept};              ///< int8 data as uint8
inline constexpr Stage<Rewrite> movement{{"movement"}, kept};        ///< Q and DQ over other nodes
inline constexpr Stage<Rewrite> activations{{"activations"}, kept};  ///< Relu, Clip
inline constexpr Stage<Rewrite> parameters{{"parameters"}, kept};    ///< scales and zero points
inline constexpr Stage<Rewrite> weights{{"weights"}, kept};
inline constexpr Stage<Rewrite> biases{{"biases"}, kept};

/// Every value of a program, by ValueId.
inline constexpr Stage<std::vector<GraphElements> (*)(const reference::graph::Program& program)> numbers{
    {"numbers"}, [](const reference::graph::Program& program) {
      std::vector<GraphElements> values;
      for (auto& bounds : bounds_of(program, reference::Tier::exact)) {
        for (std::size_t i = 0; i < bounds.lo.size(); ++i) {
          if (bounds.is_open(i)) bounds.lo[i] = 0;
        }
        values.push_back(std::move(bounds.lo));
      }
      return values;
    }};
/// A kernel for sums: convolutions, products of matrices.
inline constexpr Stage<GraphChange (*)(const GraphStep& step)> sum{{"sum"},
                                                                   [](const GraphStep&) { return GraphChange{}; }};
/// A kernel that ends in Q.
inline constexpr Stage<GraphChange (*)(const GraphStep& step)> quantize{{"quantize"},
                                                                        [](const GraphStep&) { return GraphChange{}; }};

}  // namespace graph_stage

/// The graph that the passes make of it; nothing where they change nothing.
[[nodiscard]] std::optional<Case> rewritten_graph(const Case& test_case, const Stages& stages);

[[nodiscard]] std::optional<Tensor> run_graph(const Case& test_case, const Lowered& lowered, const Stages& stages);
[[nodiscard]] std::span<const DefectList> graph_defects();
[[nodiscard]] const FeatureList& graph_case_features();

// The lists that these are made of: graph_defects() joins them.
[[nodiscard]] std::span<const Defect> rewriting_defects();
[[nodiscard]] std::span<const Defect> graph_constant_defects();
[[nodiscard]] std::span<const Defect> graph_kernel_defects();
[[nodiscard]] std::span<const Defect> graph_operator_defects();

}  // namespace qconform::diagnose
