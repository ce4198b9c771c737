#include "harness/operators/linear/linear.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "harness/core/limits.h"
#include "harness/model/layers.h"
#include "harness/onnx/case_model.h"
#include "harness/operators/linear/hooks.h"

namespace qconform {

namespace {

std::span<const sweep::SweptModel> swept_linear_models() {
  static const std::array models{sweep::swept_quantize_linear(), sweep::swept_dequantize_linear()};
  return models;
}

std::span<const relations::FamilyRelation> linear_relations() {
  using namespace relations;
  static const std::vector<FamilyRelation> all =
      joined({parameter_relations(), element_relations(), round_trip_relations()});
  return all;
}

std::span<const shrink::Reduction> linear_reductions() {
  static constexpr std::array all{
      shrink::Reduction{shrink::ReductionStage::element, "one element", shrink::jump_to_element},
  };
  return all;
}

constexpr std::array<std::string_view, 5> kLinearAttributes{"block_size", "axis", "output_dtype", "precision",
                                                            "saturate"};

}  // namespace

const Family& linear_family() {
  static const std::array operators{quantize_linear_operator(), dequantize_linear_operator()};
  static const Family family{
      .name = "linear",
      .operators = operators,
      .swept_models = swept_linear_models,
      .nodes = {.data_shape = linear_data_shape, .parameter_shape = linear_parameter_shape},
      .mutation = {.attributes = kLinearAttributes,
                   .change = mutation::change_linear,
                   .solve_tie = mutation::solve_linear_tie},
      .relations = {.list = linear_relations, .take_apart = relations::take_linear_apart},
      .shrinking = {.reductions = linear_reductions,
                    .extents = shrink::linear_extents,
                    .without_dimension = shrink::without_dimension,
                    .parameter_index = shrink::parameter_of_wrong_element},
      .layer_sets = bench::linear_layer_sets,
      .diagnosis = {.run = diagnose::run_linear,
                    .element = diagnose::linear_element,
                    .defects = diagnose::linear_defects,
                    .expressions = diagnose::linear_slots,
                    .case_features = diagnose::linear_case_features,
                    .sizes = diagnose::linear_sizes,
                    .draw_like = diagnose::draw_linear_like,
                    .coordinates = diagnose::linear_coordinates,
                    .place = diagnose::place_by_parameter},
      .arithmetic = {.choices = diagnose::linear_choices, .experiments = diagnose::linear_experiments}};
  return family;
}

const reference::QuantizationLayout* layout_of(const Lowered& lowered) {
  if (const auto* quantize = quantize_linear_of(lowered)) return &quantize->layout;
  const auto* dequantize = dequantize_linear_of(lowered);
  return dequantize == nullptr ? nullptr : &dequantize->layout;
}

namespace {

// Zero point and scale have the same shape; where each has one element, of any rank, that is one value either way.
bool check_zero_point_shape(const Tensor& scale, const Tensor* zero_point, const char* name,
                            reference::Contract& contract) {
  if (zero_point == nullptr || zero_point->shape == scale.shape) return true;
  if (scale.elements() == 1 && zero_point->elements() == 1) return true;
  return contract.violate(
      "D7", name,
      "expected the shape of the scale " + shape_text(scale.shape) + ", got " + shape_text(zero_point->shape));
}

}  // namespace

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = number_at(tensor, static_cast<std::int64_t>(i));
  return values;
}

const LinearVersion& version_for(std::span<const LinearVersion> versions, std::int64_t opset_version) {
  std::size_t current = 0;
  while (current + 1 < versions.size() && versions[current + 1].version <= opset_version) ++current;
  return versions[current];
}

bool check_type_in(const NodeReader& reader, std::string_view name, const TypeSet& types, const char* rule,
                   reference::Contract& contract) {
  const Tensor* tensor = reader.input(name);
  if (tensor == nullptr || types.contains(tensor->type)) return true;
  return contract.violate(rule, std::string(name),
                          "expected element type " + types.text() + ", got " + name_of(tensor->type));
}

std::optional<ElementType> read_type_attribute(const NodeReader& reader, std::string_view name, const TypeSet& types,
                                               const char* rule, reference::Contract& contract) {
  const std::int64_t number = reader.int_attribute(name, 0);
  if (number == 0) return ElementType::undefined;
  const bool is_type = number > 0 && number < 64;
  const ElementType type = is_type ? static_cast<ElementType>(number) : ElementType::undefined;
  if (is_type && types.contains(type)) return type;
  contract.violate(
      rule, std::string(name),
      "expected " + types.text() + ", got " + (is_type ? name_of(type) : "type " + std::to_string(number)));
  return std::nullopt;
}

