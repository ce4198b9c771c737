// oneDNN's convolution primitive, with the instruction set chosen.
#include <dlfcn.h>

#include <dnnl.hpp>

#include <array>
#include <cmath>
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
using Tag = dnnl::memory::format_tag;

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

Tag plain_tag(std::size_t axes, Layout layout) {
  constexpr std::array kChannelsFirst{Tag::ncw, Tag::nchw, Tag::ncdhw};
  constexpr std::array kChannelsLast{Tag::nwc, Tag::nhwc, Tag::ndhwc};
  return (layout == Layout::channels_first ? kChannelsFirst : kChannelsLast)[axes - 1];
}

// Axes in the order that ONNX has them.
Tag weights_tag(std::size_t axes) {
  constexpr std::array kGrouped{Tag::goiw, Tag::goihw, Tag::goidhw};
  return kGrouped[axes - 1];
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

// Of the OpenMP runtime that the library brings along. That has read its environment when the program was
// loaded: OMP_NUM_THREADS would come too late. Holds for what is prepared and run from now on; returns the
// number, or 1 where the runtime is another one.
int use_threads(int count) {
  // POSIX: a function's address comes as an object's.
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set == nullptr) return 1;
  set(count);
  return count;
}

// The primitive with its weights packed. The library chooses the layouts of x and y, unless channels come last:
// then it takes them where they are.
class PackedConvolution {
 public:
  PackedConvolution(const dnnl::engine& engine, dnnl::stream& stream, const Convolution& node, const Tensor& x,
                    const Tensor& w, const RunSetting& setting)
      : engine_(engine), stream_(stream), setting_(setting) {
    const Shapes shapes = shapes_of(node.operands.geometry);
    const std::size_t axes = node.operands.geometry.axes.size();
    const Tag plain = plain_tag(axes, setting.layout);
    x_plain_ = {shapes.x, type_of(x.type), plain};
    y_plain_ = {shapes.y, type_of(node.output_type), plain};
    const bool has_bias = !node.operands.bias.empty();
    const Tag chosen = setting.layout == Layout::channels_last ? plain : Tag::any;
    const dnnl::memory::desc x_any(shapes.x, type_of(x.type), chosen);
    const dnnl::memory::desc w_any(shapes.w, Type::s8, Tag::any);
    const dnnl::memory::desc y_any(shapes.y, type_of(node.output_type), chosen);
    const dnnl::memory::desc bias_plain(shapes.bias, Type::s32, Tag::a);
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
    pack(dnnl::memory::desc(shapes.w, Type::s8, weights_tag(axes)), w);
    if (has_bias) {
      bias_ = dnnl::memory(bias_plain, engine_);
      std::memcpy(bias_.get_data_handle(), node.operands.bias.data(), node.operands.bias.size() * sizeof(std::int32_t));
    }
    x_zero_point_ = zero_point(node.operands.x_zero_point);
    y_zero_point_ = zero_point(node.output_zero_point);
    place_tensors();
  }

  /// From x() to y(), in the layout asked for.
  void run() {
    if (reorder_x_) reorder_x_.execute(stream_, x_given_, x_used_);
    convolution_.execute(stream_, arguments_);
    if (reorder_y_) reorder_y_.execute(stream_, y_used_, y_given_);
    stream_.wait();
  }

  [[nodiscard]] const RunSetting& setting() const { return setting_; }
  [[nodiscard]] std::span<std::byte> x() const { return bytes_of(x_given_); }
  [[nodiscard]] std::span<std::byte> y() const { return bytes_of(y_given_); }
  [[nodiscard]] Dimensions y_shape() const { return y_plain_.dims(); }

 private:
  static dnnl::primitive_attr attributes(const Convolution& node) {
    dnnl::primitive_attr result;
    constexpr int kChannels = 1 << 1;  // the mask of dimension 1
    if (!node.scales.empty()) result.set_output_scales(node.scales.size() == 1 ? 0 : kChannels, node.scales);
    if (node.operands.x_zero_point != 0) result.set_zero_points(DNNL_ARG_SRC, 0, {DNNL_RUNTIME_S32_VAL});
    if (node.output_zero_point != 0) result.set_zero_points(DNNL_ARG_DST, 0, {DNNL_RUNTIME_S32_VAL});
    return result;
  }

  static std::span<std::byte> bytes_of(const dnnl::memory& memory) {
    return {static_cast<std::byte*>(memory.get_data_handle()), memory.get_desc().get_size()};
  }

