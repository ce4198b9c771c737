// The reference as a pipeline of named stages, of which a defect model replaces some.
//
// A family of operators states its stages in its own folder (pipeline.h); those of `stage` below end the pipeline of
// every operator that quantizes (Operator::quantizes).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/base/small_set.h"
#include "harness/core/corner_cases/corner_case.h"
#include "reference/numerics/element.h"
#include "reference/numerics/round.h"
#include "reference/quantize_linear/division.h"

namespace qconform::diagnose {

using reference::IntegerRange;
using reference::Quotient;

struct StageInfo {
  std::string_view name;  ///< "round"
  /// Corner cases at which replacements of the stage show, and which random cases nearly never reach.
  SmallSet<CornerCase> corner_cases = {};
};

class Expression;

/// The function of a stage: a plain one, or one that asks an expression (expression.h), which outlives it.
template <typename Signature>
class StageFunction;
template <typename R, typename... A>
class StageFunction<R(A...)> {
 public:
  using Plain = R (*)(A...);
  using Asking = R (*)(const Expression& expression, A...);

  constexpr StageFunction() = default;
  constexpr StageFunction(Plain plain) : plain_(plain) {}  // NOLINT(google-explicit-constructor): stands for it
  template <typename F>
  requires std::is_convertible_v<F, Plain>
  constexpr StageFunction(F plain) : plain_(plain) {}  // NOLINT(google-explicit-constructor): of a lambda
  constexpr StageFunction(Asking asking, const Expression& expression) : asking_(asking), expression_(&expression) {}

  R operator()(A... arguments) const {
    return expression_ == nullptr ? plain_(arguments...) : asking_(*expression_, arguments...);
  }

 private:
  union {
    Plain plain_ = nullptr;
    Asking asking_;
  };
  const Expression* expression_ = nullptr;
};

template <typename T>
struct DoneAt {
  using Type = T;
};
template <typename R, typename... A>
struct DoneAt<R (*)(A...)> {
  using Type = StageFunction<R(A...)>;
};

/// A step of a pipeline, known by its address: a constant that there is once. T is a function, or a few pointers.
template <typename T>
struct Stage {
  using Done = typename DoneAt<T>::Type;

  StageInfo info;
  Done reference;  ///< the reference's function or value
};

/// Holds the function or value of each stage: the reference's, except where something else is set.
class Stages {
 public:
  template <typename T>
  [[nodiscard]] typename Stage<T>::Done get(const Stage<T>& stage) const {
    using Done = typename Stage<T>::Done;
    for (const Replaced& replaced : replaced_) {
      if (replaced.stage != &stage.info) continue;
      Done found;
      std::memcpy(&found, replaced.by.data(), sizeof(Done));
      return found;
    }
    return stage.reference;
  }

  template <typename T>
  void set(const Stage<T>& stage, const std::type_identity_t<typename Stage<T>::Done>& by) {
    using Done = typename Stage<T>::Done;
    static_assert(std::is_trivially_copyable_v<Done> && sizeof(Done) <= sizeof(Replaced::by));
    std::memcpy(at(stage.info).by.data(), &by, sizeof(Done));
  }

  /// The stages for which something is set, in that order.
  [[nodiscard]] std::vector<const StageInfo*> replaced() const;

 private:
  struct Replaced {
    const StageInfo* stage;
    std::array<std::byte, 2 * sizeof(void*)> by;
  };
  [[nodiscard]] Replaced& at(const StageInfo& stage);

  std::vector<Replaced> replaced_;
};

/// The integers that shape an output element.
struct OutputParameters {
  std::int32_t zero_point;
  IntegerRange range;
  std::int64_t bias;     ///< part of the sum before it was scaled; 0 where there is none
  bool in_tail = false;  ///< computed by itself, behind what a vector loop computes: only where a model says so
};

/// `value` as its two neighbouring integers: magnitudes, not beyond 2^40, where every output is
/// saturated. NaN counts as 0.
struct Neighbours {
  std::int64_t sign;  ///< 1 or -1
  std::int64_t lower;
  std::int64_t nearest;  ///< ties to even
  bool is_tie;
  bool is_whole;  ///< the value itself is the integer, or counts as one

  [[nodiscard]] std::int64_t even() const { return sign * nearest; }
  /// At a tie the odd neighbour, else the nearest integer.
  [[nodiscard]] std::int64_t odd() const { return is_tie ? sign * (2 * lower + 1 - nearest) : even(); }
};
[[nodiscard]] Neighbours neighbours_of(const Quotient& value);

/// A number formed in floating point, as the requantization's clamp takes it: NaN ends at the lower
/// bound.
[[nodiscard]] Quotient quotient_of_float(double value);

/// The value rounded to double; beyond 2^40 its sign at that size. NaN counts as 0.
[[nodiscard]] double float64_of(const Quotient& value);

inline constexpr SmallSet<CornerCase> kTies{CornerCase::tie_positive, CornerCase::tie_negative,
                                            CornerCase::tie_odd_zero_point, CornerCase::near_tie_above,
                                            CornerCase::near_tie_below};

namespace stage {

// These stages lead from a scaled value to an integer, in this order; the low bits of what `clamp` returns are stored.

/// How much less the integers of a range are until they are stored: finish() lowers the zero point and both ends
/// by it.
inline constexpr Stage<std::int32_t (*)(IntegerRange range)> storage_offset{{"storage-offset"},
                                                                            [](IntegerRange) { return 0; }};
inline constexpr Stage<std::int64_t (*)(const Quotient& value, std::int32_t zero_point)> round{
    {"round", kTies}, [](const Quotient& value, std::int32_t) { return neighbours_of(value).even(); }};
/// Takes the place of `round` for outputs that are in a vector loop's tail.
inline constexpr Stage<std::int64_t (*)(const Quotient& value, std::int32_t zero_point)> tail_round{
    {"tail_round", kTies}, round.reference};
/// The rounded value as the type that holds it.
inline constexpr Stage<std::int64_t (*)(const Quotient& value, std::int64_t rounded)> convert{
    {"convert", {CornerCase::conversion_overflow}}, [](const Quotient&, std::int64_t rounded) { return rounded; }};
inline constexpr Stage<std::int64_t (*)(std::int64_t converted, const OutputParameters& parameters)> zero_point{
    {"zero_point"},
    [](std::int64_t converted, const OutputParameters& parameters) { return converted + parameters.zero_point; }};
inline constexpr Stage<std::int64_t (*)(std::int64_t value, IntegerRange range)> clamp{
    {"clamp"}, [](std::int64_t value, IntegerRange range) { return std::int64_t{reference::saturate(value, range)}; }};

}  // namespace stage

/// These stages in their order: the integer whose low bits are stored.
[[nodiscard]] inline std::int64_t finish(const Stages& stages, const Quotient& value, OutputParameters parameters) {
  const std::int32_t offset = stages.get(stage::storage_offset)(parameters.range);
  parameters.zero_point -= offset;
  parameters.range.lo -= offset;
  parameters.range.hi -= offset;
  const auto round = stages.get(parameters.in_tail ? stage::tail_round : stage::round);
  const std::int64_t converted = stages.get(stage::convert)(value, round(value, parameters.zero_point));
  return stages.get(stage::clamp)(stages.get(stage::zero_point)(converted, parameters), parameters.range) + offset;
}

}  // namespace qconform::diagnose
