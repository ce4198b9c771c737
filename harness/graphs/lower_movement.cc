// Operators that take elements to other places: Transpose, Slice, Pad, Concat, Split, Gather, Expand, DepthToSpace.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/graphs/node_lowering.h"
#include "harness/model/text.h"
#include "reference/numerics/floats.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;
using List = std::vector<std::int64_t>;

// Axis i of the result is axis order[i] of a tensor of shape `from`.
List permuted(const Shape& from, const std::vector<std::size_t>& order) {
  const List strides = strides_of(from);
  Shape shape;
  List permuted_strides;
  for (const std::size_t axis : order) {
    shape.push_back(from[axis]);
    permuted_strides.push_back(strides[axis]);
  }
  return strided(shape, permuted_strides);
}

bool lower_transpose(const NodeLowering& node) {
  const Shape& x = node.shape(0);
  std::vector<std::size_t> order;
  if (const auto* perm = node.get<List>("perm")) {
    for (const std::int64_t axis : *perm) order.push_back(static_cast<std::size_t>(axis));
    std::vector<std::size_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    bool is_permutation = sorted.size() == x.size();
    for (std::size_t i = 0; i < sorted.size(); ++i) is_permutation = is_permutation && sorted[i] == i;
    if (!is_permutation)
      return node.violate("perm",
                          fmt::format("expected an order of {} axes, got [{}]", x.size(), fmt::join(*perm, ", ")));
  } else {
    for (std::size_t i = x.size(); i-- > 0;) order.push_back(i);
  }
  Shape shape;
  for (const std::size_t axis : order) shape.push_back(x[axis]);
  if (!node.claim(shape)) return false;
  List index = permuted(x, order);
  return node.emit_move(std::move(shape), std::move(index));
}

// One axis of a Slice.
struct Cut {
  std::int64_t begin;
  std::int64_t step;
  std::int64_t count;
};

Cut cut_of(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;  // beyond every dimension
  step = std::clamp(step, -kFar, kFar);
  start = std::clamp(start, -kFar, kFar);
  end = std::clamp(end, -kFar, kFar);
  if (start < 0) start += extent;
  if (end < 0) end += extent;
  std::int64_t count = 0;
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, extent);
    end = std::clamp<std::int64_t>(end, 0, extent);
    count = end > start ? (end - start - 1) / step + 1 : 0;
  } else if (extent > 0) {
    start = std::clamp<std::int64_t>(start, 0, extent - 1);
    end = std::clamp<std::int64_t>(end, -1, extent - 1);
    count = start > end ? (start - end - 1) / -step + 1 : 0;
  }
  return {start, count > 1 ? step : 1, count};
}

// starts, ends, axes and steps.
struct SliceLists {
  List starts;
  List ends;
  List axes;
  List steps;
};

std::optional<SliceLists> read_slice(const NodeLowering& node) {
  SliceLists lists;
  const char* const names[] = {"starts", "ends", "axes", "steps"};
  List* const targets[] = {&lists.starts, &lists.ends, &lists.axes, &lists.steps};
  for (std::size_t i = 0; i < 4; ++i) {
    if (!node.has(i + 1)) continue;
    auto values = node.integers(i + 1, names[i], true);
    if (!values) return std::nullopt;
    *targets[i] = std::move(*values);
    if (node.type(i + 1) != node.type(1)) {
      return node.signature(names[i], "expected the element type of starts"), std::nullopt;
    }
  }
  if (!node.has(3)) lists.axes = counted(static_cast<std::int64_t>(lists.starts.size()));
  if (!node.has(4)) lists.steps.assign(lists.starts.size(), 1);
  for (std::size_t i = 1; i < 4; ++i) {
    if (targets[i]->size() == lists.starts.size()) continue;
    node.violate(names[i], fmt::format("expected {} values, got {}", lists.starts.size(), targets[i]->size()));
    return std::nullopt;
  }
  if (std::find(lists.steps.begin(), lists.steps.end(), 0) == lists.steps.end()) return lists;
  return node.violate("steps", "expected steps other than 0, got 0"), std::nullopt;
}

bool lower_slice(const NodeLowering& node) {
  const auto lists = read_slice(node);
  if (!lists) return false;
  const Shape& x = node.shape(0);
  const auto axes = node.axes(lists->axes, x.size(), "axes");
  if (!axes) return false;
  Shape shape = x;
  List strides = strides_of(x);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::size_t axis = (*axes)[i];
    const Cut cut = cut_of(x[axis], lists->starts[i], lists->ends[i], lists->steps[i]);
    shape[axis] = cut.count;
    offset += cut.begin * strides[axis];
    strides[axis] *= cut.step;
  }
  if (!node.claim(shape)) return false;
  List index = strided(shape, strides, offset);
  return node.emit_move(std::move(shape), std::move(index));
}

