// Defects of real quantized kernels, each as the stages of the reference that it replaces. Families have them
// (Family::defects); those of the stages that families share are in common_defects.cc.
//
// docs/defect-models.md says how to add one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/model/defects/stages.h"
#include "reference/numerics/requantize.h"

namespace qconform::diagnose {

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
  /// Features (case_features.h) that all cases have which show it: `trigger` as far as they say it. A test holds every
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
  bool is_learnt = false;  ///< explain() found the expression, or a file has it as a learnt model (learnt_model.h)

  void apply(Stages& stages) const;
};

/// Sorts defects by their subject, in the order of lists and reports.
enum class Topic : std::uint8_t { geometry, sum, output, elements, graphs };

/// Some of the defects of a family. An entry with the id of an earlier one, in another family, adds its operators to
/// that defect, and what it replaces there; it has no texts of its own.
struct DefectList {
  Topic topic;
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
class Model {
 public:
  /// The reference itself, under the arithmetic of `profile`.
  explicit Model(reference::RoundingProfile profile = reference::RoundingProfile::correctly_rounded);
  /// The reference but for these stages, which are no defects.
  explicit Model(Stages original) : original_(std::move(original)) {}

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

/// A model with both defects. Fails as Model::add where they replace the same stage.
[[nodiscard]] Result<Model> pair_of(const Defect& a, const Defect& b);

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
