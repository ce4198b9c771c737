// The operators that qconform knows: what a case of each must look like, and its right answer.
//
// Parsing a case (types, shapes, attributes, parameters) into the reference's description happens
// here and nowhere else; judge and in-tree backends share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/core/profile.h"
#include "harness/model/draws/draws.h"
#include "harness/model/text.h"
#include "reference/contract/remark.h"
#include "reference/kernels/kernels.h"
#include "reference/numerics/admissible.h"

namespace qconform {

/// The newest ONNX opset that the semantics were read from: ONNX 1.22 has opset 27, and its developers work on 28.
/// The operators last changed at 25.
inline constexpr std::int64_t kNewestOpset = 28;

enum class InputRole : std::uint8_t { data, weight, parameter };

struct InputSignature {
  std::string_view name;  ///< ONNX's
  bool required;
  InputRole role;
  /// The type that it is taken for where a model does not tell.
  ElementType usual = ElementType::undefined;
  /// The input that has the same type, or "y", the output; empty: none. Of a scale: unless that is of integers.
  std::string_view like = {};
};

/// The opinion on one output element.
struct ElementOpinion {
  bool right = false;
  /// The tiers whose sets hold the value, for QLinearConv and graphs; other operators have no tiers.
  std::optional<reference::TierSet> tiers;
};

/// Elements at and near ties, of QLinearConv's requantization only.
struct TieCounts {
  std::uint64_t exact = 0;  ///< elements whose value before rounding is half an odd integer
  std::uint64_t near = 0;   ///< further elements within 1e-4 of one
  std::uint64_t open = 0;   ///< elements with more than two right values: more than a tie or a rounding apart
};

/// Counts of one pass over all elements, whichever backend computes the case.
struct CaseStatistics {
  TieCounts ties;
  CornerCaseCounts corner_cases;
};

/// `extent[d]` elements from `begin[d]` on, in each dimension of a tensor.
struct Box {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> extent;

  [[nodiscard]] std::int64_t elements() const { return elements_of(extent); }
};

/// A case, parsed and checked. Refers to the case's tensors: the case must outlive it.
class Lowered {
 public:
  Lowered() = default;
  Lowered(const Lowered&) = delete;
  Lowered& operator=(const Lowered&) = delete;
  virtual ~Lowered() = default;

  // The judge, which lies below the families, asks graphs for their further outputs.

  /// Number of outputs of the case, and the semantics of each; all other members are about the first one.
  [[nodiscard]] virtual std::size_t outputs() const { return 1; }
  [[nodiscard]] virtual const Lowered& output(std::size_t /*number*/) const { return *this; }
  /// Whether the output's numbers are judged (Case::shown_outputs); its type and shape always are.
  [[nodiscard]] virtual bool is_judged() const { return true; }

  /// Returns the semantics for a backend whose answers decide over other outputs: y of DynamicQuantizeLinear follows
  /// from its own scale and zero point. Null where no answer decides over another output. `answers` need not fit.
  [[nodiscard]] virtual std::unique_ptr<Lowered> given(const std::vector<Tensor>& /*answers*/) const { return nullptr; }

  [[nodiscard]] virtual ElementType output_type() const = 0;
  [[nodiscard]] virtual std::vector<std::int64_t> output_shape() const = 0;
  /// The reference's answer under `profile`; sums beyond int32 wrap (rule C17).
  [[nodiscard]] virtual Tensor evaluate(RoundingProfile profile) const = 0;
  /// The element's right values under `policy`: those that examine() calls right.
  [[nodiscard]] virtual RightValues right_values(std::int64_t index, const Policy& policy) const = 0;
  /// Gives the opinion on element `index` of an output of the right type and shape.
  [[nodiscard]] virtual ElementOpinion examine(std::int64_t index, const Tensor& got, const Policy& policy) const {
    return {.right = right_values(index, policy).contains(bits_at(got, index)), .tiers = {}};
  }
  /// Whether the element has one right value only.
  [[nodiscard]] virtual bool is_determined(std::int64_t index, const Policy& policy) const {
    return right_values(index, policy).is_single();
  }
  /// Whether elements have tiers: QLinearConv, and graphs.
  [[nodiscard]] virtual bool has_tiers() const { return false; }
  /// Counts the ties and the corner cases that the case reaches.
  [[nodiscard]] virtual CaseStatistics statistics(const Policy& policy) const = 0;
  /// Packs the node for one in-tree kernel set; null when the set has no kernel for it.
  [[nodiscard]] virtual std::unique_ptr<reference::PreparedNode> prepare(const reference::KernelSet& kernels,
                                                                         RoundingProfile profile) const = 0;
  /// Products that are summed, or elements that are computed; saturated at 2^62.
  [[nodiscard]] virtual std::int64_t work() const;
  /// The box of the input with role `role` from which the elements of the box `output` are computed; nothing where it
  /// is not known.
  [[nodiscard]] virtual std::optional<Box> read_by(InputRole /*role*/, const Box& /*output*/) const;
  /// Element `index` of the exact value before rounding, for the reader: "214 + 3/8"; may be empty.
  [[nodiscard]] virtual std::string exact_value(std::int64_t index) const = 0;
};

/// The judgement of the semantics on a case.
struct Classification {
  reference::Contract contract;
  std::unique_ptr<Lowered> lowered;  ///< null exactly when the contract is violated
  /// The value itself is implementation-defined: any in-range value is right (C21, Q5), so none can be judged.
  bool value_is_open = false;

