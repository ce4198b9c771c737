#include "harness/backends/libraries/onednn_convolution.h"

#include <array>
#include <cstring>

namespace qconform::libraries::dnn {
namespace {

using Dimensions = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

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

dnnl::primitive_attr attributes(const Convolution& node) {
  dnnl::primitive_attr result;
  constexpr int kChannels = 1 << 1;  // the mask of dimension 1
  if (!node.scales.empty()) result.set_output_scales(node.scales.size() == 1 ? 0 : kChannels, node.scales);
  if (node.operands.x_zero_point != 0) result.set_zero_points(DNNL_ARG_SRC, 0, {DNNL_RUNTIME_S32_VAL});
  if (node.output_zero_point != 0) result.set_zero_points(DNNL_ARG_DST, 0, {DNNL_RUNTIME_S32_VAL});
  return result;
}

}  // namespace

PackedConvolution::PackedConvolution(const dnnl::engine& engine, dnnl::stream& stream, const Convolution& node,
                                     ElementType x_type, const Data& data, const RunSetting& setting)
    : engine_(engine), stream_(stream), setting_(setting) {
  const Shapes shapes = shapes_of(node.operands.geometry);
  const std::size_t axes = node.operands.geometry.axes.size();
  const Tag plain = plain_tag(axes, setting.layout);
  x_plain_ = {shapes.x, type_of(x_type), plain};
  y_plain_ = {shapes.y, type_of(node.output_type), plain};
  const bool has_bias = !data.bias.empty();
  const Tag chosen = setting.layout == Layout::channels_last ? plain : Tag::any;
  const dnnl::memory::desc x_any(shapes.x, type_of(x_type), chosen);
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
  pack(dnnl::memory::desc(shapes.w, Type::s8, weights_tag(axes)), data.w);
  if (has_bias) bias_ = dnnl::memory(bias_plain, engine_, data.bias.data());
  x_zero_point_ = zero_point(node.operands.x_zero_point);
  y_zero_point_ = zero_point(node.output_zero_point);
  place_tensors(data.x);
}

void PackedConvolution::write_to(std::span<std::byte> y) {
  y_given_.set_data_handle(y.data());
}

void PackedConvolution::run() {
  if (reorder_x_) reorder_x_.execute(stream_, x_given_, x_used_);
  convolution_.execute(stream_, arguments_);
  if (reorder_y_) reorder_y_.execute(stream_, y_used_, y_given_);
  stream_.wait();
}

std::span<std::byte> PackedConvolution::bytes_of(const dnnl::memory& memory) {
  return {static_cast<std::byte*>(memory.get_data_handle()), memory.get_desc().get_size()};
}

dnnl::memory PackedConvolution::zero_point(std::int32_t value) const {
  if (value == 0) return {};
  dnnl::memory memory({{1}, Type::s32, Tag::a}, engine_);
  std::memcpy(memory.get_data_handle(), &value, sizeof value);
  return memory;
}

void PackedConvolution::pack(const dnnl::memory::desc& plain, std::span<std::byte> w) {
  dnnl::memory source(plain, engine_, w.data());
  w_ = dnnl::memory(chosen_.weights_desc(), engine_);
  dnnl::reorder(source, w_).execute(stream_, source, w_);
  stream_.wait();
}

// Where the library wants another layout than the one asked for, a reorder before or behind the convolution.
void PackedConvolution::place_tensors(std::span<std::byte> x) {
  x_given_ = dnnl::memory(x_plain_, engine_, x.data());
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

}  // namespace qconform::libraries::dnn
