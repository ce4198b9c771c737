// Lists the places in QuantizeLinear and DequantizeLinear at which expressions may stand.
#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/pipeline.h"
#include "reference/linear_quantization/dequantize_linear.h"

namespace qconform::diagnose {
namespace {

constexpr SmallSet<std::string_view> kBoth{"QuantizeLinear", "DequantizeLinear"};

struct ElementContext : StageContext {
  const LinearPlacement& placement;
  std::int64_t index;

  [[nodiscard]] const QuantizationLayout& layout() const { return placement.layout; }
  [[nodiscard]] std::int64_t channel() const { return index / layout().inner % layout().channels; }
};

const ElementContext& element_of(const StageContext& context) {
  return static_cast<const ElementContext&>(context);
}

constexpr Variable kBlocked{
    "blocked", [](const StageContext& c, std::int64_t) { return element_of(c).layout().is_blocked() ? 1L : 0L; }};
constexpr Variable kRank{"rank", [](const StageContext& c, std::int64_t) {
                           return static_cast<std::int64_t>(element_of(c).placement.x_shape.size());
                         }};

constexpr Variable kParameters[] = {
    {"parameter",
     [](const StageContext& c, std::int64_t) {
       return static_cast<std::int64_t>(element_of(c).layout().parameter_of(element_of(c).index));
     }},
    {"parameters", [](const StageContext& c, std::int64_t) { return element_of(c).layout().parameters(); }},
    {"element", [](const StageContext& c, std::int64_t) { return element_of(c).index; }},
    {"inner", [](const StageContext& c, std::int64_t) { return element_of(c).layout().inner; }},
    kBlocked};
constexpr Variable kBlocks[] = {
    {"position", [](const StageContext& c, std::int64_t) { return element_of(c).channel(); }},
    {"size", [](const StageContext& c, std::int64_t) { return element_of(c).layout().channels; }},
    {"block_size", [](const StageContext& c, std::int64_t) { return element_of(c).layout().block; }},
    {"blocks", [](const StageContext& c, std::int64_t) { return element_of(c).layout().blocks(); }}};
constexpr Variable kLinearAxis[] = {
    {"axis", [](const StageContext& c, std::int64_t) { return element_of(c).placement.axis; }},
    {"negative", [](const StageContext& c, std::int64_t) { return element_of(c).placement.axis < 0 ? 1L : 0L; }},
    {"per_axis", [](const StageContext& c, std::int64_t) { return element_of(c).layout().is_blocked() ? 0L : 1L; }},
    kBlocked,
    kRank};

void set_parameter(Stages& stages, const Expression& expression) {
  stages.set(stage::parameter, {[](const Expression& e, const LinearPlacement& p, std::int64_t index) {
                                  const std::int64_t value = e.evaluate(ElementContext{{}, p, index});
                                  const bool is_there = value >= 0 && value < p.layout.parameters();
                                  return is_there ? static_cast<std::size_t>(value) : p.layout.parameter_of(index);
                                },
                                expression});
}

void set_block(Stages& stages, const Expression& expression) {
  stages.set(stage::parameter, {[](const Expression& e, const LinearPlacement& p, std::int64_t index) {
                                  const QuantizationLayout& layout = p.layout;
                                  if (!layout.is_blocked()) return layout.parameter_of(index);
                                  const std::int64_t block = e.evaluate(ElementContext{{}, p, index});
                                  return parameter_of_block(layout, index, block);
                                },
                                expression});
}

void set_axis(Stages& stages, const Expression& expression) {
  stages.set(stage::parameter, {[](const Expression& e, const LinearPlacement& p, std::int64_t index) {
                                  const std::int64_t axis = e.evaluate(ElementContext{{}, p, index});
                                  return axis == p.axis ? p.layout.parameter_of(index)
                                                        : parameter_of_axis(p, axis, index);
                                },
                                expression});
}

struct NumberContext : StageContext {
  std::int64_t number;
  ElementType type = ElementType::undefined;
};

std::int64_t number_of(const StageContext& c, std::int64_t) {
  return static_cast<const NumberContext&>(c).number;
}

std::int64_t is_type(const StageContext& c, std::int64_t which) {
  return static_cast<const NumberContext&>(c).type == static_cast<ElementType>(which) ? 1 : 0;
}

std::int64_t constant_of(const StageContext&, std::int64_t which) {
  return which;
}

constexpr std::int64_t index_of(ElementType type) {
  return static_cast<std::int64_t>(type);
}

constexpr Variable kZeroPointIndex[] = {{"parameter", number_of}};
constexpr Variable kElementCount[] = {{"elements", number_of}};
constexpr Variable kSaturate[] = {{"stated", number_of}};
constexpr Variable kAbsent[] = {{"uint8", is_type, index_of(ElementType::uint8)},
                                {"int8", is_type, index_of(ElementType::int8)},
                                {"uint16", is_type, index_of(ElementType::uint16)},
                                {"int16", is_type, index_of(ElementType::int16)}};
constexpr Variable kPrecision[] = {{"stated", number_of},
                                   {"none", constant_of, index_of(ElementType::undefined)},
                                   {"float32", constant_of, index_of(ElementType::float32)},
                                   {"float16", constant_of, index_of(ElementType::float16)},
                                   {"bfloat16", constant_of, index_of(ElementType::bfloat16)}};

struct TypesContext : StageContext {
  ElementType stated;
  ElementType without;
};

constexpr Variable kOutputType[] = {
    {"stated",
     [](const StageContext& c, std::int64_t) { return index_of(static_cast<const TypesContext&>(c).stated); }},
    {"without",
     [](const StageContext& c, std::int64_t) { return index_of(static_cast<const TypesContext&>(c).without); }},
    {"float8e8m0", constant_of, index_of(ElementType::float8e8m0)}};

void set_zero_point_index(Stages& stages, const Expression& expression) {
  stages.set(stage::zero_point_parameter,
             {[](const Expression& e, std::size_t of_scale) {
                const auto own = static_cast<std::int64_t>(of_scale);
                // How many there are is not known here.
                return static_cast<std::size_t>(std::clamp<std::int64_t>(e.evaluate(NumberContext{{}, own}), 0, own));
              },
              expression});
}

void set_count(Stages& stages, const Expression& expression) {
  stages.set(stage::count, {[](const Expression& e, std::int64_t elements) {
                              return std::clamp<std::int64_t>(e.evaluate(NumberContext{{}, elements}), 0, elements);
                            },
                            expression});
}

void set_saturate(Stages& stages, const Expression& expression) {
  stages.set(stage::saturate, {[](const Expression& e, bool stated) {
                                 return e.evaluate(NumberContext{{}, stated ? 1 : 0}) != 0;
                               },
                               expression});
}

void set_absent(Stages& stages, const Expression& expression) {
  stages.set(stage::absent_zero_point,
             {[](const Expression& e, ElementType type) {
                if (!is_integer(type)) return 0;
                const IntegerRange range = reference::range_of(type);
                const std::int64_t value = e.evaluate(NumberContext{{range}, 0, type});
                return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, range.lo, range.hi));
              },
              expression});
}

