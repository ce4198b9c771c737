// Suites ask the family of QLinearConv and ConvInteger for random, directed and swept cases, and for the shapes that a
// model does not tell: random.cc, directed.cc, sweep.cc, sizes.cc and diagnosis.cc.
#pragma once

#include <array>

#include "harness/core/case.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/model/draws/draws.h"
#include "harness/model/sweep/model.h"
#include "harness/onnx/node_inputs.h"
#include "harness/operators/convolution/description.h"

/// Lists the features that random convolutions may have more or less of than usual.
namespace qconform::feature {

inline constexpr Feature qlinear_conv{0};
inline constexpr Feature conv_integer{1};
inline constexpr Feature batch{4};            ///< more than one image
inline constexpr Feature register_widths{5};  ///< channel counts around the widths of vector registers
inline constexpr Feature groups{6};           ///< grouped and depthwise convolutions
inline constexpr Feature strides{7};
inline constexpr Feature dilations{8};
inline constexpr Feature pads{9};
inline constexpr Feature auto_pad{10};
inline constexpr Feature large_images{11};
inline constexpr Feature per_channel{12};  ///< scales and zero points
inline constexpr Feature bias{13};

inline constexpr std::array kConvolution{batch, register_widths, groups,       strides,     dilations,
                                         pads,  auto_pad,        large_images, per_channel, bias};

// Features that restrict the cases: Family::draws.selecting.
inline constexpr Feature uint8_x{24};
inline constexpr Feature uint8_w{25};
inline constexpr Feature uint8_y{26};
inline constexpr Feature one_axis{27};
inline constexpr Feature two_axes{28};
inline constexpr Feature middle_w_zero_point{29};

inline constexpr std::array kSelectingConvolution{uint8_x, uint8_w, uint8_y, one_axis, two_axes, middle_w_zero_point};

}  // namespace qconform::feature

namespace qconform {

/// Sizes that usual cases do not have.
enum class LargeExtent : std::uint8_t {
  none,
  dilation,  ///< 4 and more, of the last axis
  kernel,    ///< 9 taps and more along the last axis
  batch,     ///< 4 images and more
  position,  ///< 129 outputs and more along an axis
  channels,  ///< 129 output channels and more
};

/// A QLinearConv, or else a ConvInteger, with that extent.
[[nodiscard]] Convolution random_convolution(Rng& rng, bool is_quantized, LargeExtent large, const Swarm& swarm);

[[nodiscard]] Case random_qlinear_conv(Rng& rng, const Swarm& swarm = Swarm());
[[nodiscard]] Case random_conv_integer(Rng& rng, const Swarm& swarm = Swarm());

}  // namespace qconform

namespace qconform::directed {

/// A valid case of "QLinearConv" or "ConvInteger" that often reaches `corner_case`, which concerns it.
[[nodiscard]] Case draw_convolution(Rng& rng, std::string_view op_type, CornerCase corner_case, const Swarm& swarm);

}  // namespace qconform::directed

namespace qconform::sweep {

[[nodiscard]] SweptModel swept_convolutions();
[[nodiscard]] SizedModel sized_convolutions();

}  // namespace qconform::sweep

namespace qconform {

[[nodiscard]] Result<InputShape> convolution_data_shape(const NodeInputs& inputs);
[[nodiscard]] Result<std::vector<std::int64_t>> convolution_parameter_shape(const NodeInputs& inputs,
                                                                            std::string_view name);

}  // namespace qconform
