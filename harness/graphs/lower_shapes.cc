// Operators that keep the elements and their order: Reshape, Flatten, Squeeze, Unsqueeze, Identity; and Constant.
#include <fmt/format.h>

#include <algorithm>

#include "harness/graphs/node_lowering.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;
using List = std::vector<std::int64_t>;

// Replaces a dimension of -1 by `elements` divided by the other dimensions.
bool infer_dimension(const NodeLowering& node, std::int64_t elements, Shape& shape) {
  const auto open = std::find(shape.begin(), shape.end(), -1);
  std::int64_t others = 1;
  for (const std::int64_t extent : shape) {
    if (extent != -1) others = saturating_product(others, extent);
  }
  if (open != shape.end()) {
    if (others == 0 || elements % others != 0) {
      return node.violate("shape", fmt::format("{} elements do not fill {}", elements, shape_text(shape)));
    }
    *open = elements / others;
    return true;
  }
  if (others == elements) return true;
  return node.violate("shape", fmt::format("{} elements do not fill {}", elements, shape_text(shape)));
}

bool lower_reshape(const NodeLowering& node) {
  auto shape = node.attribute_or_input("shape", 1);
  if (!shape) return false;
  Shape& wanted = **shape;
  const Shape& x = node.shape(0);
  const bool allows_zero = node.get_or<std::int64_t>("allowzero", 0) != 0;
  const bool has_zero = std::find(wanted.begin(), wanted.end(), 0) != wanted.end();
  if (std::count(wanted.begin(), wanted.end(), -1) > 1 ||
      std::any_of(wanted.begin(), wanted.end(), [](std::int64_t extent) { return extent < -1; })) {
    return node.violate("shape", "expected dimensions and at most one -1, got " + shape_text(wanted));
  }
  if (allows_zero && has_zero && std::find(wanted.begin(), wanted.end(), -1) != wanted.end()) {
    return node.violate("shape", "0 and -1 are not allowed together with allowzero, got " + shape_text(wanted));
  }
  for (std::size_t axis = 0; axis < wanted.size() && !allows_zero; ++axis) {
    if (wanted[axis] != 0) continue;
    if (axis >= x.size()) return node.violate("shape", "0 stands for a dimension that the input lacks");
    wanted[axis] = x[axis];
  }
  return infer_dimension(node, elements_of(x), wanted) && node.emit_same(std::move(wanted));
}

bool lower_flatten(const NodeLowering& node) {
  const Shape& x = node.shape(0);
  const auto rank = static_cast<std::int64_t>(x.size());
  const std::int64_t stated = node.get_or<std::int64_t>("axis", 1);
  const std::int64_t axis = stated < 0 && node.opset() >= 11 ? stated + rank : stated;
  if (axis < 0 || axis > rank)
    return node.violate("axis", fmt::format("expected an axis of rank {}, got {}", rank, stated));
  const auto split = x.begin() + axis;
  return node.emit_same({elements_of(Shape(x.begin(), split)), elements_of(Shape(split, x.end()))});
}

bool lower_squeeze(const NodeLowering& node) {
  const Shape& x = node.shape(0);
  const auto stated = node.attribute_or_input("axes", 1);
  if (!stated) return false;
  Shape shape;
  if (!*stated) {
    std::copy_if(x.begin(), x.end(), std::back_inserter(shape), [](std::int64_t extent) { return extent != 1; });
    return node.emit_same(std::move(shape));
  }
  const auto axes = node.axes(**stated, x.size(), "axes");
  if (!axes) return false;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const bool goes = std::find(axes->begin(), axes->end(), axis) != axes->end();
    if (goes && x[axis] != 1)
      return node.violate("axes", fmt::format("expected axes of size 1, got size {} of axis {}", x[axis], axis));
    if (!goes) shape.push_back(x[axis]);
  }
  return node.emit_same(std::move(shape));
}

bool lower_unsqueeze(const NodeLowering& node) {
  const Shape& x = node.shape(0);
  const auto stated = node.attribute_or_input("axes", 1);
  if (!stated) return false;
  if (!*stated) return node.signature("axes", "is required");
  const std::size_t rank = x.size() + (*stated)->size();
  const auto axes = node.axes(**stated, rank, "axes");
  if (!axes) return false;
  Shape shape;
  auto next = x.begin();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool is_new = std::find(axes->begin(), axes->end(), axis) != axes->end();
    shape.push_back(is_new ? 1 : *next++);
  }
  return node.emit_same(std::move(shape));
}

