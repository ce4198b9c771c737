#include "harness/graphs/node_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "harness/base/text.h"
#include "harness/core/limits.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "reference/linear_quantization/linear_quantization.h"
#include "reference/numerics/floats.h"

namespace qconform::lowering {
namespace {
using namespace reference::graph;

constexpr std::int64_t kExactInteger = std::int64_t{1} << 53;
constexpr std::string_view kInnerPrefix = "qconform.inner.";  // no value of a case begins so

bool can_be_held(ElementType type) {
  return is_known(type) && type != ElementType::string && type != ElementType::complex64 &&
         type != ElementType::complex128;
}

double element_at(const Tensor& tensor, std::int64_t index) {
  if (tensor.type != ElementType::boolean) return number_at(tensor, index);
  return tensor.bytes[static_cast<std::size_t>(index)] != std::byte{0} ? 1 : 0;
}

// A double holds every element; false of integers beyond 2^53.
bool read_elements(const Tensor& tensor, std::vector<double>& elements) {
  const std::int64_t count = tensor.elements();
  elements.resize(static_cast<std::size_t>(count));
  const bool is_wide = tensor.type == ElementType::int64 || tensor.type == ElementType::uint64;
  if (!is_wide && tensor.type != ElementType::boolean) {
    const reference::QuantizationLayout all{.outer = 1, .channels = 1, .inner = count, .block = 0};
    reference::for_each_value(all, tensor.type, tensor.bytes, [&](std::int64_t i, std::size_t, double value) {
      elements[static_cast<std::size_t>(i)] = value;
    });
    return true;
  }
  for (std::int64_t i = 0; i < count; ++i) elements[static_cast<std::size_t>(i)] = element_at(tensor, i);
  for (std::int64_t i = 0; is_wide && i < count; ++i) {
    const std::int64_t value = integer_at(tensor, i);
    if (value < -kExactInteger || value > kExactInteger || (value < 0 && tensor.type == ElementType::uint64)) {
      return false;
    }
  }
  return true;
}

bool is_moderate_power_of_two(double value) {
  return value >= 0x1p-30 && value <= 0x1p30 && reference::is_power_of_two(value);
}

}  // namespace

ProgramBuilder::ProgramBuilder(const Case& test_case, reference::Contract& contract)
    : case_(test_case), contract_(contract) {
  std::size_t outputs = 0;
  for (const Node& node : test_case.nodes) outputs += node.outputs.size();
  reserve(test_case.inputs.size() + outputs, test_case.nodes.size());
  out_.program.may_be_exact = true;
}

// Shapes are referred to while values are added. `tensors`: outputs of nodes too; beside them a node computes or states
// some: the operators that others define most.
void ProgramBuilder::reserve(std::size_t tensors, std::size_t nodes) {
  const std::size_t values = tensors + 64 * nodes;
  out_.program.values.reserve(values);
  out_.program.steps.reserve(values);
  ids_.reserve(values);
}

void ProgramBuilder::make_room() {
  constexpr std::size_t kOfOneNode = 64;
  auto& values = out_.program.values;
  if (values.capacity() - values.size() < kOfOneNode) values.reserve(2 * values.capacity() + kOfOneNode);
}

ValueId ProgramBuilder::add(std::string name, ElementType type, Shape shape) {
  out_.program.values.push_back({is_numeric(type) ? type : ElementType::undefined, std::move(shape), {}});
  out_.names.push_back(std::move(name));
  out_.types.push_back(type);
  facts_.emplace_back();
  return out_.program.values.size() - 1;
}

bool ProgramBuilder::claim(std::int64_t elements, const std::string& field) {
  if (elements >= 0 && elements <= kMaxGraphElements - elements_) {
    elements_ += elements;
    return true;
  }
  return contract_.violate("limit", field,
                           fmt::format("the values of the graph have more than {} elements", kMaxGraphElements));
}

bool ProgramBuilder::claim(const Shape& shape, const std::string& field) {
  if (shape.size() > limits::kRank) {
    return contract_.violate("limit", field, fmt::format("rank {} exceeds {}", shape.size(), limits::kRank));
  }
  // Without dimensions of 0, so that no product of some of them is large either.
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements = saturating_product(elements, std::max<std::int64_t>(extent, 1));
  return claim(elements, field);
}

bool ProgramBuilder::state(ValueId id, const Tensor& tensor, const std::string& field) {
  if (!can_be_held(tensor.type)) {
    return contract_.violate("limit", field, fmt::format("{} is not judged in graphs", name_of(tensor.type)));
  }
  if (!claim(tensor.shape, field)) return false;
  facts_[id].stated = &tensor;
  facts_[id].is_exact = read_elements(tensor, out_.program.values[id].stated);
  return true;
}

bool ProgramBuilder::read_tensors() {
  for (std::size_t i = 0; i < case_.inputs.size(); ++i) {
    if (!read_tensor(i)) return false;
  }
  return true;
}

bool ProgramBuilder::read_tensor(std::size_t input) {
  const Tensor& tensor = *case_.inputs[input];
  const ValueId id = add(case_.input_names[input], tensor.type, tensor.shape);
  ids_.emplace(case_.input_names[input], id);
  return state(id, tensor, case_.input_names[input]);
}

ProgramBuilder::Mark ProgramBuilder::mark() const {
  return {out_.program.values.size(),
          out_.program.steps.size(),
          constants_.size(),
          inner_nodes_.size(),
          contract_.implementation_defined.size(),
          elements_,
          out_.program.may_be_exact,
          out_.value_is_open};
}

void ProgramBuilder::go_back(const Mark& mark) {
  std::erase_if(ids_, [&](const auto& named) { return named.second >= mark.values; });
  out_.program.values.resize(mark.values);
  out_.program.steps.resize(mark.steps);
  out_.program.may_be_exact = mark.may_be_exact;
  out_.value_is_open = mark.value_is_open;
  std::erase_if(out_.shown, [&](const auto& one) { return one.value >= mark.values || one.by >= mark.values; });
  out_.names.resize(mark.values);
  out_.types.resize(mark.values);
  facts_.resize(mark.values);
  constants_.resize(mark.constants);
  inner_nodes_.resize(mark.inner_nodes);
  contract_.implementation_defined.resize(mark.implementation_defined);
  contract_.violation.reset();
  elements_ = mark.elements;
}

bool ProgramBuilder::name_outputs() {
  for (const std::string& name : case_.outputs) {
    const ValueId id = ids_.at(name);
    if (!facts_[id].is_exact) {
      return contract_.violate("limit", "outputs", quoted_name(name) + " has integers beyond 2^53");
    }
    out_.program.outputs.push_back(id);
    const auto& shown = case_.shown_outputs;
    if (std::find(shown.begin(), shown.end(), name) == shown.end()) out_.judged.push_back(id);
  }
  return true;
}

bool NodeLowering::remark(std::string rule, std::string_view name, std::string message) const {
  return builder_.contract_.violate(std::move(rule), field(name), std::move(message));
}

void NodeLowering::allow(std::string_view name, std::string message) const {
  builder_.contract_.allow(node_.op_type, field(name), std::move(message));
}

bool NodeLowering::absorb(reference::Contract part) const {
  for (reference::Remark& remark : part.implementation_defined) {
    builder_.contract_.allow(std::move(remark.rule), field(remark.field), std::move(remark.message));
  }
  if (part.holds()) return true;
  return remark(std::move(part.violation->rule), part.violation->field, std::move(part.violation->message));
}

std::string NodeLowering::field(std::string_view name) const {
  return fmt::format("nodes[{}].{}", index_, name);
}

const Tensor* NodeLowering::stated(std::size_t input, std::string_view name) const {
  const Tensor* found = builder_.facts_[id(input)].stated;
  if (found == nullptr) limit(name, quoted_name(node_.inputs[input]) + " is computed: computed shapes are not judged");
  return found;
}

std::optional<std::vector<std::int64_t>> NodeLowering::integers(std::size_t input, std::string_view name,
                                                                bool narrow) const {
  if (type(input) != ElementType::int64 && !(narrow && type(input) == ElementType::int32)) {
    signature(name,
              fmt::format("expected element type int64{}, got {}", narrow ? " or int32" : "", name_of(type(input))));
    return std::nullopt;
  }
  const Tensor* tensor = stated(input, name);
  if (tensor == nullptr) return std::nullopt;
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor->elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = integer_at(*tensor, static_cast<std::int64_t>(i));
  return values;
}

std::optional<std::optional<std::vector<std::int64_t>>> NodeLowering::attribute_or_input(std::string_view name,
                                                                                         std::size_t input) const {
  using List = std::vector<std::int64_t>;
  if (const auto* list = get<List>(name)) return std::optional(*list);
  if (!has(input)) return std::optional<List>();
  if (shape(input).size() > 1) {
    violate(name, "expected a list, got shape " + shape_text(shape(input)));
    return std::nullopt;
  }
  auto list = integers(input, name);
  if (!list) return std::nullopt;
  return list;
}

std::optional<std::vector<std::size_t>> NodeLowering::axes(const std::vector<std::int64_t>& values, std::size_t rank,
                                                           std::string_view name) const {
  std::vector<std::size_t> result;
  result.reserve(values.size());
  for (const std::int64_t value : values) {
    const auto found = axis(value, rank, name);
    if (!found) return std::nullopt;
    if (std::find(result.begin(), result.end(), *found) != result.end()) {
      violate(name, fmt::format("axis {} is given twice", value));
      return std::nullopt;
    }
    result.push_back(*found);
  }
  return result;
}

std::optional<double> NodeLowering::number(std::size_t input, std::string_view name) const {
  const Tensor* tensor = stated(input, name);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->elements() == 1) {
    if (!tensor->is_scalar()) allow(name, "shape " + shape_text(tensor->shape) + " where a scalar is meant");
    return element_at(*tensor, 0);
  }
  violate(name, "expected a scalar, got shape " + shape_text(tensor->shape));
  return std::nullopt;
}

