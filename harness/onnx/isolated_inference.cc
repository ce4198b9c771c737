#include "harness/onnx/isolated_inference.h"

#include <onnx/onnx_pb.h>
// A macro of <sys/mman.h>, which a source may include that is compiled together with this one.
#undef MAP_TYPE
#include <onnx/shape_inference/implementation.h>

#include <string>

#include "harness/base/forked_process.h"
#include "harness/onnx/protobuf_file.h"

namespace qconform {

Result<void> infer_shapes_isolated(onnx::ModelProto& model, InferenceErrors errors) {
  const auto infer = [&]() -> Result<std::string> {
    const onnx::ShapeInferenceOptions options(false, errors == InferenceErrors::report ? 1 : 0, false);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), options);
    return message_bytes(model);
  };
  QCONFORM_ASSIGN(const auto bytes, run_forked("shape inference", {}, infer));
  onnx::ModelProto inferred;
  QCONFORM_TRY(parse_message(bytes, inferred));
  model.Swap(&inferred);
  return {};
}

}  // namespace qconform
