// XNNPACK's quantized convolutions and conversions, through its operator interface.
#include <xnnpack.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "harness/backends/libraries/adapters.h"
#include "harness/backends/libraries/xnnpack/xnnpack_operator.h"
#include "harness/backends/libraries/xnnpack/xnnpack_subgraph.h"
#include "harness/backends/worker_command.h"
#include "harness/base/bytes.h"
#include "harness/model/operator.h"
#include "reference/convolution/convolution.h"
#include "reference/linear_quantization/dequantize_linear.h"
#include "reference/linear_quantization/quantize_linear.h"

namespace qconform::libraries {
namespace {

using xnn::refusal_text;

// An operator with what it computes for. The first failure's message stays.
class PackedOperator {
 public:
  // `x` as the operator takes it.
  PackedOperator(std::unique_ptr<xnn::LibraryOperator> made, std::span<const std::byte> x, ElementType y_type,
                 std::vector<std::int64_t> y_shape)
      : operator_(std::move(made)), x_(x), y_type_(y_type), y_shape_(std::move(y_shape)) {
    note("create", operator_->create());
    if (!failure_) note("reshape", operator_->reshape(workspace_));
  }

  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
  [[nodiscard]] ElementType y_type() const { return y_type_; }
  [[nodiscard]] const std::vector<std::int64_t>& y_shape() const { return y_shape_; }
  [[nodiscard]] const xnn::Workspace& workspace() const { return workspace_; }

  void set_up(std::span<std::byte> y, std::span<std::byte> workspace) {
    note("setup", operator_->set_up(x_.data(), y.data(), workspace.data()));
  }
  void run() {
    if (!failure_) note("run", operator_->run());
  }

 private:
  void note(std::string_view call, xnn_status status) {
    if (status != xnn_status_success) failure_ = refusal_text(call, status);
  }

  std::unique_ptr<xnn::LibraryOperator> operator_;
  std::span<const std::byte> x_;
  ElementType y_type_;
  std::vector<std::int64_t> y_shape_;
  xnn::Workspace workspace_;
  std::optional<std::string> failure_;
};

class PreparedOperator final : public PreparedCase {
 public:
  PreparedOperator(std::unique_ptr<PackedOperator> packed, const Case& test_case)
      : packed_(std::move(packed)), case_(test_case) {}

  // The library writes to the sink's memory, where guards lie, and channels come first there afterwards.
  void run(OutputSink& sink) override {
    const std::span<std::byte> y = sink.allocate(packed_->y_type(), packed_->y_shape());
    const xnn::Workspace& wanted = packed_->workspace();
    std::span<std::byte> workspace;
    if (wanted.size > 0) workspace = sink.scratch(wanted.size, wanted.alignment);
    packed_->set_up(y, workspace);
    packed_->run();
    if (packed_->failure()) return sink.refuse(refusal(case_, *packed_->failure()));
    if (case_.node().op_type != "QLinearConv") return;
    const std::vector<std::byte> channels_last(y.begin(), y.end());
    to_channels_first(channels_last, packed_->y_type(), packed_->y_shape(), y);
  }

 private:
  std::unique_ptr<PackedOperator> packed_;
  const Case& case_;
};

// A convolution with channels last, whatever was asked for: the library knows nothing else.
class RepeatedOperator final : public RepeatedRun {
 public:
  RepeatedOperator(std::unique_ptr<PlainInputs> inputs, std::unique_ptr<PackedOperator> packed)
      : inputs_(std::move(inputs)),
        packed_(std::move(packed)),
        y_(static_cast<std::size_t>(elements_of(packed_->y_shape()))) {
    packed_->set_up(y_.bytes(), workspace_.take(packed_->workspace().size, packed_->workspace().alignment));
  }

  void run() override { packed_->run(); }
  [[nodiscard]] Outcome outcome() override {
    if (packed_->failure()) return outcome::Unsupported{*packed_->failure()};
    Tensor y{packed_->y_type(), packed_->y_shape(), {}};
    to_channels_first(y_.bytes(), y);
    return outcome::Produced{std::move(y)};
  }
  [[nodiscard]] RunSetting setting() const override { return {Layout::channels_last, 1}; }

