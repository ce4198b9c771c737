// A case by XNNPACK's operators, in the interface of 2022.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "harness/backends/issue_program.h"
#include "harness/backends/plain_memory.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/linear/linear.h"

namespace qconform::issue {
namespace {

constexpr std::string_view kXnnpackProgram = R"(// A {op} by XNNPACK's operator.
#include <xnnpack.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

{arrays}
{check}
int refused(const char* call) {{
  std::printf("refused: %s\n", call);
  return {refusal};
}}

int main() {{
  if (xnn_initialize(nullptr) != xnn_status_success) return refused("xnn_initialize");
  xnn_operator_t op = nullptr;
  const xnn_status status = {create};
  if (status != xnn_status_success) return refused("create");
  // The library may read XNN_EXTRA_BYTES behind x.
  std::vector<unsigned char> input(sizeof x + XNN_EXTRA_BYTES);
  std::memcpy(input.data(), x, sizeof x);
  std::vector<{y_element}> y({elements});
  const auto* from = reinterpret_cast<const {x_element}*>(input.data());
  if ({set_up} != xnn_status_success) return refused("setup");
  if (xnn_run_operator(op, nullptr) != xnn_status_success) return refused("run");
  return check(y.data());
}}
)";

struct Calls {
  std::string arrays;
  std::string create;
  std::string set_up;
};

Tensor channels_last(const Tensor& tensor) {
  Tensor last = tensor;
  to_channels_last(tensor, last.bytes);
  return last;
}

// Height and width: a single dimension is the width of one row.
std::pair<reference::SpatialAxis, reference::SpatialAxis> axes_of(const reference::ConvolutionGeometry& g) {
  if (g.axes.size() == 2) return {g.axes[0], g.axes[1]};
  return {{1, 1, 1, 1, 0, 0, 1}, g.axes[0]};
}

template <typename T>
bool all_equal(const std::vector<T>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

Calls convolution_calls(const Case& test_case, const reference::QLinearConv& node) {
  const reference::ConvolutionGeometry& g = node.operands.geometry;
  const auto [height, width] = axes_of(g);
  const bool is_unsigned = test_case.input(0)->type == ElementType::uint8;
  const bool is_per_channel = !is_unsigned && !test_case.input(4)->is_scalar();
  const std::string kernels = is_unsigned ? "qu8" : is_per_channel ? "qc8" : "qs8";
  Calls calls;
  calls.arrays = "// Channels come last.\n" + array_text("x", channels_last(*test_case.input(0))) +
                 array_text("w", channels_last(*test_case.input(3)));
  if (!node.operands.bias.empty()) calls.arrays += array_text("bias", *test_case.input(8));
  if (is_per_channel)
    calls.arrays += array_text("w_scales", Tensor::of(ElementType::float32, {g.output_channels}, node.w_scale));
  const std::string scale = is_per_channel ? "w_scales" : float_text(node.w_scale.front());
  const std::string weights = is_unsigned ? fmt::format("{}, {}", node.operands.w_zero_point.front(), scale) : scale;
  calls.create = fmt::format(
      "xnn_create_convolution2d_nhwc_{}(\n      {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {},\n"
      "      {}, {}, {}, w, {}, {}, {}, {}, {}, 0, &op)",
      kernels, height.pad_begin, width.pad_end, height.pad_end, width.pad_begin, height.kernel, width.kernel,
      height.stride, width.stride, height.dilation, width.dilation, g.group, g.group_input_channels(),
      g.group_output_channels(), g.input_channels, g.output_channels, node.operands.x_zero_point,
      float_text(node.x_scale), weights, node.operands.bias.empty() ? "nullptr" : "bias", node.y_zero_point,
      float_text(node.y_scale), is_unsigned ? 0 : -128, is_unsigned ? 255 : 127);
  calls.set_up = fmt::format("xnn_setup_convolution2d_nhwc_{}(op, {}, {}, {}, from, y.data(), nullptr)", kernels,
                             g.batch, height.input, width.input);
  return calls;
}

// Between float32 and 8 bits, all elements as the channels of one row. `scales`, `zero_points`: one for each of some
// elements; no zero points are zero.
template <typename Scale, typename ZeroPoint>
Result<Calls> conversion_calls(const Tensor& x, ElementType y_type, const std::vector<Scale>& scales,
                               const std::vector<ZeroPoint>& zero_points) {
  const auto is_known = [](ElementType type) {
    return type == ElementType::float32 || type == ElementType::uint8 || type == ElementType::int8;
  };
  if (!is_known(x.type) || !is_known(y_type)) {
    return fail("--issue",
                "XNNPACK converts between float32 and 8 bits, not " + name_of(x.type) + " to " + name_of(y_type));
  }
  if (scales.empty() || !all_equal(scales) || !all_equal(zero_points))
    return fail("--issue", "XNNPACK converts with one scale and one zero point");
  const double scale = scales.front();
  const auto zero_point = zero_points.empty() ? 0 : static_cast<std::int32_t>(zero_points.front());
  const auto name = [](ElementType type) {
    return type == ElementType::float32 ? "f32" : type == ElementType::uint8 ? "qu8" : "qs8";
  };
  const std::string kernels = fmt::format("{}_{}", name(x.type), name(y_type));
  const std::int64_t n = x.elements();
  const std::string_view bounds = y_type == ElementType::uint8  ? "0, 255, "
                                  : y_type == ElementType::int8 ? "-128, 127, "
                                                                : "";
  return Calls{array_text("x", x),
               fmt::format("xnn_create_convert_nc_{}({}, {}, {}, {}, {}, {}0, &op)", kernels, n, n, n,
                           float_text(static_cast<float>(scale)), zero_point, bounds),
               fmt::format("xnn_setup_convert_nc_{}(op, 1, from, y.data(), nullptr)", kernels)};
}

}  // namespace

Result<IssueProgram> xnnpack_program(const IssueCase& failing) {
  QCONFORM_TRY(check_single(failing));
  if (!failing.what.version.empty()) {
    return fail("--issue", fmt::format("\"{}\": the programs call XNNPACK's interface of 2022", failing.what.version));
  }
  const Expected& expected = failing.expected;
  const Case& test_case = *expected.test_case;
  const Lowered* lowered = expected.classification.lowered.get();
  if (lowered == nullptr) return fail("--issue", "XNNPACK's interface has no form for a node that is out of contract");
  const Tensor& x = *test_case.input(0);
  Calls calls;
  const auto* conv = qlinear_conv_of(*lowered);
  if (conv != nullptr) {
    if (conv->operands.geometry.axes.size() > 2) return fail("--issue", "XNNPACK has 1 or 2 spatial dimensions");
    if (test_case.input(3)->type != x.type || lowered->output_type() != x.type)
      return fail("--issue", "XNNPACK has one type for x, w and y");
    if (conv->w_scale.empty()) return fail("--issue", "XNNPACK has no convolution without output channels");
    if (x.type == ElementType::uint8 && !(all_equal(conv->w_scale) && all_equal(conv->operands.w_zero_point)))
      return fail("--issue", "XNNPACK has one scale and one zero point for weights of uint8");
    calls = convolution_calls(test_case, *conv);
  } else if (const auto* quantize = quantize_linear_of(*lowered)) {
    QCONFORM_ASSIGN(calls, conversion_calls(x, lowered->output_type(), quantize->y_scale, quantize->y_zero_point));
  } else if (const auto* dequantize = dequantize_linear_of(*lowered)) {
    QCONFORM_ASSIGN(calls, conversion_calls(x, lowered->output_type(), dequantize->x_scale, dequantize->x_zero_point));
  } else {
    return fail("--issue", "XNNPACK has no convolution with an output of int32");
  }
  const Layout layout = conv != nullptr ? Layout::channels_last : Layout::channels_first;
  return IssueProgram{fmt::format(fmt::runtime(kXnnpackProgram), fmt::arg("op", test_case.node().op_type),
                                  fmt::arg("arrays", calls.arrays), fmt::arg("check", check_text(expected, layout)),
                                  fmt::arg("create", calls.create), fmt::arg("set_up", calls.set_up),
                                  fmt::arg("x_element", element_type_text(x.type)),
                                  fmt::arg("y_element", element_type_text(lowered->output_type())),
                                  fmt::arg("elements", elements_of(lowered->output_shape())),
                                  fmt::arg("refusal", exit_code_of_refusal(expected))),
                      "c++ -std=c++17 case.cc -o case -lXNNPACK -lpthreadpool"};
}

}  // namespace qconform::issue
