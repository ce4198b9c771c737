// OpenCV's DNN module, through its importer of ONNX models.
//
// The importer wants floats at both ends of a model. Around the node stand a QuantizeLinear and a
// DequantizeLinear of scale 1 and zero point 0, which turn the codes of x into floats and back:
// docs/backends.md says why nothing is lost on the way.
#include <onnx/onnx_pb.h>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/dnn.hpp>

#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "harness/backends/libraries/adapters.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/node_proto.h"
#include "harness/onnx/protobuf_file.h"
#include "harness/onnx/tensor_proto.h"
#include "harness/operators/operator.h"

namespace qconform::libraries {
namespace {

// The importer knows quantized tensors by the end of their names, and looks their parameters up under
// the same name with another end.
constexpr const char* kQuantizedInput = "codes_quantized";
constexpr const char* kQuantizedOutput = "y_quantized";
constexpr const char* kInput = "codes";
constexpr const char* kResult = "result";

bool is_8_bit(ElementType type) {
  return type == ElementType::uint8 || type == ElementType::int8;
}

// What stands around the case's node.
struct Frame {
  bool quantize_input;     // the node takes codes
  bool dequantize_output;  // the node makes codes
  ElementType output;
};

// The types decide, as the operators' signatures give them.
std::optional<Frame> frame_of(const Case& test_case) {
  const ElementType x = test_case.input(0)->type;
  const auto type_at = [&](std::size_t position) {
    const Tensor* tensor = test_case.input(position);
    return tensor == nullptr ? ElementType::undefined : tensor->type;
  };
  if (test_case.node().op_type == "QLinearConv" && is_8_bit(x) && is_8_bit(type_at(7)))
    return Frame{true, true, type_at(7)};
  if (test_case.node().op_type == "QuantizeLinear" && x == ElementType::float32 && is_8_bit(type_at(2))) {
    return Frame{false, true, type_at(2)};
  }
  if (test_case.node().op_type == "DequantizeLinear" && is_8_bit(x) && type_at(1) == ElementType::float32) {
    return Frame{true, false, ElementType::float32};
  }
  return std::nullopt;
}

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

Result<std::string> framed_model(const Case& test_case, const Frame& frame) {
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
  write_value_info(kInput, ElementType::float32, x.shape, *graph.add_input());
  node.set_input(0, frame.quantize_input ? kQuantizedInput : kInput);
  node.set_output(0, frame.dequantize_output ? kQuantizedOutput : kResult);
  if (frame.quantize_input) {
    add_linear_node("QuantizeLinear", kInput, kQuantizedInput, "codes", x.type, graph);
    graph.mutable_node()->SwapElements(0, 1);
  }
  if (frame.dequantize_output) {
    add_linear_node("DequantizeLinear", kQuantizedOutput, kResult, "result", frame.output, graph);
  }
  // The importer demands that the output has a type and a shape, and reads neither.
  graph.clear_output();
  write_value_info(kResult, ElementType::float32, {}, *graph.add_output());
  return message_bytes(model);
}

// The codes of x as floats, or x itself.
cv::Mat input_blob(const Tensor& x, InputMemory& inputs) {
  const std::vector<int> shape(x.shape.begin(), x.shape.end());
  if (x.type == ElementType::float32) return {shape, CV_32F, inputs.bytes(0).data()};
  const auto write_codes = [](const Tensor& input, std::span<std::byte> memory) {
    for (std::int64_t i = 0; i < input.elements(); ++i) {
      const auto code = static_cast<float>(integer_at(input, i));
      std::memcpy(memory.data() + static_cast<std::size_t>(i) * sizeof code, &code, sizeof code);
    }
  };
  const std::size_t size = static_cast<std::size_t>(x.elements()) * sizeof(float);
  return {shape, CV_32F, inputs.converted(0, size, 0, write_codes).data()};
}

// An exception of the library: its own sentence, without the place in its source, which is the same
// for everything that the importer refuses.
std::string message_of(const cv::Exception& error) {
  const std::string& text = error.err;
  constexpr std::string_view kNested = "parse error: ";
  const std::size_t nested = text.rfind(kNested);
  if (nested == std::string::npos) return "OpenCV: " + text;
  const std::size_t inner = text.find("error: ", nested + kNested.size());
  return "OpenCV: " + text.substr(inner == std::string::npos ? nested : inner);
}

class PreparedNet final : public PreparedCase {
 public:
  PreparedNet(const Case& test_case, const Frame& frame, cv::dnn::Net net, cv::Mat x)
      : case_(test_case), frame_(frame), net_(std::move(net)), x_(std::move(x)) {}