std::optional<std::size_t> NodeLowering::axis(std::int64_t value, std::size_t rank, std::string_view name) const {
  const auto extent = static_cast<std::int64_t>(rank);
  if (value < -extent || value >= extent) {
    violate(name, fmt::format("expected an axis of rank {}, got {}", rank, value));
    return std::nullopt;
  }
  if (value < 0 && opset() < 11) allow(name, fmt::format("negative before opset 11: {}", value));
  return static_cast<std::size_t>(value < 0 ? value + extent : value);
}

std::optional<std::size_t> NodeLowering::claim(const Shape& shape) const {
  if (!builder_.claim(shape, field("outputs"))) return std::nullopt;
  return static_cast<std::size_t>(elements_of(shape));
}

bool NodeLowering::claim_taps(std::int64_t count) const {
  return builder_.claim(count, field("inputs"));
}

bool NodeLowering::add_step(Step step, Shape shape, std::optional<ElementType> type, std::size_t output) const {
  if (output >= node_.outputs.size() || node_.outputs[output].empty()) return true;
  const auto inexact = std::find_if(step.operands.begin(), step.operands.end(),
                                    [&](ValueId operand) { return !builder_.facts_[operand].is_exact; });
  const auto* move = std::get_if<Move>(&step.what);
  const bool is_same = move != nullptr && move->index.empty();
  if (inexact != step.operands.end() && !is_same) return limit("inputs", "integers beyond 2^53 are not computed with");
  const std::string& name = node_.outputs[output];
  const ValueId result =
      builder_.add(name.starts_with(kInnerPrefix) ? "" : name, type ? *type : this->type(0), std::move(shape));
  builder_.ids_.emplace(name, result);
  builder_.facts_[result].step = builder_.out_.program.steps.size();
  builder_.facts_[result].is_exact = inexact == step.operands.end();
  step.result = result;
  builder_.out_.program.steps.push_back(std::move(step));
  return true;
}

