// A unit read back from its case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/graphs/lowering.h"
#include "harness/operators/graph/unit.h"

namespace qconform::unit {

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
  [[nodiscard]] Layout layout(const Node& node) const;
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
[[nodiscard]] Path path_of(const UnitView& view);

}  // namespace qconform::unit
