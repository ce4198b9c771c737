// OpenCV's DNN module, through its importer of ONNX models.
//
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/dnn.hpp>

#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "harness/backends/libraries/adapters.h"
#include "harness/backends/libraries/opencv/opencv_form.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"

namespace qconform::libraries {
namespace {

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
  PreparedNet(const Case& test_case, const OpenCvFrame& frame, cv::dnn::Net net, cv::Mat x)
      : case_(test_case), frame_(frame), net_(std::move(net)), x_(std::move(x)) {}

  void run(OutputSink& sink) override {
    try {
      net_.setInput(x_, kOpenCvInput);
      write(net_.forward(kOpenCvResult), sink);
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
  OpenCvFrame frame_;
  cv::dnn::Net net_;
  cv::Mat x_;
};

// Says why the library has no matrix for x; nothing where it has one.
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
    // In a frame like that of one node, 4.6.0 refuses nearly all graphs and answers none right (docs/backends.md).
    if (is_judged_as_graph(test_case)) return refused(test_case, "it is handed no " + kind_text(test_case));
    if (test_case.input(0) == nullptr) return refused(test_case, "x: omitted");
    const auto frame = opencv_frame_of(test_case);
    if (!frame) return refused(test_case, "no form for " + test_case.node().op_type + " with these types");
    if (auto reason = beyond_matrices(*test_case.input(0))) return refused(test_case, std::move(*reason));
    const auto model = opencv_model(test_case, *frame);
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
  BackendInfo info{backend::text_of(what), cv::getVersionString(), "library"};
  // The target is no DNN_TARGET_CPU_FP16; the library flushes subnormals while it runs.
  info.pinned = {"threads=1", "precision=float32", "subnormals=flushed"};
  return std::make_unique<OpenCv>(std::move(info));
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
