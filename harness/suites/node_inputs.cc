#include "harness/suites/node_inputs.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <optional>

#include "harness/core/limits.h"
#include "harness/onnx/node_attributes.h"
#include "harness/onnx/shape_rules.h"

namespace qconform {
namespace {

using Shape = std::vector<std::int64_t>;

// Sizes of the middle layers of common image networks, and what is left where that is too much.
constexpr std::int64_t kAssumedSizes[] = {14, 7, 4, 2, 1};
constexpr std::int64_t kAssumedChannels = 8;
constexpr std::size_t kAssumedRank = 4;

constexpr std::string_view kScale = "_scale";
constexpr std::string_view kZeroPoint = "_zero_point";

/// "x" for "x_scale".
std::string tensor_of(std::string_view parameter) {
  return std::string(parameter.substr(0, parameter.find('_')));
}

ElementType first_known(std::initializer_list<ElementType> types) {
  for (const ElementType type : types) {
    if (type != ElementType::undefined) return type;
  }
  return ElementType::undefined;
}

/// The zero point of an output has the output's type, which an attribute may state.
ElementType type_of_output(const NodeInputs& inputs) {
  const auto stated = static_cast<ElementType>(int_attribute(inputs.node, "output_dtype", 0));
  return first_known({stated, inputs.output().type});
}

/// What is known of a scale and its zero point together.
std::optional<PartialShape> parameter_facts(const NodeInputs& inputs, const std::string& tensor) {
  auto shape = inputs.facts(tensor + std::string(kScale)).shape;
  const auto beside = inputs.facts(tensor + std::string(kZeroPoint)).shape;
  if (!shape || !beside) return shape ? shape : beside;
  for (std::size_t i = 0; shape->size() == beside->size() && i < shape->size(); ++i) {
    if (!(*shape)[i]) (*shape)[i] = (*beside)[i];
  }
  return shape;
}

std::int64_t saturated_elements(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(elements, size, &elements)) return INT64_MAX;
  }
  return elements;
}

/// Fills what is unknown of a shape. Spatial sizes are at least `least`, where it says one.
Shape assumed_shape(const PartialShape& known, const Shape& least) {
  Shape shape(known.size());
  for (const std::int64_t size : kAssumedSizes) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      const std::int64_t assumed = i == 0 ? 1 : i == 1 ? std::min(size, kAssumedChannels) : size;
      shape[i] = known[i].value_or(std::max(assumed, i < least.size() ? least[i] : 1));
    }
    if (saturated_elements(shape) <= kAssumedElements) break;
  }
  return shape;
}

/// [N, C, spatial...] for a weight [M, C/group, kernel...].
Result<InputShape> convolution_data(const NodeInputs& inputs) {
  const auto unusable = fail("", "weights of unknown or unusable shape", "skip");
  const auto w = full_shape(inputs.facts("w").shape);
  if (!w || w->size() < 3) return unusable;
  const auto facts = inputs.facts("x");
  PartialShape known = facts.shape && facts.shape->size() == w->size() ? *facts.shape : PartialShape(w->size());
  std::int64_t channels = 0;
  const std::int64_t group = int_attribute(inputs.node, "group", 1);
  if (__builtin_mul_overflow((*w)[1], group, &channels) || channels < 0) return unusable;
  if (!known[1]) known[1] = channels;
  Shape windows(w->size(), 1);
  Shape assumed;  // the least that is assumed
  for (std::size_t i = 2; i < known.size(); ++i) {
    if (known[i]) continue;
    const auto extent = window_extent(inputs.node, (*w)[i], i - 2);
    if (!extent) return unusable;
    windows[i] = std::max<std::int64_t>(*extent, 1);
    assumed.push_back(windows[i]);
  }
  if (saturated_elements(assumed) > kAssumedElements) {
    return fail("", "a window larger than an input whose size the model does not tell is assumed to be", "skip");
  }
  return InputShape{assumed_shape(known, windows),
                    assumed.empty() ? "" : "spatial size of x assumed, the model does not tell it"};
}

