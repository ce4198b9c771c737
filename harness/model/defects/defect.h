// Defects of real quantized kernels, each as the stages of the reference that it replaces. Families have them
// (Family::diagnosis.defects); those of the stages that families share are in defect.cc.
//
// docs/defect-models.md says how to add one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/small_set.h"
#include "harness/core/corner_cases/corner_case.h"
#include "reference/linear_quantization/quantize_linear.h"
#include "reference/numerics/element.h"
#include "reference/numerics/integers.h"
#include "reference/numerics/requantize.h"

namespace qconform::diagnose {

// The reference as a pipeline of named stages, of which a defect model replaces some.
//
// A family of operators states its stages in its own folder (pipeline.h); those of `stage` below end the pipeline of
// every operator that quantizes (Operator::quantizes).

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

// Defects, and the reference with some of them.

/// Names of operators.
using OpSet = SmallSet<std::string_view>;

/// A way in which kernels have been wrong, or in which they legally differ from the reference.
struct Defect {
  std::string_view id;                ///< "pad-raw-zero"
  std::string_view description = {};  ///< its behaviour, in one line
  OpSet operators = {};               ///< operators in which it shows
  std::string_view trigger = {};      ///< the condition under which a case shows it
  std::string_view rule = {};         ///< the rule of docs/numerics.md that it breaks; "formula" where that
                                      ///< is the operator's formula itself
  std::string_view evidence = {};     ///< public reports; empty where none is known
  /// The operators in which the default profile admits what it computes: there it is the expression that
  /// a backend uses, not a failure.
  OpSet admitted = {};
  /// Any one of them lets it show. Empty for a defect that ordinary cases show, or that needs a parameter which is no
  /// corner case: `trigger` says which.
  SmallSet<CornerCase> corner_cases = {};
  /// Features (diagnosed_case.h) that all cases have which show it: `trigger` as far as they say it. A test holds every
  /// defect against them.
  SmallSet<std::string_view> needs = {};
  // Its behaviour: an expression (expression.h), or a function where no expression says it.
  std::string_view slot = {};      ///< "w_scale.index"
  std::string_view computes = {};  ///< "channel % group_channels"
  void (*replace)(Stages& stages) = nullptr;
  // The behaviour in further families, from their entries with the same id.
  SmallSet<void (*)(Stages& stages)> also = {};
  SmallSet<const Expression*> also_computes = {};
  /// The option that switches the defect off, where some runtimes compute so on purpose: its findings are "lossy by
  /// design".
  std::string_view avoided_by = {};
  /// The expression of `computes`, or of a file; it lives as long as the program. Null where `replace` does all.
  const Expression* expression = nullptr;
  bool is_learnt = false;  ///< explain() found the expression, or a file has it as a learnt model (defect_files.h)

  void apply(Stages& stages) const;
};

/// Sorts defects by their subject, in the order of lists and reports.
enum class DefectTopic : std::uint8_t { geometry, sum, output, elements, graphs };

/// Some of the defects of a family. An entry with the id of an earlier one, in another family, adds its operators to
/// that defect, and what it replaces there; it has no texts of its own.
struct DefectList {
  DefectTopic topic;
  std::span<const Defect> defects;
};

/// All defects, by topic, in the order of the families and their lists; those that were added stand last.
[[nodiscard]] std::span<const Defect> defects();
/// The most defects that a program can add.
inline constexpr std::size_t kMostAddedDefects = 1000;
/// Adds defects, whose texts live as long as the program: all, or none where one has an id that exists, or where they
/// are too many. No other thread may use defects() meanwhile. The addresses of those that are there stay.
[[nodiscard]] Result<void> add_defects(std::span<const Defect> added);
/// The defects that show in an operator.
[[nodiscard]] std::vector<const Defect*> defects_in(std::string_view op_type);
/// Returns the defect of that id, or null.
[[nodiscard]] const Defect* find_defect(std::string_view id);
/// The stages that the defect replaces.
[[nodiscard]] std::vector<const StageInfo*> replaced_stages(const Defect& defect);
/// The names of the stages that the defect replaces.
[[nodiscard]] std::vector<std::string_view> stages_of(const Defect& defect);

/// The reference with no, one or several defects.
class DefectModel {
 public:
  /// The reference itself, under the arithmetic of `profile`.
  explicit DefectModel(reference::RoundingProfile profile = reference::RoundingProfile::correctly_rounded);
  /// The reference but for these stages, which are no defects.
  explicit DefectModel(Stages original) : original_(std::move(original)) {}

  /// Adds a defect. An error, and no change, when one that is present replaces the same stage.
  [[nodiscard]] Result<void> add(const Defect& defect);

  /// The pipeline for one operator: defects of other operators are left out.
  [[nodiscard]] Stages stages(std::string_view op_type) const;
  /// The stages without the defects.
  [[nodiscard]] const Stages& original() const { return original_; }
  [[nodiscard]] std::span<const Defect* const> defects() const { return defects_; }

 private:
  Stages original_;
  std::vector<const Defect*> defects_;
};

/// A model with both defects. Fails as DefectModel::add where they replace the same stage.
[[nodiscard]] Result<DefectModel> pair_of(const Defect& a, const Defect& b);

// Replacements that defects of several families have in common.

/// Replaces stage::round: rounds ties away from zero.
[[nodiscard]] std::int64_t round_half_away(const Quotient& value, std::int32_t zero_point);
/// Replaces stage::storage_offset: holds uint8 as int8.
[[nodiscard]] std::int32_t hold_as_int8(IntegerRange range);
/// Replaces stage::round and stage::zero_point: adds the zero point first, rounds the sum to float32, then to an
/// integer.
void add_zero_point_in_float32(Stages& stages);
/// Replaces stage::zero_point: saturates to int32 and adds in int32, which wraps.
[[nodiscard]] std::int64_t add_zero_point_in_int32(std::int64_t rounded, const OutputParameters& parameters);

/// Defects that show in every operator that quantizes (Operator::quantizes).
[[nodiscard]] std::vector<Defect> common_defects();

}  // namespace qconform::diagnose