// Pads of all axes, begins and then ends.
std::optional<List> read_pads(const NodeLowering& node) {
  const std::size_t rank = node.shape(0).size();
  const auto stated = node.attribute_or_input("pads", 1);
  if (!stated) return std::nullopt;
  if (!*stated) return node.signature("pads", "is required"), std::nullopt;
  std::vector<std::size_t> axes;
  if (node.has(3)) {
    const auto values = node.integers(3, "axes", true);
    const auto found = values ? node.axes(*values, rank, "axes") : std::nullopt;
    if (!found) return std::nullopt;
    axes = *found;
  } else {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  const List& pads = **stated;
  if (pads.size() != 2 * axes.size()) {
    node.violate("pads", fmt::format("expected {} values, got {}", 2 * axes.size(), pads.size()));
    return std::nullopt;
  }
  List all(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    all[axes[i]] = pads[i];
    all[rank + axes[i]] = pads[axes.size() + i];
  }
  return all;
}

bool check_pads(const NodeLowering& node, const List& pads, const std::string& mode) {
  constexpr std::int64_t kFar = std::int64_t{1} << 31;
  const Shape& x = node.shape(0);
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const std::int64_t begin = pads[axis];
    const std::int64_t end = pads[x.size() + axis];
    if (std::max(std::abs(std::max(begin, -kFar)), std::abs(std::max(end, -kFar))) >= kFar) {
      return node.limit("pads", fmt::format("{}, {} are not judged", begin, end));
    }
    if (x[axis] + begin + end < 0)
      return node.violate(
          "pads", fmt::format("expected pads that crop at most the {} elements of axis {}, got {} and {}", x[axis],
                              axis, begin, end));
    if (mode == "constant") {
      // Cropped to nothing at one side while the other is padded: what comes first is not told.
      const bool keeps = -begin <= x[axis] && -end <= x[axis];
      if (!keeps) return node.limit("pads", fmt::format("crop more than axis {} has", axis));
      continue;
    }
    if (begin < 0 || end < 0) return node.limit("pads", "negative values are not judged beside mode " + mode);
    const std::int64_t most = mode == "reflect" ? x[axis] - 1 : mode == "wrap" ? x[axis] : x[axis] == 0 ? 0 : kFar;
    if (begin > most || end > most) return node.limit("pads", fmt::format("exceed axis {} in mode {}", axis, mode));
  }
  return true;
}

// The positions of one padded axis; -1 outside.
List padded_positions(std::int64_t extent, std::int64_t begin, std::int64_t end, const std::string& mode) {
  List positions = counted(extent + begin + end, -begin);
  for (std::int64_t& at : positions) {
    if (at >= 0 && at < extent) continue;
    if (mode == "constant") at = -1;
    if (mode == "edge") at = at < 0 ? 0 : extent - 1;
    if (mode == "reflect") at = at < 0 ? -at : 2 * (extent - 1) - at;
    if (mode == "wrap") at = at < 0 ? at + extent : at - extent;
  }
  return positions;
}

// Returns the value that stands in the padding: none for 0; nothing, with a remark, where it cannot be.
std::optional<std::optional<ValueId>> read_padding(const NodeLowering& node) {
  if (node.has(2)) {
    if (elements_of(node.shape(2)) == 1) return node.id(2);
    node.violate("constant_value", "expected a scalar, got shape " + shape_text(node.shape(2)));
    return std::nullopt;
  }
  const double value = node.get_or<float>("value", 0);
  if (value == 0) return std::optional<ValueId>();
  const auto& format = reference::float_format(node.type(0));
  if (reference::rounded_to(format, value) == value) return node.add_stated(node.type(0), {}, {value});
  return node.limit("value", fmt::format("{} is no {}", value, name_of(node.type(0)))), std::nullopt;
}

bool emit_pad(const NodeLowering& node, Shape shape, List index) {
  const auto padding = read_padding(node);
  if (!padding) return false;
  Move move;
  std::vector<ValueId> operands{node.id(0)};
  if (std::find(index.begin(), index.end(), -1) != index.end()) {
    move.operand.reserve(index.size());
    for (std::int64_t& i : index) {
      move.operand.push_back(i >= 0 ? 0 : *padding ? 1 : -1);
      i = std::max<std::int64_t>(i, 0);
    }
    if (*padding) operands.push_back(**padding);
  }
  move.index = std::move(index);
  return node.emit(std::move(move), std::move(operands), std::move(shape));
}

