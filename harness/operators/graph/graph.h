// The family of cases of several nodes: quantized graphs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/core/profile.h"
#include "harness/core/verdict.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/draws/draws.h"
#include "harness/model/family.h"
#include "harness/model/reductions/reductions.h"
#include "harness/model/relations/relation.h"
#include "reference/graph/sets.h"

namespace qconform {

[[nodiscard]] const Family& graph_family();

/// The only operator of that family: it judges graphs, and no node has its name.
[[nodiscard]] const Operator& graph_operator();

/// The program of a case that classify() has read: null for other operators. Valid as long as `lowered`.
[[nodiscard]] const GraphProgram* graph_program_of(const Lowered& lowered);

// Random quantized graphs: one to eight compute nodes with DequantizeLinear and QuantizeLinear around them.

/// Graph `index` of `seed`: depends on nothing else, and is the same on every machine and compiler. Every graph is
/// within the contract. Blocks of 64 have their own mix of operators. Half of all graphs have powers of two as scales,
/// and most of those compute without rounding; y's scales are fitted to what is computed, and where exact values leave
/// an inner Q more than one value, another scale is tried.
[[nodiscard]] Case graph_case(std::uint64_t seed, std::uint64_t index);

// Corner cases at which fusions of quantized graphs go wrong: the structure and the values tell that a graph gets
// there.

/// How a graph's text states its quantizations, which the lowered program does not tell.
struct QuantizationsStated {
  bool shares_parameters = false;  ///< two tensors are dequantized with one scale initializer
  bool omits_zero_point = false;
  bool types_output = false;  ///< output_dtype in the place of a zero point
};
[[nodiscard]] QuantizationsStated quantizations_of(const Case& test_case);

/// The corner cases of topic `graphs`, each counted by output elements of the steps that reach it. `quantizations`: the
/// value of quantizations_of() for the case.
[[nodiscard]] CornerCaseCounts graph_corner_cases(const GraphProgram& lowered,
                                                  const QuantizationsStated& quantizations);

/// A graph, mostly one quantized unit, that reaches the corner case. Topic `graphs` alone.
[[nodiscard]] Case draw_graph_for(Rng& rng, CornerCase corner_case);

}  // namespace qconform

namespace qconform::relations {

[[nodiscard]] std::span<const FamilyRelation> graph_relations();

}  // namespace qconform::relations

namespace qconform::shrink {

// Reductions and extents of failing graphs: nodes first, then what they read.

[[nodiscard]] std::span<const Reduction> graph_reductions();

/// Axes of the same length, in one tensor of the graph or in several: whether they are the same index space, the
/// contract tells.
[[nodiscard]] std::vector<Extent> graph_extents(const Case& test_case, const std::vector<std::int64_t>& wrong_element);

}  // namespace qconform::shrink
