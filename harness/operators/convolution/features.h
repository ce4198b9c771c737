// What random convolutions may have more or less of than usual.
#pragma once

#include <array>

#include "harness/suites/swarm.h"

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

}  // namespace qconform::feature
