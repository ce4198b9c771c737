// A failing output, element by element, and what feeds it: what a report shows of a finding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/convolution/geometry.h"

namespace qconform {

/// A box out of a tensor: `extent[d]` elements from `begin[d]` on, in each dimension.
struct TensorBox {
  std::string name;  ///< of the input, as ONNX calls it; "y" of the output
  std::string type;  ///< "uint8"
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> begin;   ///< as many as `shape` has
  std::vector<std::int64_t> extent;  ///< likewise
  std::vector<std::string> values;   ///< in row-major order of the box, for the reader
};

/// The lists by element have the order of `got.values`.
struct Picture {
  TensorBox got;                        ///< what the backend returned, around the worst element
  std::vector<std::string> expected;    ///< the reference's value
  std::vector<std::string> exact;       ///< value before rounding: "214 + 3/8"; may be empty texts
  std::vector<std::string> admissible;  ///< "{213, 214}"
  std::vector<bool> wrong;
  std::uint64_t wrong_elements = 0;  ///< of the whole output
  std::vector<std::int64_t> worst;   ///< index of the worst element, one value per dimension

  /// Of a convolution: what tells which elements of x and w an output element is made of.
  std::optional<reference::ConvolutionGeometry> geometry;
  /// Of QuantizeLinear and DequantizeLinear: which scale and zero point belong to each element.
  std::vector<std::size_t> parameter;
  /// In the order of the case's inputs; omitted ones are left out. What does not fit is cut around the
  /// worst element's window.
  std::vector<TensorBox> inputs;
};

}  // namespace qconform
