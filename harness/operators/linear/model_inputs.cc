#include "harness/operators/linear/suites.h"

#include <algorithm>

#include "harness/core/limits.h"
#include "harness/onnx/node_attributes.h"

namespace qconform {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::size_t kAssumedRank = 4;

// The size of a parameter of that rank along its axis `i`, which nothing says of the parameter itself: it follows from
// the data.
std::int64_t size_of_parameter(const NodeInputs& inputs, std::size_t rank, std::size_t i) {
  const auto data = linear_data_shape(inputs);
  if (!data) return 1;
  const auto axes = static_cast<std::int64_t>(data->shape.size());
  std::int64_t axis = int_attribute(inputs.node, "axis", 1);
  if (axis < 0) axis += axes;
  const std::int64_t along = rank == 1 ? axis : static_cast<std::int64_t>(i);
  if (along < 0 || along >= axes) return 1;
  const std::int64_t size = data->shape[static_cast<std::size_t>(along)];
  const std::int64_t block = std::max<std::int64_t>(int_attribute(inputs.node, "block_size", 0), 1);
  return rank > 1 && along == axis && size > 0 ? (size - 1) / block + 1 : size;
}

}  // namespace

// The data of an element-wise operator: its sizes are those of the parameters where these have sizes, [C] along the
// axis or one for each block of `block_size`.
Result<InputShape> linear_data_shape(const NodeInputs& inputs) {
  const auto stated = inputs.facts("x").shape;
  const PartialShape parameters = parameter_facts(inputs, inputs.scale()).value_or(PartialShape{});
  const auto most = static_cast<std::int64_t>(limits::kRank);
  std::int64_t axis = std::clamp(int_attribute(inputs.node, "axis", 1), -most - 1, most);
  const std::int64_t block = std::max<std::int64_t>(int_attribute(inputs.node, "block_size", 0), 1);
  const auto needed = static_cast<std::size_t>(std::clamp(axis < 0 ? -axis : axis + 1, std::int64_t{0}, most));
  PartialShape known =
      stated.value_or(PartialShape(parameters.size() > 1 ? parameters.size() : std::max(needed, kAssumedRank)));
  if (axis < 0) axis += static_cast<std::int64_t>(known.size());
  bool assumed = !stated;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i]) continue;
    const bool on_axis = static_cast<std::int64_t>(i) == axis;
    if (parameters.size() == 1 && on_axis) known[i] = parameters.front();
    if (parameters.size() > 1 && parameters.size() == known.size()) {
      known[i] = parameters[i];
      if (on_axis && known[i] && __builtin_mul_overflow(*known[i], block, &*known[i])) known[i].reset();
    }
    assumed |= !known[i] && i != 0;
  }
  return InputShape{assumed_shape(known, {}), assumed ? "shape of x assumed, the model does not tell it" : ""};
}

Result<Shape> linear_parameter_shape(const NodeInputs& inputs, std::string_view name) {
  const PartialShape known = parameter_facts(inputs, name).value_or(PartialShape{});
  Shape shape;
  for (std::size_t i = 0; i < known.size(); ++i) {
    shape.push_back(known[i] ? *known[i] : size_of_parameter(inputs, known.size(), i));
  }
  return shape;
}

}  // namespace qconform
