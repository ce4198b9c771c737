// XNNPACK's quantized 2-D convolutions, through its operator interface (create, setup, run).
#include <xnnpack.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "harness/backends/libraries/adapters.h"
#include "harness/base/aligned_bytes.h"
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

// All that the three creating functions have in common.
struct Plan {
  const reference::QLinearConv& node;
  std::span<const std::byte> w;  // [output channels][kernel height][kernel width][input channels of a group]
  const std::int32_t* bias;      // null for none
  const float* w_scales;         // one for each channel; null where the case states one for all
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
      reinterpret_cast<const std::uint8_t*>(plan.w.data()), plan.bias, static_cast<std::uint8_t>(node.y_zero_point),
      node.y_scale, std::uint8_t{0}, std::uint8_t{255}, std::uint32_t{0}, made);
}

template <typename Create, typename Scale>
xnn_status create_signed(Create create, const Plan& plan, Scale w_scale, xnn_operator_t* made) {
  const reference::QLinearConv& node = plan.node;
  return create_with(create, node.operands.geometry, static_cast<std::int8_t>(node.operands.x_zero_point), node.x_scale,
                     w_scale, reinterpret_cast<const std::int8_t*>(plan.w.data()), plan.bias,
                     static_cast<std::int8_t>(node.y_zero_point), node.y_scale, std::int8_t{-128}, std::int8_t{127},
                     std::uint32_t{0}, made);
}

// The operator with its weights packed.
class PackedConvolution {
 public:
  // x has channels last.
  PackedConvolution(const reference::QLinearConv& node, std::span<const std::byte> x)
      : geometry_(node.operands.geometry), type_(node.operands.x_type), x_(x) {}
  PackedConvolution(const PackedConvolution&) = delete;
  PackedConvolution& operator=(const PackedConvolution&) = delete;
  ~PackedConvolution() { xnn_delete_operator(operator_); }

  // nullopt for success, otherwise the message.
  [[nodiscard]] std::optional<std::string> create(const Plan& plan) {
    per_channel_ = plan.w_scales != nullptr;
    const xnn_status created =
        type_ == Integer8::uint8 ? create_unsigned(plan, &operator_)
        : per_channel_           ? create_signed(xnn_create_convolution2d_nhwc_qc8, plan, plan.w_scales, &operator_)
                       : create_signed(xnn_create_convolution2d_nhwc_qs8, plan, plan.node.w_scale.front(), &operator_);
    if (created != xnn_status_success) return refusal_text("create", created);
    return std::nullopt;
  }

  [[nodiscard]] ElementType output_type() const {
    return type_ == Integer8::uint8 ? ElementType::uint8 : ElementType::int8;
  }
  [[nodiscard]] std::vector<std::int64_t> output_shape() const { return geometry_.output_shape(); }

  // What run() writes to, with channels last; nullopt for success, otherwise the message.
  [[nodiscard]] std::optional<std::string> set_up(std::span<std::byte> y) {
    const xnn_status status = type_ == Integer8::uint8 ? setup<std::uint8_t>(xnn_setup_convolution2d_nhwc_qu8, y)
                              : per_channel_           ? setup<std::int8_t>(xnn_setup_convolution2d_nhwc_qc8, y)
                                                       : setup<std::int8_t>(xnn_setup_convolution2d_nhwc_qs8, y);
    if (status != xnn_status_success) return refusal_text("setup", status);
    return std::nullopt;
  }

  // From x to y; nullopt for success, otherwise the message.
  [[nodiscard]] std::optional<std::string> run() {
    const xnn_status ran = xnn_run_operator(operator_, nullptr);
    if (ran != xnn_status_success) return refusal_text("run", ran);
    return std::nullopt;
  }

 private:
  template <typename T, typename Setup>
  xnn_status setup(Setup call, std::span<std::byte> y) {
    return call(operator_, static_cast<std::size_t>(geometry_.batch), static_cast<std::size_t>(geometry_.axes[0].input),
                static_cast<std::size_t>(geometry_.axes[1].input), reinterpret_cast<const T*>(x_.data()),
                reinterpret_cast<T*>(y.data()), nullptr);
  }

  ConvolutionGeometry geometry_;
  Integer8 type_;
  bool per_channel_ = false;
  std::span<const std::byte> x_;
  xnn_operator_t operator_ = nullptr;
};

class PreparedConvolution final : public PreparedCase {
 public:
  PreparedConvolution(std::unique_ptr<PackedConvolution> packed, const Case& test_case)
      : packed_(std::move(packed)), case_(test_case) {}

