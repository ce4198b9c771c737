#include "harness/operators/graph/sweep_units.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/model/sweep/model.h"
#include "harness/model/text.h"
#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/unit.h"
#include "reference/numerics/floats.h"

namespace qconform::unit {

UnitView::UnitView(const Case& test_case) : case_(test_case) {
  reference::Contract contract;
  if (auto lowered = lower_graph(test_case, contract)) lowered_ = std::move(*lowered);
  quantize = producer(test_case.outputs[0]);
  find_sum(quantize->inputs[0]);
  find_operands();
}

const Node* UnitView::producer(const std::string& value) const {
  for (const Node& node : case_.nodes) {
    if (std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end()) return &node;
  }
  return nullptr;
}

const Tensor* UnitView::tensor(const std::string& name) const {
  const auto found = std::find(case_.input_names.begin(), case_.input_names.end(), name);
  return found == case_.input_names.end() ? nullptr
                                          : &*case_.inputs[static_cast<std::size_t>(found - case_.input_names.begin())];
}

bool UnitView::is_fed(const std::string& name) const {
  const auto found = std::find(case_.input_names.begin(), case_.input_names.end(), name);
  return found < case_.input_names.begin() + static_cast<std::ptrdiff_t>(case_.fed_inputs);
}

std::size_t UnitView::id(const std::string& value) const {
  const auto found = std::find(lowered_.names.begin(), lowered_.names.end(), value);
  return static_cast<std::size_t>(found - lowered_.names.begin());
}

const std::vector<std::int64_t>& UnitView::shape(const std::string& value) const {
  return lowered_.program.values[id(value)].shape;
}

ElementType UnitView::type(const std::string& value) const {
  return lowered_.types[id(value)];
}

// An activation behind a dequantized value is the compute node itself.
void UnitView::find_sum(const std::string& real) {
  compute = producer(real);
  const bool is_activation =
      compute->op_type == "Relu" || compute->op_type == "Clip" || compute->op_type == "LeakyRelu";
  const Node* before = producer(compute->inputs[0]);
  if (is_activation && before->op_type != "DequantizeLinear") {
    activation = compute;
    compute = before;
  }
  before = producer(compute->inputs[0]);
  if (compute->op_type == "Add" && before->op_type == "MatMul") {
    bias = compute->inputs[1];
    compute = before;
  }
}

void UnitView::find_operands() {
  x = producer(compute->inputs[0]);
  if (x->op_type != "DequantizeLinear") {
    path = x;
    x = producer(path->inputs[0]);
  } else if (const Node* again = producer(x->inputs[0])) {
    path = x;
    x = producer(again->inputs[0]);
  }
  if (compute->inputs.size() < 2) return;
  if (compute->inputs.size() > 2 && compute->op_type != "Slice" && compute->op_type != "Resize") {
    bias = compute->inputs[2];
  }
  other = producer(compute->inputs[1]);
  if (other != nullptr && other->op_type == "Transpose" && other != path) other = producer(other->inputs[0]);
}

double UnitView::first_scale(const Node& node) const {
  return number_at(scale(node), 0);
}

ZeroPoint UnitView::zero_point(const Node& node) const {
  if (node.attribute("output_dtype") != nullptr) return kByType;
  if (node.inputs.size() < 3) return kOmitted;
  const Tensor& zero_point = *tensor(node.inputs[2]);
  if (!is_integer(zero_point.type)) return kMiddle;
  return static_cast<ZeroPoint>(sweep::zero_point_class(zero_point.type, integer_at(zero_point, 0)));
}

ParameterLayout UnitView::layout(const Node& node) const {
  if (scale(node).is_scalar()) return kPerTensor;
  if (node.attribute("block_size") != nullptr) return kBlocks;
  const auto value = node.get_or<std::int64_t>("axis", 1);
  return value == 0 ? kAxis0 : value == 1 ? kAxis1 : kLastAxis;
}

Alike UnitView::alike(const Node* node) const {
  if (node == nullptr || node == x || node == path) return kDiffer;
  if (node->inputs[1] == x->inputs[1]) return kSameInitializers;
  const bool is_one_each = scale(*node).is_scalar() && scale(*x).is_scalar();
  return is_one_each && first_scale(*node) == first_scale(*x) ? kAlike : kDiffer;
}

Activation activation_of(const UnitView& view) {
  if (view.activation == nullptr) return kNone;
  const Node& node = *view.activation;
  if (node.op_type == "Relu") return kReluBehind;
  if (node.op_type == "LeakyRelu") return kLeakyReluBehind;
  const bool has_inputs = node.inputs.size() > 2;
  const double lo = has_inputs ? number_at(*view.tensor(node.inputs[1]), 0)
                               : static_cast<double>(std::get<float>(node.attribute("min")->value));
  const double hi = has_inputs ? number_at(*view.tensor(node.inputs[2]), 0)
                               : static_cast<double>(std::get<float>(node.attribute("max")->value));
  if (lo > hi) return kReversedClip;
  const Node& q = *view.quantize;
  const UnitExtent room = extent_of(view.type(q.outputs[0]));
  const bool has_zero_point = q.inputs.size() > 2 && is_integer(view.tensor(q.inputs[2])->type);
  const auto zero_point = has_zero_point ? static_cast<double>(integer_at(*view.tensor(q.inputs[2]), 0)) : 0.0;
  const double step = view.first_scale(q);
  const auto is_at = [&](double bound, double end) { return std::fabs(bound / step + zero_point - end) < 1.5; };
  return is_at(lo, room.lo) && is_at(hi, room.hi) ? kClipAtEnds : kClipBehind;
}

Bias bias_of(const UnitView& view) {
  if (view.bias.empty()) return kNoBias;
  const Node* node = view.producer(view.bias);
  if (node == nullptr) return kFloatBias;
  const Tensor& values = *view.tensor(node->inputs[0]);
  constexpr std::int64_t kLarge = std::int64_t{1} << 30;
  if (std::abs(integer_at(values, 0)) >= kLarge) return kLargeBias;
  const double product = view.first_scale(*view.x) * view.first_scale(*view.other);
  const auto& format = reference::float_format(view.scale(*node).type);
  return view.first_scale(*node) == reference::rounded_to(format, product) ? kExactBias : kOtherBiasScale;
}

Scales scales_of(const UnitView& view) {
  const double scale = view.first_scale(*view.x);
  if (scale < 0x1p-14) return kTiny;
  if (scale > 0x1p6) return kHuge;
  return reference::is_power_of_two(scale) ? kPowersOfTwo : kOrdinary;
}

InputPath path_of(const UnitView& view) {
  if (view.path == nullptr) return kDirect;
  static constexpr std::array<std::string_view, 8> kPaths{"",    "Transpose", "Reshape",  "Slice",
                                                          "Pad", "Squeeze",   "Identity", "DequantizeLinear"};
  if (view.path->op_type == "Unsqueeze") return kSqueezed;
  return static_cast<InputPath>(std::find(kPaths.begin(), kPaths.end(), view.path->op_type) - kPaths.begin());
}

namespace {

constexpr std::array<std::string_view, kComputes> kNames{"Conv",
                                                         "Conv depthwise",
                                                         "ConvTranspose",
                                                         "Gemm",
                                                         "MatMul",
                                                         "Add",
                                                         "Sub",
                                                         "Mul",
                                                         "Div",
                                                         "Max",
                                                         "Min",
                                                         "Concat",
                                                         "AveragePool",
                                                         "GlobalAveragePool",
                                                         "ReduceMean",
                                                         "ReduceSum",
                                                         "Softmax",
                                                         "Sigmoid",
                                                         "Tanh",
                                                         "HardSigmoid",
                                                         "Erf",
                                                         "LayerNormalization",
                                                         "InstanceNormalization",
                                                         "RMSNormalization",
                                                         "Gelu",
                                                         "Resize linear",
                                                         "Swish",
                                                         "PRelu",
                                                         "LeakyRelu",
                                                         "MaxPool",
                                                         "ReduceMax",
                                                         "Relu",
                                                         "Clip",
                                                         "Neg",
                                                         "Abs",
                                                         "Resize nearest",
                                                         "Transpose",
                                                         "Reshape",
                                                         "Flatten",
                                                         "Squeeze",
                                                         "Unsqueeze",
                                                         "Slice",
                                                         "Pad",
                                                         "Split",
                                                         "Expand",
                                                         "Gather",
                                                         "Identity",
                                                         "DepthToSpace"};

}  // namespace

std::string_view name_of(Compute compute) {
  return kNames[compute];
}

std::optional<Compute> compute_of(const Node& node) {
  if (node.op_type == "Conv" && node.attribute("group") != nullptr) return kDepthwise;
  if (node.op_type == "Resize") {
    const Attribute* mode = node.attribute("mode");
    return mode != nullptr && std::get<std::string>(mode->value) == "linear" ? kLinearResize : kNearestResize;
  }
  for (std::uint8_t i = 0; i < kComputes; ++i) {
    if (kNames[i] == node.op_type) return static_cast<Compute>(i);
  }
  return std::nullopt;
}

namespace {

using enum ElementType;
using sweep::Constraint;
using sweep::Row;

// "middle" stands for the only zero point of a float type.
bool has_zero_point(std::uint8_t type, std::uint8_t zero_point) {
  return is_integer(kTypes[type]) || zero_point == kMiddle || zero_point >= kOmitted;
}

}  // namespace

std::uint8_t opset_of(ElementType type) {
  switch (type) {
    case uint16:
    case int16:
    case uint4:
    case int4: return k21;
    case float16:
    case bfloat16:
    case float8e4m3fn: return k19;
    default: return k10;
  }
}

std::vector<std::string> names_of(std::span<const ElementType> types) {
  std::vector<std::string> names;
  for (const ElementType type : types) names.push_back(qconform::name_of(type));
  return names;
}

std::vector<std::string> texts_of(std::span<const std::int64_t> numbers) {
  std::vector<std::string> texts;
  for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

std::vector<Column> common_columns(Compute first, Compute behind) {
  std::vector<std::string> computes;
  for (std::uint8_t i = first; i < behind; ++i) computes.emplace_back(name_of(static_cast<Compute>(i)));
  return {
      // Set and read relative to the model's first: unit_of(), classify().
      {{"operator", computes, 0, sweep::ParameterRole::core}, nullptr, nullptr},
      {{"opset", texts_of(kOpsets), k21},
       [](Unit& u, std::uint8_t c) { u.opset = kOpsets[c]; },
       [](const UnitView& v) { return class_of(kOpsets, v.compute->opset_version); }},
      {{"x type", names_of(kTypes), 0, sweep::ParameterRole::core},
       [](Unit& u, std::uint8_t c) { u.x.type = kTypes[c]; },
       [](const UnitView& v) { return class_of(kTypes, v.type(v.x->inputs[0])); }},
      {{"y type", names_of(kTypes), 0, sweep::ParameterRole::core},
       [](Unit& u, std::uint8_t c) { u.y.type = kTypes[c]; },
       [](const UnitView& v) { return class_of(kTypes, v.type(v.quantize->outputs[0])); }},
      {{"computed in", names_of(kReals), 0, sweep::ParameterRole::core},
       [](Unit& u, std::uint8_t c) { u.real = kReals[c]; },
       [](const UnitView& v) { return class_of(kReals, v.scale(*v.x).type); }},
      {{"x zero point", {"low end", "middle", "high end", "other", "omitted"}, kMiddle},
       [](Unit& u, std::uint8_t c) { u.x.zero_point = static_cast<ZeroPoint>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.zero_point(*v.x); }},
      {{"y zero point", {"low end", "middle", "high end", "other", "omitted", "omitted beside output_dtype"}, kMiddle},
       [](Unit& u, std::uint8_t c) { u.y.zero_point = static_cast<ZeroPoint>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.zero_point(*v.quantize); }},
      {{"scales", {"powers of two", "ordinary", "tiny", "huge"}, kOrdinary},
       [](Unit& u, std::uint8_t c) { u.scales = static_cast<Scales>(c); },
       [](const UnitView& v) -> std::uint8_t { return scales_of(v); }},
      {{"also an output", {"nothing", "y dequantized", "the value before y"}},
       [](Unit& u, std::uint8_t c) { u.consumers = static_cast<Consumers>(c); },
       [](const UnitView& v) -> std::uint8_t {
         if (v.test_case().outputs.size() < 2) return kOne;
         const std::string& op_type = v.producer(v.test_case().outputs[1])->op_type;
         return op_type == "QuantizeLinear" ? kOne : op_type == "DequantizeLinear" ? kDequantizedToo : kRealToo;
       }},
      {{"x parameters", {"per tensor", "axis 0", "axis 1", "axis -1", "blocks"}},
       [](Unit& u, std::uint8_t c) { u.x.layout = static_cast<ParameterLayout>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.layout(*v.x); }},
      {{"y parameters", {"per tensor", "axis 0", "axis 1", "axis -1", "blocks"}},
       [](Unit& u, std::uint8_t c) { u.y.layout = static_cast<ParameterLayout>(c); },
       [](const UnitView& v) -> std::uint8_t { return v.layout(*v.quantize); }},
  };
}

std::vector<Column> narrow_columns(Compute first, Compute behind) {
  std::vector<Column> list = common_columns(first, behind);
  list[kReal].parameter.classes.pop_back();
  list[kXLayout] = {{"x parameters", {"per tensor", "axis 1"}},
                    [](Unit& u, std::uint8_t c) { u.x.layout = c == 0 ? kPerTensor : kAxis1; },
                    [](const UnitView& v) -> std::uint8_t { return v.layout(*v.x) == kPerTensor ? 0 : 1; }};
  list[kYLayout] = {{"y parameters", {"per tensor", "axis 1"}},
                    [](Unit& u, std::uint8_t c) { u.y.layout = c == 0 ? kPerTensor : kAxis1; },
                    [](const UnitView& v) -> std::uint8_t { return v.layout(*v.quantize) == kPerTensor ? 0 : 1; }};
  return list;
}

std::vector<Constraint> common_constraints() {
  return {
      {"the version knows the type of x",
       {kOpset, kXType},
       [](const Row& r) { return r[kOpset] >= opset_of(kTypes[r[kXType]]); }},
      {"the version knows the type of y",
       {kOpset, kYType},
       [](const Row& r) { return r[kOpset] >= opset_of(kTypes[r[kYType]]); }},
      {"the version knows the type of the scales",
       {kOpset, kReal},
       [](const Row& r) { return r[kOpset] >= opset_of(kReals[r[kReal]]); }},
      {"float x has a zero point of 0 or none",
       {kXType, kXZeroPoint},
       [](const Row& r) { return has_zero_point(r[kXType], r[kXZeroPoint]); }},
      {"float y has a zero point of 0 or none",
       {kYType, kYZeroPoint},
       [](const Row& r) { return has_zero_point(r[kYType], r[kYZeroPoint]); }},
      {"without a zero point and output_dtype, y is uint8",
       {kYType, kYZeroPoint},
       [](const Row& r) { return r[kYZeroPoint] != kOmitted || kTypes[r[kYType]] == uint8; }},
      {"output_dtype begins with version 21",
       {kOpset, kYZeroPoint},
       [](const Row& r) { return r[kYZeroPoint] != kByType || r[kOpset] >= k21; }},
      {"parameters along an axis begin with version 13, blocks with 21",
       {kOpset, kXLayout, kYLayout},
       [](const Row& r) {
         const bool has_blocks = r[kXLayout] == kBlocks || r[kYLayout] == kBlocks;
         const bool has_axis = r[kXLayout] != kPerTensor || r[kYLayout] != kPerTensor;
         return r[kOpset] >= (has_blocks ? k21 : has_axis ? k13 : k10);
       }},
      {"16 bits overflow float16, and bfloat16 has no use for them",
       {kReal, kXType, kYType},
       [](const Row& r) { return r[kReal] == kFloat32 || !(is_16_bit(r[kXType]) || is_16_bit(r[kYType])); }},
      {"tiny and huge scales are float",
       {kReal, kScalesPosition},
       [](const Row& r) { return r[kReal] == kFloat32 || r[kScalesPosition] <= kOrdinary; }},
  };
}

sweep::Model model_of(std::string name, const std::vector<Column>& columns, std::vector<Constraint> constraints) {
  sweep::Model model{std::move(name), {}, std::move(constraints)};
  for (const Column& column : columns) model.parameters.push_back(column.parameter);
  return model;
}

Unit unit_of(const std::vector<Column>& columns, Compute first, const Row& row) {
  Unit unit;
  unit.compute = static_cast<Compute>(first + row[kComputePosition]);
  for (std::size_t p = 1; p < row.size(); ++p) columns[p].set(unit, row[p]);
  return unit;
}

Case realise(const Unit& unit, std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed, index);
  return build(unit, rng);
}

Row classify(const std::vector<Column>& columns, Compute first, const Case& test_case) {
  const UnitView view(test_case);
  Row row(columns.size(), 0);
  row[kComputePosition] = static_cast<std::uint8_t>(compute_of(*view.compute).value_or(kComputes) - first);
  for (std::size_t p = 1; p < row.size(); ++p) row[p] = columns[p].read(view);
  return row;
}

std::span<const sweep::SweptModel> swept_units() {
  static const std::array all{swept_products(), swept_pairs(), swept_unary()};
  return all;
}

}  // namespace qconform::unit
