#include "harness/backends/libraries/opencv/opencv_form.h"

#include <onnx/onnx_pb.h>

#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/protobuf.h"

namespace qconform {
namespace {

// The importer knows quantized tensors by the end of their names, and looks their parameters up under
// the same name with another end.
constexpr const char* kQuantizedInput = "codes_quantized";
constexpr const char* kQuantizedOutput = "y_quantized";

void add_linear_node(const char* op_type, const char* from, const std::string& to, const std::string& parameters,
                     ElementType type, onnx::GraphProto& graph) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op_type);
  node.set_name(to);
  for (const std::string& name : {std::string(from), parameters + "_scale", parameters + "_zero_point"}) {
    node.add_input(name);
  }
  node.add_output(to);
  write_tensor(Tensor::scalar<float>(ElementType::float32, 1.0F), parameters + "_scale", *graph.add_initializer());
  write_tensor(Tensor::scalar<std::uint8_t>(type, 0), parameters + "_zero_point", *graph.add_initializer());
}

// The operator takes the extents of w where the attribute is absent; the importer does not.
void state_kernel_shape(const Case& test_case, onnx::NodeProto& node) {
  const Tensor* w = test_case.input(3);
  if (test_case.node().op_type != "QLinearConv" || test_case.attribute("kernel_shape") != nullptr || w == nullptr)
    return;
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("kernel_shape");
  attribute.set_type(onnx::AttributeProto::INTS);
  for (std::size_t i = 2; i < w->shape.size(); ++i) attribute.add_ints(w->shape[i]);
}

}  // namespace

std::optional<OpenCvFrame> opencv_frame_of(const Case& test_case) {
  const ElementType x = test_case.input(0)->type;
  const auto type_at = [&](std::size_t position) {
    const Tensor* tensor = test_case.input(position);
    return tensor == nullptr ? ElementType::undefined : tensor->type;
  };
  if (test_case.node().op_type == "QLinearConv" && is_8bit_integer(x) && is_8bit_integer(type_at(7)))
    return OpenCvFrame{true, true, type_at(7)};
  if (test_case.node().op_type == "QuantizeLinear" && x == ElementType::float32 && is_8bit_integer(type_at(2))) {
    return OpenCvFrame{false, true, type_at(2)};
  }
  if (test_case.node().op_type == "DequantizeLinear" && is_8bit_integer(x) && type_at(1) == ElementType::float32) {
    return OpenCvFrame{true, false, ElementType::float32};
  }
  return std::nullopt;
}

Result<std::string> opencv_model(const Case& test_case, const OpenCvFrame& frame) {
  onnx::ModelProto model;
  QCONFORM_TRY(write_graph(test_case, {}, model));
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::NodeProto& node = *graph.mutable_node(0);
  node.set_name("node");
  state_kernel_shape(test_case, node);
  const std::vector<std::string> names = input_names(test_case);
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (test_case.inputs[i]) write_tensor(*test_case.inputs[i], names[i], *graph.add_initializer());
  }
  const Tensor& x = *test_case.input(0);
  write_value_info(kOpenCvInput, ElementType::float32, x.shape, *graph.add_input());
  node.set_input(0, frame.quantize_input ? kQuantizedInput : kOpenCvInput);
  node.set_output(0, frame.dequantize_output ? kQuantizedOutput : kOpenCvResult);
  if (frame.quantize_input) {
    add_linear_node("QuantizeLinear", kOpenCvInput, kQuantizedInput, "codes", x.type, graph);
    graph.mutable_node()->SwapElements(0, 1);
  }
  if (frame.dequantize_output) {
    add_linear_node("DequantizeLinear", kQuantizedOutput, kOpenCvResult, "result", frame.output, graph);
  }
  // The importer demands that the output has a type and a shape, and reads neither.
  graph.clear_output();
  write_value_info(kOpenCvResult, ElementType::float32, {}, *graph.add_output());
  return message_bytes(model);
}

}  // namespace qconform
