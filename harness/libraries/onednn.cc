// oneDNN's convolution primitive, with the instruction set chosen.
#include <dnnl.hpp>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "harness/libraries/adapters.h"
#include "harness/operators/operator.h"
#include "reference/conv_integer/conv_integer.h"
#include "reference/qlinear_conv/qlinear_conv.h"

namespace qconform::libraries {
namespace {

using Dimensions = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using Layout = dnnl::memory::format_tag;

struct InstructionSet {
  std::string_view name;
  dnnl::cpu_isa isa;
};
constexpr std::array kInstructionSets{
    InstructionSet{"avx2", dnnl::cpu_isa::avx2},
    InstructionSet{"avx2_vnni", dnnl::cpu_isa::avx2_vnni},
    InstructionSet{"avx512_core", dnnl::cpu_isa::avx512_core},
    InstructionSet{"avx512_core_vnni", dnnl::cpu_isa::avx512_core_vnni},
    InstructionSet{"avx512_core_amx", dnnl::cpu_isa::avx512_core_amx},
};

/// What the primitive needs to know, from either operator.
struct Convolution {
  const reference::ConvolutionOperands& operands;
  ElementType output_type;
  std::vector<float> scales;  ///< x_scale * w_scale / y_scale: one, or one for each channel; empty for ConvInteger
  std::int32_t output_zero_point = 0;
};

Type type_of(ElementType type) {
  if (type == ElementType::uint8) return Type::u8;
  return type == ElementType::int8 ? Type::s8 : Type::s32;
}

// Axes in the order that ONNX has them.
Layout channels_first(std::size_t axes, bool with_groups) {
  constexpr std::array kPlain{Layout::ncw, Layout::nchw, Layout::ncdhw};
  constexpr std::array kGroupedWeights{Layout::goiw, Layout::goihw, Layout::goidhw};
  return with_groups ? kGroupedWeights[axes - 1] : kPlain[axes - 1];
}

struct Shapes {
  Dimensions x, w, bias, y, strides, dilations, pads_begin, pads_end;
};

// Weights always have a dimension of groups: a group of 1 is the same arithmetic.
Shapes shapes_of(const reference::ConvolutionGeometry& g) {
  Shapes s;
  s.x = {g.batch, g.input_channels};
  s.w = {g.group, g.group_output_channels(), g.group_input_channels()};
  s.bias = {g.output_channels};
  s.y = g.output_shape();
  for (const reference::SpatialAxis& axis : g.axes) {
    s.x.push_back(axis.input);
    s.w.push_back(axis.kernel);
    s.strides.push_back(axis.stride);
    s.dilations.push_back(axis.dilation - 1);  // oneDNN counts the steps left out
    s.pads_begin.push_back(axis.pad_begin);
    s.pads_end.push_back(axis.pad_end);
  }
  return s;
}

class PreparedConvolution final : public PreparedCase {
 public:
  PreparedConvolution(const dnnl::engine& engine, dnnl::stream& stream, const Case& test_case, const Convolution& node,
                      const Tensor& x, const Tensor& w)
      : engine_(engine), stream_(stream), case_(test_case), x_(x), node_type_(node.output_type) {
    const Shapes shapes = shapes_of(node.operands.geometry);
    const std::size_t axes = node.operands.geometry.axes.size();
    x_plain_ = {shapes.x, type_of(x.type), channels_first(axes, false)};
    y_plain_ = {shapes.y, type_of(node.output_type), channels_first(axes, false)};
    const bool has_bias = !node.operands.bias.empty();
    // The library chooses the layouts.
    const dnnl::memory::desc x_any(shapes.x, type_of(x.type), Layout::any);
    const dnnl::memory::desc w_any(shapes.w, Type::s8, Layout::any);
    const dnnl::memory::desc y_any(shapes.y, type_of(node.output_type), Layout::any);
    const dnnl::memory::desc bias_plain(shapes.bias, Type::s32, Layout::a);
    constexpr auto kInference = dnnl::prop_kind::forward_inference;
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    using Descriptor = dnnl::convolution_forward::desc;
    const Descriptor descriptor = has_bias
                                      ? Descriptor(kInference, kDirect, x_any, w_any, bias_plain, y_any, shapes.strides,
                                                   shapes.dilations, shapes.pads_begin, shapes.pads_end)
                                      : Descriptor(kInference, kDirect, x_any, w_any, y_any, shapes.strides,
                                                   shapes.dilations, shapes.pads_begin, shapes.pads_end);
    chosen_ = dnnl::convolution_forward::primitive_desc(descriptor, attributes(node), engine_);
    convolution_ = dnnl::convolution_forward(chosen_);
    pack(dnnl::memory::desc(shapes.w, Type::s8, channels_first(axes, true)), w);
    if (has_bias) {
      bias_ = dnnl::memory(bias_plain, engine_);
      std::memcpy(bias_.get_data_handle(), node.operands.bias.data(), node.operands.bias.size() * sizeof(std::int32_t));
    }
    x_zero_point_ = zero_point(node.operands.x_zero_point);
    y_zero_point_ = zero_point(node.output_zero_point);
  }

