// A family of operators: everything that qconform knows of it, as one small table for each engine. Families build on
// the rest: a reader of nodes, and a judge of bits.
//
// A family is a folder of harness/operators and one line in families.cc. Suites, mutation, shrinking, diagnosis and
// benchmarks go over families(), and do without what a family leaves out (null, empty). For what one family alone has
// they include its header; it is in a table where a room below the families asks for it (harness/rooms.txt).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/core/verdict.h"
#include "harness/model/operator.h"
#include "reference/contract/remark.h"
#include "reference/numerics/element.h"

namespace qconform {

struct InputShape;
struct NodeInputs;

namespace sweep {
struct SweptModel;
}  // namespace sweep

namespace relations {
class Parts;
struct FamilyRelation;
}  // namespace relations

namespace shrink {
struct Extent;
struct Reduction;
}  // namespace shrink

namespace diagnose {
class Stages;
struct Arithmetic;
struct CaseSize;
struct Choice;
struct Coordinate;
struct DefectList;
struct Element;
struct ExpressionSlot;
struct FeatureList;
struct Experiment;
}  // namespace diagnose

namespace bench {
struct LayerSet;
}  // namespace bench

/// Generation of random and directed cases.
struct DrawHooks {
  /// Features that the family's random cases may have more or less often, besides the operators. Those from
  /// kFirstSelecting on come first, and restrict random cases: with `always` or `none`, cases come to lie where narrow
  /// backends take them. Suites try them whatever the family.
  std::span<const Feature> features = {};
  /// A valid case that often reaches a corner case that concerns the operator. Null: Operator::draw, and chance.
  Case (*draw_for)(Rng& rng, const Operator& known, CornerCase corner_case, const Swarm& swarm) = nullptr;
};

/// Nodes of whole models, where the model does not tell the shape of an input (harness/onnx/node_inputs.h).
struct NodeHooks {
  /// Finds the shape of the data input. Null: the known sizes are taken, with assumed ones in place of the others.
  Result<InputShape> (*data_shape)(const NodeInputs& inputs) = nullptr;
  /// Finds the shape of the parameter or weight `name`. Null: such nodes are skipped.
  Result<std::vector<std::int64_t>> (*parameter_shape)(const NodeInputs& inputs, std::string_view name) = nullptr;
};

/// Mutation: each function changes the case in place and reports whether it found something to change.
struct MutationHooks {
  /// The names of its operators' attributes: some mutants give them wrong values.
  std::span<const std::string_view> attributes = {};
  bool (*change)(Case& test_case, Rng& rng) = nullptr;
  /// Solves a parameter so that one output lies on a tie of rounding, or one float beside it.
  bool (*solve_tie)(Case& test_case, Rng& rng) = nullptr;
};

/// Metamorphic relations: what answers of one backend must have to do with each other.
struct RelationHooks {
  /// A claim that another family makes too has the same id.
  std::span<const relations::FamilyRelation> (*list)() = nullptr;
  /// A case within the contract, for these relations; it and `lowered` outlive the parts. Null: they need no more than
  /// the case.
  std::unique_ptr<const relations::Parts> (*take_apart)(const Case& test_case, const Lowered& lowered) = nullptr;
};

/// Shrinking, beside what the engine does for cases of any operator.
struct ShrinkHooks {
  /// The family's own reductions; the engine has further ones for cases of any operator.
  std::span<const shrink::Reduction> (*reductions)() = nullptr;
  /// The index spaces that can be made smaller, of more than one index each. `wrong_element` indexes the output, or is
  /// empty. Null: each axis of each input by itself, which is all that element-wise operators without parameters along
  /// an axis need.
  std::vector<shrink::Extent> (*extents)(const Case& test_case,
                                         const std::vector<std::int64_t>& wrong_element) = nullptr;
  /// The case without dimension `dimension` of its first input; nothing where that is no smaller case of the operator.
  std::optional<Case> (*without_dimension)(const Case& test_case, std::size_t dimension) = nullptr;
  /// The index of the element of `parameter`, a scale or zero point that is no scalar, that the wrong element uses; 0
  /// where that is not known. Null: always 0.
  std::int64_t (*parameter_index)(const Case& test_case, const Tensor& parameter,
                                  const std::vector<std::int64_t>& wrong_element) = nullptr;
  /// Cases in which fewer scales differ from 1 that together do what the case's scales do; the plainest first. It is no
  /// reduction of its own: plain_scales() in harness/model offers them between its steps.
  std::vector<Case> (*with_gathered_scales)(const Case& test_case) = nullptr;
};

/// Diagnosis: the stages of the reference, and their defects.
struct DiagnosisHooks {
  /// Computes a case through the stages: the reference's answer where none is replaced. Nothing where a replaced one
  /// leaves no output. Null: failures are counted, and not explained; backends are not asked how they compute. Not
  /// null: each operator has a `draw`.
  std::optional<Tensor> (*run)(const Case& test_case, const Lowered& lowered, const diagnose::Stages& stages) = nullptr;
  /// Computes one element of that output by itself, as its bits. Null: only all of them are computed together.
  std::uint64_t (*element)(const Case& test_case, const Lowered& lowered, const diagnose::Stages& stages,
                           std::int64_t index) = nullptr;
  /// Replaces what the arithmetic that a profile pins computes in another way. Null: there is one arithmetic only.
  /// diagnose::DefectModel asks it, in harness/model.
  void (*use_profile)(RoundingProfile profile, diagnose::Stages& stages) = nullptr;
  /// Models of defects of real kernels. Null: only those in the stages that families share.
  std::span<const diagnose::DefectList> (*defects)() = nullptr;
  /// Slots in which an expression may stand in for a stage. Null: only those in the stages that families share.
  std::span<const diagnose::ExpressionSlot> (*expressions)() = nullptr;
  /// Features that describe a case in a few words. Null: which corner cases it reaches.
  const diagnose::FeatureList& (*case_features)() = nullptr;
  /// The sizes of a case that can be changed one by one. Null: nothing is asked of other sizes.
  std::vector<diagnose::CaseSize> (*sizes)(const Case& test_case) = nullptr;
  /// Draws a case that is like the one given but for its sizes, which stand in the order of sizes(), and for its
  /// values; nothing where the sizes do not fit together. Not null where `sizes` is not.
  std::optional<Case> (*draw_like)(const Case& test_case, std::span<const std::int64_t> sizes, Rng& rng) = nullptr;
  /// Numbers by which elements of the output are told apart. Null: their indices alone.
  std::vector<diagnose::Coordinate> (*coordinates)(const Lowered& lowered) = nullptr;
  /// Says where the elements of the output lie; each has its index. Null: there is no more to say.
  void (*place)(const Lowered& lowered, std::span<diagnose::Element> elements) = nullptr;
};

/// Arithmetics that a policy leaves open: explain starts from them, identify tells them apart.
struct ArithmeticHooks {
  /// Arithmetics of one operator that the policy admits beside its own. Null: none.
  std::vector<diagnose::Arithmetic> (*arithmetics)(const Operator& known, const Policy& policy) = nullptr;
  /// Differences between implementations, operator by operator, and the cases that tell them. Null: none is known.
  std::vector<diagnose::Choice> (*choices)() = nullptr;
  std::vector<diagnose::Experiment> (*experiments)() = nullptr;
  /// The layouts of nodes for which implementations have kernels, and perhaps arithmetics, of their own: "depthwise".
  /// Empty: one. harness/forms checks the layouts of profiles by them.
  std::span<const std::string_view> layouts = {};
  /// The layout of the node, one of `layouts`. Null where there are none. kind_of() in harness/model asks it.
  std::string_view (*layout_of)(const Lowered& lowered) = nullptr;
  /// The named profile whose arithmetic the pin of an operator states, if there is one. Null: none. harness/forms asks
  /// it of profiles from files.
  std::optional<Profile> (*profile_of)(const Pin& pin) = nullptr;
};

struct Family {
  std::string_view name;  ///< "convolution"
  /// One reader, contract and answer each; the order is that of lists and reports.
  std::span<const Operator> operators;
  DrawHooks draws = {};
  /// The models of the covering sweep, whose cases are of this family.
  std::span<const sweep::SweptModel> (*swept_models)() = nullptr;
  NodeHooks nodes = {};
  MutationHooks mutation = {};
  RelationHooks relations = {};
  ShrinkHooks shrinking = {};
  std::vector<bench::LayerSet> (*layer_sets)() = nullptr;  ///< layers that benchmarks time
  DiagnosisHooks diagnosis = {};
  ArithmeticHooks arithmetic = {};
};

/// Every family, in the order of lists and reports.
[[nodiscard]] std::span<const Family* const> families();

/// The family of the operator with that name in ONNX's default domain ("" or "ai.onnx"), or null.
[[nodiscard]] const Family* family_of(std::string_view domain, std::string_view op_type);
/// Returns the family of the case's operator (operator_of()), or null.
[[nodiscard]] const Family* family_of(const Case& test_case);

// Reads the attributes and inputs of a case against an operator's signature. Every complaint goes
// into a Contract; the checks return false on the first violation.

struct AttributeSignature {
  std::string_view name;
  std::size_t value_index;  ///< index into Attribute::Value
};

inline constexpr std::size_t kIntAttribute = 0;
inline constexpr std::size_t kStringAttribute = 2;
inline constexpr std::size_t kIntsAttribute = 3;

class NodeReader {
 public:
  NodeReader(const Case& test_case, std::span<const InputSignature> inputs, reference::Contract& contract)
      : case_(test_case), inputs_(inputs), contract_(contract) {}

