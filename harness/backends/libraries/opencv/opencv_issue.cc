// A case by OpenCV's importer of ONNX models.
#include <fmt/format.h>

#include "harness/backends/issue_program.h"
#include "harness/backends/libraries/opencv/opencv_form.h"
#include "harness/model/text.h"

namespace qconform::issue {
namespace {

constexpr std::string_view kOpenCvProgram = R"(// A node in OpenCV's importer of ONNX models.{frame}
#include <opencv2/dnn.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

{model}
{x}
{check}
int main() try {{
  const std::string model = decoded(kModel);
  cv::setNumThreads(1);
  cv::dnn::Net net = cv::dnn::readNetFromONNX(model.data(), model.size());
  net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  net.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
  net.setInput(cv::Mat(std::vector<int>{x_shape}, CV_32F, x), "{input}");
  const cv::Mat result = net.forward("{result}");
  const std::vector<int> shape{y_shape};
  if (std::vector<int>(result.size.p, result.size.p + result.dims) != shape) {{
    std::puts("y has another shape");
    return 1;
  }}
  const auto* values = result.ptr<float>();
  const std::vector<{y_type}> y(values, values + result.total());
  return check(y.data());
}} catch (const cv::Exception& error) {{
  std::printf("refused: %s\n", error.what());
  return {refusal};
}}
)";

// The importer is fed floats.
Tensor codes_of(const Tensor& x) {
  std::vector<float> codes;
  for (std::int64_t i = 0; i < x.elements(); ++i) codes.push_back(static_cast<float>(number_at(x, i)));
  return Tensor::of(ElementType::float32, x.shape, codes);
}

}  // namespace

Result<IssueProgram> opencv_program(const IssueCase& failing) {
  QCONFORM_TRY(check_single(failing));
  const Expected& expected = failing.expected;
  const Case& test_case = *expected.test_case;
  const auto frame = test_case.input(0) == nullptr ? std::nullopt : opencv_frame_of(test_case);
  if (!frame) return fail("--issue", "OpenCV's importer has no form for a node with these types");
  QCONFORM_ASSIGN(const std::string model, opencv_model(test_case, *frame));
  const Tensor& x = *test_case.input(0);
  const Lowered* lowered = expected.classification.lowered.get();
  const std::string_view around =
      "\n//\n// The importer wants floats at both ends: a QuantizeLinear before the node, or a DequantizeLinear "
      "behind\n"
      "// it, of scale 1 and zero point 0, turns its codes from floats and back, exactly.";
  const std::string source = fmt::format(
      fmt::runtime(kOpenCvProgram), fmt::arg("frame", around), fmt::arg("model", model_text(model)),
      fmt::arg("x", array_text("x", codes_of(x))), fmt::arg("check", check_text(expected)),
      fmt::arg("x_shape", list_text(x.shape)), fmt::arg("input", kOpenCvInput), fmt::arg("result", kOpenCvResult),
      fmt::arg("y_shape", lowered == nullptr ? "" : list_text(lowered->output_shape())),
      fmt::arg("y_type", element_type_text(frame->output)), fmt::arg("refusal", exit_code_of_refusal(expected)));
  return IssueProgram{source, "c++ -std=c++17 case.cc -o case -I /usr/include/opencv4 -lopencv_dnn -lopencv_core"};
}

}  // namespace qconform::issue