bool lower_pad(const NodeLowering& node) {
  const std::string mode = node.get_or<std::string>("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && (mode != "wrap" || node.opset() < 19)) {
    return node.violate("mode", fmt::format("expected a mode of opset {}, got \"{}\"", node.opset(), mode));
  }
  const auto pads = read_pads(node);
  if (!pads || !check_pads(node, *pads, mode)) return false;
  const Shape& x = node.shape(0);
  Shape shape = x;
  for (std::size_t axis = 0; axis < x.size(); ++axis) shape[axis] += (*pads)[axis] + (*pads)[x.size() + axis];
  if (!node.claim(shape)) return false;
  std::vector<List> positions;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    positions.push_back(padded_positions(x[axis], (*pads)[axis], (*pads)[x.size() + axis], mode));
  }
  return emit_pad(node, std::move(shape), gathered(x, positions));
}

bool check_parts(const NodeLowering& node, std::size_t axis, Shape& shape) {
  for (std::size_t i = 1; i < node.inputs(); ++i) {
    Shape part = node.shape(i);
    if (part.size() == shape.size()) {
      shape[axis] += part[axis];
      part[axis] = shape[axis];
    }
    if (part != shape) {
      return node.violate(fmt::format("inputs[{}]", i),
                          "expected the shape of inputs[0] except along the axis, got " + shape_text(node.shape(i)));
    }
  }
  return true;
}

bool lower_concat(const NodeLowering& node) {
  const auto* stated = node.get<std::int64_t>("axis");
  if (stated == nullptr) return node.signature("axis", "is required");
  Shape shape = node.shape(0);
  const auto axis = node.axis(*stated, shape.size(), "axis");
  if (!axis || !check_parts(node, *axis, shape)) return false;
  const auto elements = node.claim(shape);
  if (!elements) return false;
  const std::int64_t inner = strides_of(shape)[*axis];
  const std::int64_t outer = elements_of(Shape(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(*axis)));
  Move move;
  move.operand.reserve(*elements);
  move.index.reserve(*elements);
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < node.inputs(); ++i) operands.push_back(node.id(i));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < node.inputs(); ++i) {
      const std::int64_t length = node.shape(i)[*axis] * inner;
      move.operand.insert(move.operand.end(), static_cast<std::size_t>(length), static_cast<std::int32_t>(i));
      for (std::int64_t at = o * length; at < (o + 1) * length; ++at) move.index.push_back(at);
    }
  }
  return node.emit(std::move(move), std::move(operands), std::move(shape));
}

// The lengths of the parts.
std::optional<List> read_split(const NodeLowering& node, std::int64_t extent) {
  const auto outputs = static_cast<std::int64_t>(node.node().outputs.size());
  const auto stated = node.attribute_or_input("split", 1);
  if (!stated) return std::nullopt;
  const auto* count = node.get<std::int64_t>("num_outputs");
  if (*stated) {
    const List& parts = **stated;
    std::int64_t sum = 0;
    const bool is_right = static_cast<std::int64_t>(parts.size()) == outputs &&
                          std::all_of(parts.begin(), parts.end(), [&](std::int64_t part) {
                            sum += std::clamp<std::int64_t>(part, 0, extent + 1);
                            return part >= 0;
                          });
    if (is_right && sum == extent && count == nullptr) return parts;
    node.violate("split", fmt::format("expected {} sizes with the sum {}, and no num_outputs", outputs, extent));
    return std::nullopt;
  }
  if (node.opset() < 18) {
    if (extent % outputs == 0) return List(node.node().outputs.size(), extent / outputs);
    return node.violate("split",
                        fmt::format("expected split, since {} elements have no {} equal parts", extent, outputs)),
           std::nullopt;
  }
  if (count == nullptr)
    return node.violate("num_outputs", "expected either num_outputs or split, got neither"), std::nullopt;
  if (*count != outputs) {
    return node.violate("num_outputs", fmt::format("expected {}, the number of outputs, got {}", outputs, *count)),
           std::nullopt;
  }
  const std::int64_t chunk = (extent + outputs - 1) / outputs;
  if (chunk * (outputs - 1) > extent) {
    return node.limit("num_outputs", fmt::format("{} parts of {} elements are not judged", outputs, extent)),
           std::nullopt;
  }
  List parts(node.node().outputs.size(), chunk);
  parts.back() = extent - chunk * (outputs - 1);
  return parts;
}