 private:
  std::unique_ptr<PlainInputs> inputs_;
  std::unique_ptr<PackedOperator> packed_;
  AlignedBytes y_;
  ScratchMemory workspace_;
};

template <typename T>
bool all_equal(const std::vector<T>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

// Says for which types or parameters of a convolution the library has no function; nothing where it has one.
std::optional<std::string> beyond_types(const reference::QLinearConv& node, const Case& test_case) {
  const auto type_at = [&](std::size_t position) { return test_case.input(position)->type; };
  if (type_at(3) != type_at(0) || type_at(7) != type_at(0)) {
    return fmt::format("x {}, w {}, y {}: all three must have one type", name_of(type_at(0)), name_of(type_at(3)),
                       name_of(type_at(7)));
  }
  const std::vector<std::int32_t>& zero_points = node.operands.w_zero_point;
  if (node.operands.x_type == ElementType::uint8) {
    if (!all_equal(zero_points)) return "w_zero_point: uint8 weights have one, got several";
    if (!all_equal(node.w_scale)) return "w_scale: uint8 weights have one, got several";
  } else if (std::any_of(zero_points.begin(), zero_points.end(), [](std::int32_t z) { return z != 0; })) {
    return "w_zero_point: int8 weights have none but 0";
  }
  return std::nullopt;
}

std::optional<std::string> beyond(const reference::QLinearConv& node, const Case& test_case) {
  const std::size_t axes = node.operands.geometry.axes.size();
  if (axes < 1 || axes > 2) return fmt::format("x: 1 or 2 spatial dimensions, got {}", axes);
  // The interface takes the scale of a channel that must exist.
  if (node.operands.geometry.output_channels == 0) return "w: no output channels";
  return beyond_types(node, test_case);
}

// Says why the library has no function for a linear operator with these `scales`; nothing where it has one.
template <typename Node>
std::optional<std::string> beyond(const Node& node, const std::vector<double>& scales, bool one_zero_point) {
  const bool quantizes = node.x_type == ElementType::float32 && is_8bit_integer(node.y_type);
  const bool dequantizes = is_8bit_integer(node.x_type) && node.y_type == ElementType::float32;
  if (!quantizes && !dequantizes) return "it converts between float32 and 8 bits";
  if (node.scale_type != ElementType::float32) return "its scale is float32";
  if (scales.empty() || !all_equal(scales) || !one_zero_point) return "it has one scale and one zero point";
  return std::nullopt;
}

std::span<const std::byte> with_channels_last(const Case& test_case, std::size_t position, std::size_t room,
                                              InputMemory& inputs) {
  const Tensor& tensor = *test_case.input(position);
  return inputs.converted(position, tensor.bytes.size(), room, to_channels_last);
}

xnn::NhwcConvolution convolution_of(const Case& test_case, const reference::QLinearConv& node, InputMemory& inputs) {
  const auto values = [&](std::size_t position) { return static_cast<const void*>(inputs.bytes(position).data()); };
  xnn::NhwcConvolution plan{node, with_channels_last(test_case, 3, XNN_EXTRA_BYTES, inputs), nullptr, nullptr};
  if (!node.operands.bias.empty()) plan.bias = static_cast<const std::int32_t*>(values(8));
  const Tensor& w_scale = *test_case.input(4);
  if (w_scale.is_scalar()) return plan;
  const bool is_stated_once = w_scale.elements() == 1;  // in a shape (rule C11)
  plan.w_scales = is_stated_once ? node.w_scale.data() : static_cast<const float*>(values(4));
  return plan;
}

class Xnnpack final : public Backend {
 public:
  explicit Xnnpack(BackendInfo info) : info_(std::move(info)) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override { return prepare_on_own_tensors(*this, test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return prepare_described(test_case, [&](const auto& node) {
      return prepare_as<Preparation>(test_case, node, inputs, [&](std::unique_ptr<PackedOperator> packed) {
        return std::make_unique<PreparedOperator>(std::move(packed), test_case);
      });
    });
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& /*wanted*/) override {
    if (test_case.node().op_type != "QLinearConv") return outcome::Unsupported{"only convolutions are run repeatedly"};
    auto inputs = std::make_unique<PlainInputs>(test_case);
    return prepare_described<RepeatedPreparation>(test_case, [&](const auto& node) {
      return prepare_as<RepeatedPreparation>(test_case, node, *inputs, [&](std::unique_ptr<PackedOperator> packed) {
        return std::make_unique<RepeatedOperator>(std::move(inputs), std::move(packed));
      });
    });
  }

 private:
  template <typename Either, typename Make>
  static Either prepare_as(const Case& test_case, const reference::QLinearConv& node, InputMemory& inputs, Make make) {
    if (auto reason = beyond(node, test_case)) return refused_as<Either>(test_case, std::move(*reason));
    auto packed = std::make_unique<PackedOperator>(xnn::convolution(convolution_of(test_case, node, inputs)),
                                                   with_channels_last(test_case, 0, XNN_EXTRA_BYTES, inputs),
                                                   test_case.input(0)->type, node.operands.geometry.output_shape());
    if (packed->failure()) return refused_as<Either>(test_case, *packed->failure());
    return make(std::move(packed));
  }
  template <typename Either, typename Make>
  static Either prepare_as(const Case& test_case, const reference::QuantizeLinear& node, InputMemory& inputs,
                           Make make) {
    const bool divides_otherwise = node.precision != ElementType::undefined && node.precision != ElementType::float32;
    if (divides_otherwise) return outcome::Unsupported{"it computes in float32"};
    const ElementType y_type = node.y_type == ElementType::uint8 ? ElementType::uint8 : ElementType::int8;
    return convert<Either>(test_case, node, node.y_scale, node.y_zero_point, y_type, inputs, make);
  }
  template <typename Either, typename Make>
  static Either prepare_as(const Case& test_case, const reference::DequantizeLinear& node, InputMemory& inputs,
                           Make make) {
    return convert<Either>(test_case, node, node.x_scale, node.x_zero_point, ElementType::float32, inputs, make);
  }
  template <typename Either, typename Make>
  static Either prepare_as(const Case& /*test_case*/, const reference::ConvInteger& /*node*/, InputMemory& /*inputs*/,
                           Make /*make*/) {
    return outcome::Unsupported{"no convolution has an output of int32"};
  }

  template <typename Either, typename Node, typename ZeroPoint, typename Make>
  static Either convert(const Case& test_case, const Node& node, const std::vector<double>& scales,
                        const std::vector<ZeroPoint>& zero_points, ElementType y_type, InputMemory& inputs, Make make) {
    if (auto reason = beyond(node, scales, all_equal(zero_points))) return outcome::Unsupported{std::move(*reason)};
    const Tensor& x = *test_case.input(0);
    const auto zero_point = static_cast<std::int32_t>(zero_points.empty() ? ZeroPoint{0} : zero_points.front());
    // An emulator reads what a masked load leaves out too.
    const std::size_t room = backend::is_emulated() ? 64 : XNN_EXTRA_BYTES;
    const auto copied = inputs.converted(0, x.bytes.size(), room, [](const Tensor& input, std::span<std::byte> memory) {
      std::copy(input.bytes.begin(), input.bytes.end(), memory.begin());
    });
    auto packed = std::make_unique<PackedOperator>(
        xnn::conversion({x.type, y_type, static_cast<float>(scales.front()), zero_point,
                         static_cast<std::size_t>(node.layout.elements())}),
        copied, y_type, x.shape);
    if (packed->failure()) return refused_as<Either>(test_case, *packed->failure());
    return make(std::move(packed));
  }

  BackendInfo info_;
};

// The word for units, as nodes of its subgraphs, in place of its operators.
constexpr std::string_view kSubgraph = "subgraph";

Result<std::unique_ptr<Backend>> open(const backend::Specification& what) {
  const xnn_status status = xnn_initialize(nullptr);
  if (status != xnn_status_success) return fail("--backend", refusal_text("initialize", status));
  BackendInfo info{backend::text_of(what), QCONFORM_XNNPACK_VERSION, "library"};
  info.pinned = {"threads=1", "precision=float32"};  // no thread pool, and no flag for float16
  if (what.word == kSubgraph) return xnn::subgraph_backend(std::move(info));
  return std::make_unique<Xnnpack>(std::move(info));
}

}  // namespace

backend::Library xnnpack() {
  return {"xnnpack",
          "QLinearConv with one type for x, w and y, linear operators with one scale; units of graphs as subgraphs",
          {{kSubgraph}, {}},
          [] {
            return backend::LibraryState{QCONFORM_XNNPACK_VERSION, {}};
          },
          open,
          nullptr,
          nullptr,
          nullptr,
          nullptr,
          {},
          {kSubgraph}};
}

}  // namespace qconform::libraries
