// The models that OpenCV's importer is given.
//
// It wants floats at both ends of a model. Around the node stand a QuantizeLinear and a DequantizeLinear of scale 1 and
// zero point 0, which turn the codes of x into floats and back, under names of their own, because the importer finds
// the parameters of a quantized tensor by name. Nothing is lost: the library holds uint8 as int8 less 128, so that zero
// point 0 becomes z' = 0 for int8 and -128 for uint8. QuantizeLinear computes code * (1/1) + z', an integer of int8's
// range, and DequantizeLinear c' * 1 - 1 * z', an integer from -128 to 255: both are exact in float32.
#pragma once

#include <optional>
#include <string>

#include "harness/base/error.h"
#include "harness/core/case.h"

namespace qconform {

/// The nodes that the model needs around the case's node.
struct OpenCvFrame {
  bool quantize_input;     ///< the node takes codes
  bool dequantize_output;  ///< the node makes codes
  ElementType output;
};
/// Chooses the frame by the types of the case's tensors; nullopt where the importer has no form for them. The case has
/// an x.
[[nodiscard]] std::optional<OpenCvFrame> opencv_frame_of(const Case& test_case);

/// The graph's only input and output, both float32.
inline constexpr const char* kOpenCvInput = "codes";
inline constexpr const char* kOpenCvResult = "result";

/// The bytes of a ModelProto. Fails where the case is no model: write_graph().
[[nodiscard]] Result<std::string> opencv_model(const Case& test_case, const OpenCvFrame& frame);

}  // namespace qconform
