// Parameters and classes of the convolution model by name. Their meaning stands in
// convolution_model.cc, in the same order.
#pragma once

#include <cstdint>

#include "harness/suites/sweep/model.h"

namespace qconform::sweep::convolution {

enum Position : std::size_t {
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

}  // namespace qconform::sweep::convolution