  /// Number of inputs, omitted inputs (rule C15), attribute names and types (rule "signature").
  bool check_signature(std::span<const AttributeSignature> attributes);

  [[nodiscard]] std::int64_t int_attribute(std::string_view name, std::int64_t absent) const;
  [[nodiscard]] std::string string_attribute(std::string_view name, std::string_view absent) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> ints_attribute(std::string_view name) const;

  /// The named input; null when it is optional and omitted.
  [[nodiscard]] const Tensor* input(std::string_view name) const;

  /// The input's type must be one of `types`; an omitted input passes.
  bool check_type(std::string_view name, std::initializer_list<ElementType> types, const char* rule);
  /// Two inputs have the same element type (rule given); an omitted one passes.
  bool check_same_type(std::string_view name, std::string_view other, const char* rule);
  /// The input has one element, in whatever shape (rule C11).
  bool check_scalar(std::string_view name);

 private:
  const Case& case_;
  std::span<const InputSignature> inputs_;
  reference::Contract& contract_;
};

/// All elements of an integer tensor as 32-bit values, of a float32 tensor as floats.
[[nodiscard]] std::vector<std::int32_t> int32_values(const Tensor& tensor);
[[nodiscard]] std::vector<float> float_values(const Tensor& tensor);

/// A tensor's bytes as 32-bit elements may be unaligned; this reads one scalar integer, or `absent`
/// for an omitted input.
[[nodiscard]] std::int32_t scalar_or(const Tensor* tensor, std::int32_t absent);

// Operators whose right answers are a short list of bit patterns for each element: QuantizeLinear and
// DequantizeLinear.

/// An element-wise node: y has the shape of x. Derived classes tell the right values of each element.
class LoweredElementwise : public Lowered {
 public:
  [[nodiscard]] ElementType output_type() const override { return y_type_; }
  [[nodiscard]] std::vector<std::int64_t> output_shape() const override { return x_.shape; }
  [[nodiscard]] std::optional<Box> read_by(InputRole role, const Box& output) const override {
    return role == InputRole::parameter ? std::nullopt : std::optional(output);
  }
  [[nodiscard]] Tensor evaluate(RoundingProfile profile) const override;

 protected:
  LoweredElementwise(const Tensor& x, ElementType y_type) : x_(x), y_type_(y_type) {}

  /// Writes the reference's answer into y, which has the output's size.
  virtual void compute(std::span<const std::byte> x, std::span<std::byte> y) const = 0;

  [[nodiscard]] const Tensor& x() const { return x_; }
  [[nodiscard]] std::uint64_t x_bits(std::int64_t index) const;

 private:
  const Tensor& x_;
  ElementType y_type_;
};

}  // namespace qconform
