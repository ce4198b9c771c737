// A failing output, element by element, with the inputs that it is computed from, as a report shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/fields.h"

namespace qconform {

/// A box out of a tensor: `extent[d]` elements from `begin[d]` on, in each dimension.
struct TensorBox {
  QC_DESCRIBED(.name = "box", .doc = "A box out of a tensor: extent[d] elements from begin[d] on, in each dimension.");
  QC_FIELD(std::string, name, {}, "name");  ///< ONNX's name of the input; "y" for the output
  QC_FIELD(std::string, type, {}, "type");  ///< "uint8"
  QC_FIELD(std::vector<std::int64_t>, shape, {}, "shape", .def = "index");
  QC_FIELD(std::vector<std::int64_t>, begin, {}, "begin", .def = "index");    ///< as many as `shape` has
  QC_FIELD(std::vector<std::int64_t>, extent, {}, "extent", .def = "index");  ///< as many as `shape` has
  QC_FIELD(std::vector<std::string>, values, {}, "values", .doc = "In row-major order of the box.", .def = "texts");

  bool operator==(const TensorBox&) const = default;
};

/// The geometry of a convolution, which tells the elements of x and w that an output element is computed from.
struct WindowGeometry {
  /// One spatial dimension; sizes in elements.
  struct Axis {
    QC_DESCRIBED();
    QC_FIELD(std::int64_t, input, {}, "input");
    QC_FIELD(std::int64_t, kernel, {}, "kernel");
    QC_FIELD(std::int64_t, stride, {}, "stride", .minimum = 1);
    QC_FIELD(std::int64_t, dilation, {}, "dilation", .minimum = 1);
    QC_FIELD(std::int64_t, pad_begin, {}, "pad_begin");
    QC_FIELD(std::int64_t, pad_end, {}, "pad_end");

    bool operator==(const Axis&) const = default;
  };

  QC_DESCRIBED(.doc = "Of a convolution: tap k of output o reads input o * stride - pad_begin + k * dilation.");
  QC_FIELD(std::int64_t, group_input_channels, {}, "group_input_channels");
  QC_FIELD(std::int64_t, group_output_channels, {}, "group_output_channels");
  QC_FIELD(std::vector<Axis>, axes, {}, "axes");

  bool operator==(const WindowGeometry&) const = default;
};

struct ElementMap {
  QC_DESCRIBED(.name = "picture",
               .doc =
                   "A wrong output element by element, as the backend computed it again for the report, and what feeds "
                   "it. Lists by element have the order of got.values.");
  QC_FIELD(TensorBox, got, {}, "got", .doc = "The output, or what of it is around the worst element.");
  QC_FIELD(std::vector<std::string>, expected, {}, "expected", .doc = "The reference's values.", .def = "texts");
  QC_FIELD(std::vector<std::string>, exact, {}, "exact",
           .doc = "Values before rounding, as integer and fraction; empty texts where there is none.", .def = "texts");
  std::vector<std::string> admissible{};  ///< "{213, 214}"
  std::vector<bool> wrong{};
  QC_LINE(describe_elements(archive, self));
  QC_FIELD(std::uint64_t, wrong_elements, {}, "wrong_elements", .doc = "Of the whole output.");
  QC_FIELD(std::vector<std::int64_t>, worst, {}, "worst",
           .doc = "Index of the wrong element that is farthest from the right values.", .def = "index");
  QC_FIELD(std::optional<WindowGeometry>, geometry, {}, "geometry");  ///< set for a convolution
  QC_FIELD(std::vector<std::size_t>, parameter, {}, "parameter",
           .doc = "Of QuantizeLinear and DequantizeLinear: which scale and zero point belong to each element.",
           .presence = Presence::omitted, .def = "index");
  /// In the order of the case's inputs; omitted ones are left out.
  QC_FIELD(std::vector<TensorBox>, inputs, {}, "inputs",
           .doc = "Large ones are cut to what the elements shown are made of, or the worst one alone.");

  bool operator==(const ElementMap&) const = default;
};

}  // namespace qconform
