// Fusions of quantized graphs go wrong at these corner cases: the structure and the values tell that a graph gets
// there.
#pragma once

#include "harness/core/case.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/graphs/lowering.h"
#include "harness/model/draws/rng.h"

namespace qconform {

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