  void run(OutputSink& sink) override {
    try {
      convolve(sink);
    } catch (const dnnl::error& error) {
      sink.refuse(refusal(case_, error.what()));
    }
  }

 private:
  static dnnl::primitive_attr attributes(const Convolution& node) {
    dnnl::primitive_attr result;
    constexpr int kChannels = 1 << 1;  // the mask of dimension 1
    if (!node.scales.empty()) result.set_output_scales(node.scales.size() == 1 ? 0 : kChannels, node.scales);
    if (node.operands.x_zero_point != 0) result.set_zero_points(DNNL_ARG_SRC, 0, {DNNL_RUNTIME_S32_VAL});
    if (node.output_zero_point != 0) result.set_zero_points(DNNL_ARG_DST, 0, {DNNL_RUNTIME_S32_VAL});
    return result;
  }

  [[nodiscard]] dnnl::memory zero_point(std::int32_t value) const {
    if (value == 0) return {};
    dnnl::memory memory({{1}, Type::s32, Layout::a}, engine_);
    std::memcpy(memory.get_data_handle(), &value, sizeof value);
    return memory;
  }

  void pack(const dnnl::memory::desc& plain, const Tensor& w) {
    dnnl::memory source(plain, engine_);
    if (!w.bytes.empty()) std::memcpy(source.get_data_handle(), w.bytes.data(), w.bytes.size());
    w_ = dnnl::memory(chosen_.weights_desc(), engine_);
    dnnl::reorder(source, w_).execute(stream_, source, w_);
    stream_.wait();
  }

  void convolve(OutputSink& sink) {
    dnnl::memory x_plain(x_plain_, engine_);
    if (!x_.bytes.empty()) std::memcpy(x_plain.get_data_handle(), x_.bytes.data(), x_.bytes.size());
    dnnl::memory x(chosen_.src_desc(), engine_);
    dnnl::reorder(x_plain, x).execute(stream_, x_plain, x);
    dnnl::memory y(chosen_.dst_desc(), engine_);
    std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w_}, {DNNL_ARG_DST, y}};
    if (bias_) arguments.emplace(DNNL_ARG_BIAS, bias_);
    if (x_zero_point_) arguments.emplace(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, x_zero_point_);
    if (y_zero_point_) arguments.emplace(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, y_zero_point_);
    convolution_.execute(stream_, arguments);
    dnnl::memory y_plain(y_plain_, engine_);
    dnnl::reorder(y, y_plain).execute(stream_, y, y_plain);
    stream_.wait();
    const std::span<std::byte> output = sink.allocate(node_type_, y_plain_.dims());
    if (!output.empty()) std::memcpy(output.data(), y_plain.get_data_handle(), output.size());
  }

  const dnnl::engine& engine_;
  dnnl::stream& stream_;
  const Case& case_;
  const Tensor& x_;
  ElementType node_type_;
  dnnl::memory::desc x_plain_;
  dnnl::memory::desc y_plain_;
  dnnl::convolution_forward::primitive_desc chosen_;
  dnnl::convolution_forward convolution_;
  dnnl::memory w_;
  dnnl::memory bias_;
  dnnl::memory x_zero_point_;
  dnnl::memory y_zero_point_;
};