/// The data of an element-wise operator: its sizes are those of the parameters where these have sizes, [C] along the
/// axis or one for each block of `block_size`.
Result<InputShape> linear_data(const NodeInputs& inputs) {
  const auto stated = inputs.facts("x").shape;
  const PartialShape parameters = parameter_facts(inputs, std::string(inputs.quantized())).value_or(PartialShape{});
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

/// The size of a parameter along its axis `i`, which nothing says of the parameter itself: it follows from the data.
std::int64_t size_of_parameter(const NodeInputs& inputs, std::string_view name, std::size_t rank, std::size_t i) {
  if (inputs.is_convolution()) {
    const auto w = inputs.facts("w").shape;
    return name.starts_with("w") && w && !w->empty() ? w->front().value_or(1) : 1;
  }
  const auto data = linear_data(inputs);
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

std::string NodeInputs::value_of(std::string_view name) const {
  for (std::size_t i = 0; i < op.inputs.size() && i < static_cast<std::size_t>(node.input_size()); ++i) {
    if (op.inputs[i].name == name) return node.input(static_cast<int>(i));
  }
  return {};
}

ValueFacts NodeInputs::output() const {
  return node.output_size() == 0 ? ValueFacts{} : scope.facts(node.output(0));
}

const onnx::TensorProto* NodeInputs::constant(std::string_view name) const {
  const std::string value = value_of(name);
  return value.empty() ? nullptr : scope.constant(value);
}

bool NodeInputs::is_convolution() const {
  return std::any_of(op.inputs.begin(), op.inputs.end(), [](const auto& input) { return input.name == "w"; });
}

std::string_view NodeInputs::quantized() const {
  return op.name == "QuantizeLinear" ? "y" : "x";
}

ElementType type_of_input(const NodeInputs& inputs, std::string_view name) {
  const ElementType stated = inputs.facts(name).type;
  if (name == "B") return first_known({stated, ElementType::int32});
  const std::string tensor = tensor_of(name);
  const bool quantizes = inputs.op.name == "QuantizeLinear";
  if (name.ends_with(kScale)) {
    const ElementType real = inputs.is_convolution() ? ElementType::undefined
                             : quantizes             ? inputs.facts("x").type
                                                     : inputs.output().type;
    return first_known({stated, is_integer(real) ? ElementType::undefined : real, ElementType::float32});
  }
  if (quantizes && name == "x") return first_known({stated, inputs.facts("y_scale").type, ElementType::float32});
  const ElementType partner = !name.ends_with(kZeroPoint) ? inputs.facts(tensor + std::string(kZeroPoint)).type
                              : tensor == "y"             ? type_of_output(inputs)
                                                          : inputs.facts(tensor).type;
  return first_known({stated, partner, tensor == "w" ? ElementType::int8 : ElementType::uint8});
}

Result<InputShape> shape_of_data(const NodeInputs& inputs) {
  return inputs.is_convolution() ? convolution_data(inputs) : linear_data(inputs);
}

Result<Shape> shape_of_parameter(const NodeInputs& inputs, std::string_view name) {
  if (auto stated = full_shape(inputs.facts(name).shape)) return std::move(*stated);
  if (name == "B" || name == "w") {
    const auto w = inputs.facts("w").shape;
    if (name == "B" && w && !w->empty() && w->front()) return Shape{*w->front()};
    return fail("", fmt::format("input {} of unknown shape", name), "skip");
  }
  const PartialShape known = parameter_facts(inputs, tensor_of(name)).value_or(PartialShape{});
  Shape shape;
  for (std::size_t i = 0; i < known.size(); ++i) {
    shape.push_back(known[i] ? *known[i] : size_of_parameter(inputs, name, known.size(), i));
  }
  return shape;
}

}  // namespace qconform
