// oneDNN 3: the scales of x, w and y apart, given when the primitive runs, and a bias that is a real number.
#include "harness/backends/libraries/onednn/onednn.h"

#if DNNL_VERSION_MAJOR >= 3

#include <array>
#include <cmath>
#include <cstring>
#include <optional>

namespace qconform::libraries::dnn {
namespace {

using Memory = dnnl::memory;

Memory over(std::span<float> values, const dnnl::engine& engine) {
  const auto count = static_cast<Memory::dim>(values.size());
  return {{{count}, Memory::data_type::f32, Memory::format_tag::a}, engine, values.data()};
}

Memory copy_of(const std::vector<float>& values, const dnnl::engine& engine) {
  const auto count = static_cast<Memory::dim>(values.size());
  Memory memory({{count}, Memory::data_type::f32, Memory::format_tag::a}, engine);
  std::memcpy(memory.get_data_handle(), values.data(), values.size() * sizeof(float));
  return memory;
}

void add_scales(int argument, int mask, Memory values, PrimitiveQuantization& result) {
  result.attributes.set_scales_mask(argument, mask);
  result.arguments.emplace(DNNL_ARG_ATTR_SCALES | argument, std::move(values));
}

void add_zero_points(int argument, const ZeroPoints& zero_points, const dnnl::engine& engine,
                     PrimitiveQuantization& result) {
  if (zero_points.values.empty()) return;
  result.attributes.set_zero_points_mask(argument, zero_points.mask);
  result.arguments.emplace(DNNL_ARG_ATTR_ZERO_POINTS | argument, dnn::copy_of(zero_points.values, engine));
}

// bias * x_scale * w_scale where that is a float32. The product of the scales is exact in double, and so is the whole
// where nothing is left over.
std::optional<float> real_bias(std::int32_t bias, float x_scale, float w_scale) {
  const double scale = static_cast<double>(x_scale) * w_scale;
  const double product = scale * bias;
  const auto value = static_cast<float>(product);
  if (std::fma(scale, bias, -product) != 0 || static_cast<double>(value) != product) return std::nullopt;
  return value;
}

std::optional<std::vector<float>> real_biases(const PlacedConvolution& node) {
  std::vector<float> result;
  for (std::size_t i = 0; i < node.operands.bias.size(); ++i) {
    const float w_scale = node.w_scale[node.w_scale.size() == 1 ? 0 : i];
    const auto value = real_bias(node.operands.bias[i], node.x_scale.front(), w_scale);
    if (!value) return std::nullopt;
    result.push_back(*value);
  }
  return result;
}

}  // namespace

std::span<const InstructionSet> instruction_sets() {
  static constexpr std::array kAll{
      InstructionSet{"avx2", dnnl::cpu_isa::avx2},
      InstructionSet{"avx2_vnni", dnnl::cpu_isa::avx2_vnni},
      InstructionSet{"avx2_vnni_2", dnnl::cpu_isa::avx2_vnni_2},
      InstructionSet{"avx512_core", dnnl::cpu_isa::avx512_core},
      InstructionSet{"avx512_core_vnni", dnnl::cpu_isa::avx512_core_vnni},
      InstructionSet{"avx512_core_bf16", dnnl::cpu_isa::avx512_core_bf16},
      InstructionSet{"avx512_core_fp16", dnnl::cpu_isa::avx512_core_fp16},
      InstructionSet{"avx512_core_amx", dnnl::cpu_isa::avx512_core_amx},
      InstructionSet{"avx512_core_amx_fp16", dnnl::cpu_isa::avx512_core_amx_fp16},
  };
  return kAll;
}

Quantized quantization_of(const PlacedConvolution& node, const dnnl::engine& engine) {
  constexpr int kWeightChannels = 1 << 0 | 1 << 1;  // groups, and channels of each
  PrimitiveQuantization result;
  if (node.scaled != nullptr) {
    add_scales(DNNL_ARG_SRC, 0, over(node.x_scale, engine), result);
    add_scales(DNNL_ARG_WEIGHTS, node.w_scale.size() == 1 ? 0 : kWeightChannels, over(node.w_scale, engine), result);
    add_scales(DNNL_ARG_DST, 0, over(node.y_scale, engine), result);
  }
  add_zero_points(DNNL_ARG_SRC, zero_points_of({&node.operands.x_zero_point, 1}, 0), engine, result);
  add_zero_points(DNNL_ARG_WEIGHTS, zero_points_of(node.operands.w_zero_point, kWeightChannels), engine, result);
  if (node.scaled != nullptr) {
    add_zero_points(DNNL_ARG_DST, zero_points_of({&node.scaled->y_zero_point, 1}, 0), engine, result);
  }
  if (!node.bias.empty()) {
    const auto bias = real_biases(node);
    if (!bias)
      return tl::unexpected<std::string>("its bias is a real number, and bias * x_scale * w_scale is no float32");
    result.arguments.emplace(DNNL_ARG_BIAS, copy_of(*bias, engine));
  }
  return result;
}

Quantized quantization_of(const ReorderProblem& node, const dnnl::engine& engine) {
  const int argument = node.quantizes ? DNNL_ARG_TO : DNNL_ARG_FROM;
  const int mask = mask_of(node.layout);
  PrimitiveQuantization result;
  add_scales(argument, mask, copy_of(node.scales, engine), result);
  const ZeroPoints zero_points = zero_points_of(node.zero_points, mask);
  add_zero_points(argument, zero_points, engine, result);
  if (node.layout.is_blocked()) {
    const Memory::dims block{node.layout.block, 1};  // the size of a block along the last two dimensions
    result.attributes.set_scales(argument, mask, block);
    if (zero_points.mask != 0) result.attributes.set_zero_points(argument, mask, block);
  }
  return result;
}

dnnl::convolution_forward::primitive_desc describe(const ConvolutionShapes& shapes, const Memory::desc& x,
                                                   const Memory::desc& w, const Memory::desc& y,
                                                   const PrimitiveQuantization& quantization,
                                                   const dnnl::engine& engine) {
  using Descriptor = dnnl::convolution_forward::primitive_desc;
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const auto bias = quantization.arguments.find(DNNL_ARG_BIAS);
  if (bias == quantization.arguments.end()) {
    return Descriptor(engine, kInference, kDirect, x, w, y, shapes.strides, shapes.dilations, shapes.pads_begin,
                      shapes.pads_end, quantization.attributes);
  }
  return Descriptor(engine, kInference, kDirect, x, w, bias->second.get_desc(), y, shapes.strides, shapes.dilations,
                    shapes.pads_begin, shapes.pads_end, quantization.attributes);
}

}  // namespace qconform::libraries::dnn

#endif