bool lower_identity(const NodeLowering& node) {
  if (!node.emit_same(node.shape(0))) return false;
  node.keep_stated();
  return true;
}

bool lower_constant(const NodeLowering& node) {
  if (node.node().attributes.size() != 1) return node.signature("attributes", "expected one");
  if (const auto* value = node.get<float>("value_float")) {
    return node.emit_constant(Tensor::scalar(ElementType::float32, *value));
  }
  if (const auto* value = node.get<std::int64_t>("value_int")) {
    return node.emit_constant(Tensor::scalar(ElementType::int64, *value));
  }
  if (const auto* values = node.get<List>("value_ints")) {
    return node.emit_constant(Tensor::of(ElementType::int64, {static_cast<std::int64_t>(values->size())}, *values));
  }
  const auto& values = *node.get<std::vector<float>>("value_floats");
  return node.emit_constant(Tensor::of(ElementType::float32, {static_cast<std::int64_t>(values.size())}, values));
}

using namespace node_types;

constexpr AttributeSignature kAllowZero[] = {{"allowzero", kIntAttribute}};
constexpr AttributeSignature kShapeAxis[] = {{"axis", kIntAttribute}};
constexpr AttributeSignature kShapeAxes[] = {{"axes", kIntsAttribute}};
constexpr AttributeSignature kNumbersOnly[] = {{"value_float", kFloatAttribute},
                                               {"value_floats", kFloatsAttribute},
                                               {"value_int", kIntAttribute},
                                               {"value_ints", kIntsAttribute}};

constexpr NodeOperator shaped(std::string_view name, std::int64_t since, TypeSet types, std::size_t least_inputs,
                              std::size_t most_inputs, std::span<const AttributeSignature> attributes,
                              bool (*lower)(const NodeLowering&)) {
  NodeOperator result = node_operator(name, since, types, least_inputs, most_inputs, attributes, lower);
  result.like_first = 1;
  return result;
}
constexpr NodeOperator reshape(std::int64_t since) {
  return shaped("Reshape", since, grown(kAll, since), 2, 2,
                since >= 14 ? std::span<const AttributeSignature>(kAllowZero) : std::span<const AttributeSignature>(),
                lower_reshape);
}
constexpr NodeOperator flatten(std::int64_t since) {
  return shaped("Flatten", since, grown(kAll, since), 1, 1, kShapeAxis, lower_flatten);
}
constexpr NodeOperator squeeze(std::int64_t since) {
  return shaped("Squeeze", since, grown(kAll, since), 1, 2, {}, lower_squeeze);
}
constexpr NodeOperator unsqueeze(std::int64_t since) {
  return shaped("Unsqueeze", since, grown(kAll, since), 2, 2, {}, lower_unsqueeze);
}
constexpr NodeOperator identity(std::int64_t since) {
  return shaped("Identity", since, grown(kAll, since), 1, 1, {}, lower_identity);
}

// Constant holds tensors too, which a case has as initializers. Its row says what a case can hold.
constexpr NodeOperator kShapeNodes[] = {
    reshape(5),
    reshape(13),
    reshape(14),
    reshape(19),
    reshape(21),
    reshape(23),
    reshape(24),
    reshape(25),
    flatten(9),
    flatten(13),
    flatten(21),
    flatten(23),
    flatten(24),
    flatten(25),
    shaped("Squeeze", 1, kAll, 1, 1, kShapeAxes, lower_squeeze),
    squeeze(13),
    squeeze(21),
    squeeze(23),
    squeeze(24),
    squeeze(25),
    shaped("Unsqueeze", 1, kAll, 1, 1, kShapeAxes, lower_unsqueeze),
    unsqueeze(13),
    unsqueeze(21),
    unsqueeze(23),
    unsqueeze(24),
    unsqueeze(25),
    identity(1),
    identity(13),
    identity(19),
    identity(21),
    identity(23),
    identity(24),
    identity(25),
    shaped("Constant", 12, kAll, 0, 0, kNumbersOnly, lower_constant),
};

}  // namespace

std::span<const NodeOperator> shape_nodes() {
  return kShapeNodes;
}

}  // namespace qconform::lowering