void set_precision(Stages& stages, const Expression& expression) {
  stages.set(stage::precision, {[](const Expression& e, ElementType stated) {
                                  return static_cast<ElementType>(e.evaluate(NumberContext{{}, index_of(stated)}));
                                },
                                expression});
}

void set_output_type(Stages& stages, const Expression& expression) {
  stages.set(stage::output_type,
             {[](const Expression& e, ElementType stated, ElementType without) {
                const auto type = static_cast<ElementType>(e.evaluate(TypesContext{{}, stated, without}));
                return type == without ? without : stated;
              },
              expression});
}

struct DifferenceContext : StageContext {
  const DequantizeLinear& node;
  std::int64_t x;
  std::int64_t zero_point;
};

const DifferenceContext& subtracted(const StageContext& context) {
  return static_cast<const DifferenceContext&>(context);
}

constexpr Variable kSubtracted[] = {
    {"x", [](const StageContext& c, std::int64_t) { return subtracted(c).x; }},
    {"zero_point", [](const StageContext& c, std::int64_t) { return subtracted(c).zero_point; }},
    {"difference",
     [](const StageContext& c, std::int64_t) {
       const DifferenceContext& d = subtracted(c);
       return static_cast<std::int64_t>(
           reference::difference_of(d.node.x_type, static_cast<double>(d.x), static_cast<double>(d.zero_point)));
     }},
    {"bits", [](const StageContext& c, std::int64_t) { return std::int64_t{bits_of(subtracted(c).node.x_type)}; }}};

void set_difference(Stages& stages, const Expression& expression) {
  stages.set(stage::difference, {[](const Expression& e, const DequantizeLinear& node, double x, double zero_point) {
                                   if (!is_integer(node.x_type)) return subtract(node, x, zero_point);
                                   return static_cast<double>(e.evaluate(DifferenceContext{
                                       {}, node, static_cast<std::int64_t>(x), static_cast<std::int64_t>(zero_point)}));
                                 },
                                 expression});
}

// Names that stand for functions.
template <typename Function>
struct NamedForm {
  std::string_view name;
  Function function;
};

template <std::size_t kCount, typename Function>
std::vector<Variable> variables_of(const NamedForm<Function> (&forms)[kCount]) {
  std::vector<Variable> all;
  for (std::size_t i = 0; i < kCount; ++i)
    all.push_back({forms[i].name, constant_of, static_cast<std::int64_t>(i), false});
  return all;
}

using Scaling = double (*)(ElementType type, double stated);
constexpr NamedForm<Scaling> kScales[] = {{"stated", [](ElementType, double stated) { return stated; }},
                                          {"int32_read_as_float32", int32_as_float32}};

template <reference::DivisionMethod kMethod, ElementType kType>
Quotient divide_by(const QuantizeLinear& node, double x, double scale) {
  const ElementType own = division_type(node);
  return reference::divide({kMethod, kType == ElementType::undefined ? own : kType, "Q1"}, x, scale);
}