std::optional<ValueId> NodeLowering::add_inner(Step step, const Shape& shape, ElementType type) const {
  if (!claim(shape)) return std::nullopt;
  const ValueId result = builder_.add("", type, shape);
  builder_.facts_[result].step = builder_.out_.program.steps.size();
  step.result = result;
  builder_.out_.program.steps.push_back(std::move(step));
  return result;
}

bool NodeLowering::emit_move(Shape shape, std::vector<std::int64_t> index, std::size_t output) const {
  return emit(Move{{}, std::move(index)}, {id(0)}, std::move(shape), {}, output);
}

ValueId NodeLowering::add_stated(ElementType type, Shape shape, std::vector<double> elements) const {
  const ValueId result = builder_.add("", type, std::move(shape));
  builder_.out_.program.values[result].stated = std::move(elements);
  return result;
}

std::string NodeLowering::inner_name() const {
  return std::string(kInnerPrefix) + std::to_string(builder_.out_.program.values.size());
}

std::string NodeLowering::named(ValueId value) const {
  Node& holder = builder_.inner_nodes_.emplace_back();
  holder.op_type = "Identity";
  holder.outputs = {std::string(kInnerPrefix) + "v" + std::to_string(value)};
  builder_.ids_.emplace(holder.outputs[0], value);
  return holder.outputs[0];
}

