// A case of several nodes as a graph of oneDNN 3.
#pragma once

#include <dnnl.hpp>

#if DNNL_VERSION_MAJOR >= 3

#include <cstddef>
#include <map>
#include <oneapi/dnnl/dnnl_graph.hpp>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "harness/base/bytes.h"
#include "harness/graphs/case_graph.h"

namespace qconform::libraries::dnn {

struct LibraryGraph {
  /// An operation, which has the number of its place here.
  struct LibraryOperation {
    std::string name;           ///< the library's: "Convolution"
    std::size_t node = 0;       ///< position of the node in the case
    bool marks_output = false;  ///< whether it is an End, which computes nothing
  };

  dnnl::graph::graph graph{dnnl::engine::kind::cpu};
  std::vector<LibraryOperation> operations;
  /// Row-major, as ONNX has them. The first are the program's values, in its numbering; others lie between operations
  /// of one node.
  std::vector<dnnl::graph::logical_tensor> values;
  /// Values that the adapter computes: a constant int32 bias, dequantized, for which the library has no operation.
  std::map<std::size_t, AlignedBytes> constants;
};

/// `lowered` is what lower_graph() makes of the case. Or what has no form in the library's graphs. Throws dnnl::error
/// for what the library refuses.
[[nodiscard]] tl::expected<LibraryGraph, std::string> library_graph(const Case& test_case, const GraphProgram& lowered);

}  // namespace qconform::libraries::dnn

#endif