  [[nodiscard]] dnnl::memory zero_point(std::int32_t value) const {
    if (value == 0) return {};
    dnnl::memory memory({{1}, Type::s32, Tag::a}, engine_);
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

  // Where the library wants another layout than the one asked for, a reorder before or behind the convolution.
  void place_tensors() {
    x_given_ = dnnl::memory(x_plain_, engine_);
    y_given_ = dnnl::memory(y_plain_, engine_);
    x_used_ = chosen_.src_desc() == x_plain_ ? x_given_ : dnnl::memory(chosen_.src_desc(), engine_);
    y_used_ = chosen_.dst_desc() == y_plain_ ? y_given_ : dnnl::memory(chosen_.dst_desc(), engine_);
    if (chosen_.src_desc() != x_plain_) reorder_x_ = dnnl::reorder(x_given_, x_used_);
    if (chosen_.dst_desc() != y_plain_) reorder_y_ = dnnl::reorder(y_used_, y_given_);
    arguments_ = {{DNNL_ARG_SRC, x_used_}, {DNNL_ARG_WEIGHTS, w_}, {DNNL_ARG_DST, y_used_}};
    if (bias_) arguments_.emplace(DNNL_ARG_BIAS, bias_);
    if (x_zero_point_) arguments_.emplace(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, x_zero_point_);
    if (y_zero_point_) arguments_.emplace(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, y_zero_point_);
  }

  const dnnl::engine& engine_;
  dnnl::stream& stream_;
  RunSetting setting_;
  dnnl::memory::desc x_plain_;
  dnnl::memory::desc y_plain_;
  dnnl::convolution_forward::primitive_desc chosen_;
  dnnl::convolution_forward convolution_;
  dnnl::memory w_;
  dnnl::memory bias_;
  dnnl::memory x_zero_point_;
  dnnl::memory y_zero_point_;
  dnnl::memory x_given_, x_used_;
  dnnl::memory y_given_, y_used_;
  dnnl::reorder reorder_x_;
  dnnl::reorder reorder_y_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

class PreparedConvolution final : public PreparedCase {
 public:
  PreparedConvolution(std::unique_ptr<PackedConvolution> packed, const Case& test_case, ElementType y_type)
      : packed_(std::move(packed)), case_(test_case), y_type_(y_type) {}

  void run(OutputSink& sink) override {
    try {
      const Tensor& x = *case_.input(0);
      if (!x.bytes.empty()) std::memcpy(packed_->x().data(), x.bytes.data(), x.bytes.size());
      packed_->run();
    } catch (const dnnl::error& error) {
      sink.refuse(refusal(case_, error.what()));
      return;
    }
    const std::span<std::byte> output = sink.allocate(y_type_, packed_->y_shape());
    if (!output.empty()) std::memcpy(output.data(), packed_->y().data(), output.size());
  }

 private:
  std::unique_ptr<PackedConvolution> packed_;
  const Case& case_;
  ElementType y_type_;
};

class RepeatedConvolution final : public RepeatedRun {
 public:
  RepeatedConvolution(std::unique_ptr<PackedConvolution> packed, const Case& test_case, ElementType y_type)
      : packed_(std::move(packed)), case_(test_case), y_type_(y_type) {
    const Tensor& x = *case_.input(0);
    if (packed_->setting().layout == Layout::channels_last) {
      to_channels_last(x, packed_->x());
    } else if (!x.bytes.empty()) {
      std::memcpy(packed_->x().data(), x.bytes.data(), x.bytes.size());
    }
  }

  void run() override {
    try {
      packed_->run();
    } catch (const dnnl::error& error) {
      refusal_ = refusal(case_, error.what());
    }
  }
  [[nodiscard]] Outcome outcome() override {
    if (refusal_) return *refusal_;
    const std::span<const std::byte> y = packed_->y();
    Tensor output{y_type_, packed_->y_shape(), {}};
    if (packed_->setting().layout == Layout::channels_last) {
      to_channels_first(y, output);
    } else {
      output.bytes.assign(y.begin(), y.end());
    }
    return outcome::Produced{std::move(output)};
  }
  [[nodiscard]] RunSetting setting() const override { return packed_->setting(); }

 private:
  std::unique_ptr<PackedConvolution> packed_;
  const Case& case_;
  ElementType y_type_;
  std::optional<Outcome> refusal_;
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
    return prepare_as<PreparedConvolution, Preparation>(test_case, {});
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& wanted) override {
    const int threads = use_threads(wanted.threads);
    return prepare_as<RepeatedConvolution, RepeatedPreparation>(test_case, {wanted.layout, threads});
  }

 private:
  template <typename Prepared, typename Either>
  Either prepare_as(const Case& test_case, const RunSetting& setting) {
    try {
      return prepare_described<Either>(test_case, [&](const auto& node) -> Either {
        const Lowering lowering = lower(test_case, node);
        if (!lowering) return outcome::Unsupported{lowering.error()};
        const Tensor& x = *test_case.input(0);
        auto packed = std::make_unique<PackedConvolution>(engine_, stream_, lowering->node, x, *lowering->w, setting);
        return std::make_unique<Prepared>(std::move(packed), test_case, lowering->node.output_type);
      });
    } catch (const dnnl::error& error) {
      return refused_as<Either>(test_case, std::string("oneDNN: ") + error.what());
    }
  }

  struct Lowered {
    Convolution node;
    const Tensor* w;
  };
  using Lowering = tl::expected<Lowered, std::string>;  // or what the interface has no form for

  static Lowering lower(const Case& test_case, const reference::QLinearConv& node) {
    auto scales = multipliers(node);
    if (!scales) return tl::unexpected<std::string>("multiplier outside float32's normal range");
    if (test_case.input(4)->is_scalar()) scales->resize(std::min<std::size_t>(scales->size(), 1));
    const ElementType y_type = test_case.input(7)->type;
    return lower({node.operands, y_type, std::move(*scales), node.y_zero_point}, *test_case.input(3));
  }
  static Lowering lower(const Case& test_case, const reference::ConvInteger& node) {
    return lower({node.operands, ElementType::int32, {}, 0}, *test_case.input(1));
  }
  static Lowering lower(const Case&, const reference::QuantizeLinear&) {
    return tl::unexpected<std::string>("its reorder multiplies by the reciprocal of a scale");
  }
  static Lowering lower(const Case&, const reference::DequantizeLinear&) {
    return tl::unexpected<std::string>("only convolutions are lowered to oneDNN");
  }
  static Lowering lower(Convolution node, const Tensor& w) {
    if (w.type != ElementType::int8) return tl::unexpected<std::string>("weights of type " + name_of(w.type));
    for (const std::int32_t zero_point : node.operands.w_zero_point) {
      if (zero_point != 0) return tl::unexpected<std::string>("weight zero points");
    }
    if (node.operands.geometry.axes.size() > 3) return tl::unexpected<std::string>("more than 3 spatial dimensions");
    return Lowered{std::move(node), &w};
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
  (void)use_threads(1);
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
