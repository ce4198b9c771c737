#include "harness/onnx/node_inputs.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <utility>

#include "harness/model/family.h"
#include "harness/onnx/case_model.h"

namespace qconform {
namespace {

using Shape = std::vector<std::int64_t>;

// Sizes of the middle layers of common image networks, and what is left where that is too much.
constexpr std::int64_t kAssumedSizes[] = {14, 7, 4, 2, 1};
constexpr std::int64_t kAssumedChannels = 8;

constexpr std::string_view kScale = "_scale";
constexpr std::string_view kZeroPoint = "_zero_point";

ElementType first_known(std::initializer_list<ElementType> types) {
  for (const ElementType type : types) {
    if (type != ElementType::undefined) return type;
  }
  return ElementType::undefined;
}

/// The type of what `input` is like; undefined where that is not known, or nothing.
ElementType partner_of(const NodeInputs& inputs, const InputSignature& input) {
  if (input.like.empty()) return ElementType::undefined;
  const bool is_output = input.like == "y";
  const ElementType type = is_output ? inputs.output().type : inputs.facts(input.like).type;
  if (input.name.ends_with(kScale)) return is_integer(type) ? ElementType::undefined : type;
  // The zero point of an output has the output's type, which an attribute may state.
  const auto stated = static_cast<ElementType>(int_attribute(inputs.node, "output_dtype", 0));
  return is_output ? first_known({stated, type}) : type;
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

std::string_view NodeInputs::scale() const {
  const auto found =
      std::find_if(op.inputs.begin(), op.inputs.end(), [](const auto& input) { return input.name.ends_with(kScale); });
  return found == op.inputs.end() ? std::string_view() : found->name;
}

std::int64_t saturated_elements(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(elements, size, &elements)) return INT64_MAX;
  }
  return elements;
}

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

std::optional<PartialShape> parameter_facts(const NodeInputs& inputs, std::string_view parameter) {
  const std::string tensor(parameter.substr(0, parameter.find('_')));
  auto shape = inputs.facts(tensor + std::string(kScale)).shape;
  const auto beside = inputs.facts(tensor + std::string(kZeroPoint)).shape;
  if (!shape || !beside) return shape ? shape : beside;
  for (std::size_t i = 0; shape->size() == beside->size() && i < shape->size(); ++i) {
    if (!(*shape)[i]) (*shape)[i] = (*beside)[i];
  }
  return shape;
}

ElementType type_of_input(const NodeInputs& inputs, const InputSignature& input) {
  return first_known({inputs.facts(input.name).type, partner_of(inputs, input), input.usual});
}

Result<InputShape> shape_of_data(const NodeInputs& inputs, const InputSignature& data) {
  const Family* family = family_of("", inputs.op.name);
  if (family->nodes.data_shape != nullptr) return family->nodes.data_shape(inputs);
  const auto known = inputs.facts(data.name).shape;
  if (!known) return fail("", fmt::format("size: input {} of unknown shape", data.name), "skip");
  const bool is_assumed = !full_shape(known);
  return InputShape{assumed_shape(*known, {}),
                    is_assumed ? fmt::format("shape of {} assumed, the model does not tell it", data.name) : ""};
}

Result<Shape> shape_of_parameter(const NodeInputs& inputs, std::string_view name) {
  if (auto stated = full_shape(inputs.facts(name).shape)) return std::move(*stated);
  const Family* family = family_of("", inputs.op.name);
  if (family->nodes.parameter_shape != nullptr) return family->nodes.parameter_shape(inputs, name);
  return fail("", fmt::format("size: input {} of unknown shape", name), "skip");
}

}  // namespace qconform
