// A unit while it is built: for unit.cc and unit_computes.cc alone.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/graphs/graph_builder.h"
#include "harness/operators/graph/unit.h"

namespace qconform::unit {

using Shape = std::vector<std::int64_t>;

/// The scale and zero point of a QuantizeLinear or DequantizeLinear.
struct Parameters {
  std::vector<std::string> names;  ///< scale, then the zero point unless it is omitted
  std::vector<Attribute> attributes;
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;  ///< as many, 0 where omitted
};

/// A quantized tensor of the case, and its real value.
struct Dequantized {
  std::string quantized;
  ElementType type = ElementType::undefined;
  Parameters parameters;
  std::string real;
};

/// The smallest and largest of some values.
struct UnitExtent {
  double lo = 0;
  double hi = 0;
};
/// Returns the extent of a type's elements; of a float type, that of its finite ones.
[[nodiscard]] UnitExtent extent_of(ElementType type);

class UnitDraft {
 public:
  UnitDraft(const Unit& unit, Rng& random) : u(unit), rng(random), nodes(unit.opset) {}

  const Unit& u;
  Rng& rng;
  GraphBuilder nodes;
  Dequantized x;
  std::vector<std::string> further;  ///< real values beside the first that are quantized and put out too

  /// x with that shape behind the unit's path.
  std::string operand(const Shape& shape);
  /// Further data of that shape, by other parameters.
  std::string operand_beside(const Shape& shape);
  /// Some tensor, dequantized. `summed`: the axis that blocks lie along.
  Dequantized dequantized(const Operand& operand, const Shape& shape, bool is_fed, std::size_t summed,
                          bool without_zero = false);
  Dequantized dequantized_again(const std::string& quantized, const Operand& operand, const Shape& shape);

  [[nodiscard]] double in_real(double value) const;  ///< rounded to the unit's real type
  double draw_scale();
  std::string real_tensor(const Shape& shape, const std::vector<double>& values);
  std::string integers(const std::vector<std::int64_t>& values);
  /// Another operand's parameters: x's where they are to be alike, and otherwise with another scale.
  Parameters beside_x(const Operand& operand, const Shape& shape, std::size_t blocked);
  std::string scalar(double value) { return real_tensor({}, {value}); }

  /// Returns the extent of a value's elements and 0, as the nodes so far compute them; nothing where they are out of
  /// contract, or some element is no finite number.
  [[nodiscard]] std::optional<UnitExtent> extent(const std::string& value) const;
  [[nodiscard]] Shape shape_of(const std::string& value) const;

  /// Scales as `draw` has them, and zero points. `blocked`: the axis of blocks.
  Parameters parameters(const Operand& operand, const Shape& shape, std::size_t blocked,
                        const std::function<double()>& draw);
};

/// Adds the compute node behind its operands; returns its real output.
[[nodiscard]] std::string add_compute(UnitDraft& draft);

}  // namespace qconform::unit
