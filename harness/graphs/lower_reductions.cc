// Reductions, ArgMax and Softmax.
#include <fmt/format.h>

#include <algorithm>

#include "harness/graphs/node_lowering.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;

enum class ReductionKind { sum, mean, max, min };

struct ReducedAxes {
  std::vector<bool> reduced;
  Shape shape;              // the output's shape
  std::int64_t length = 1;  // elements that become one
};

std::optional<ReducedAxes> reduced_axes(const NodeLowering& node, const std::vector<std::int64_t>& stated) {
  const Shape& x = node.shape(0);
  const auto axes = node.axes(stated, x.size(), "axes");
  if (!axes) return std::nullopt;
  const bool keeps = node.get_or<std::int64_t>("keepdims", 1) != 0;
  ReducedAxes result{std::vector<bool>(x.size(), axes->empty()), {}, 1};
  for (const std::size_t axis : *axes) result.reduced[axis] = true;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    if (result.reduced[axis]) result.length *= x[axis];
    if (!result.reduced[axis] || keeps) result.shape.push_back(result.reduced[axis] ? 1 : x[axis]);
  }
  return result;
}

ListedTaps taps_of(const Shape& x, const ReducedAxes& axes) {
  const std::vector<std::int64_t> strides = strides_of(x);
  Shape kept = x;
  Shape inside = x;
  for (std::size_t axis = 0; axis < x.size(); ++axis) (axes.reduced[axis] ? kept : inside)[axis] = 1;
  const std::vector<std::int64_t> first = strided(kept, strides);
  const std::vector<std::int64_t> offsets = strided(inside, strides);
  ListedTaps taps;
  taps.begin = counted(static_cast<std::int64_t>(first.size()) + 1, 0, axes.length);
  taps.index.reserve(first.size() * offsets.size());
  for (const std::int64_t begin : first) {
    for (const std::int64_t offset : offsets) taps.index.push_back(begin + offset);
  }
  return taps;
}

bool emit_reduction(const NodeLowering& node, ReductionKind kind, ReducedAxes axes) {
  if (kind == ReductionKind::max || kind == ReductionKind::min) {
    return node.emit(Extreme{.taps = taps_of(node.shape(0), axes), .smallest = kind == ReductionKind::min},
                     {node.id(0)}, std::move(axes.shape));
  }
  WeightedSum sum{.taps = taps_of(node.shape(0), axes), .has_factor = false};
  if (kind == ReductionKind::mean) {
    sum.divisor.assign(static_cast<std::size_t>(elements_of(axes.shape)), static_cast<std::int32_t>(axes.length));
    node.multiplies_by(static_cast<double>(axes.length));
  }
  return node.emit(std::move(sum), {node.id(0)}, std::move(axes.shape));
}

bool lower_reduction(const NodeLowering& node, ReductionKind kind) {
  const auto stated = node.attribute_or_input("axes", 1);
  if (!stated) return false;
  const bool has_none = !*stated || (*stated)->empty();
  if (has_none && node.get_or<std::int64_t>("noop_with_empty_axes", 0) != 0) return node.emit_same(node.shape(0));
  auto axes = reduced_axes(node, has_none ? std::vector<std::int64_t>{} : **stated);
  if (!axes || !node.claim(axes->shape) || !node.claim_taps(elements_of(node.shape(0)))) return false;
  if (axes->length == 0 && kind != ReductionKind::sum) return node.limit("axes", "no element is left to reduce");
  return emit_reduction(node, kind, std::move(*axes));
}

// The tensor seen as [outer, length, inner].
struct AxisRow {
  std::size_t axis;
  std::int64_t length;
  std::int64_t inner;
};

std::optional<AxisRow> row_of(const NodeLowering& node, std::int64_t absent) {
  const Shape& x = node.shape(0);
  const auto axis = node.axis(node.get_or<std::int64_t>("axis", absent), x.size(), "axis");
  if (!axis) return std::nullopt;
  return AxisRow{*axis, x[*axis], strides_of(x)[*axis]};
}

bool lower_arg(const NodeLowering& node, bool smallest) {
  const auto row = row_of(node, 0);
  if (!row) return false;
  if (row->length == 0) return node.limit("axis", "the dimension is empty");
  Shape shape = node.shape(0);
  if (node.get_or<std::int64_t>("keepdims", 1) != 0) {
    shape[row->axis] = 1;
  } else {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(row->axis));
  }
  if (!node.claim(shape)) return false;
  const bool last = node.get_or<std::int64_t>("select_last_index", 0) != 0;
  return node.emit(ArgMax{row->length, row->inner, smallest, last}, {node.id(0)}, std::move(shape), ElementType::int64);
}

// Values, and where they stand.
bool lower_topk(const NodeLowering& node) {
  const auto row = row_of(node, -1);
  if (!row) return false;
  const auto count = node.integers(1, "K");
  if (!count) return false;
  if (count->size() != 1 || count->front() < 0 || count->front() > row->length) {
    return node.violate(
        "K", fmt::format("expected one number from 0 to {}, got [{}]", row->length, fmt::join(*count, ", ")));
  }
  if (count->front() == 0) return node.limit("K", "0 is not judged");
  Shape shape = node.shape(0);
  shape[row->axis] = count->front();
  if (!node.claim(shape) || !node.claim(shape)) return false;
  TopK top{.length = row->length, .inner = row->inner, .k = count->front()};
  top.smallest = node.get_or<std::int64_t>("largest", 1) == 0;
  top.sorted = node.get_or<std::int64_t>("sorted", 1) != 0;
  if (!node.emit(top, {node.id(0)}, shape)) return false;
  top.indices = true;
  return node.emit(top, {node.id(0)}, shape, ElementType::int64, 1);
}

