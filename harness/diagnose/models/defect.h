// Defects of real quantized kernels, each as the stages of the reference that it replaces.
//
// docs/defect-models.md says how to add one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"
#include "harness/diagnose/models/stages.h"

namespace qconform::diagnose {

enum class Op : std::uint8_t { qlinear_conv, conv_integer, quantize_linear, dequantize_linear };

inline constexpr Op kAllOps[] = {Op::qlinear_conv, Op::conv_integer, Op::quantize_linear, Op::dequantize_linear};

/// "QLinearConv"
[[nodiscard]] std::string_view name_of(Op op);

/// A set of operators.
class OpSet {
 public:
  constexpr OpSet() = default;
  constexpr OpSet(std::initializer_list<Op> ops) {
    for (const Op op : ops) bits_ = static_cast<std::uint8_t>(bits_ | bit(op));
  }
  [[nodiscard]] constexpr bool contains(Op op) const { return (bits_ & bit(op)) != 0; }
  [[nodiscard]] constexpr bool contains(OpSet other) const { return (other.bits_ & ~bits_) == 0; }
  [[nodiscard]] constexpr bool is_empty() const { return bits_ == 0; }

 private:
  static constexpr std::uint8_t bit(Op op) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(op)); }
  std::uint8_t bits_ = 0;
};

/// A way in which kernels have been wrong, or in which they legally differ from the reference.
struct Defect {
  std::string_view id;           ///< "pad-raw-zero"
  std::string_view description;  ///< what it computes, one line
  OpSet operators;               ///< that it shows in
  std::string_view trigger;      ///< what a case needs for it to show
  std::string_view rule;         ///< of docs/numerics.md, which it breaks; "formula" where that is the
                                 ///< operator's formula itself
  std::string_view evidence;     ///< public reports; empty where none is known
  /// The operators in which the default profile admits what it computes: there it is the expression that
  /// a backend uses, not a failure.
  OpSet admitted;
  void (*replace)(Stages& stages);

  /// Admitted wherever it shows.
  [[nodiscard]] bool is_expression() const { return admitted.contains(operators); }
};

/// All of them, in the order of the pipeline.
[[nodiscard]] std::span<const Defect> defects();
/// Null when there is none of that id.
[[nodiscard]] const Defect* find_defect(std::string_view id);
/// The stages that it replaces.
[[nodiscard]] std::vector<std::string_view> stages_of(const Defect& defect);

/// The reference with no, one or several defects.
class Model {
 public:
  /// The reference itself, under the requantization of `profile`.
  explicit Model(reference::RoundingProfile profile = reference::RoundingProfile::correctly_rounded);
  /// The reference with QLinearConv's product in a floating-point expression.
  explicit Model(const reference::FloatExpression& expression);

  /// Adds a defect. An error, and no change, when one that is present replaces the same stage.
  [[nodiscard]] Result<void> add(const Defect& defect);

  /// "ID" or "ID+ID...". Errors name the unknown id with the nearest ones, or the stage that two
  /// defects replace. `field` is what messages call the argument.
  [[nodiscard]] static Result<Model> named(std::string_view ids, reference::RoundingProfile profile,
                                           const std::string& field);

  /// The pipeline for one operator: defects of other operators are left out.
  [[nodiscard]] Stages stages(Op op) const;
  [[nodiscard]] std::span<const Defect* const> defects() const { return defects_; }

 private:
  Stages original_;
  std::vector<const Defect*> defects_;
};

/// Both at once, where they replace different stages: the error of Model::add.
[[nodiscard]] Result<Model> pair_of(const Defect& a, const Defect& b);

}  // namespace qconform::diagnose
