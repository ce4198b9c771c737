// XNNPACK's quantized 2-D convolutions, through its operator interface (create, setup, run).
#include <xnnpack.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "harness/libraries/adapters.h"
#include "harness/operators/operator.h"
#include "reference/qlinear_conv/qlinear_conv.h"

namespace qconform::libraries {
namespace {

using reference::ConvolutionGeometry;
using reference::Integer8;

std::string_view text_of(xnn_status status) {
  switch (status) {
    case xnn_status_success: return "success";
    case xnn_status_uninitialized: return "not initialized";
    case xnn_status_invalid_parameter: return "invalid parameter";
    case xnn_status_invalid_state: return "invalid state";
    case xnn_status_unsupported_parameter: return "unsupported parameter";
    case xnn_status_unsupported_hardware: return "unsupported hardware";
    case xnn_status_out_of_memory: return "out of memory";
  }
  return "an unknown status";
}

std::string refusal_text(std::string_view call, xnn_status status) {
  return fmt::format("XNNPACK: {}: {}", call, text_of(status));
}

// `matrices` matrices of rows x columns, each transposed: [rows][columns] becomes [columns][rows].
// Between ONNX's order, channels before positions, and the library's, this is all there is.
void transpose_each(const std::byte* source, std::int64_t matrices, std::int64_t rows, std::int64_t columns,
                    std::byte* target) {
  for (std::int64_t m = 0; m < matrices; ++m) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) target[column * rows + row] = *source++;
    }
    target += rows * columns;
  }
}

// All that the three creating functions have in common.
struct Plan {
  const reference::QLinearConv& node;
  std::vector<std::byte> w;  // [output channels][kernel height][kernel width][input channels of a group]
  bool per_channel;          // as the case states its scales

  [[nodiscard]] const std::int32_t* bias() const {
    return node.operands.bias.empty() ? nullptr : node.operands.bias.data();
  }
};

// The arguments up to the strides, which the three functions share.
template <typename Create, typename... Rest>
xnn_status create_with(Create create, const ConvolutionGeometry& g, Rest... rest) {
  const reference::SpatialAxis& height = g.axes[0];
  const reference::SpatialAxis& width = g.axes[1];
  const auto u32 = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  return create(u32(height.pad_begin), u32(width.pad_end), u32(height.pad_end), u32(width.pad_begin),
                u32(height.kernel), u32(width.kernel), u32(height.stride), u32(width.stride), u32(height.dilation),
                u32(width.dilation), u32(g.group), static_cast<std::size_t>(g.group_input_channels()),
                static_cast<std::size_t>(g.group_output_channels()), static_cast<std::size_t>(g.input_channels),
                static_cast<std::size_t>(g.output_channels), rest...);
}

xnn_status create_unsigned(const Plan& plan, xnn_operator_t* made) {
  const reference::QLinearConv& node = plan.node;
  return create_with(
      xnn_create_convolution2d_nhwc_qu8, node.operands.geometry, static_cast<std::uint8_t>(node.operands.x_zero_point),
      node.x_scale, static_cast<std::uint8_t>(node.operands.w_zero_point.front()), node.w_scale.front(),
      reinterpret_cast<const std::uint8_t*>(plan.w.data()), plan.bias(), static_cast<std::uint8_t>(node.y_zero_point),
      node.y_scale, std::uint8_t{0}, std::uint8_t{255}, std::uint32_t{0}, made);
}

template <typename Create, typename Scale>
xnn_status create_signed(Create create, const Plan& plan, Scale w_scale, xnn_operator_t* made) {
  const reference::QLinearConv& node = plan.node;
  return create_with(create, node.operands.geometry, static_cast<std::int8_t>(node.operands.x_zero_point), node.x_scale,
                     w_scale, reinterpret_cast<const std::int8_t*>(plan.w.data()), plan.bias(),
                     static_cast<std::int8_t>(node.y_zero_point), node.y_scale, std::int8_t{-128}, std::int8_t{127},
                     std::uint32_t{0}, made);
}

class PreparedConvolution final : public PreparedCase {
 public:
  PreparedConvolution(const ConvolutionGeometry& geometry, Integer8 type, const Tensor& x)
      : geometry_(geometry), type_(type), x_(x) {
    const std::vector<std::int64_t> shape = geometry_.output_shape();
    // The library may read this far behind its input.
    x_nhwc_.resize(x.bytes.size() + XNN_EXTRA_BYTES);
    y_nhwc_.resize(static_cast<std::size_t>(elements_of(shape)));
  }
  ~PreparedConvolution() override { xnn_delete_operator(operator_); }

  // nullopt for success, otherwise the message.
  [[nodiscard]] std::optional<std::string> create(const Plan& plan) {
    const xnn_status created =
        type_ == Integer8::uint8 ? create_unsigned(plan, &operator_)
        : plan.per_channel
            ? create_signed(xnn_create_convolution2d_nhwc_qc8, plan, plan.node.w_scale.data(), &operator_)
            : create_signed(xnn_create_convolution2d_nhwc_qs8, plan, plan.node.w_scale.front(), &operator_);
    if (created != xnn_status_success) return refusal_text("create", created);
    const xnn_status set_up = type_ == Integer8::uint8 ? setup<std::uint8_t>(xnn_setup_convolution2d_nhwc_qu8)
                              : plan.per_channel       ? setup<std::int8_t>(xnn_setup_convolution2d_nhwc_qc8)
                                                       : setup<std::int8_t>(xnn_setup_convolution2d_nhwc_qs8);
    if (set_up != xnn_status_success) return refusal_text("setup", set_up);
    return std::nullopt;
  }

