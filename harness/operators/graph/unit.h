// A quantized unit, what runtimes fuse into one kernel: DequantizeLinear, a compute node, perhaps an activation,
// QuantizeLinear. Described by a few choices, and built as a case.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/case.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/draws/draws.h"

namespace qconform::unit {

/// The compute node: products first, then nodes of two operands, then those of one.
enum Compute : std::uint8_t {
  kConv,
  kDepthwise,  ///< a Conv with as many groups as channels
  kConvTranspose,
  kGemm,
  kMatMul,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kConcat,
  kAveragePool,
  kGlobalAveragePool,
  kReduceMean,
  kReduceSum,
  kSoftmax,
  kSigmoid,
  kTanh,
  kHardSigmoid,
  kErf,
  kLayerNormalization,
  kInstanceNormalization,
  kRmsNormalization,
  kGelu,
  kLinearResize,
  kSwish,
  kPRelu,
  kLeakyRelu,
  kMaxPool,
  kReduceMax,
  kRelu,
  kClip,
  kNeg,
  kAbs,
  kNearestResize,
  kTranspose,
  kReshape,
  kFlatten,
  kSqueeze,
  kUnsqueeze,
  kSlice,
  kPad,
  kSplit,
  kExpand,
  kGather,
  kIdentity,
  kDepthToSpace,
  kComputes,
};
inline constexpr Compute kFirstPair = kAdd;
inline constexpr Compute kFirstUnary = kAveragePool;
inline constexpr Compute kFirstExact = kMaxPool;       ///< from here on, nodes do not round
inline constexpr Compute kFirstMove = kNearestResize;  ///< from here on, nodes do not compute

/// "Conv"; those with an ending have another name than their node: "Conv depthwise".
[[nodiscard]] std::string_view name_of(Compute compute);
/// Returns a node's compute, by its operator and by what else tells computes apart: groups, the mode of a Resize.
[[nodiscard]] std::optional<Compute> compute_of(const Node& node);

/// The first four as harness/model/sweep/model.h has them. kOmitted of a QuantizeLinear: its output is uint8. kByType,
/// of a QuantizeLinear alone: omitted, beside output_dtype.
enum ZeroPoint : std::uint8_t { kLow, kMiddle, kHigh, kOther, kOmitted, kByType };
/// kBlocks: of kBlock elements along the last axis, or the one that is summed.
enum ParameterLayout : std::uint8_t { kPerTensor, kAxis0, kAxis1, kLastAxis, kBlocks };
enum Scales : std::uint8_t { kPowersOfTwo, kOrdinary, kTiny, kHuge };
enum Bias : std::uint8_t { kNoBias, kExactBias, kOtherBiasScale, kLargeBias, kFloatBias };
enum Activation : std::uint8_t { kNone, kReluBehind, kClipBehind, kClipAtEnds, kReversedClip, kLeakyReluBehind };
enum Consumers : std::uint8_t { kOne, kDequantizedToo, kRealToo };
/// The nodes between the DequantizeLinear of x and the compute node.
enum InputPath : std::uint8_t {
  kDirect,
  kTransposed,
  kReshaped,
  kSliced,
  kPadded,
  kSqueezed,
  kIdentityPath,
  kRequantized
};
enum Source : std::uint8_t { kInitializer, kFed, kTransposedSource };
enum WindowKind : std::uint8_t { kPlain, kPaddedWindow, kStrided };
enum Factors : std::uint8_t { kNoFactors, kAlpha, kBeta, kAlphaBeta };
enum Transposed : std::uint8_t { kNeither, kA, kB, kBoth };
enum Broadcast : std::uint8_t { kSameShape, kChannels, kScalar, kRow };
/// The source of a pair's other operand; the last two read x again.
enum Other : std::uint8_t { kOtherFed, kOtherStorage, kSameReal, kSameQuantized };
/// Scales and zero points that are to be alike: those of x and w, or of x and y.
enum Alike : std::uint8_t { kDiffer, kAlike, kSameInitializers };

inline constexpr std::int64_t kBlock = 4;
inline constexpr std::int64_t kChannelsOfPair = 3;

struct Operand {
  ElementType type = ElementType::uint8;
  ZeroPoint zero_point = kMiddle;
  ParameterLayout layout = kPerTensor;
};

struct Unit {
  Compute compute = kConv;
  std::int64_t opset = 21;
  ElementType real = ElementType::float32;  ///< the type of scales and of all that is computed
  Scales scales = kOrdinary;
  Operand x;
  Operand w{ElementType::int8};  ///< or the other operand of a pair
  Operand y;
  Alike alike = kDiffer;
  Consumers consumers = kOne;
  InputPath path = kDirect;
  Activation activation = kNone;

