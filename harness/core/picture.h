// A failing output, element by element, and what feeds it: what a report shows of a finding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qconform {

/// A box out of a tensor: `extent[d]` elements from `begin[d]` on, in each dimension.
struct TensorBox {
  std::string name;  ///< of the input, as ONNX calls it; "y" of the output
  std::string type;  ///< "uint8"
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> begin;   ///< as many as `shape` has
  std::vector<std::int64_t> extent;  ///< likewise
  std::vector<std::string> values;   ///< in row-major order of the box, for the reader

  bool operator==(const TensorBox&) const = default;
};

/// Of a convolution: what tells which elements of x and w an output element is made of.
struct PictureGeometry {
  /// One spatial dimension; sizes in elements.
  struct Axis {
    std::int64_t input = 0;
    std::int64_t kernel = 0;
    std::int64_t stride = 0;
    std::int64_t dilation = 0;
    std::int64_t pad_begin = 0;
    std::int64_t pad_end = 0;

    bool operator==(const Axis&) const = default;
  };
  std::int64_t group_input_channels = 0;
  std::int64_t group_output_channels = 0;
  std::vector<Axis> axes;

  bool operator==(const PictureGeometry&) const = default;
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

  std::optional<PictureGeometry> geometry;  ///< of a convolution
  /// Of QuantizeLinear and DequantizeLinear: which scale and zero point belong to each element.
  std::vector<std::size_t> parameter;
  /// In the order of the case's inputs; omitted ones are left out. What does not fit is cut around the
  /// worst element's window.
  std::vector<TensorBox> inputs;

  bool operator==(const Picture&) const = default;
};

}  // namespace qconform
