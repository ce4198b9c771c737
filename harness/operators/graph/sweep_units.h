// The models of the covering sweep of quantized units, suite `qdq`: what they have in common.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/graphs/case_graph.h"
#include "harness/model/sweep/model.h"
#include "harness/operators/graph/unit.h"

namespace qconform::unit {

using sweep::class_of;

// A unit read back from its case.

/// Reads a case as build() makes it.
class UnitView {
 public:
  explicit UnitView(const Case& test_case);

  // The nodes; null where the unit has none.
  const Node* quantize = nullptr;
  const Node* activation = nullptr;
  const Node* compute = nullptr;
  const Node* x = nullptr;      ///< the DequantizeLinear of x
  const Node* path = nullptr;   ///< the last of the nodes between `x` and `compute`
  const Node* other = nullptr;  ///< the DequantizeLinear of the other operand
  std::string bias;             ///< a value's name, or empty

  [[nodiscard]] const Case& test_case() const { return case_; }
  [[nodiscard]] const Node* producer(const std::string& value) const;
  [[nodiscard]] const Tensor* tensor(const std::string& name) const;
  [[nodiscard]] bool is_fed(const std::string& name) const;
  [[nodiscard]] const std::vector<std::int64_t>& shape(const std::string& value) const;

  // These take a QuantizeLinear or DequantizeLinear.
  [[nodiscard]] const Tensor& scale(const Node& node) const { return *tensor(node.inputs[1]); }
  [[nodiscard]] double first_scale(const Node& node) const;
  [[nodiscard]] ZeroPoint zero_point(const Node& node) const;
  [[nodiscard]] ParameterLayout layout(const Node& node) const;
  /// Whether the other operand's scale is x's, by value or by name; kDiffer without one.
  [[nodiscard]] Alike alike(const Node* node) const;
  [[nodiscard]] ElementType type(const std::string& value) const;

 private:
  void find_sum(const std::string& real);
  void find_operands();
  [[nodiscard]] std::size_t id(const std::string& value) const;

  const Case& case_;
  GraphProgram lowered_;
};

[[nodiscard]] Activation activation_of(const UnitView& view);
[[nodiscard]] Bias bias_of(const UnitView& view);
[[nodiscard]] Scales scales_of(const UnitView& view);
[[nodiscard]] InputPath path_of(const UnitView& view);

// The parameters of the models.

/// A parameter of a model: how a class shapes a unit, and how it is found in a case.
struct Column {
  sweep::Parameter parameter;
  void (*set)(Unit& unit, std::uint8_t chosen);
  std::uint8_t (*read)(const UnitView& view);
};

/// The first parameters of all models.
enum UnitPosition : std::size_t {
  kComputePosition,
  kOpset,
  kXType,
  kYType,
  kReal,
  kXZeroPoint,
  kYZeroPoint,
  kScalesPosition,
  kConsumersPosition,
  kXLayout,
  kYLayout,
  kCommonPositions
};

inline constexpr std::int64_t kOpsets[] = {10, 11, 13, 19, 21, 23, 25};
enum OpsetClass : std::uint8_t { k10, k11, k13, k19, k21, k23, k25 };
inline constexpr ElementType kTypes[] = {ElementType::uint8, ElementType::int8, ElementType::uint16,
                                         ElementType::int16, ElementType::int4, ElementType::float8e4m3fn};
/// Whether a class of kTypes has 16 bits.
[[nodiscard]] constexpr bool is_16_bit(std::uint8_t type) {
  return kTypes[type] == ElementType::uint16 || kTypes[type] == ElementType::int16;
}
inline constexpr ElementType kReals[] = {ElementType::float32, ElementType::float16, ElementType::bfloat16};
enum RealClass : std::uint8_t { kFloat32, kFloat16, kBfloat16 };
inline constexpr std::int64_t kSizes[] = {1, 3, 4, 8, 9, 16, 17, 33};

/// The class of an opset that knows the type.
[[nodiscard]] std::uint8_t opset_of(ElementType type);
[[nodiscard]] std::vector<std::string> names_of(std::span<const ElementType> types);
[[nodiscard]] std::vector<std::string> texts_of(std::span<const std::int64_t> numbers);

/// Returns the columns of models whose nodes are those from `first` on, up to but without `behind`.
[[nodiscard]] std::vector<Column> common_columns(Compute first, Compute behind);
/// Returns common_columns() without bfloat16, and with parameters per tensor or along axis 1.
[[nodiscard]] std::vector<Column> narrow_columns(Compute first, Compute behind);
[[nodiscard]] std::vector<sweep::Constraint> common_constraints();
[[nodiscard]] sweep::Model model_of(std::string name, const std::vector<Column>& columns,
                                    std::vector<sweep::Constraint> constraints);

[[nodiscard]] Unit unit_of(const std::vector<Column>& columns, Compute first, const sweep::Row& row);
[[nodiscard]] Case realise(const Unit& unit, std::uint64_t seed, std::uint64_t index);
[[nodiscard]] sweep::Row classify(const std::vector<Column>& columns, Compute first, const Case& test_case);

/// Conv, ConvTranspose, Gemm and MatMul; nodes of two operands; nodes of one.
[[nodiscard]] const sweep::SweptModel& swept_products();
[[nodiscard]] const sweep::SweptModel& swept_pairs();
[[nodiscard]] const sweep::SweptModel& swept_unary();
/// A unit of that row, to be changed before it is built.
[[nodiscard]] Unit product_unit(const sweep::Row& row);
[[nodiscard]] Unit pair_unit(const sweep::Row& row);
[[nodiscard]] Unit unary_unit(const sweep::Row& row);

/// All three.
[[nodiscard]] std::span<const sweep::SweptModel> swept_units();

}  // namespace qconform::unit