  [[nodiscard]] Expectation expectation() const;
  /// False where qconform does not know what is right: of an operator that it does not have (rule "operator") and
  /// beyond what it computes (rule "limit").
  [[nodiscard]] bool is_judged() const;
  /// The remark that decided: the violation, or the first implementation-defined one.
  [[nodiscard]] const reference::Remark* deciding_remark() const;
};

/// One operator over all its versions.
struct Operator {
  std::string_view name;
  std::span<const InputSignature> inputs;
  std::span<const std::int64_t> versions;  ///< ONNX opset versions that changed it, ascending
  Classification (*classify)(const Case&);
  /// Whether its outputs are rounded, shifted by a zero point and saturated: by the stages that families share
  /// (harness/model/defects/defect.h).
  bool quantizes = false;
  /// Whether it stands for graphs, whatever their nodes are: no node has its name. Its cases name their values and tell
  /// which are fed, may have several outputs, and are rewritten by runtimes; kernels of single operators take none.
  bool judges_graphs = false;
  /// The corner cases that its cases can reach: what suites aim for, and what reports count. Others that
  /// Lowered::statistics() finds are dropped.
  CornerCaseSet corner_cases = {};
  /// A random valid case, with the mix of features of a block of cases. Null: the random suite has none.
  Case (*draw)(Rng& rng, const Swarm& swarm) = nullptr;
  /// How often it is drawn where a block has everything as usual, relative to the other operators.
  std::uint32_t usual_weight = 0;
  /// Its own place among the weights of a block.
  Feature feature = {};

  /// Whether that is its name, in ONNX's default domain ("" or "ai.onnx").
  [[nodiscard]] bool is_named(std::string_view domain, std::string_view op_type) const;
  /// The version that a model of this opset uses; 0 when the operator did not exist yet. Opsets newer than
  /// kNewestOpset use the newest version known: they seldom change an operator.
  [[nodiscard]] std::int64_t version_at(std::int64_t opset_version) const;
};

/// Those of all families, in the order of lists and reports.
[[nodiscard]] std::span<const Operator> operators();

/// The operator with that name in ONNX's default domain ("" or "ai.onnx"), or null.
[[nodiscard]] const Operator* find_operator(std::string_view domain, std::string_view op_type);

/// Returns the operator that judges the cases which reports count under `subject` (Case::subject()): the one that
/// judges graphs for a quantized operator that graphs alone have (MatMulInteger); null for an unknown one.
[[nodiscard]] const Operator* operator_of_subject(std::string_view subject);

/// Whether cases that reports count under `op_type` can reach the corner case (Operator::corner_cases).
[[nodiscard]] bool concerns(const CornerCaseInfo& corner_case, std::string_view op_type);

/// Returns the operator that judges a case: its only node's, or the one that judges graphs, also for a quantized
/// operator that graphs alone have; null where it is not known. Names of values play no part.
[[nodiscard]] const Operator* operator_of(const Case& test_case);
/// Whether the operator of the case judges graphs.
[[nodiscard]] bool is_judged_as_graph(const Case& test_case);

// The names of a case's values: those that it states, else its operator's own.

/// The name of the case's tensor at `position`; empty where it is not known.
[[nodiscard]] std::string_view input_name(const Case& test_case, std::size_t position);
/// The names of all tensors: "input_3" where one is not known, "" for an omitted one.
[[nodiscard]] std::vector<std::string> input_names(const Case& test_case);
/// The names of the outputs: "y" of a node that states none.
[[nodiscard]] std::vector<std::string> output_names(const Case& test_case);
/// The nodes with the names of what they read and compute.
[[nodiscard]] std::vector<Node> named_nodes(const Case& test_case);

/// Multiplies two numbers that are not negative; the product saturates at 2^62.
[[nodiscard]] std::int64_t saturating_product(std::int64_t a, std::int64_t b);

/// The operator's name with its domain, "com.microsoft::QLinearAdd"; ONNX's own domain is left out.
[[nodiscard]] std::string operator_name(std::string_view domain, std::string_view op_type);
/// The name of the case's operator with its domain; for several nodes, their names with a plus sign between.
[[nodiscard]] std::string operator_name(const Case& test_case);

/// Refuses a case whose operator find_operator() does not know: what its answer must be is unknown, and whether a
/// backend may compute it too. Such a case is no test, so that suites leave it aside.
[[nodiscard]] Result<void> check_operator(const Case& test_case);

/// Parses, checks and classifies a case of any operator. One that qconform does not know violates rule "operator", an
/// opset that had no such operator yet rule "opset", names that do not fit those of check_wiring()
/// (harness/graphs/case_graph.h).
[[nodiscard]] Classification classify(const Case& test_case);

/// Returns the role of the case's tensor at `position`. An unknown operator or position counts as data, which libraries
/// do not fold into anything. In a graph, tensors that are fed are data; an initializer of two dimensions or more is a
/// weight, and one of fewer a parameter.
[[nodiscard]] InputRole role_of(const Case& test_case, std::size_t position);

/// Replaces the attribute of that name, or adds it.
void set_attribute(Case& test_case, std::string_view name, Attribute::Value value);
void erase_attribute(Case& test_case, std::string_view name);

}  // namespace qconform