// Before opset 13 all axes from the given one on are one row.
bool lower_softmax(const NodeLowering& node) {
  auto row = row_of(node, node.opset() < 13 ? 1 : -1);
  if (!row) return false;
  if (node.opset() < 13) *row = {row->axis, row->length * row->inner, 1};
  node.rounds();
  if (!node.claim(node.shape(0))) return false;
  return node.emit(Softmax{row->length, row->inner}, {node.id(0)}, node.shape(0));
}

using namespace node_types;

constexpr AttributeSignature kReduce1[] = {{"axes", kIntsAttribute}, {"keepdims", kIntAttribute}};
constexpr AttributeSignature kReduce18[] = {{"keepdims", kIntAttribute}, {"noop_with_empty_axes", kIntAttribute}};
constexpr AttributeSignature kArg[] = {
    {"axis", kIntAttribute}, {"keepdims", kIntAttribute}, {"select_last_index", kIntAttribute}};
constexpr AttributeSignature kReductionAxis[] = {{"axis", kIntAttribute}};

constexpr TypeSet kReduced12 = kWide.with({int8, uint8});
constexpr TypeSet kReduced13 = kReduced12.with({bfloat16});

constexpr NodeOperator reduce(std::string_view name, std::int64_t since, TypeSet types, bool has_input,
                              bool (*lower)(const NodeLowering&), bool computes) {
  return {.name = name,
          .since = since,
          .least_inputs = 1,
          .most_inputs = has_input ? std::size_t{2} : std::size_t{1},
          .types = types,
          .attributes = has_input ? std::span<const AttributeSignature>(kReduce18) : kReduce1,
          .lower = lower,
          .like_first = 1,
          .computes = computes};
}
constexpr NodeOperator arg(std::string_view name, std::int64_t since, TypeSet types, std::size_t attributes,
                           bool (*lower)(const NodeLowering&)) {
  return node_operator(name, since, types, 1, 1, std::span(kArg).first(attributes), lower);
}
constexpr NodeOperator softmax(std::int64_t since, TypeSet types) {
  return {.name = "Softmax",
          .since = since,
          .least_inputs = 1,
          .most_inputs = 1,
          .types = types,
          .attributes = kReductionAxis,
          .lower = lower_softmax,
          .computes = true};
}

constexpr AttributeSignature kTopK[] = {{"axis", kIntAttribute}, {"largest", kIntAttribute}, {"sorted", kIntAttribute}};
constexpr NodeOperator topk(std::int64_t since, TypeSet types, std::size_t attributes) {
  return {.name = "TopK",
          .since = since,
          .least_inputs = 2,
          .most_inputs = 2,
          .types = types,
          .attributes = std::span(kTopK).first(attributes),
          .lower = lower_topk,
          .like_first = 1,
          .most_outputs = 2};
}

constexpr auto kSum = [](const NodeLowering& node) { return lower_reduction(node, ReductionKind::sum); };
constexpr auto kMean = [](const NodeLowering& node) { return lower_reduction(node, ReductionKind::mean); };
constexpr auto kMax = [](const NodeLowering& node) { return lower_reduction(node, ReductionKind::max); };
constexpr auto kMin = [](const NodeLowering& node) { return lower_reduction(node, ReductionKind::min); };
constexpr auto kLargest = [](const NodeLowering& node) { return lower_arg(node, false); };
constexpr auto kSmallest = [](const NodeLowering& node) { return lower_arg(node, true); };

constexpr NodeOperator kReductionNodes[] = {
    reduce("ReduceSum", 1, kWide, false, kSum, true),
    reduce("ReduceSum", 13, kWide13, true, kSum, true),
    reduce("ReduceMean", 1, kWide, false, kMean, true),
    reduce("ReduceMean", 13, kWide13, false, kMean, true),
    reduce("ReduceMean", 18, kWide13, true, kMean, true),
    reduce("ReduceMax", 1, kWide, false, kMax, false),
    reduce("ReduceMax", 12, kReduced12, false, kMax, false),
    reduce("ReduceMax", 13, kReduced13, false, kMax, false),
    reduce("ReduceMax", 18, kReduced13, true, kMax, false),
    reduce("ReduceMax", 20, kReduced13.with({boolean}), true, kMax, false),
    reduce("ReduceMin", 1, kWide, false, kMin, false),
    reduce("ReduceMin", 12, kReduced12, false, kMin, false),
    reduce("ReduceMin", 13, kReduced13, false, kMin, false),
    reduce("ReduceMin", 18, kReduced13, true, kMin, false),
    reduce("ReduceMin", 20, kReduced13.with({boolean}), true, kMin, false),
    arg("ArgMax", 1, kNumbers, 2, kLargest),
    arg("ArgMax", 12, kNumbers, 3, kLargest),
    arg("ArgMax", 13, kNumbers13, 3, kLargest),
    arg("ArgMin", 1, kNumbers, 2, kSmallest),
    arg("ArgMin", 12, kNumbers, 3, kSmallest),
    arg("ArgMin", 13, kNumbers13, 3, kSmallest),
    topk(10, kFloats, 1),
    topk(11, kNumbers, 3),
    topk(24, kNumbers13, 3),
    softmax(1, kFloats),
    softmax(13, kFloats13),
};

}  // namespace

std::span<const NodeOperator> reduction_nodes() {
  return kReductionNodes;
}

}  // namespace qconform::lowering