std::string NodeLowering::add_constant(Tensor tensor) const {
  const Tensor& kept = builder_.constants_.emplace_back(std::move(tensor));
  // The name lives as long as the node does.
  Node& holder = builder_.inner_nodes_.emplace_back();
  holder.op_type = "Constant";
  holder.outputs = {inner_name()};
  const ValueId result = builder_.add("", kept.type, kept.shape);
  builder_.ids_.emplace(holder.outputs[0], result);
  return builder_.state(result, kept, field("outputs")) ? holder.outputs[0] : "";
}

bool NodeLowering::lower_inner(Node node) const {
  builder_.make_room();
  const Node& kept = builder_.inner_nodes_.emplace_back(std::move(node));
  return lower_node(builder_, kept, index_, builder_.contract_);
}

bool NodeLowering::emit_constant(Tensor tensor) const {
  const Tensor& kept = builder_.constants_.emplace_back(std::move(tensor));
  const ValueId result = builder_.add(node_.outputs[0], kept.type, kept.shape);
  builder_.ids_.emplace(node_.outputs[0], result);
  return builder_.state(result, kept, field("outputs"));
}

void NodeLowering::keep_stated() const {
  builder_.facts_[builder_.ids_.at(node_.outputs[0])].stated = builder_.facts_[id(0)].stated;
}

std::string Expansion::input(std::size_t position) const {
  return node_.has(position) ? node_.node().inputs[position] : "";
}

std::string Expansion::parameter(std::size_t position, std::string_view name) {
  if (!is_right_ || !node_.has(position)) return "";
  const Tensor* tensor = node_.stated(position, name);
  is_right_ = tensor != nullptr;
  if (tensor == nullptr || tensor->is_scalar() || tensor->elements() != 1) return input(position);
  Tensor scalar = *tensor;
  scalar.shape.clear();
  return constant(std::move(scalar));
}

void Expansion::expect_one(std::size_t position, std::string_view name) {
  if (!is_right_ || !node_.has(position) || elements_of(node_.shape(position)) == 1) return;
  is_right_ = node_.violate(name, "expected a scalar, got shape " + shape_text(node_.shape(position)));
}

