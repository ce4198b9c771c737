// Parameters and classes of the convolution model by name, and the steps from a row of them to a case that the sweep
// and the sizes share. sweep_model.cc has the meaning of the classes, in the same order.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/tensor.h"
#include "harness/model/draws/draws.h"
#include "harness/model/sweep/model.h"
#include "harness/operators/convolution/description.h"
#include "reference/convolution/geometry.h"

namespace qconform::sweep::convolution {

enum ConvolutionPosition : std::size_t {
  kOperator,
  kXType,
  kWType,
  kYType,
  kRank,
  kKernel,
  kStride,
  kDilation,
  kPads,
  kAutoPad,
  kGroup,
  kInputChannels,
  kOutputChannels,
  kBatch,
  kXZeroPoint,
  kWParameters,
  kWZeroPoint,
  kYZeroPoint,
  kScales,
  kWScale,
  kBias,
  kData,
  kWidth,
  kAttributes,
  kPositions,
};

enum OperatorClass : std::uint8_t { kQLinearConv, kConvInteger };
enum TypeClass : std::uint8_t { kUint8, kInt8, kInt32 };
enum KernelClass : std::uint8_t { kPointwise, kEven, kThree, kUneven, kLarge };
enum StrideClass : std::uint8_t { kStride1, kStride2, kStride3, kStrideUneven, kStrideBeyond };
enum DilationClass : std::uint8_t { kDilation1, kDilation2, kDilation3, kDilationUneven };
enum PadsClass : std::uint8_t { kNoPads, kSymmetric, kAsymmetric, kEndOnly, kPadsBeyond };
enum AutoPadClass : std::uint8_t { kNotSet, kValid, kSameUpper, kSameLower };
enum GroupClass : std::uint8_t { kOneGroup, kSomeGroups, kDepthwise, kDepthMultiplier };
enum ChannelClass : std::uint8_t { kOneChannel };  // the others have no names here: see channel_class()
enum BatchClass : std::uint8_t { kBatch1, kBatch2, kBatchMore };
enum ZeroPointClass : std::uint8_t { kLow, kMiddle, kHigh, kOther, kOmitted, kDistinct };
enum ParametersClass : std::uint8_t { kPerTensor, kPerChannel };
enum ScalesClass : std::uint8_t { kOrdinary, kPowersOfTwo, kNearTie, kTiny, kHuge, kNoScales };
enum WScaleClass : std::uint8_t { kCommon, kDistinctScales, kNoWScale };
enum BiasClass : std::uint8_t { kNoBias, kOrdinaryBias, kLargeBias };
enum DataClass : std::uint8_t { kUniform, kEnds };
enum AttributesClass : std::uint8_t { kPlain, kAllStated };

/// The output widths of the model, by class.
inline constexpr std::int64_t kWidths[] = {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33};

[[nodiscard]] const Model& model();

/// The class of a number of channels, at least 1.
[[nodiscard]] std::uint8_t channel_class(std::int64_t channels);

struct Channels {
  std::int64_t group;
  std::int64_t input;
  std::int64_t output;
};

[[nodiscard]] GroupClass group_class(const Channels& channels);

/// All channel counts of these classes that the sweep uses, the least work first.
[[nodiscard]] const std::vector<Channels>& channels_of(std::uint8_t group, std::uint8_t input, std::uint8_t output);

void set_channels(reference::ConvolutionGeometry& sizes, const Channels& channels);

/// Parameters of w are drawn one for each output channel, and all attributes are stated: finished() makes a case of it.
struct DrawnConvolution {
  Convolution convolution;
  bool in_class = true;  ///< scales and data have their classes; the others have them always
  bool data_in_class = true;
  std::uint8_t scales = kNoScales;  ///< their class: an ordinary scale may have an output near a tie by chance
  bool detects_much = true;         ///< the output is neither nearly all saturated nor all alike
};

/// Pads of the sizes are as the attribute has them.
[[nodiscard]] DrawnConvolution draw_values(Rng& rng, const Row& row, const reference::ConvolutionGeometry& sizes);

/// The classes of a valid convolution of the model, as SweptModel::classify.
[[nodiscard]] Row classify_convolution(const Case& test_case, const Asked& asked);

/// `ends` when most elements of x and most of w are an end of their type; `uniform` when neither's are.
/// A mixture is neither class: 255.
[[nodiscard]] std::uint8_t data_class(const Tensor& x, const Tensor& w);

[[nodiscard]] std::uint8_t scales_class(float x_scale, const std::vector<float>& w_scale, float y_scale, bool near_tie);

/// `positions`: outputs on all axes but the last that there is room for in any case. `pads_behind`: as of draw_axes().
[[nodiscard]] reference::ConvolutionGeometry draw_sizes(Rng& rng, const Row& row, std::int64_t positions,
                                                        bool pads_behind = false);

/// Leaves out what the row does not state: attributes, zero points, parameters of each channel.
[[nodiscard]] Case finished(const Row& row, Convolution drawn);

/// Whether an output lies near a tie.
[[nodiscard]] bool has_near_tie(const Convolution& c, const ConvolutionSums& sums);

/// Axes with the classes of `row`: rank, kernel, stride, dilation, pads, auto_pad and output width.
/// Under SAME_*, pads are left 0, as the attribute is. `positions` bounds the product of the outputs on
/// all axes but the last, as far as the classes let it. `pads_behind`: pads beyond the kernel lie behind x, so that the
/// first window reads some of it.
[[nodiscard]] std::vector<reference::SpatialAxis> draw_axes(Rng& rng, const Row& row, std::int64_t positions,
                                                            bool pads_behind);

/// Writes the classes of axes whose pads are those of the attribute (0 unless NOTSET) into `row`:
/// rank, kernel, stride, dilation, pads and output width.
void classify_axes(const std::vector<reference::SpatialAxis>& axes, Row& row);

}  // namespace qconform::sweep::convolution