// oneDNN takes one multiplier for each channel: the exact product and quotient, rounded to double and
// then to float. nullopt where that leaves float32's normal range.
std::optional<std::vector<float>> multipliers(const reference::QLinearConv& node) {
  std::vector<float> result;
  for (const float w_scale : node.w_scale) {
    const auto value = static_cast<float>(static_cast<double>(node.x_scale) * w_scale / node.y_scale);
    if (!std::isnormal(value)) return std::nullopt;
    result.push_back(value);
  }
  return result;
}

class OneDnn final : public Backend {
 public:
  explicit OneDnn(BackendInfo info) : info_(std::move(info)), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    try {
      return prepare_described(test_case, [&](const auto& node) { return prepare_node(test_case, node); });
    } catch (const dnnl::error& error) {
      return refused(test_case, std::string("oneDNN: ") + error.what());
    }
  }

 private:
  Preparation prepare_node(const Case& test_case, const reference::QLinearConv& node) {
    auto scales = multipliers(node);
    if (!scales) return outcome::Unsupported{"multiplier outside float32's normal range"};
    if (test_case.input(4)->is_scalar()) scales->resize(std::min<std::size_t>(scales->size(), 1));
    const ElementType y_type = test_case.input(7)->type;
    return prepare_convolution(test_case, {node.operands, y_type, std::move(*scales), node.y_zero_point}, 3);
  }
  Preparation prepare_node(const Case& test_case, const reference::ConvInteger& node) {
    return prepare_convolution(test_case, {node.operands, ElementType::int32, {}, 0}, 1);
  }
  Preparation prepare_node(const Case&, const reference::QuantizeLinear&) {
    return outcome::Unsupported{"its reorder multiplies by the reciprocal of a scale"};
  }
  Preparation prepare_node(const Case&, const reference::DequantizeLinear&) {
    return outcome::Unsupported{"only convolutions are lowered to oneDNN"};
  }

  Preparation prepare_convolution(const Case& test_case, const Convolution& node, std::size_t w_position) {
    const Tensor& w = *test_case.input(w_position);
    if (w.type != ElementType::int8) return outcome::Unsupported{"weights of type " + name_of(w.type)};
    for (const std::int32_t zero_point : node.operands.w_zero_point) {
      if (zero_point != 0) return outcome::Unsupported{"weight zero points"};
    }
    const std::size_t axes = node.operands.geometry.axes.size();
    if (axes > 3) return outcome::Unsupported{"more than 3 spatial dimensions"};
    return std::make_unique<PreparedConvolution>(engine_, stream_, test_case, node, *test_case.input(0), w);
  }

  BackendInfo info_;
  dnnl::engine engine_;
  dnnl::stream stream_;
};

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

// The library fixes the instruction set at its first use, for the life of the process.
std::optional<std::string> choose(std::string_view variant) {
  static std::optional<std::string> chosen;
  if (chosen && *chosen != variant) return "one instruction set of oneDNN per process, and it has one already";
  if (chosen) return std::nullopt;
  // The library's own loops over threads; it reads this when it starts.
  setenv("OMP_NUM_THREADS", "1", 1);
  for (const InstructionSet& set : kInstructionSets) {
    if (set.name != variant) continue;
    if (dnnl::set_max_cpu_isa(set.isa) != dnnl::status::success) return "the library is in use already";
    if (dnnl::get_effective_cpu_isa() != set.isa) return std::string(variant) + " is not in this CPU";
  }
  chosen = variant;
  return std::nullopt;
}

Result<std::unique_ptr<Backend>> open(std::string_view variant, std::string name) {
  if (const auto problem = choose(variant)) return fail("--backend", name + ": " + *problem);
  try {
    return std::make_unique<OneDnn>(BackendInfo{std::move(name), version(), "library"});
  } catch (const dnnl::error& error) {
    return fail("--backend", std::string("oneDNN does not start: ") + error.what());
  }
}

}  // namespace

backend::Library onednn() {
  std::vector<std::string_view> variants;
  for (const InstructionSet& set : kInstructionSets) variants.push_back(set.name);
  return {"onednn", "convolutions with int8 weights and no weight zero point", std::move(variants),
          [] {
            return backend::LibraryState{version(), {}};
          },
          open};
}

}  // namespace qconform::libraries
