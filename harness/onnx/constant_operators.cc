#include "harness/onnx/graph_scope.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/limits.h"
#include "harness/graphs/node_lowering.h"
#include "harness/model/text.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/protobuf.h"
#include "reference/numerics/floats.h"

namespace qconform {
namespace {

using Shape = std::vector<std::int64_t>;

/// Constants that repeat one value are seldom long; what is longer comes from a hostile file.
constexpr std::int64_t kRepeatedElements = std::int64_t{1} << 20;

/// A node with the values of its inputs.
struct ConstantNodeView {
  const onnx::NodeProto& node;
  std::span<const Tensor* const> inputs;
  std::int64_t max_bytes;

  [[nodiscard]] const Tensor* input(std::size_t index) const { return index < inputs.size() ? inputs[index] : nullptr; }
  /// Numbers that came to be an input in a later version: from input `index`, else from the attribute.
  [[nodiscard]] std::optional<Shape> numbers(std::size_t index, std::string_view attribute) const;
  /// A tensor of zeros, if it may be that large.
  [[nodiscard]] std::optional<Tensor> zeros(ElementType type, Shape shape) const;
};

std::optional<Shape> ConstantNodeView::numbers(std::size_t index, std::string_view attribute) const {
  const Tensor* tensor = input(index);
  if (tensor == nullptr) return ints_attribute(node, attribute);
  const std::int64_t count = tensor->elements();
  if (!is_integer(tensor->type) || count > static_cast<std::int64_t>(limits::kAttributeValues)) return std::nullopt;
  Shape numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(integer_at(*tensor, i));
  return numbers;
}

std::optional<Tensor> ConstantNodeView::zeros(ElementType type, Shape shape) const {
  const auto bytes = checked_bytes("", type, shape);
  if (!bytes || *bytes > max_bytes) return std::nullopt;
  return Tensor{type, std::move(shape), std::vector<std::byte>(static_cast<std::size_t>(*bytes))};
}

/// `axis`, from the end if negative; nullopt where a tensor of that rank has none such.
std::optional<std::size_t> axis_in(std::int64_t axis, std::size_t rank) {
  const auto axes = static_cast<std::int64_t>(rank);
  if (axis < -axes || axis >= axes) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
}

/// How far neighbours along each axis lie apart.
Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Fills `to` with the elements of `from` that lie at `start` and, from there, at multiples of the strides.
void pick(const Tensor& from, std::int64_t start, const Shape& strides, Tensor& to) {
  const int bits = bits_of(from.type);
  Shape at(to.shape.size(), 0);
  std::int64_t source = start;
  for (std::int64_t i = 0, count = to.elements(); i < count; ++i) {
    set_raw_bits_at(to.bytes, bits, i, raw_bits_at(from.bytes, bits, source));
    for (std::size_t axis = at.size(); axis-- > 0;) {
      source += strides[axis];
      if (++at[axis] < to.shape[axis]) break;
      source -= strides[axis] * to.shape[axis];
      at[axis] = 0;
    }
  }
}

/// A run of elements from one tensor into another of the same type.
void copy_run(const Tensor& from, std::int64_t source, std::int64_t count, Tensor& to, std::int64_t target) {
  const int bits = bits_of(from.type);
  for (std::int64_t i = 0; i < count; ++i) {
    set_raw_bits_at(to.bytes, bits, target + i, raw_bits_at(from.bytes, bits, source + i));
  }
}

/// Returns `data` in another shape with as many elements, or nothing.
std::optional<Tensor> with_shape(const Tensor& data, Shape shape) {
  const auto bytes = checked_bytes("", data.type, shape);
  if (!bytes || elements_of(shape) != data.elements()) return std::nullopt;
  return Tensor{data.type, std::move(shape), data.bytes};
}

std::optional<Tensor> identity(const ConstantNodeView& view) {
  return *view.input(0);
}

std::optional<Tensor> cast_node(const ConstantNodeView& view) {
  const std::int64_t type = int_attribute(view.node, "to", 0);
  const auto to = static_cast<ElementType>(type);
  if (static_cast<std::int64_t>(to) != type || !is_known(to) || !view.zeros(to, view.input(0)->shape))
    return std::nullopt;
  return cast(*view.input(0), to, int_attribute(view.node, "saturate", 1) != 0);
}

std::optional<Tensor> reshape(const ConstantNodeView& view) {
  const Tensor& data = *view.input(0);
  auto shape = view.numbers(1, "shape");
  if (!shape) return std::nullopt;
  const bool keeps_zeros = int_attribute(view.node, "allowzero", 0) != 0;
  std::optional<std::size_t> unknown;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    std::int64_t& size = (*shape)[i];
    if (size == 0 && !keeps_zeros) {
      if (i >= data.shape.size()) return std::nullopt;
      size = data.shape[i];
    } else if (size == -1 && !unknown) {
      unknown = i;
      size = 1;
    }
  }
  if (!checked_bytes("", data.type, *shape)) return std::nullopt;
  if (unknown && elements_of(*shape) > 0) (*shape)[*unknown] = data.elements() / elements_of(*shape);
  return with_shape(data, std::move(*shape));
}

std::optional<Tensor> flatten(const ConstantNodeView& view) {
  const Tensor& data = *view.input(0);
  const std::int64_t stated = int_attribute(view.node, "axis", 1);
  const auto rank = static_cast<std::int64_t>(data.shape.size());
  if (stated < -rank || stated > rank) return std::nullopt;
  const auto axis = static_cast<std::size_t>(stated < 0 ? stated + rank : stated);
  const std::span<const std::int64_t> shape(data.shape);
  return with_shape(data, {elements_of(shape.first(axis)), elements_of(shape.subspan(axis))});
}

std::optional<Tensor> unsqueeze(const ConstantNodeView& view) {
  const Tensor& data = *view.input(0);
  const auto axes = view.numbers(1, "axes");
  if (!axes) return std::nullopt;
  Shape shape(data.shape.size() + axes->size(), 0);
  for (const std::int64_t stated : *axes) {
    const auto axis = axis_in(stated, shape.size());
    if (!axis || shape[*axis] == 1) return std::nullopt;
    shape[*axis] = 1;
  }
  auto next = data.shape.begin();
  for (std::int64_t& size : shape) {
    if (size == 0) size = *next++;
  }
  return with_shape(data, std::move(shape));
}

std::optional<Tensor> squeeze(const ConstantNodeView& view) {
  const Tensor& data = *view.input(0);
  const auto axes = view.numbers(1, "axes");
  if (!axes && view.input(1) != nullptr) return std::nullopt;
  std::vector<bool> dropped(data.shape.size());
  for (std::size_t i = 0; !axes && i < dropped.size(); ++i) dropped[i] = data.shape[i] == 1;
  for (const std::int64_t stated : axes.value_or(Shape{})) {
    const auto axis = axis_in(stated, data.shape.size());
    if (!axis || data.shape[*axis] != 1) return std::nullopt;
    dropped[*axis] = true;
  }
  Shape shape;
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    if (!dropped[i]) shape.push_back(data.shape[i]);
  }
  return with_shape(data, std::move(shape));
}

