// The values that elements of a quantized graph may have: those of the graph as written, and all that a right rewriting
// of it computes. docs/graphs.md has the proofs.
//
// There are tiers from strict to loose; each holds the one before it. The first five are right by default, the
// others under profiles that admit them.
//
//   exact             the real value of the formula. Each Q rounds it once.
//   float32-sums      as-written; sums of float16 and bfloat16 in float32, rounded once at their node's end.
//   as-written        every node in its own type: each operation rounded once, sums in any order, fused multiply-add or
//                     not; or in binary64 and wider.
//   any-association   for a chain of linear nodes between DQs and Q: within m/(2^p-m) * T of the exact value, where T
//                     is the sum of the magnitudes of the centred terms, p the type's bits of precision, and
//                     m = K + 5 for K terms, and 1 more for alpha, beta, a divisor and each further linear node.
//   stated-accuracy   the same, and what the accuracy_level of a MatMulNBits permits: activations rounded to 8 bits in
//                     blocks, to float16 or to bfloat16.
//   fused-int8        the same, and a stated float bias may be rounded to a multiple of sx * sw first: integer kernels
//                     with the parameters of the unit, in F_5 or D of reference/numerics/admissible.h.
//   fused-q31         the same, and Q may multiply by a 31-bit integer and shift, with ties either way: Q31 there.
//
// Between nodes a set is an interval whose ends are rounded outwards; Q's rounding, zero point and saturation are
// monotone, so the integers between the rounded ends are all answers. Where values are exact (Program::may_be_exact,
// and the sum of magnitudes of an element is at most 2^p of its finest unit) no order, association or fused operation
// rounds: all tiers have one value there.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "reference/graph/program.h"
#include "reference/numerics/admissible.h"

namespace qconform::reference::graph {

/// The tiers of graphs, from strict to loose.
inline constexpr std::array kGraphTiers{
    Tier::exact,           Tier::float32_sums, Tier::as_written,       Tier::any_association,
    Tier::stated_accuracy, Tier::fused_int8,   Tier::fused_fixed_point};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Holds the real numbers from lo to hi, both included, by ends in double that are rounded outwards where they are no
/// doubles. ValueInterval of reference/numerics/admissible.cc has exact ends, and oracle::Ball as many bits as it
/// needs.
struct Interval {
  double lo;
  double hi;

  /// Both ends are infinite: any value is right, NaN too.
  [[nodiscard]] bool is_open() const { return lo == -kInfinity && hi == kInfinity; }
  [[nodiscard]] bool contains(Interval other) const { return lo <= other.lo && other.hi <= hi; }
};

/// The right values of one value of the graph, by element. RightValues (reference/numerics/right_values.h) has those of
/// one element of an output, as patterns of its type.
struct Bounds {
  /// Between lo[i] and hi[i], rounded to the value's type.
  std::vector<double> lo;
  std::vector<double> hi;
  /// Holds the right indices of an ArgMax or a TopK, by element, ascending; `lo` and `hi` are the first and the last.
  /// Empty for other values.
  std::vector<std::vector<std::int64_t>> members = {};

  [[nodiscard]] std::size_t size() const { return lo.size(); }
  [[nodiscard]] Interval at(std::size_t i) const { return {lo[i], hi[i]}; }
  [[nodiscard]] bool is_open(std::size_t i) const { return lo[i] == -kInfinity && hi[i] == kInfinity; }
  /// Element i with its ends rounded to the value's type.
  [[nodiscard]] Interval rounded(std::size_t i, ElementType type) const;
};

/// Exact numbers of values that a backend answered: a number computed from these values is right where it follows from
/// these numbers. A step that only moves them, to an output of the graph, has the values' own sets.
using Answers = std::map<ValueId, std::vector<double>>;

/// Returns the bounds of every value of the program, in their order. Values of a float type have real ends: an element
/// is right where it lies between their roundings.
[[nodiscard]] std::vector<Bounds> bounds_of(const Program& program, Tier tier, const Answers& given = {});

/// Returns the program with no more than `outputs`, values of it, need; nothing where they leave out little. Values
/// keep their numbers and outputs their shapes; a value of which a part is left is a list. Values of `given` are
/// answered: what computes them is needed where they are moved to an output alone, and for the elements that are.
[[nodiscard]] std::optional<Program> needed_part(const Program& program, const Answers& given,
                                                 const std::vector<ValueId>& outputs);

/// `value` rounded to nearest even in a float type; integers and `none` leave it as it is.
[[nodiscard]] double rounded_to_type(ElementType type, double value);

/// Bits of precision of a float type: 24 for float32; 53 for what is no float.
[[nodiscard]] int precision_of(ElementType type);

}  // namespace qconform::reference::graph
