#include <array>

#include "harness/operators/convolution/convolution.h"
#include "harness/operators/graph/graph.h"
#include "harness/operators/linear/linear.h"

// Alone in its file: a program of the tests has a longer list in its place.
namespace qconform {

std::span<const Family* const> families() {
  // A line for each.
  static const std::array<const Family*, 3> all{
      &convolution_family(),
      &linear_family(),
      &graph_family(),
  };
  return all;
}

}  // namespace qconform
