#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "harness/backends/libraries/onednn/onednn.h"

namespace qconform::libraries::dnn {

dnnl::memory::data_type type_of(ElementType type) {
  using Type = dnnl::memory::data_type;
  switch (type) {
    case ElementType::float32: return Type::f32;
    case ElementType::float16: return Type::f16;
    case ElementType::bfloat16: return Type::bf16;
    case ElementType::uint8: return Type::u8;
    case ElementType::int8: return Type::s8;
    case ElementType::int32: return Type::s32;
    default: throw dnnl::error(dnnl_unimplemented, "no form for some element type");
  }
}

dnnl::memory copy_of(std::span<const std::int32_t> values, const dnnl::engine& engine) {
  using Memory = dnnl::memory;
  Memory memory({{static_cast<Memory::dim>(values.size())}, Memory::data_type::s32, Memory::format_tag::a}, engine);
  std::memcpy(memory.get_data_handle(), values.data(), values.size_bytes());
  return memory;
}

ZeroPoints zero_points_of(std::span<const std::int32_t> values, int channels_mask) {
  if (std::all_of(values.begin(), values.end(), [](std::int32_t z) { return z == 0; })) return {};
  const bool is_one = std::all_of(values.begin(), values.end(), [&](std::int32_t z) { return z == values.front(); });
  if (is_one) return {{values.front()}, 0};
  return {{values.begin(), values.end()}, channels_mask};
}

int mask_of(const reference::QuantizationLayout& layout) {
  constexpr int kOuter = 1 << 0;
  constexpr int kChannels = 1 << 1;
  constexpr int kInner = 1 << 2;
  if (layout.is_blocked()) return kOuter | kChannels | kInner;
  return layout.channels == 1 ? 0 : kChannels;
}

namespace {

using Dimensions = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

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

// Weights always have a dimension of groups: a group of 1 is the same arithmetic.
ConvolutionShapes shapes_of(const reference::ConvolutionGeometry& g) {
  ConvolutionShapes s;
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

}  // namespace

PackedConvolution::PackedConvolution(const dnnl::engine& engine, dnnl::stream& stream, const PlacedConvolution& node,
                                     PrimitiveQuantization quantization, const Data& data, const RunSetting& setting)
    : engine_(engine),
      stream_(stream),
      quantization_(std::move(quantization)),
      setting_(setting),
      y_type_(node.y_type()) {
  const ConvolutionShapes shapes = shapes_of(node.operands.geometry);
  y_shape_ = shapes.y;
  const std::size_t axes = node.operands.geometry.axes.size();
  const Tag plain = plain_tag(axes, setting.layout);
  x_plain_ = {shapes.x, type_of(node.operands.x_type), plain};
  y_plain_ = {shapes.y, type_of(node.y_type()), plain};
  const Tag chosen = setting.layout == Layout::channels_last ? plain : Tag::any;
  chosen_ = describe(shapes, {shapes.x, type_of(node.operands.x_type), chosen},
                     {shapes.w, type_of(node.operands.w_type), Tag::any}, {shapes.y, type_of(node.y_type()), chosen},
                     quantization_, engine_);
  convolution_ = dnnl::convolution_forward(chosen_);
  pack({shapes.w, type_of(node.operands.w_type), weights_tag(axes)}, data.w);
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

void PackedConvolution::pack(const dnnl::memory::desc& plain, std::span<std::byte> w) {
  dnnl::memory source(plain, engine_, w.data());
  w_ = dnnl::memory(chosen_.weights_desc(), engine_);
  dnnl::reorder(source, w_).execute(stream_, source, w_);
  stream_.wait();
}

// Places the tensors, with a reorder before or behind the convolution where the library wants another layout than the
// one asked for.
void PackedConvolution::place_tensors(std::span<std::byte> x) {
  x_given_ = dnnl::memory(x_plain_, engine_, x.data());
  y_given_ = dnnl::memory(y_plain_, engine_);
  x_used_ = chosen_.src_desc() == x_plain_ ? x_given_ : dnnl::memory(chosen_.src_desc(), engine_);
  y_used_ = chosen_.dst_desc() == y_plain_ ? y_given_ : dnnl::memory(chosen_.dst_desc(), engine_);
  if (chosen_.src_desc() != x_plain_) reorder_x_ = dnnl::reorder(x_given_, x_used_);
  if (chosen_.dst_desc() != y_plain_) reorder_y_ = dnnl::reorder(y_used_, y_given_);
  arguments_ = quantization_.arguments;
  arguments_.insert({{DNNL_ARG_SRC, x_used_}, {DNNL_ARG_WEIGHTS, w_}, {DNNL_ARG_DST, y_used_}});
}

namespace {

dnnl::memory::desc description(const reference::QuantizationLayout& layout, ElementType type) {
  return {{layout.outer, layout.channels, layout.inner}, type_of(type), dnnl::memory::format_tag::abc};
}

}  // namespace

PackedReorder::PackedReorder(const dnnl::engine& engine, dnnl::stream& stream, const ReorderProblem& node,
                             PrimitiveQuantization quantization, std::span<std::byte> x,
                             std::vector<std::int64_t> shape)
    : stream_(stream),
      quantization_(std::move(quantization)),
      y_type_(node.y_type),
      shape_(std::move(shape)),
      x_(description(node.layout, node.x_type), engine, x.data()),
      y_(description(node.layout, node.y_type), engine, nullptr),
      reorder_(dnnl::reorder::primitive_desc(engine, x_.get_desc(), engine, y_.get_desc(), quantization_.attributes)) {
  quantization_.arguments.insert({{DNNL_ARG_FROM, x_}, {DNNL_ARG_TO, y_}});
}

void PackedReorder::write_to(std::span<std::byte> y) {
  y_.set_data_handle(y.data());
}

void PackedReorder::run() {
  reorder_.execute(stream_, quantization_.arguments);
  stream_.wait();
}

}  // namespace qconform::libraries::dnn