  void run(OutputSink& sink) override {
    const ConvolutionGeometry& g = geometry_;
    transpose_each(x_.bytes.data(), g.batch, g.input_channels, g.input_positions(), x_nhwc_.data());
    const xnn_status ran = xnn_run_operator(operator_, nullptr);
    if (ran != xnn_status_success) return sink.refuse(outcome::Unsupported{refusal_text("run", ran)});
    const std::span<std::byte> y =
        sink.allocate(type_ == Integer8::uint8 ? ElementType::uint8 : ElementType::int8, g.output_shape());
    if (!y.empty()) transpose_each(y_nhwc_.data(), g.batch, g.output_positions(), g.output_channels, y.data());
  }

 private:
  template <typename T, typename Setup>
  xnn_status setup(Setup set_up) {
    return set_up(operator_, static_cast<std::size_t>(geometry_.batch),
                  static_cast<std::size_t>(geometry_.axes[0].input), static_cast<std::size_t>(geometry_.axes[1].input),
                  reinterpret_cast<const T*>(x_nhwc_.data()), reinterpret_cast<T*>(y_nhwc_.data()), nullptr);
  }

  ConvolutionGeometry geometry_;
  Integer8 type_;
  const Tensor& x_;
  std::vector<std::byte> x_nhwc_;
  std::vector<std::byte> y_nhwc_;
  xnn_operator_t operator_ = nullptr;
};

template <typename T>
bool all_equal(const std::vector<T>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

// What the library has no function for, or checks with an assertion that ends the process.
std::optional<std::string> beyond_types(const reference::QLinearConv& node, const Case& test_case) {
  const auto type_at = [&](std::size_t position) { return test_case.input(position)->type; };
  if (type_at(3) != type_at(0) || type_at(7) != type_at(0)) {
    return fmt::format("x {}, w {}, y {}: all three must have one type", name_of(type_at(0)), name_of(type_at(3)),
                       name_of(type_at(7)));
  }
  const std::vector<std::int32_t>& zero_points = node.operands.w_zero_point;
  if (node.operands.x_type == Integer8::uint8) {
    if (!all_equal(zero_points)) return "w_zero_point: uint8 weights have one, got several";
    if (!all_equal(node.w_scale)) return "w_scale: uint8 weights have one, got several";
  } else if (std::any_of(zero_points.begin(), zero_points.end(), [](std::int32_t z) { return z != 0; })) {
    return "w_zero_point: int8 weights have none but 0";
  }
  return std::nullopt;
}

std::optional<std::string> beyond_scales(const reference::QLinearConv& node) {
  constexpr float kSmallest = 0x1p-32F;  // an assertion
  constexpr float kBound = 256.0F;       // not representable in its fixed-point kernels
  for (const float w_scale : node.w_scale) {
    // The library's own expression.
    const float multiplier = node.x_scale * w_scale / node.y_scale;
    if (!(multiplier >= kSmallest && multiplier < kBound)) {
      return fmt::format("x_scale * w_scale / y_scale: must be in [2^-32, 256), got {}", multiplier);
    }
  }
  return std::nullopt;
}

std::optional<std::string> beyond(const reference::QLinearConv& node, const Case& test_case) {
  if (node.operands.geometry.axes.size() != 2) {
    return fmt::format("x: 2 spatial dimensions, got {}", node.operands.geometry.axes.size());
  }
  // The library reads weights, and their scales, of channels that must exist.
  if (node.operands.geometry.output_channels == 0) return "w: no output channels";
  if (auto reason = beyond_types(node, test_case)) return reason;
  return beyond_scales(node);
}

Preparation prepare_convolution(const Case& test_case, const reference::QLinearConv& node) {
  if (auto reason = beyond(node, test_case)) return refused(test_case, std::move(*reason));
  const ConvolutionGeometry& g = node.operands.geometry;
  const Tensor& w = *test_case.input(3);
  Plan plan{node, std::vector<std::byte>(w.bytes.size()), !test_case.input(4)->is_scalar()};
  transpose_each(w.bytes.data(), g.output_channels, g.group_input_channels(), g.kernel_taps(), plan.w.data());
  auto prepared = std::make_unique<PreparedConvolution>(g, node.operands.x_type, *test_case.input(0));
  if (auto message = prepared->create(plan)) return refused(test_case, std::move(*message));
  return prepared;
}

class Xnnpack final : public Backend {
 public:
  explicit Xnnpack(BackendInfo info) : info_(std::move(info)) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    return prepare_described(test_case, [&](const auto& node) -> Preparation {
      if constexpr (std::is_same_v<decltype(node), const reference::QLinearConv&>) {
        return prepare_convolution(test_case, node);
      } else {
        return outcome::Unsupported{"only QLinearConv is lowered to XNNPACK"};
      }
    });
  }

 private:
  BackendInfo info_;
};

Result<std::unique_ptr<Backend>> open(std::string_view /*variant*/, std::string name) {
  const xnn_status status = xnn_initialize(nullptr);
  if (status != xnn_status_success) return fail("--backend", refusal_text("initialize", status));
  return std::make_unique<Xnnpack>(BackendInfo{std::move(name), QCONFORM_XNNPACK_VERSION, "library"});
}

}  // namespace

backend::Library xnnpack() {
  return {"xnnpack",
          "2-D QLinearConv with one type for x, w and y; weight zero points with uint8 only",
          {},
          [] {
            return backend::LibraryState{QCONFORM_XNNPACK_VERSION, {}};
          },
          open};
}

}  // namespace qconform::libraries