std::optional<Tensor> transpose(const ConstantNodeView& view) {
  const Tensor& data = *view.input(0);
  const std::size_t rank = data.shape.size();
  Shape order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(rank - 1 - i);
  if (const auto perm = ints_attribute(view.node, "perm")) order = *perm;
  Shape sorted = order;
  std::sort(sorted.begin(), sorted.end());
  const Shape strides = strides_of(data.shape);
  Shape shape;
  Shape moved;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() != rank || sorted[i] != static_cast<std::int64_t>(i)) return std::nullopt;
    shape.push_back(data.shape[static_cast<std::size_t>(order[i])]);
    moved.push_back(strides[static_cast<std::size_t>(order[i])]);
  }
  if (shape.size() != rank) return std::nullopt;
  auto result = view.zeros(data.type, std::move(shape));
  if (result) pick(data, 0, moved, *result);
  return result;
}

/// The index at which a slice along one axis begins, and how many elements it has.
std::pair<std::int64_t, std::int64_t> slice_of(std::int64_t size, std::int64_t begin, std::int64_t end,
                                               std::int64_t step) {
  const auto place = [&](std::int64_t stated, std::int64_t lowest, std::int64_t highest) {
    return std::clamp(stated < 0 ? stated + size : stated, lowest, highest);
  };
  if (step > 0) {
    const std::int64_t first = place(begin, 0, size);
    const std::int64_t last = place(end, 0, size);
    return {first, first < last ? (last - first - 1) / step + 1 : 0};
  }
  if (size == 0) return {0, 0};
  const std::int64_t first = place(begin, 0, size - 1);
  const std::int64_t last = place(end, -1, size - 1);
  return {first, first > last ? (first - last - 1) / -step + 1 : 0};
}

