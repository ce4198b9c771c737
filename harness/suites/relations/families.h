// The relations by family; each is defined in the file of its family's name.
#pragma once

#include <span>

#include "harness/suites/relations/relation.h"

namespace qconform::relations {

[[nodiscard]] std::span<const Relation> signedness_relations();      ///< int8 and uint8, zero points
[[nodiscard]] std::span<const Relation> padding_relations();         ///< pads, auto_pad
[[nodiscard]] std::span<const Relation> kernel_relations();          ///< dilation, stride, taps
[[nodiscard]] std::span<const Relation> axis_relations();            ///< number, order, direction of spatial axes
[[nodiscard]] std::span<const Relation> channel_relations();         ///< groups, input and output channels
[[nodiscard]] std::span<const Relation> batch_relations();           ///< images
[[nodiscard]] std::span<const Relation> scale_relations();           ///< powers of two
[[nodiscard]] std::span<const Relation> requantization_relations();  ///< zero point, bias, accumulator
[[nodiscard]] std::span<const Relation> element_relations();         ///< element-wise operators: axis, blocks, order
[[nodiscard]] std::span<const Relation> round_trip_relations();      ///< quantize and dequantize
[[nodiscard]] std::span<const Relation> repetition_relations();      ///< the same case again

}  // namespace qconform::relations
