#include "harness/onnx/cross_check.h"

// A macro of <sys/mman.h>, which a source may include that is compiled together with this one.
#undef MAP_TYPE
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf.h"

namespace qconform {
namespace {

bool library_knows(const Case& test_case) {
  const std::string domain = test_case.node().domain == "ai.onnx" ? "" : test_case.node().domain;
  const auto& ranges = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto range = ranges.find(domain);
  if (range == ranges.end() || test_case.node().opset_version < range->second.first ||
      test_case.node().opset_version > range->second.second) {
    return false;
  }
  const auto version = static_cast<int>(test_case.node().opset_version);
  return operator_of(test_case) == nullptr ||
         onnx::OpSchemaRegistry::Schema(test_case.node().op_type, version, domain) != nullptr;
}

/// The output as inference leaves it.
std::optional<OutputType> output_of(const onnx::ModelProto& model) {
  if (model.graph().output_size() != 1) return std::nullopt;
  const onnx::TypeProto::Tensor& type = model.graph().output(0).type().tensor_type();
  if (!type.has_shape()) return std::nullopt;
  OutputType output{static_cast<ElementType>(type.elem_type()), {}};
  for (const onnx::TensorShapeProto::Dimension& dimension : type.shape().dim()) {
    output.shape.push_back(dimension.has_dim_value() ? dimension.dim_value() : -1);
  }
  return output;
}

/// The library's complaint; empty when it has none. The checker wants the output's type stated;
/// inference then starts without it, and reports errors at any node.
std::string complaint_of(onnx::ModelProto& model, bool isolated) {
  try {
    onnx::checker::check_model(model);
    model.mutable_graph()->mutable_output(0)->clear_type();
    if (isolated) {
      const auto inferred = infer_shapes_isolated(model, InferenceErrors::report);
      return inferred ? "" : inferred.error().text();
    }
    const onnx::ShapeInferenceOptions strict(true, 1, false);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), strict);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string describe(const OutputType& output) {
  return name_of(output.type) + shape_text(output.shape);
}

onnx::ModelProto model_of(const Case& test_case, const OutputType& output) {
  onnx::ModelProto model;
  if (const auto bytes = case_to_model(test_case, {output})) (void)parse_message(*bytes, model).has_value();
  return model;
}

}  // namespace

CrossCheck cross_check(const Case& test_case) {
  CrossCheck result;
  result.comparable = library_knows(test_case);
  if (!result.comparable) return result;
  const Classification classification = classify(test_case);
  const Lowered* lowered = classification.lowered.get();
  if (lowered == nullptr) {
    onnx::ModelProto model = model_of(test_case, OutputType{ElementType::float32, {}});
    if (complaint_of(model, true).empty()) {
      result.differences.push_back("accepted by the ONNX library, out of contract here: " +
                                   classification.deciding_remark()->text());
    }
    return result;
  }
  const OutputType ours{lowered->output_type(), lowered->output_shape()};
  onnx::ModelProto model = model_of(test_case, ours);
  const std::string complaint = complaint_of(model, false);
  if (!complaint.empty()) {
    const bool may_refuse = classification.expectation() == Expectation::implementation_defined;
    if (!may_refuse) result.differences.push_back("refused by the ONNX library: " + complaint);
    return result;
  }
  const auto theirs = output_of(model);
  if (!theirs) {
    result.differences.push_back("the ONNX library infers no shape, ours is " + describe(ours));
  } else if (theirs->type != ours.type || theirs->shape != ours.shape) {
    result.differences.push_back("the ONNX library infers " + describe(*theirs) + ", ours is " + describe(ours));
  }
  return result;
}

}  // namespace qconform