std::optional<Tensor> slice(const ConstantNodeView& view) {
  const Tensor& data = *view.input(0);
  const auto starts = view.numbers(1, "starts");
  const auto ends = view.numbers(2, "ends");
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  Shape axes(starts->size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  const auto stated_axes = view.numbers(3, "axes");
  const auto stated_steps = view.numbers(4, "");
  if ((!stated_axes && view.input(3) != nullptr) || (!stated_steps && view.input(4) != nullptr)) return std::nullopt;
  axes = stated_axes.value_or(axes);
  const Shape steps = stated_steps.value_or(Shape(starts->size(), 1));
  if (axes.size() != starts->size() || steps.size() != starts->size()) return std::nullopt;
  Shape shape = data.shape;
  Shape strides = strides_of(data.shape);
  std::vector<bool> sliced(shape.size());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = axis_in(axes[i], shape.size());
    if (!axis || sliced[*axis] || steps[i] == 0) return std::nullopt;
    sliced[*axis] = true;
    const std::int64_t step = std::clamp(steps[i], -limits::kElements, limits::kElements);
    const auto [first, count] = slice_of(data.shape[*axis], (*starts)[i], (*ends)[i], step);
    start += first * strides[*axis];
    strides[*axis] *= step;
    shape[*axis] = count;
  }
  auto result = view.zeros(data.type, std::move(shape));
  if (result) pick(data, start, strides, *result);
  return result;
}

std::optional<Tensor> concat(const ConstantNodeView& view) {
  const Tensor& first = *view.input(0);
  const auto axis = axis_in(int_attribute(view.node, "axis", 1), first.shape.size());
  if (!axis) return std::nullopt;
  Shape shape = first.shape;
  shape[*axis] = 0;
  for (const Tensor* part : view.inputs) {
    if (part == nullptr || part->type != first.type || part->shape.size() != shape.size()) return std::nullopt;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (i != *axis && part->shape[i] != shape[i]) return std::nullopt;
    }
    shape[*axis] += part->shape[*axis];
  }
  auto result = view.zeros(first.type, std::move(shape));
  if (!result || result->elements() == 0) return result;
  const std::span<const std::int64_t> sizes(first.shape);
  const std::int64_t inner = elements_of(sizes.subspan(*axis + 1));
  std::int64_t target = 0;
  for (std::int64_t outer = 0, count = elements_of(sizes.first(*axis)); outer < count; ++outer) {
    for (const Tensor* part : view.inputs) {
      const std::int64_t run = part->shape[*axis] * inner;
      copy_run(*part, outer * run, run, *result, target);
      target += run;
    }
  }
  return result;
}

/// `data` as the shape that it is broadcast to.
std::optional<Tensor> broadcast(const ConstantNodeView& view, const Tensor& data, Shape shape) {
  Shape strides(shape.size(), 0);
  const Shape own = strides_of(data.shape);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (data.shape[i] != 1) strides[shape.size() - own.size() + i] = own[i];
  }
  auto result = view.zeros(data.type, std::move(shape));
  if (!result || result->elements() > std::max(kRepeatedElements, data.elements())) return std::nullopt;
  pick(data, 0, strides, *result);
  return result;
}

std::optional<Tensor> expand_node(const ConstantNodeView& view) {
  const Tensor& data = *view.input(0);
  const auto wanted = view.numbers(1, "");
  if (!wanted || wanted->size() > limits::kRank) return std::nullopt;
  auto shape = lowering::broadcast_shape(*wanted, data.shape);
  return shape ? broadcast(view, data, std::move(*shape)) : std::nullopt;
}

