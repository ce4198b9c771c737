// The models of QuantizeLinear and DequantizeLinear have these parameters in common: version, shape, placement of the
// parameters, zero point.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "harness/core/tensor.h"
#include "harness/model/draws/draws.h"
#include "harness/model/sweep/model.h"
#include "harness/operators/linear/description.h"
#include "reference/linear_quantization/quantize_linear.h"

namespace qconform::sweep::linear {

/// The first parameters of both models.
enum LinearPosition : std::size_t {
  kVersion,
  kRank,
  kLayout,
  kAxis,
  kBlock,
  kElements,
  kZeroPoint,
  kScales,
  kCommonPositions
};

enum LayoutClass : std::uint8_t { kScalar, kPerAxis, kWholeBlocks, kPartialBlock };
enum AxisClass : std::uint8_t { kDefaultAxis, kFirst, kMiddleAxis, kLast, kNegative };
enum BlockClass : std::uint8_t { kNoBlock, kBlock1, kBlockSmall, kBlock16, kBlock32 };
enum ElementsClass : std::uint8_t { kOneElement, kFew, kUnder16, kOf16, kOver16, kOdd, kEven };
enum LinearZeroPointClass : std::uint8_t { kLow, kMiddle, kHigh, kOther, kOmitted, kDistinct };
enum LinearScalesClass : std::uint8_t { kOneScale, kAlike, kDistinctScales };

inline constexpr std::int64_t kVersions[] = {10, 13, 19, 21, 23, 24, 25};
enum VersionClass : std::uint8_t { k10, k13, k19, k21, k23, k24, k25 };

[[nodiscard]] std::vector<Parameter> common_parameters();
[[nodiscard]] std::vector<Constraint> common_constraints();

/// Draws the version, the shapes of x and scale, and the attributes that place scales.
[[nodiscard]] LinearQuantization draw_placement(Rng& rng, const Row& row, bool quantizes);

/// A scale for each parameter, of the bits that `draw` returns: the same for all, or the first two differ.
[[nodiscard]] Tensor draw_scales(const Row& row, const std::vector<std::int64_t>& shape, ElementType type,
                                 const std::function<std::uint64_t()>& draw);

/// A zero point of an integer type for each parameter, or zeros of a float type; nothing if omitted.
[[nodiscard]] std::optional<Tensor> draw_zero_points(Rng& rng, const Row& row, const std::vector<std::int64_t>& shape,
                                                     ElementType type);

/// Writes the classes of version, shape and attributes into `row`.
void classify_placement(const LinearQuantization& node, Row& row);
/// Writes the common classes of a valid case into `row`.
void classify_common(const LinearQuantization& node, Row& row);

/// What the sizes of both operators ask of a model.
struct LinearFilling {
  bool quantizes;
  /// Gives a placed node its types, parameters and data.
  LinearQuantization (*with_values)(Rng& rng, const Row& row, LinearQuantization placed);
  Row (*classify)(const Case& test_case, const Asked& asked);
};
namespace quantize {
extern const LinearFilling kFilling;
}
namespace dequantize {
extern const LinearFilling kFilling;
}

[[nodiscard]] SizedModel sized_quantize_linear();
[[nodiscard]] SizedModel sized_dequantize_linear();
[[nodiscard]] NeighbourModel neighbours();

}  // namespace qconform::sweep::linear

namespace qconform::sweep {

enum QuantizedValues : std::uint8_t { kOrdinary, kTies, kSaturating, kSubnormal, kInfinite, kNan };

/// Fills `x`, whose type and shape are set, with values of the class among ordinary ones. Narrow types
/// may round them into another class: ask for the class afterwards.
void draw_quantized_values(Rng& rng, const reference::QuantizeLinear& node, std::uint8_t values, Tensor& x);

/// The last class that some element has.
[[nodiscard]] std::uint8_t quantized_values_class(const reference::QuantizeLinear& node, const Tensor& x);

/// A number in a type of float or int32, rounded to nearest, saturated; and back.
[[nodiscard]] std::uint64_t bits_of_number(ElementType type, double value);
[[nodiscard]] double number_of_bits(ElementType type, std::uint64_t bits);

}  // namespace qconform::sweep