std::string Expansion::constant(Tensor tensor) {
  std::string name = is_right_ ? node_.add_constant(std::move(tensor)) : "";
  is_right_ = !name.empty();
  return name;
}

bool Expansion::lower(std::string op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
                      std::vector<Attribute> attributes, std::int64_t opset) {
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  is_right_ = is_right_ && node_.lower_inner({.op_type = std::move(op_type),
                                              .domain = {},
                                              .opset_version = opset,
                                              .attributes = std::move(attributes),
                                              .inputs = std::move(inputs),
                                              .outputs = std::move(outputs)});
  return is_right_;
}

std::string Expansion::add(std::string op_type, std::vector<std::string> inputs, std::vector<Attribute> attributes,
                           std::int64_t opset) {
  std::string name = node_.inner_name();
  lower(std::move(op_type), std::move(inputs), {name}, std::move(attributes), opset);
  return name;
}

std::string Expansion::reshaped(const std::string& value, const std::vector<std::int64_t>& sizes) {
  const auto rank = static_cast<std::int64_t>(sizes.size());
  return add("Reshape", {value, constant(Tensor::of<std::int64_t>(ElementType::int64, {rank}, sizes))});
}

std::string Expansion::either(const std::string& first, const std::string& second) {
  if (!is_right_) return "";
  const auto value = node_.compute(Elementwise{.function = Function::either}, {node_.id_of(first), node_.id_of(second)},
                                   shape(first), type(first));
  return value ? node_.named(*value) : give_up();
}

std::vector<std::string> Expansion::add_all(std::string op_type, std::vector<std::string> inputs, std::size_t outputs,
                                            std::vector<Attribute> attributes) {
  const std::string name = node_.inner_name();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back(name + "." + std::to_string(i));
  lower(std::move(op_type), std::move(inputs), names, std::move(attributes), kOpset);
  return names;
}

bool Expansion::finish(std::string op_type, std::vector<std::string> inputs, std::vector<Attribute> attributes,
                       std::int64_t opset) {
  return lower(std::move(op_type), std::move(inputs), node_.node().outputs, std::move(attributes), opset);
}

ElementType Expansion::type(const std::string& value) const {
  return node_.type_of(node_.id_of(value));
}

Shape Expansion::shape(const std::string& value) const {
  return node_.shape_of(node_.id_of(value));
}

void NodeLowering::multiplies_by(double factor) const {
  if (!is_moderate_power_of_two(std::fabs(factor))) rounds();
}

void NodeLowering::scales_by(const std::vector<double>& scales) const {
  if (!std::all_of(scales.begin(), scales.end(), is_moderate_power_of_two)) rounds();
}

double NodeLowering::scale_of(ValueId id, std::int64_t index) const {
  while (const auto at = builder_.facts_[id].step) {
    const Step& step = builder_.out_.program.steps[*at];
    if (const auto* dequantized = std::get_if<Dequantize>(&step.what)) {
      return dequantized->node.x_scale[dequantized->node.layout.parameter_of(index)];
    }
    const auto* move = std::get_if<Move>(&step.what);
    if (move == nullptr) return 0;
    const auto i = static_cast<std::size_t>(index);
    const std::int32_t operand = move->operand.empty() ? 0 : move->operand[i];
    if (operand < 0) return 0;
    id = step.operands[static_cast<std::size_t>(operand)];
    if (!move->index.empty()) index = move->index[i];
  }
  return 0;
}

bool NodeLowering::comes_from_int32(ValueId id) const {
  while (const auto at = builder_.facts_[id].step) {
    const Step& step = builder_.out_.program.steps[*at];
    if (const auto* dequantized = std::get_if<Dequantize>(&step.what))
      return dequantized->node.x_type == ElementType::int32;
    if (!std::holds_alternative<Move>(step.what)) return false;
    const auto& operands = step.operands;
    if (operands.size() > 1) {
      return std::any_of(operands.begin(), operands.end(), [&](ValueId o) { return comes_from_int32(o); });
    }
    id = operands.front();
  }
  return false;
}

