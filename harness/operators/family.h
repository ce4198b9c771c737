// A family of operators: everything that qconform knows of it, behind one interface.
//
// Suites, mutation, shrinking, diagnosis, benchmarks and pictures go over families() and name no operator. A family is
// a folder beside this file and one line in families.cc. Whatever a family leaves out (null, empty), they do without.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/core/error.h"
#include "harness/hazards/hazard.h"
#include "harness/operators/operator.h"

namespace qconform {

class Rng;

namespace sweep {
struct SweptModel;
}  // namespace sweep

namespace relations {
struct Relation;
}  // namespace relations

namespace shrink {
struct Reduction;
}  // namespace shrink

namespace diagnose {
class Stages;
struct Arithmetic;
struct Choice;
struct DefectList;
struct Element;
struct FeatureList;
struct Experiment;
}  // namespace diagnose

namespace bench {
struct Layer;
struct LayerOptions;
struct LayerSet;
}  // namespace bench

struct Family {
  std::string_view name;  ///< "convolution"
  /// One reader, contract and answer each; the order is that of lists and reports.
  std::span<const Operator> operators;

  // Generation.

  /// A valid case that often reaches a hazard that concerns the operator. Null: Operator::draw.
  Case (*draw_for)(Rng& rng, const Operator& known, Hazard hazard) = nullptr;
  /// The models of the covering sweep, whose cases are of this family.
  std::span<const sweep::SweptModel> (*swept_models)() = nullptr;

  // Mutation: each changes the case in place and reports whether it found something to change.

  bool (*change)(Case& test_case, Rng& rng) = nullptr;
  /// Solves a parameter so that one output lies on a tie of rounding, or one float beside it.
  bool (*solve_tie)(Case& test_case, Rng& rng) = nullptr;

  /// Metamorphic relations: what answers of one backend must have to do with each other.
  std::span<const relations::Relation> (*relations)() = nullptr;

  // Benchmarks.

  std::vector<bench::LayerSet> (*layer_sets)() = nullptr;
  /// One layer as text; the error names --layers and what was not understood.
  Result<bench::Layer> (*layer)(std::string_view text, const bench::LayerOptions& options) = nullptr;
  /// Sets what kind of work a layer's case is, and how much. Null: elements, one by one.
  void (*measure_layer)(const Lowered& lowered, bench::Layer& layer) = nullptr;

  // Diagnosis.

  /// What the stages make of a case: the reference's answer where none is replaced. Nothing where a replaced one leaves
  /// no output. Null: failures are counted, and not explained; backends are not asked how they compute. Not null: each
  /// operator has a `draw`.
  std::optional<Tensor> (*run)(const Case& test_case, const Lowered& lowered, const diagnose::Stages& stages) = nullptr;
  /// Replaces what the arithmetic that a profile pins computes in another way. Null: there is one arithmetic only.
  void (*use_profile)(RoundingProfile profile, diagnose::Stages& stages) = nullptr;
  /// Of real kernels. Null: those in the stages that families share alone.
  std::span<const diagnose::DefectList> (*defects)() = nullptr;
  /// Those that the policy admits beside its own, of one operator. Null: none.
  std::vector<diagnose::Arithmetic> (*arithmetics)(const Operator& known, const Policy& policy) = nullptr;
  /// Whether the answer by one of them can be far from that by another. Null: never.
  bool (*arithmetics_diverge)(const Lowered& lowered) = nullptr;
  /// What can be said of a case in a few words. Null: which hazards it reaches.
  const diagnose::FeatureList& (*case_features)() = nullptr;
  /// Says where the elements of the output lie; each has its index. Null: there is no more to say.
  void (*place)(const Lowered& lowered, std::span<diagnose::Element> elements) = nullptr;
  /// What implementations do differently, operator by operator, and the cases that tell. Null: nothing that is known.
  std::vector<diagnose::Choice> (*choices)() = nullptr;
  std::vector<diagnose::Experiment> (*experiments)() = nullptr;
  /// The named profile whose arithmetic the pin of an operator states, if there is one. Null: none.
  std::optional<Profile> (*profile_of)(const Pin& pin) = nullptr;
};

/// Every family, in the order of lists and reports.
[[nodiscard]] std::span<const Family* const> families();

/// The family of the operator with that name in ONNX's default domain ("" or "ai.onnx"), or null.
[[nodiscard]] const Family* family_of(std::string_view domain, std::string_view op_type);

}  // namespace qconform
