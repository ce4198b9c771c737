// oneDNN 2: one multiplier for each output channel, known when the primitive is made, and a bias of int32 in the units
// of the sums.
#include "harness/backends/libraries/onednn/onednn.h"

#if DNNL_VERSION_MAJOR < 3

#include <array>
#include <cmath>
#include <optional>

namespace qconform::libraries::dnn {
namespace {

using Memory = dnnl::memory;

// The exact product and quotient, rounded to double and then to float. nullopt where that leaves float32's normal
// range.
std::optional<std::vector<float>> multipliers(const PlacedConvolution& node) {
  std::vector<float> result;
  for (const float w_scale : node.w_scale) {
    const auto value = static_cast<float>(static_cast<double>(node.x_scale.front()) * w_scale / node.y_scale.front());
    if (!std::isnormal(value)) return std::nullopt;
    result.push_back(value);
  }
  return result;
}

// The factors of a reorder; nullopt where a reciprocal is no float.
std::optional<std::vector<float>> factors(const ReorderProblem& node) {
  if (!node.quantizes) return node.scales;
  std::vector<float> result;
  for (const float scale : node.scales) {
    const float reciprocal = 1 / scale;
    if (!std::isnormal(reciprocal) || static_cast<double>(reciprocal) * scale != 1) return std::nullopt;
    result.push_back(reciprocal);
  }
  return result;
}

void add_zero_points(int argument, const ZeroPoints& zero_points, const dnnl::engine& engine,
                     PrimitiveQuantization& result) {
  if (zero_points.values.empty()) return;
  result.attributes.set_zero_points(argument, zero_points.mask, {DNNL_RUNTIME_S32_VAL});
  result.arguments.emplace(DNNL_ARG_ATTR_ZERO_POINTS | argument, copy_of(zero_points.values, engine));
}

}  // namespace

std::span<const InstructionSet> instruction_sets() {
  static constexpr std::array kAll{
      InstructionSet{"avx2", dnnl::cpu_isa::avx2},
      InstructionSet{"avx2_vnni", dnnl::cpu_isa::avx2_vnni},
      InstructionSet{"avx512_core", dnnl::cpu_isa::avx512_core},
      InstructionSet{"avx512_core_vnni", dnnl::cpu_isa::avx512_core_vnni},
      InstructionSet{"avx512_core_amx", dnnl::cpu_isa::avx512_core_amx},
  };
  return kAll;
}

Quantized quantization_of(const PlacedConvolution& node, const dnnl::engine& engine) {
  constexpr int kOutputChannels = 1 << 1;
  constexpr int kWeightChannels = 1 << 0 | 1 << 1;  // groups, and channels of each
  PrimitiveQuantization result;
  if (node.scaled != nullptr) {
    const auto scales = multipliers(node);
    if (!scales) return tl::unexpected<std::string>("multiplier outside float32's normal range");
    result.attributes.set_output_scales(scales->size() == 1 ? 0 : kOutputChannels, *scales);
  }
  add_zero_points(DNNL_ARG_SRC, zero_points_of({&node.operands.x_zero_point, 1}, 0), engine, result);
  add_zero_points(DNNL_ARG_WEIGHTS, zero_points_of(node.operands.w_zero_point, kWeightChannels), engine, result);
  if (node.scaled != nullptr) {
    add_zero_points(DNNL_ARG_DST, zero_points_of({&node.scaled->y_zero_point, 1}, 0), engine, result);
  }
  if (!node.bias.empty()) {
    const Memory::desc plain({node.operands.geometry.output_channels}, Memory::data_type::s32, Memory::format_tag::a);
    result.arguments.emplace(DNNL_ARG_BIAS, Memory(plain, engine, node.bias.data()));
  }
  return result;
}

Quantized quantization_of(const ReorderProblem& node, const dnnl::engine& engine) {
  if (node.layout.is_blocked()) return tl::unexpected<std::string>("its interface has no blocked parameters");
  const auto scales = factors(node);
  if (!scales) return tl::unexpected<std::string>("its reorder multiplies, and 1 / y_scale is no float32");
  const int mask = mask_of(node.layout);
  PrimitiveQuantization result;
  result.attributes.set_output_scales(mask, *scales);
  add_zero_points(node.quantizes ? DNNL_ARG_TO : DNNL_ARG_FROM, zero_points_of(node.zero_points, mask), engine, result);
  return result;
}

dnnl::convolution_forward::primitive_desc describe(const ConvolutionShapes& shapes, const Memory::desc& x,
                                                   const Memory::desc& w, const Memory::desc& y,
                                                   const PrimitiveQuantization& quantization,
                                                   const dnnl::engine& engine) {
  using Descriptor = dnnl::convolution_forward::desc;
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const auto bias = quantization.arguments.find(DNNL_ARG_BIAS);
  const Descriptor descriptor = bias == quantization.arguments.end()
                                    ? Descriptor(kInference, kDirect, x, w, y, shapes.strides, shapes.dilations,
                                                 shapes.pads_begin, shapes.pads_end)
                                    : Descriptor(kInference, kDirect, x, w, bias->second.get_desc(), y, shapes.strides,
                                                 shapes.dilations, shapes.pads_begin, shapes.pads_end);
  return {descriptor, quantization.attributes, engine};
}

}  // namespace qconform::libraries::dnn

#endif