std::optional<QuantizationParameters> read_quantization(const NodeReader& reader, const char* scale_name,
                                                        const char* zero_point_name, int version,
                                                        reference::Contract& contract) {
  const Tensor& scale = *reader.input(scale_name);
  const Tensor* zero_point = reader.input(zero_point_name);
  const reference::PlacementAttributes attributes{.has_axis = version >= 13,
                                                  .axis = reader.int_attribute("axis", 1),
                                                  .has_block_size = version >= 21,
                                                  .block_size = reader.int_attribute("block_size", 0)};
  const auto layout = resolve_layout(reader.input("x")->shape, scale.shape, scale_name, attributes, contract);
  if (!layout) return std::nullopt;
  if (!check_zero_point_shape(scale, zero_point, zero_point_name, contract)) return std::nullopt;
  QuantizationParameters parameters{*layout, numbers_of(scale), {}};
  parameters.zero_point =
      zero_point == nullptr ? std::vector<double>(parameters.scale.size(), 0) : numbers_of(*zero_point);
  return parameters;
}

namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::size_t kAssumedRank = 4;

// The size of a parameter of that rank along its axis `i`, which nothing says of the parameter itself: it follows from
// the data.
std::int64_t size_of_parameter(const NodeInputs& inputs, std::size_t rank, std::size_t i) {
  const auto data = linear_data_shape(inputs);
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

// The data of an element-wise operator: its sizes are those of the parameters where these have sizes, [C] along the
// axis or one for each block of `block_size`.
Result<InputShape> linear_data_shape(const NodeInputs& inputs) {
  const auto stated = inputs.facts("x").shape;
  const PartialShape parameters = parameter_facts(inputs, inputs.scale()).value_or(PartialShape{});
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

Result<Shape> linear_parameter_shape(const NodeInputs& inputs, std::string_view name) {
  const PartialShape known = parameter_facts(inputs, name).value_or(PartialShape{});
  Shape shape;
  for (std::size_t i = 0; i < known.size(); ++i) {
    shape.push_back(known[i] ? *known[i] : size_of_parameter(inputs, known.size(), i));
  }
  return shape;
}

}  // namespace qconform

namespace qconform::diagnose {

// Lists the features that tell cases of QuantizeLinear and DequantizeLinear apart in a few words.

namespace {

struct LinearView {
  LinearView(const Case& of, const Expected& with)
      : test_case(of), expected(with), layout(*layout_of(*with.classification.lowered)) {}

  const Case& test_case;
  const Expected& expected;
  const reference::QuantizationLayout& layout;

  [[nodiscard]] const Tensor& x() const { return *test_case.input(0); }
  /// The type of quantized values.
  [[nodiscard]] ElementType narrow() const {
    return quantize_linear_of(*expected.classification.lowered) != nullptr ? expected.output->type : x().type;
  }
  [[nodiscard]] const std::vector<double>& scales() const {
    const Lowered& lowered = *expected.classification.lowered;
    const auto* quantize = quantize_linear_of(lowered);
    return quantize != nullptr ? quantize->y_scale : dequantize_linear_of(lowered)->x_scale;
  }
  /// The type of the division; none in DequantizeLinear.
  [[nodiscard]] ElementType divides_in() const {
    const auto* quantize = quantize_linear_of(*expected.classification.lowered);
    return quantize != nullptr ? reference::division_type(*quantize) : ElementType::undefined;
  }
  [[nodiscard]] ElementType scale_type() const {
    const Lowered& lowered = *expected.classification.lowered;
    const auto* quantize = quantize_linear_of(lowered);
    return quantize != nullptr ? quantize->scale_type : dequantize_linear_of(lowered)->scale_type;
  }
};

using LinearQuestions = FeatureQuestions<LinearView>;

bool has_zero_point(const LinearView& v) {
  const Lowered& lowered = *v.expected.classification.lowered;
  if (const auto* quantize = quantize_linear_of(lowered)) return any_nonzero(quantize->y_zero_point);
  return any_nonzero(dequantize_linear_of(lowered)->x_zero_point);
}

bool zero_points_differ(const LinearView& v) {
  const Lowered& lowered = *v.expected.classification.lowered;
  if (const auto* quantize = quantize_linear_of(lowered)) return differ(quantize->y_zero_point);
  return differ(dequantize_linear_of(lowered)->x_zero_point);
}

// Whether x is infinite itself, or too large a multiple of its scale for the type of the division.
bool has_infinite_quotient(const LinearView& v) {
  if (quantize_linear_of(*v.expected.classification.lowered) == nullptr) return false;
  for (std::int64_t i = 0; i < v.x().elements(); ++i) {
    const double quotient = number_at(v.x(), i) / v.scales()[static_cast<std::size_t>(v.layout.parameter_of(i))];
    if (std::isinf(reference::rounded_to(reference::float_format(v.divides_in()), quotient))) return true;
  }
  return false;
}

// Whether a finite x is infinite as a number of that type.
bool has_x_beyond_division(const LinearView& v) {
  if (v.divides_in() == ElementType::undefined) return false;
  const reference::FloatFormat& format = reference::float_format(v.divides_in());
  for (std::int64_t i = 0; i < v.x().elements(); ++i) {
    const double x = number_at(v.x(), i);
    if (std::isfinite(x) && std::isinf(reference::rounded_to(format, x))) return true;
  }
  return false;
}

bool has_scale_beyond_float16(const LinearView& v) {
  return std::any_of(v.scales().begin(), v.scales().end(),
                     [](double scale) { return reference::rounded_to(reference::kFloat16, scale) != scale; });
}

bool has_zero_point_zero(const LinearView& v) {
  const Lowered& lowered = *v.expected.classification.lowered;
  const auto has_zero = [](const auto& zero_points) {
    return std::any_of(zero_points.begin(), zero_points.end(), [](auto zero_point) { return zero_point == 0; });
  };
  if (const auto* quantize = quantize_linear_of(lowered)) return has_zero(quantize->y_zero_point);
  return has_zero(dequantize_linear_of(lowered)->x_zero_point);
}

// Neighbours in memory that have one scale: what a vector loop can take together.
std::int64_t run_of_one_scale(const LinearView& v) {
  const reference::QuantizationLayout& layout = v.layout;
  if (layout.parameters() <= 1) return v.x().elements();
  return layout.is_blocked() && layout.inner == 1 ? layout.block : layout.inner;
}

bool has_negative_axis(const LinearView& v) {
  return v.test_case.node().get_or<std::int64_t>("axis", 0) < 0;
}

}  // namespace

void place_by_parameter(const Lowered& lowered, std::span<Element> elements) {
  const reference::QuantizationLayout& layout = *layout_of(lowered);
  for (Element& element : elements) element.channel = static_cast<std::int64_t>(layout.parameter_of(element.index));
}

const FeatureList& linear_case_features() {
  static const FeatureList all = [] {
    LinearQuestions questions;
    for (const ElementType type :
         {ElementType::float32, ElementType::float16, ElementType::bfloat16, ElementType::int32, ElementType::uint8,
          ElementType::int8, ElementType::uint16, ElementType::int16, ElementType::uint4, ElementType::int4,
          ElementType::uint2, ElementType::int2, ElementType::float8e4m3fn, ElementType::float8e4m3fnuz,
          ElementType::float8e5m2, ElementType::float8e5m2fnuz, ElementType::float4e2m1}) {
      const std::string name(qconform::name_of(type));
      questions.add("x " + name, [=](const LinearView& v) { return v.x().type == type; });
      questions.add("y " + name, [=](const LinearView& v) { return v.expected.output->type == type; });
    }
    for (const int bits : {16, 8, 4, 2}) {
      const std::string width = std::to_string(bits) + " bits";
      questions.add("quantized to " + width, [=](const LinearView& v) { return bits_of(v.narrow()) == bits; });
      questions.add("a float of " + width,
                    [=](const LinearView& v) { return bits_of(v.narrow()) == bits && !is_integer(v.narrow()); });
      questions.add("an integer of " + width,
                    [=](const LinearView& v) { return bits_of(v.narrow()) == bits && is_integer(v.narrow()); });
    }
    questions.add_both([](const LinearView& v) { return is_integer(v.narrow()); }, "a signed integer",
                       "an unsigned integer", [](const LinearView& v) { return is_signed_integer(v.narrow()); });
    questions.add_both("a scale < 0", "no scale < 0", [](const LinearView& v) {
      return std::any_of(v.scales().begin(), v.scales().end(), [](double scale) { return scale < 0; });
    });
    questions.add_both("a scale no power of 2", "scales powers of 2", [](const LinearView& v) {
      return std::any_of(v.scales().begin(), v.scales().end(), [](double scale) {
        int exponent = 0;
        return std::fabs(std::frexp(scale, &exponent)) != 0.5;
      });
    });
    questions.add("saturate 0",
                  [](const LinearView& v) { return v.test_case.node().get_or<std::int64_t>("saturate", 1) == 0; });
    questions.add_both("precision given", "no precision", [](const LinearView& v) {
      return v.test_case.node().get_or<std::int64_t>("precision", 0) != 0;
    });
    questions.add_both("several scales", "one scale", [](const LinearView& v) { return v.layout.parameters() > 1; });
    questions.add_both("block_size given", "no block_size", [](const LinearView& v) { return v.layout.is_blocked(); });
    questions.add_both(
        [](const LinearView& v) { return v.layout.is_blocked(); }, "block_size no power of 2",
        "block_size a power of 2",
        [](const LinearView& v) { return !std::has_single_bit(static_cast<std::uint64_t>(v.layout.block)); });
    questions.add_both([](const LinearView& v) { return v.layout.is_blocked(); }, "last block short",
                       "last block whole", [](const LinearView& v) { return v.layout.channels % v.layout.block != 0; });
    questions.add_both("axis negative", "axis not negative", has_negative_axis);
    questions.add("axis below -1",
                  [](const LinearView& v) { return v.test_case.node().get_or<std::int64_t>("axis", 0) < -1; });
    questions.add_both([](const LinearView& v) { return v.layout.parameters() > 1; }, "axis stated", "axis not stated",
                       [](const LinearView& v) { return v.test_case.node().attribute("axis") != nullptr; });
    questions.add_both([](const LinearView& v) { return v.layout.parameters() > 1; }, "axis not the last one",
                       "axis the last one", [](const LinearView& v) { return v.layout.inner > 1; });
    questions.add_both("scales along an axis without blocks", "one scale, or blocks",
                       [](const LinearView& v) { return v.layout.parameters() > 1 && !v.layout.is_blocked(); });
    for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16}) {
      const std::string name(qconform::name_of(type));
      questions.add("scale " + name, [=](const LinearView& v) { return v.scale_type() == type; });
      questions.add("division in " + name, [=](const LinearView& v) { return v.divides_in() == type; });
    }
    questions.add("scale of 16 bits", [](const LinearView& v) { return bits_of(v.scale_type()) == 16; });
    questions.add_both("output_dtype given", "no output_dtype", [](const LinearView& v) {
      return v.test_case.node().get_or<std::int64_t>("output_dtype", 0) != 0;
    });
    questions.add_both("zero points differ", "zero points alike", zero_points_differ);
    questions.add("an infinite quotient", has_infinite_quotient);
    questions.add("an x beyond the type of the division", has_x_beyond_division);
    questions.add("a scale that float16 does not hold", has_scale_beyond_float16);
    questions.add("a zero point 0", has_zero_point_zero);
    questions.add("precision other than the scale's type", [](const LinearView& v) {
      const auto precision = v.test_case.node().get_or<std::int64_t>("precision", 0);
      return precision != 0 && precision != static_cast<std::int64_t>(v.scale_type());
    });
    questions.add_both("last dimension odd", "last dimension even",
                       [](const LinearView& v) { return !v.x().shape.empty() && v.x().shape.back() % 2 != 0; });
    questions.add_remainders("elements in a row of one scale", run_of_one_scale);
    questions.add_both("2 dimensions or more", "at most 1 dimension",
                       [](const LinearView& v) { return v.x().shape.size() > 1; });
    questions.add_both("a zero point != 0", "zero points 0", has_zero_point);
    questions.add_remainders("elements", [](const LinearView& v) { return v.x().elements(); });
    questions.add_size("bits of a quantized value",
                       [](const LinearView& v) { return std::int64_t{bits_of(v.narrow())}; });
    questions.add_size("rank", [](const LinearView& v) { return std::ssize(v.x().shape); });
    questions.add_size("scales", [](const LinearView& v) { return v.layout.parameters(); });
    questions.add_size("block_size", [](const LinearView& v) { return v.layout.block; });
    questions.add_size("size along the axis",
                       [](const LinearView& v) { return v.layout.parameters() > 1 ? v.layout.channels : 0; });
    questions.add_size("elements before the axis",
                       [](const LinearView& v) { return v.layout.parameters() > 1 ? v.layout.outer : 0; });
    questions.add_size("elements behind the axis",
                       [](const LinearView& v) { return v.layout.parameters() > 1 ? v.layout.inner : 0; });
    questions.add_size("opset version",
                       [](const LinearView& v) { return std::int64_t{v.test_case.node().opset_version}; });
    return std::move(questions).list();
  }();
  return all;
}

}  // namespace qconform::diagnose
