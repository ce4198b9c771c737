// The scales and zero points that DynamicQuantizeLinear computes inside a graph, where a runtime may fuse it away.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "harness/graphs/case_graph.h"
#include "reference/graph/sets.h"

namespace qconform {

/// A scale and a zero point that a DynamicQuantizeLinear may have.
struct DynamicPair {
  double scale;
  double zero_point;
};

/// One DynamicQuantizeLinear of a program.
struct DynamicScale {
  reference::graph::ValueId scale;
  reference::graph::ValueId zero_point;
  /// The ends of x with 0; none where the graph computes x, and nobody has shown it.
  std::optional<std::pair<float, float>> range;
  /// All right pairs, that of the text first: the quotient range/255 or the range's product with 1/255, and the zero
  /// points that follow by a quotient or by a product with the reciprocal. Of x that is 0 everywhere one stands for
  /// all: every product is 0. Empty where the graph computes x, and nobody has shown it.
  std::vector<DynamicPair> pairs = {};

  /// Makes `pair` the numbers of both values; nothing where there is no such pair.
  void give(std::size_t pair, reference::graph::Answers& to) const {
    if (pair >= pairs.size()) return;
    to[scale] = {pairs[pair].scale};
    to[zero_point] = {pairs[pair].zero_point};
  }
};

/// `given`: numbers of values that a backend has shown.
[[nodiscard]] std::vector<DynamicScale> dynamic_scales(const reference::graph::Program& program,
                                                       const reference::graph::Answers& given = {});

}  // namespace qconform