  // Products. Sums have k terms, times the elements of the window.
  std::int64_t k = 3;
  std::int64_t n = 3;  ///< output channels or columns
  Source source = kInitializer;
  Bias bias = kNoBias;
  /// The ratio of the scale of an int32 bias to the product of x's and w's; nullopt: drawn. With kOtherBiasScale.
  std::optional<double> bias_ratio = {};
  Factors factors = kNoFactors;
  Transposed transposed = kNeither;
  WindowKind window = kPlain;
  /// Data lies within 7 of its zero point: long sums stay exact.
  bool is_quiet = false;
  /// A second node reads the same weights and bias: its output is one of the graph too.
  bool is_twice = false;

  // Pairs.
  Broadcast broadcast = kSameShape;
  Other other = kOtherFed;

  // Pairs and nodes of one operand.
  std::int64_t width = 4;  ///< the extent of x's last axis
};

/// A case of that unit: data, scales and zero points that the unit leaves open are drawn, y's scale is fitted to what
/// is computed. Within the contract where the types and versions go together. The first output is that of the
/// QuantizeLinear.
[[nodiscard]] Case build(const Unit& unit, Rng& rng);

// A unit while it is built: for unit.cc and unit_computes.cc alone.

using Shape = std::vector<std::int64_t>;

/// The scale and zero point of a QuantizeLinear or DequantizeLinear.
struct Parameters {
  std::vector<std::string> names;  ///< scale, then the zero point unless it is omitted
  std::vector<Attribute> attributes;
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;  ///< as many, 0 where omitted
};

/// A quantized tensor of the case, and its real value.
struct Dequantized {
  std::string quantized;
  ElementType type = ElementType::undefined;
  Parameters parameters;
  std::string real;
};

/// The smallest and largest of some values.
struct UnitExtent {
  double lo = 0;
  double hi = 0;
};
/// Returns the extent of a type's elements; of a float type, that of its finite ones.
[[nodiscard]] UnitExtent extent_of(ElementType type);

class UnitDraft {
 public:
  UnitDraft(const Unit& unit, Rng& random) : u(unit), rng(random), nodes(unit.opset) {}

  const Unit& u;
  Rng& rng;
  GraphBuilder nodes;
  Dequantized x;
  std::vector<std::string> further;  ///< real values beside the first that are quantized and put out too

  /// x with that shape behind the unit's path.
  std::string operand(const Shape& shape);
  /// Further data of that shape, by other parameters.
  std::string operand_beside(const Shape& shape);
  /// Some tensor, dequantized. `summed`: the axis that blocks lie along.
  Dequantized dequantized(const Operand& operand, const Shape& shape, bool is_fed, std::size_t summed,
                          bool without_zero = false);
  Dequantized dequantized_again(const std::string& quantized, const Operand& operand, const Shape& shape);

  [[nodiscard]] double in_real(double value) const;  ///< rounded to the unit's real type
  double draw_scale();
  std::string real_tensor(const Shape& shape, const std::vector<double>& values);
  std::string integers(const std::vector<std::int64_t>& values);
  /// Another operand's parameters: x's where they are to be alike, and otherwise with another scale.
  Parameters beside_x(const Operand& operand, const Shape& shape, std::size_t blocked);
  std::string scalar(double value) { return real_tensor({}, {value}); }

  /// Returns the extent of a value's elements and 0, as the nodes so far compute them; nothing where they are out of
  /// contract, or some element is no finite number.
  [[nodiscard]] std::optional<UnitExtent> extent(const std::string& value) const;
  [[nodiscard]] Shape shape_of(const std::string& value) const;

  /// Scales as `draw` has them, and zero points. `blocked`: the axis of blocks.
  Parameters parameters(const Operand& operand, const Shape& shape, std::size_t blocked,
                        const std::function<double()>& draw);
};

/// Adds the compute node behind its operands; returns its real output.
[[nodiscard]] std::string add_compute(UnitDraft& draft);

}  // namespace qconform::unit
