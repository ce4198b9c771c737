// The functions of convolutions that the family hands to engines (convolution.cc): random and swept cases, shapes in
// models, shrinking, layers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/model/draws/draws.h"
#include "harness/model/layers.h"
#include "harness/model/reductions/reductions.h"
#include "harness/model/sweep/model.h"
#include "harness/onnx/node_inputs.h"
#include "harness/operators/convolution/description.h"
#include "reference/convolution/geometry.h"

namespace qconform::feature {

// Features that random convolutions may have more or less of than usual.

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

// Features that restrict the cases.
inline constexpr Feature uint8_x{24};
inline constexpr Feature uint8_w{25};
inline constexpr Feature uint8_y{26};
inline constexpr Feature one_axis{27};
inline constexpr Feature two_axes{28};
inline constexpr Feature middle_w_zero_point{29};

inline constexpr std::array kConvolution{
    uint8_x, uint8_w, uint8_y,   one_axis, two_axes, middle_w_zero_point, batch,       register_widths,
    groups,  strides, dilations, pads,     auto_pad, large_images,        per_channel, bias};

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
[[nodiscard]] NeighbourModel neighbouring_convolutions();

}  // namespace qconform::sweep

namespace qconform {

[[nodiscard]] Result<InputShape> convolution_data_shape(const NodeInputs& inputs);
[[nodiscard]] Result<std::vector<std::int64_t>> convolution_parameter_shape(const NodeInputs& inputs,
                                                                            std::string_view name);

}  // namespace qconform

namespace qconform::shrink {

// Reductions and extents of failing convolutions.

void jump_to_window(Subject& subject);       ///< one output element with what it reads
void one_output_an_image(Subject& subject);  ///< images of one output, by 1x1 windows as far apart as an image is large
void fewer_larger_products(Subject& subject);  ///< a long sum by the largest products that there are
void few_extreme_products(Subject& subject);   ///< a short sum by a few of them
void sum_into_bias(Subject& subject);          ///< a long sum to one tap, the rest of it as the bias
void plain_strides(Subject& subject);          ///< strides and dilations to 1, the output as large as before
void smaller_pads(Subject& subject);           ///< auto_pad to pads, pads to fewer
void one_tap(Subject& subject);                ///< a kernel of one tap at the same outputs, x what that reads for each
void padding_as_values(Subject& subject);      ///< no padding, x as much larger
void gaps_as_taps(Subject& subject);           ///< dilations 1, the kernel's extent kept

/// The case with `count` neighbouring taps along a spatial axis, from `begin` on, and as many outputs as before: x has
/// what they read, and no padding there. One tap needs no stride either. Nothing where that would be too large.
[[nodiscard]] std::optional<Case> with_taps(const Case& test_case, std::size_t axis, std::int64_t begin,
                                            std::int64_t count);
/// Counts what the attributes of a convolution add to its inputs, padding and gaps between taps; 0 for other operators.
[[nodiscard]] std::int64_t implied_elements(const Case& test_case);

[[nodiscard]] std::vector<Extent> convolution_extents(const Case& test_case,
                                                      const std::vector<std::int64_t>& wrong_element);
[[nodiscard]] std::optional<Case> without_spatial_axis(const Case& test_case, std::size_t dimension);
[[nodiscard]] std::int64_t channel_of_wrong_element(const Case& test_case, const Tensor& parameter,
                                                    const std::vector<std::int64_t>& wrong_element);
[[nodiscard]] std::vector<Case> with_gathered_multiplier(const Case& test_case);

}  // namespace qconform::shrink

namespace qconform::bench {

// Layers of convolutions to time: one as text, and sets of them.

/// Reads the sizes of a convolution layer in one line, as the layer sets and the command line have it:
///
///   3x3/2 64->128 @56          kernel, stride, channels in and out, input size
///   5x5 240 @28 depthwise      each channel by itself
///   31 512 @250 depthwise      one spatial dimension
///   3x3 64->64 @56 group 4 dilation 2
///   1x1 3->8 @224x160          sizes that differ
///
/// Batch 1. Stride and dilation are those of all axes. Pads keep the size at stride 1: (kernel - 1) * dilation / 2 on
/// each side, and what is odd at the end. Errors name --layers and the part that was not understood.
[[nodiscard]] Result<reference::ConvolutionGeometry> parse_layer(std::string_view text);

/// Returns the layer that such a line describes. Errors are those of parse_layer().
[[nodiscard]] Result<Layer> convolution_layer(std::string_view text, const LayerOptions& options);

/// Reads sizes as oneDNN's benchdnn has them, "mb1g1ic64ih56oc64oh56kh3sh1dh0ph1": d, h and w name axes, a missing one
/// is like the one before it, and od, oh, ow decide the pads at the end. A convolution of them, QLinearConv or
/// ConvInteger, with drawn data and the parameters of layers that are timed. Nothing for other operators and other
/// words.
[[nodiscard]] std::optional<Result<Case>> convolution_of_descriptor(std::string_view op_type, std::string_view text);

/// The line that parse_layer() reads back.
[[nodiscard]] std::string text_of(const reference::ConvolutionGeometry& layer);

struct CountedLayer {
  reference::ConvolutionGeometry sizes;
  std::int64_t count = 1;  ///< layers of these sizes in the network
};

struct LayerSetInfo {
  std::string_view name;
  std::string_view description;
  bool is_network;  ///< the layers and their counts make up one network's convolutions
};

/// The sets of convolutions; linear-64mb, whose layers are element-wise, is not among them (layers.h).
[[nodiscard]] std::span<const LayerSetInfo> convolution_sets();

/// In the network's order. nullopt for a name that is not among the sets.
[[nodiscard]] std::optional<std::vector<CountedLayer>> convolution_set(std::string_view name);

}  // namespace qconform::bench