bool lower_split(const NodeLowering& node) {
  const Shape& x = node.shape(0);
  const auto axis = node.axis(node.get_or<std::int64_t>("axis", 0), x.size(), "axis");
  if (!axis) return false;
  const auto parts = read_split(node, x[*axis]);
  if (!parts) return false;
  const List strides = strides_of(x);
  std::int64_t begin = 0;
  for (std::size_t output = 0; output < parts->size(); ++output) {
    Shape shape = x;
    shape[*axis] = (*parts)[output];
    if (!node.claim(shape)) return false;
    List index = strided(shape, strides, begin * strides[*axis]);
    if (!node.emit_move(std::move(shape), std::move(index), output)) return false;
    begin += (*parts)[output];
  }
  return true;
}

bool lower_gather(const NodeLowering& node) {
  const Shape& x = node.shape(0);
  const Shape& chosen = node.shape(1);
  const auto axis = node.axis(node.get_or<std::int64_t>("axis", 0), x.size(), "axis");
  if (!axis) return false;
  auto indices = node.integers(1, "indices", true);
  if (!indices) return false;
  for (std::int64_t& index : *indices) {
    if (index < -x[*axis] || index >= x[*axis]) {
      return node.violate("indices", fmt::format("expected indices of {} elements, got {}", x[*axis], index));
    }
    if (index < 0 && node.opset() < 11) node.allow("indices", "negative before opset 11");
    if (index < 0) index += x[*axis];
  }
  const auto at = x.begin() + static_cast<std::ptrdiff_t>(*axis);
  Shape shape(x.begin(), at);
  shape.insert(shape.end(), chosen.begin(), chosen.end());
  shape.insert(shape.end(), at + 1, x.end());
  if (!node.claim(shape)) return false;
  std::vector<List> positions;
  for (std::size_t i = 0; i < x.size(); ++i) positions.push_back(i == *axis ? *indices : counted(x[i]));
  return node.emit_move(std::move(shape), gathered(x, positions));
}

bool lower_expand(const NodeLowering& node) {
  const auto wanted = node.attribute_or_input("shape", 1);
  if (!wanted) return false;
  const Shape& x = node.shape(0);
  const bool is_shape =
      std::all_of((*wanted)->begin(), (*wanted)->end(), [](std::int64_t extent) { return extent >= 0; });
  auto shape = is_shape ? broadcast_shape(x, **wanted) : std::nullopt;
  if (!shape) {
    return node.violate("shape", fmt::format("{} does not broadcast to {}", shape_text(x), shape_text(**wanted)));
  }
  if (!node.claim(*shape)) return false;
  List index = broadcast_index(x, *shape);
  return node.emit_move(std::move(*shape), std::move(index));
}

struct Blocks {
  std::int64_t size;
  bool is_crd;
};

std::optional<Blocks> read_blocks(const NodeLowering& node) {
  const auto* size = node.get<std::int64_t>("blocksize");
  const std::string mode = node.get_or<std::string>("mode", "DCR");
  if (size == nullptr) return node.signature("blocksize", "is required"), std::nullopt;
  if (mode != "DCR" && mode != "CRD") {
    return node.violate("mode", fmt::format("expected DCR or CRD, got \"{}\"", mode)), std::nullopt;
  }
  if (node.shape(0).size() != 4) {
    return node.violate("input", "expected rank 4, got shape " + shape_text(node.shape(0))), std::nullopt;
  }
  if (*size >= 1 && *size <= kMaxGraphElements) return Blocks{*size, mode == "CRD"};
  return node.violate("blocksize", fmt::format("expected 1 to {}, got {}", kMaxGraphElements, *size)), std::nullopt;
}

