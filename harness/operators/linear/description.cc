#include "harness/operators/linear/description.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "harness/operators/linear/linear.h"

namespace qconform {
namespace {

using StatedInteger = std::optional<std::int64_t> LinearQuantization::*;

// Cases state them in this order.
constexpr std::pair<const char*, StatedInteger> kStatedIntegers[] = {
    {"axis", &LinearQuantization::axis},           {"block_size", &LinearQuantization::block_size},
    {"saturate", &LinearQuantization::saturate},   {"output_dtype", &LinearQuantization::output_dtype},
    {"precision", &LinearQuantization::precision},
};

}  // namespace

std::optional<std::size_t> LinearQuantization::dimension() const {
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  const std::int64_t at = axis_or_default() + (axis_or_default() < 0 ? rank : 0);
  return at >= 0 && at < rank ? std::optional(static_cast<std::size_t>(at)) : std::nullopt;
}

std::vector<std::int64_t> LinearQuantization::parameter_shape() const {
  const std::size_t at = dimension().value();
  const std::int64_t block = block_size.value_or(0);
  if (block <= 0) return {x.shape[at]};
  std::vector<std::int64_t> shape = x.shape;
  shape[at] = (shape[at] + block - 1) / block;
  return shape;
}

ElementType LinearQuantization::y_type() const {
  if (output_dtype.value_or(0) != 0) return static_cast<ElementType>(*output_dtype);
  if (!quantizes) return scale.type;
  return zero_point ? zero_point->type : ElementType::uint8;
}

std::optional<LinearQuantization> read_linear(const Case& test_case) {
  if (family_of(test_case) != &linear_family()) return std::nullopt;
  const bool quantizes = test_case.node().op_type == quantize_linear_operator().name;
  const Tensor* x = test_case.input(0);
  const Tensor* scale = test_case.input(1);
  if (x == nullptr || scale == nullptr) return std::nullopt;
  LinearQuantization result{
      .quantizes = quantizes, .opset_version = test_case.node().opset_version, .x = *x, .scale = *scale};
  if (const Tensor* zero_point = test_case.input(2)) result.zero_point = *zero_point;
  for (const auto& [name, member] : kStatedIntegers) {
    if (const auto* value = test_case.node().get<std::int64_t>(name)) result.*member = *value;
  }
  return result;
}

Case build_linear(LinearQuantization stated, Case frame) {
  Node& node = frame.node();
  node.op_type = std::string(operator_of(stated).name);
  node.opset_version = stated.opset_version;
  for (const auto& [name, member] : kStatedIntegers) {
    if (stated.*member) {
      set_attribute(frame, name, *(stated.*member));
      continue;
    }
    std::erase_if(node.attributes, [name = name](const Attribute& attribute) {
      return attribute.name == name && std::holds_alternative<std::int64_t>(attribute.value);
    });
  }
  auto& inputs = frame.inputs;
  const bool had_zero_point = frame.input(2) != nullptr;
  inputs.resize(std::max<std::size_t>(inputs.size(), stated.zero_point ? 3 : 2));
  inputs[0] = std::move(stated.x);
  inputs[1] = std::move(stated.scale);
  if (inputs.size() > 2) inputs[2] = std::move(stated.zero_point);
  while (had_zero_point && !inputs.back()) inputs.pop_back();
  return frame;
}

const Operator& operator_of(const LinearQuantization& stated) {
  return stated.quantizes ? quantize_linear_operator() : dequantize_linear_operator();
}

std::optional<reference::QuantizationLayout> layout_of(const LinearQuantization& stated) {
  const reference::PlacementAttributes attributes{.has_axis = true,
                                                  .axis = stated.axis_or_default(),
                                                  .has_block_size = true,
                                                  .block_size = stated.block_size.value_or(0)};
  reference::Contract contract;
  return resolve_layout(stated.x.shape, stated.scale.shape, "scale", attributes, contract);
}

}  // namespace qconform