  void run(OutputSink& sink) override {
    try {
      net_.setInput(x_, kInput);
      write(net_.forward(kResult), sink);
    } catch (const cv::Exception& error) {
      sink.refuse(refusal(case_, message_of(error)));
    }
  }

 private:
  void write(const cv::Mat& result, OutputSink& sink) const {
    const std::vector<std::int64_t> shape(result.size.p, result.size.p + result.dims);
    const std::span<std::byte> y = sink.allocate(frame_.output, shape);
    if (y.empty()) return;
    CV_Assert(result.type() == CV_32F && result.isContinuous());
    const auto* values = result.ptr<float>();
    if (!frame_.dequantize_output) {
      std::memcpy(y.data(), values, y.size());
      return;
    }
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = reference::store8(static_cast<std::int32_t>(values[i]));
  }

  const Case& case_;
  Frame frame_;
  cv::dnn::Net net_;
  cv::Mat x_;
};

// What a matrix of the library cannot be.
std::optional<std::string> beyond_matrices(const Tensor& x) {
  if (x.shape.size() < 2) return "x: a matrix has 2 dimensions or more, got " + shape_text(x.shape);
  for (const std::int64_t dimension : x.shape) {
    if (dimension == 0) return "x: without elements, " + shape_text(x.shape);
    if (dimension > std::numeric_limits<int>::max()) return "x: dimensions are int32, got " + shape_text(x.shape);
  }
  return std::nullopt;
}

class OpenCv final : public Backend {
 public:
  explicit OpenCv(BackendInfo info) : info_(std::move(info)) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override { return prepare_on_own_tensors(*this, test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    if (test_case.input(0) == nullptr) return refused(test_case, "x: omitted");
    const auto frame = frame_of(test_case);
    if (!frame) return refused(test_case, "no form for " + test_case.node().op_type + " with these types");
    if (auto reason = beyond_matrices(*test_case.input(0))) return refused(test_case, std::move(*reason));
    const auto model = framed_model(test_case, *frame);
    if (!model) return refused(test_case, model.error().text());
    try {
      cv::dnn::Net net = cv::dnn::readNetFromONNX(model->data(), model->size());
      net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
      net.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
      cv::Mat x = input_blob(*test_case.input(0), inputs);
      return std::make_unique<PreparedNet>(test_case, *frame, std::move(net), std::move(x));
    } catch (const cv::Exception& error) {
      return refused(test_case, message_of(error));
    }
  }

 private:
  BackendInfo info_;
};

int say_nothing(int /*status*/, const char* /*function*/, const char* /*error*/, const char* /*file*/, int /*line*/,
                void* /*user*/) {
  return 0;
}

Result<std::unique_ptr<Backend>> open(const backend::Specification& what) {
  // OpenCV would print every refusal on stderr too.
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  cv::redirectError(say_nothing);
  cv::setNumThreads(1);
  return std::make_unique<OpenCv>(BackendInfo{backend::text_of(what), cv::getVersionString(), "library"});
}

}  // namespace

backend::Library opencv() {
  return {"opencv",
          "OpenCV DNN: models of one QLinearConv, QuantizeLinear or DequantizeLinear in 8 bits",
          {},
          [] {
            return backend::LibraryState{cv::getVersionString(), {}};
          },
          open};
}

}  // namespace qconform::libraries