std::optional<double> float_result(char sign, double a, double b) {
  const double result = sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b;
  return std::isfinite(result) ? std::optional(result) : std::nullopt;
}

/// The low bits; the type's own number of them counts.
std::optional<std::uint64_t> integer_result(char sign, std::int64_t a, std::int64_t b, bool is_signed) {
  const auto left = static_cast<std::uint64_t>(a);
  const auto right = static_cast<std::uint64_t>(b);
  if (sign == '+') return left + right;
  if (sign == '-') return left - right;
  if (sign == '*') return left * right;
  if (b == 0 || (is_signed && b == -1)) return std::nullopt;
  return is_signed ? static_cast<std::uint64_t>(a / b) : left / right;
}

/// One step in a float type: a sum, difference, product or quotient in double rounds like the exact one in 24 bits and
/// fewer.
template <char kSign>
std::optional<Tensor> arithmetic(const ConstantNodeView& view) {
  const Tensor* const second = view.input(1);
  if (second == nullptr || second->type != view.input(0)->type || view.node.attribute_size() > 0) return std::nullopt;
  const ElementType type = second->type;
  const bool is_real = type == ElementType::float32 || type == ElementType::float64 || is_16bit_float(type);
  if (!is_real && !is_integer(type)) return std::nullopt;
  const auto shape = lowering::broadcast_shape(view.input(0)->shape, second->shape);
  if (!shape) return std::nullopt;
  const auto a = broadcast(view, *view.input(0), *shape);
  const auto b = broadcast(view, *second, *shape);
  auto result = view.zeros(type, *shape);
  if (!a || !b || !result) return std::nullopt;
  for (std::int64_t i = 0, count = result->elements(); i < count; ++i) {
    std::optional<std::uint64_t> bits;
    if (is_real) {
      const auto value = float_result(kSign, number_at(*a, i), number_at(*b, i));
      if (!value) return std::nullopt;
      bits = reference::encode(reference::float_format(type), *value, reference::Overflow::special);
    } else {
      bits = integer_result(kSign, integer_at(*a, i), integer_at(*b, i), is_signed_integer(type));
    }
    if (!bits) return std::nullopt;
    set_raw_bits_at(result->bytes, bits_of(type), i, *bits);
    if (is_real && !std::isfinite(number_at(*result, i))) return std::nullopt;
  }
  return result;
}

std::optional<Tensor> gather(const ConstantNodeView& view) {
  const Tensor& data = *view.input(0);
  const Tensor* indices = view.input(1);
  const auto axis = axis_in(int_attribute(view.node, "axis", 0), data.shape.size());
  if (indices == nullptr || !is_integer(indices->type) || !axis) return std::nullopt;
  const auto at = static_cast<std::ptrdiff_t>(*axis);
  Shape shape(data.shape.begin(), data.shape.begin() + at);
  shape.insert(shape.end(), indices->shape.begin(), indices->shape.end());
  shape.insert(shape.end(), data.shape.begin() + at + 1, data.shape.end());
  auto result = view.zeros(data.type, std::move(shape));
  if (!result || result->elements() == 0) return result;
  const std::span<const std::int64_t> sizes(data.shape);
  const std::int64_t inner = elements_of(sizes.subspan(*axis + 1));
  std::int64_t target = 0;
  for (std::int64_t outer = 0, count = elements_of(sizes.first(*axis)); outer < count; ++outer) {
    for (std::int64_t i = 0, picks = indices->elements(); i < picks; ++i, target += inner) {
      const std::int64_t size = data.shape[*axis];
      const std::int64_t stated = integer_at(*indices, i);
      if (stated < -size || stated >= size) return std::nullopt;
      copy_run(data, (outer * size + (stated < 0 ? stated + size : stated)) * inner, inner, *result, target);
    }
  }
  return result;
}

Tensor row_of(const Shape& values) {
  return Tensor::of<std::int64_t>(ElementType::int64, {static_cast<std::int64_t>(values.size())}, values);
}

std::optional<Tensor> shape_node(const ConstantNodeView& view) {
  const Shape& shape = view.input(0)->shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto place = [&](std::int64_t stated) {
    return std::clamp<std::int64_t>(stated < 0 ? stated + rank : stated, 0, rank);
  };
  const std::int64_t begin = place(int_attribute(view.node, "start", 0));
  const std::int64_t end = std::max(begin, place(int_attribute(view.node, "end", rank)));
  return row_of(Shape(shape.begin() + begin, shape.begin() + end));
}