// Divides in type kType. The division stays as it is where kType has no more bits than the division's own type.
template <ElementType kType>
Quotient divide_wider_in(const QuantizeLinear& node, double x, double scale) {
  const bool is_wider = bits_of(division_type(node)) < bits_of(kType);
  return is_wider ? divide_by<reference::DivisionMethod::operands_rounded, kType>(node, x, scale)
                  : divide(node, x, scale);
}

using Division = Quotient (*)(const QuantizeLinear& node, double x, double scale);
using enum reference::DivisionMethod;
constexpr NamedForm<Division> kDivisions[] = {{"divide", divide},
                                              {"reciprocal", divide_by<reciprocal, ElementType::undefined>},
                                              {"once", divide_by<once, ElementType::undefined>},
                                              {"exact", divide_by<exact, ElementType::undefined>},
                                              {"float32", divide_by<operands_rounded, ElementType::float32>},
                                              {"float16", divide_by<operands_rounded, ElementType::float16>},
                                              {"bfloat16", divide_by<operands_rounded, ElementType::bfloat16>},
                                              {"at_least_float32", divide_wider_in<ElementType::float32>},
                                              {"at_least_float64", divide_wider_in<ElementType::float64>},
                                              {"reciprocal_float32", divide_by<reciprocal, ElementType::float32>}};

template <reference::MultiplicationMethod kMethod>
std::uint64_t multiply_by(const DequantizeLinear& node, double x, double zero_point, double difference, double scale) {
  if (node.y_type == ElementType::float32) return multiply(node, x, zero_point, difference, scale);
  return reference::multiply({kMethod, "D4"}, node.y_type, difference, scale);
}

using Multiplication = std::uint64_t (*)(const DequantizeLinear& node, double x, double zero_point, double difference,
                                         double scale);
using Method = reference::MultiplicationMethod;
constexpr NamedForm<Multiplication> kMultiplications[] = {
    {"difference_times_scale", multiply},
    {"once", multiply_by<Method::once>},
    {"difference_rounded", multiply_by<Method::difference_rounded>},
    {"operands_rounded", multiply_by<Method::operands_rounded>},
    {"through_float32", multiply_by<Method::through_float32>},
    {"each_times_scale", multiply_expanded},
    {"fused_times_scale", multiply_fused}};

template <const auto& kForms, const auto& kStage>
void set_form(Stages& stages, const Expression& expression) {
  stages.set(kStage, kForms[static_cast<std::size_t>(expression.evaluate({}))].function);
}

const std::vector<Variable> kScaleVariables = variables_of(kScales);
const std::vector<Variable> kDivisionVariables = variables_of(kDivisions);
const std::vector<Variable> kMultiplicationVariables = variables_of(kMultiplications);

const ExpressionSlot kLinearSlots[] = {
    {"parameter",
     "which scale and zero point an element has",
     kBoth,
     "parameter",
     Operators::indices,
     kParameters,
     {2, 4},
     set_parameter},
    {"axis", "the axis that has the parameters", kBoth, "axis", Operators::indices, kLinearAxis, {2}, set_axis},
    {"block",
     "along the axis, the block that an element belongs to",
     kBoth,
     "position / block_size",
     Operators::indices,
     kBlocks,
     {2},
     set_block},
    {"zero_point.index",
     "which zero point stands beside a scale",
     kBoth,
     "parameter",
     Operators::indices,
     kZeroPointIndex,
     {2},
     set_zero_point_index},
    {"zero_point.absent",
     "the zero point of a node without one",
     kBoth,
     "0",
     Operators::values,
     kAbsent,
     {128},
     set_absent},
    {"count",
     "how many elements are computed",
     kBoth,
     "elements",
     Operators::indices,
     kElementCount,
     {2, 4, 8, 16, 32},
     set_count},
    {"output_type", "the type of y", kBoth, "stated", Operators::choices, kOutputType, {}, set_output_type},
    {"scale",
     "a scale as it is read",
     {"QuantizeLinear"},
     "stated",
     Operators::none,
     kScaleVariables,
     {},
     set_form<kScales, stage::scale>},
    {"precision",
     "the attribute precision",
     {"QuantizeLinear"},
     "stated",
     Operators::choices,
     kPrecision,
     {},
     set_precision},
    {"saturate",
     "the attribute saturate",
     {"QuantizeLinear"},
     "stated",
     Operators::values,
     kSaturate,
     {},
     set_saturate},
    {"quotient",
     "x by its scale",
     {"QuantizeLinear"},
     "divide",
     Operators::none,
     kDivisionVariables,
     {},
     set_form<kDivisions, stage::quotient>},
    {"difference",
     "x less its zero point",
     {"DequantizeLinear"},
     "difference",
     Operators::values,
     kSubtracted,
     {8, 16},
     set_difference},
    {"multiply",
     "the product, rounded to y's type",
     {"DequantizeLinear"},
     "difference_times_scale",
     Operators::none,
     kMultiplicationVariables,
     {},
     set_form<kMultiplications, stage::multiply>}};

}  // namespace

std::span<const ExpressionSlot> linear_slots() {
  return kLinearSlots;
}

}  // namespace qconform::diagnose