void NodeLowering::check_bias_scales(const WeightedSum& sum, const std::vector<ValueId>& operands,
                                     std::size_t outputs) const {
  if (!builder_.out_.program.may_be_exact || sum.c_index.empty() || !comes_from_int32(operands.back())) return;
  // One sum for each element of the bias stands for all of them.
  std::vector<bool> seen(static_cast<std::size_t>(elements_of(builder_.out_.program.values[operands.back()].shape)));
  for (std::size_t i = 0; i < outputs; ++i) {
    const auto c = static_cast<std::size_t>(sum.c_index[i]);
    if (seen[c]) continue;
    seen[c] = true;
    const double wanted = scale_of(operands.back(), sum.c_index[i]);
    const auto check = [&](std::int64_t a, std::int64_t b) {
      if (scale_of(operands[0], a) * (sum.has_factor ? scale_of(operands[1], b) : 1) != wanted) rounds();
    };
    sum.for_each_term(i, check);
  }
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

std::vector<std::int64_t> strided(const Shape& shape, const std::vector<std::int64_t>& strides, std::int64_t offset) {
  if (elements_of(shape) == 0) return {};
  std::vector<std::int64_t> result{offset};
  std::vector<std::int64_t> wider;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    wider.clear();
    wider.reserve(result.size() * static_cast<std::size_t>(shape[axis]));
    for (const std::int64_t begin : result) {
      for (std::int64_t i = 0; i < shape[axis]; ++i) wider.push_back(begin + i * strides[axis]);
    }
    result.swap(wider);
  }
  return result;
}

std::vector<std::int64_t> gathered(const Shape& from, const std::vector<std::vector<std::int64_t>>& positions) {
  if (std::any_of(positions.begin(), positions.end(), [](const auto& list) { return list.empty(); })) return {};
  const std::vector<std::int64_t> strides = strides_of(from);
  std::vector<std::int64_t> result{0};
  std::vector<std::int64_t> wider;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    wider.clear();
    wider.reserve(result.size() * positions[axis].size());
    for (const std::int64_t begin : result) {
      for (const std::int64_t i : positions[axis]) {
        wider.push_back(begin < 0 || i < 0 ? -1 : begin + i * strides[axis]);
      }
    }
    result.swap(wider);
  }
  return result;
}

std::vector<std::int64_t> broadcast_index(const Shape& from, const Shape& shape) {
  if (elements_of(from) == elements_of(shape)) return {};
  std::vector<std::int64_t> strides(shape.size(), 0);
  const std::vector<std::int64_t> own = strides_of(from);
  const std::size_t leading = shape.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) strides[leading + axis] = from[axis] == 1 ? 0 : own[axis];
  return strided(shape, strides);
}

std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  Shape result = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const std::size_t leading = result.size() - shorter.size();
  for (std::size_t axis = 0; axis < shorter.size(); ++axis) {
    std::int64_t& extent = result[leading + axis];
    if (extent != shorter[axis] && extent != 1 && shorter[axis] != 1) return std::nullopt;
    if (extent == 1) extent = shorter[axis];
  }
  return result;
}

std::vector<std::int64_t> counted(std::int64_t count, std::int64_t begin, std::int64_t step) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = begin + static_cast<std::int64_t>(i) * step;
  return values;
}

std::int64_t packed_number(const Tensor& bytes, std::int64_t first, std::int64_t at, std::int64_t bits) {
  const auto byte = static_cast<std::int64_t>(bytes.bytes[static_cast<std::size_t>(first + at * bits / 8)]);
  return byte >> (at * bits % 8) & ((std::int64_t{1} << bits) - 1);
}

}  // namespace qconform::lowering