bool lower_depth_to_space(const NodeLowering& node) {
  const auto blocks = read_blocks(node);
  if (!blocks) return false;
  const Shape& x = node.shape(0);
  const std::int64_t b = blocks->size;
  if (x[1] % (b * b) != 0) {
    return node.violate("blocksize",
                        fmt::format("expected a size whose square divides the {} channels, got {}", x[1], b));
  }
  const std::int64_t depth = x[1] / (b * b);
  Shape shape{x[0], depth, x[2] * b, x[3] * b};
  if (!node.claim(shape)) return false;
  List index = blocks->is_crd ? permuted({x[0], depth, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3})
                              : permuted({x[0], b, b, depth, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
  return node.emit_move(std::move(shape), std::move(index));
}

bool lower_space_to_depth(const NodeLowering& node) {
  const auto blocks = read_blocks(node);
  if (!blocks) return false;
  const Shape& x = node.shape(0);
  const std::int64_t b = blocks->size;
  if (x[2] % b != 0 || x[3] % b != 0) {
    return node.violate("blocksize",
                        fmt::format("expected a divisor of height {} and width {}, got {}", x[2], x[3], b));
  }
  Shape shape{x[0], saturating_product(x[1], b * b), x[2] / b, x[3] / b};
  if (!node.claim(shape)) return false;
  const Shape split{x[0], x[1], x[2] / b, b, x[3] / b, b};
  List index = blocks->is_crd ? permuted(split, {0, 1, 3, 5, 2, 4}) : permuted(split, {0, 3, 5, 1, 2, 4});
  return node.emit_move(std::move(shape), std::move(index));
}

using namespace node_types;

constexpr AttributeSignature kPerm[] = {{"perm", kIntsAttribute}};
constexpr AttributeSignature kMovementAxis[] = {{"axis", kIntAttribute}};
constexpr AttributeSignature kPad2[] = {
    {"mode", kStringAttribute}, {"pads", kIntsAttribute}, {"value", kFloatAttribute}};
constexpr AttributeSignature kSplit2[] = {{"axis", kIntAttribute}, {"split", kIntsAttribute}};
constexpr AttributeSignature kSplit18[] = {{"axis", kIntAttribute}, {"num_outputs", kIntAttribute}};
constexpr AttributeSignature kBlocks[] = {{"blocksize", kIntAttribute}, {"mode", kStringAttribute}};

using Attributes = std::span<const AttributeSignature>;

constexpr NodeOperator movement(std::string_view name, std::int64_t since, TypeSet types, std::size_t least_inputs,
                                std::size_t most_inputs, Attributes attributes, bool (*lower)(const NodeLowering&),
                                std::uint32_t like_first = 1, std::size_t most_outputs = 1) {
  NodeOperator result = node_operator(name, since, types, least_inputs, most_inputs, attributes, lower);
  result.like_first = like_first;
  result.most_outputs = most_outputs;
  return result;
}
constexpr NodeOperator transpose(std::int64_t since) {
  return movement("Transpose", since, grown(kAll, since), 1, 1, kPerm, lower_transpose);
}
constexpr NodeOperator pad(std::int64_t since, TypeSet types, std::size_t inputs) {
  return movement("Pad", since, types, 2, inputs, Attributes(kPad2).first(1), lower_pad, 5);
}

constexpr std::uint32_t kEvery = 0xFFFFFFFF;

constexpr NodeOperator kMovementNodes[] = {
    transpose(1),
    transpose(13),
    transpose(21),
    transpose(23),
    transpose(24),
    transpose(25),
    movement("Slice", 10, kAll, 3, 5, {}, lower_slice),
    movement("Slice", 13, kAll13, 3, 5, {}, lower_slice),
    movement("Pad", 2, kFloats, 1, 1, kPad2, lower_pad),
    pad(11, kNumbers, 3),
    pad(13, kAll13, 3),
    pad(18, kAll13, 4),
    pad(21, grown(kAll, 21), 4),
    pad(23, grown(kAll, 23), 4),
    pad(24, grown(kAll, 24), 4),
    pad(25, grown(kAll, 25), 4),
    movement("Concat", 4, kAll, 1, kAnyNumber, kMovementAxis, lower_concat, kEvery),
    movement("Concat", 13, kAll13, 1, kAnyNumber, kMovementAxis, lower_concat, kEvery),
    movement("Split", 2, kAll, 1, 1, kSplit2, lower_split, 1, kAnyNumber),
    movement("Split", 13, kAll13, 1, 2, kMovementAxis, lower_split, 1, kAnyNumber),
    movement("Split", 18, kAll13, 1, 2, kSplit18, lower_split, 1, kAnyNumber),
    movement("Gather", 1, kAll, 2, 2, kMovementAxis, lower_gather),
    movement("Gather", 13, kAll13, 2, 2, kMovementAxis, lower_gather),
    movement("Expand", 8, kAll, 2, 2, {}, lower_expand),
    movement("Expand", 13, kAll13, 2, 2, {}, lower_expand),
    movement("DepthToSpace", 1, kAll, 1, 1, Attributes(kBlocks).first(1), lower_depth_to_space),
    movement("DepthToSpace", 11, kAll, 1, 1, kBlocks, lower_depth_to_space),
    movement("DepthToSpace", 13, kAll13, 1, 1, kBlocks, lower_depth_to_space),
    movement("SpaceToDepth", 1, kAll, 1, 1, Attributes(kBlocks).first(1), lower_space_to_depth),
    movement("SpaceToDepth", 13, kAll13, 1, 1, Attributes(kBlocks).first(1), lower_space_to_depth),
    movement("SpaceToDepth", 28, kAll13, 1, 1, kBlocks, lower_space_to_depth),
};

}  // namespace

std::span<const NodeOperator> movement_nodes() {
  return kMovementNodes;
}

}  // namespace qconform::lowering