  // The library writes to the sink's memory, where guards lie, and channels come first there afterwards.
  void run(OutputSink& sink) override {
    const ElementType type = packed_->output_type();
    const std::vector<std::int64_t> shape = packed_->output_shape();
    const std::span<std::byte> y = sink.allocate(type, shape);
    if (auto message = packed_->set_up(y)) return sink.refuse(refusal(case_, std::move(*message)));
    if (auto message = packed_->run()) return sink.refuse(outcome::Unsupported{std::move(*message)});
    const std::vector<std::byte> channels_last(y.begin(), y.end());
    to_channels_first(channels_last, type, shape, y);
  }

 private:
  std::unique_ptr<PackedConvolution> packed_;
  const Case& case_;
};

// Channels last, whatever was asked for: the library knows nothing else.
class RepeatedConvolution final : public RepeatedRun {
 public:
  RepeatedConvolution(std::unique_ptr<PlainInputs> inputs, std::unique_ptr<PackedConvolution> packed)
      : inputs_(std::move(inputs)),
        packed_(std::move(packed)),
        y_(static_cast<std::size_t>(elements_of(packed_->output_shape()))),
        not_set_up_(packed_->set_up(y_.bytes())) {}

  void run() override { failure_ = packed_->run(); }
  [[nodiscard]] Outcome outcome() override {
    if (not_set_up_) return outcome::Unsupported{*not_set_up_};
    if (failure_) return outcome::Unsupported{*failure_};
    Tensor y{packed_->output_type(), packed_->output_shape(), {}};
    to_channels_first(y_.bytes(), y);
    return outcome::Produced{std::move(y)};
  }
  [[nodiscard]] RunSetting setting() const override { return {Layout::channels_last, 1}; }

 private:
  std::unique_ptr<PlainInputs> inputs_;
  std::unique_ptr<PackedConvolution> packed_;
  AlignedBytes y_;
  std::optional<std::string> not_set_up_;
  std::optional<std::string> failure_;
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

std::span<const std::byte> with_channels_last(const Case& test_case, std::size_t position, std::size_t room,
                                              InputMemory& inputs) {
  const Tensor& tensor = *test_case.input(position);
  return inputs.converted(position, tensor.bytes.size(), room,
                          [&](std::span<std::byte> memory) { to_channels_last(tensor, memory); });
}

Plan plan_of(const Case& test_case, const reference::QLinearConv& node, InputMemory& inputs) {
  const auto values = [&](std::size_t position) { return static_cast<const void*>(inputs.bytes(position).data()); };
  Plan plan{node, with_channels_last(test_case, 3, 0, inputs), nullptr, nullptr};
  if (!node.operands.bias.empty()) plan.bias = static_cast<const std::int32_t*>(values(8));
  const Tensor& w_scale = *test_case.input(4);
  if (w_scale.is_scalar()) return plan;
  const bool is_stated_once = w_scale.elements() == 1;  // of shape [1] (rule C11)
  plan.w_scales = is_stated_once ? node.w_scale.data() : static_cast<const float*>(values(4));
  return plan;
}

class Xnnpack final : public Backend {
 public:
  explicit Xnnpack(BackendInfo info) : info_(std::move(info)) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override { return prepare_on_own_tensors(*this, test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return prepare_as<Preparation>(test_case, inputs, [&](std::unique_ptr<PackedConvolution> packed) {
      return std::make_unique<PreparedConvolution>(std::move(packed), test_case);
    });
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& /*wanted*/) override {
    auto inputs = std::make_unique<PlainInputs>(test_case);
    return prepare_as<RepeatedPreparation>(test_case, *inputs, [&](std::unique_ptr<PackedConvolution> packed) {
      return std::make_unique<RepeatedConvolution>(std::move(inputs), std::move(packed));
    });
  }

 private:
  template <typename Either, typename Make>
  static Either prepare_as(const Case& test_case, InputMemory& inputs, Make make) {
    return prepare_described<Either>(test_case, [&](const auto& node) -> Either {
      if constexpr (std::is_same_v<decltype(node), const reference::QLinearConv&>) {
        if (auto reason = beyond(node, test_case)) return refused_as<Either>(test_case, std::move(*reason));
        const Plan plan = plan_of(test_case, node, inputs);
        auto packed =
            std::make_unique<PackedConvolution>(node, with_channels_last(test_case, 0, XNN_EXTRA_BYTES, inputs));
        if (auto message = packed->create(plan)) return refused_as<Either>(test_case, std::move(*message));
        return make(std::move(packed));
      } else {
        return outcome::Unsupported{"only QLinearConv is lowered to XNNPACK"};
      }
    });
  }

  BackendInfo info_;
};

Result<std::unique_ptr<Backend>> open(const backend::Specification& what) {
  const xnn_status status = xnn_initialize(nullptr);
  if (status != xnn_status_success) return fail("--backend", refusal_text("initialize", status));
  return std::make_unique<Xnnpack>(BackendInfo{backend::text_of(what), QCONFORM_XNNPACK_VERSION, "library"});
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