std::optional<Tensor> size_node(const ConstantNodeView& view) {
  return Tensor::scalar<std::int64_t>(ElementType::int64, view.input(0)->elements());
}

/// Numbers as attributes. A whole tensor as attribute is a constant already (graph_scope.h).
std::optional<Tensor> constant(const ConstantNodeView& view) {
  if (const auto* value = find_attribute(view.node, "value_float")) {
    return Tensor::scalar<float>(ElementType::float32, value->f());
  }
  if (const auto* value = find_attribute(view.node, "value_int")) {
    return Tensor::scalar<std::int64_t>(ElementType::int64, value->i());
  }
  if (const auto* value = find_attribute(view.node, "value_floats")) {
    const std::vector<float> values(value->floats().begin(), value->floats().end());
    return Tensor::of<float>(ElementType::float32, {value->floats_size()}, values);
  }
  if (const auto* value = find_attribute(view.node, "value_ints")) {
    return row_of(Shape(value->ints().begin(), value->ints().end()));
  }
  return std::nullopt;
}

std::optional<Tensor> constant_of_shape(const ConstantNodeView& view) {
  auto shape = view.numbers(0, "");
  Tensor value = Tensor::scalar<float>(ElementType::float32, 0);
  if (const auto* attribute = find_attribute(view.node, "value"); attribute != nullptr && attribute->has_t()) {
    auto stated = tensor_from_proto(attribute->t(), std::nullopt);
    if (!stated || stated->elements() != 1) return std::nullopt;
    value = std::move(*stated);
  }
  if (!shape || bits_of(value.type) > 64) return std::nullopt;
  const Shape strides(shape->size(), 0);
  auto result = view.zeros(value.type, std::move(*shape));
  if (!result || result->elements() > kRepeatedElements) return std::nullopt;
  pick(value, 0, strides, *result);
  return result;
}

struct FoldingRule {
  std::string_view op_type;
  std::optional<Tensor> (*value)(const ConstantNodeView&);
  std::size_t data_inputs = 1;  // how many of the first inputs must be there
};

constexpr auto kRules = std::to_array<FoldingRule>({
    {"Add", arithmetic<'+'>},
    {"Cast", cast_node},
    {"Concat", concat},
    {"Constant", constant, 0},
    {"ConstantOfShape", constant_of_shape},
    {"Div", arithmetic<'/'>},
    {"Expand", expand_node},
    {"Flatten", flatten},
    {"Gather", gather},
    {"Identity", identity},
    {"Mul", arithmetic<'*'>},
    {"Reshape", reshape},
    {"Shape", shape_node},
    {"Size", size_node},
    {"Slice", slice},
    {"Squeeze", squeeze},
    {"Sub", arithmetic<'-'>},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
});

const FoldingRule* rule_of(const onnx::NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return nullptr;
  const auto* found = std::find_if(kRules.begin(), kRules.end(),
                                   [&](const FoldingRule& rule) { return rule.op_type == node.op_type(); });
  return found == kRules.end() ? nullptr : found;
}

}  // namespace

bool can_be_folded(const onnx::NodeProto& node) {
  return rule_of(node) != nullptr;
}

std::optional<Tensor> value_of_node(const onnx::NodeProto& node, std::span<const Tensor* const> inputs,
                                    std::int64_t max_bytes) {
  const FoldingRule* rule = rule_of(node);
  if (rule == nullptr || inputs.size() < rule->data_inputs) return std::nullopt;
  const bool usable = std::all_of(inputs.begin(), inputs.end(),
                                  [](const Tensor* input) { return input == nullptr || bits_of(input->type) <= 64; });
  if (!usable || (rule->data_inputs > 0 && inputs[0] == nullptr)) return std::nullopt;
  auto value = rule->value(ConstantNodeView{node, inputs, max_bytes});
  if (value && static_cast<std::int64_t>(value->bytes.size()) > max_bytes) return std::nullopt;
  return value;
}

}  // namespace qconform
