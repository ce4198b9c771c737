#include "harness/operators/convolution/diagnosis.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "harness/model/text.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/graph_scope.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/hooks.h"

namespace qconform::diagnose {

std::span<const DefectList> convolution_defects() {
  static const DefectList lists[] = {{DefectTopic::geometry, geometry_defects()},
                                     {DefectTopic::sum, sum_defects()},
                                     {DefectTopic::output, requantization_defects()}};
  return lists;
}

bool has_depthwise_rows(const ConvolutionGeometry& g) {
  constexpr std::int64_t kFewestColumns = 16;  // least columns of the windows' first taps
  const bool is_depthwise = g.group > 1 && g.group_input_channels() == 1 && g.group_output_channels() == 1;
  if (!is_depthwise || g.axes.size() != 2) return false;
  return g.axes[1].input >= kFewestColumns + g.axes[1].kernel_extent() - 1 &&
         std::all_of(g.axes.begin(), g.axes.end(),
                     [](const auto& a) { return a.kernel == 3 && a.pad_begin <= 1 && a.pad_begin == a.pad_end; });
}

bool is_alone_in_row(const reference::SpatialAxis& a, std::int64_t column) {
  constexpr std::int64_t kVector = 32;
  const std::int64_t inside = std::min(a.output, (a.input - a.kernel_extent() + 1 + a.pad_begin) / a.stride);
  const bool has_vectors = a.stride == 1 || (a.stride == 2 && a.dilation == 1);
  return !has_vectors || inside - a.pad_begin < kVector || column < a.pad_begin || column >= inside;
}

namespace {

// Whether it leaves open in which floating-point expression the product is formed.
bool is_open(const Policy& policy) {
  return tier_of(policy.profile) && policy.profile != Profile::correctly_rounded;
}

}  // namespace

std::vector<Arithmetic> requantization_arithmetics(const Operator& known, const Policy& policy) {
  std::vector<Arithmetic> all;
  if (known.name != "QLinearConv" || !is_open(policy)) return all;
  for (const auto& expression : reference::float_expressions()) {
    Stages stages;
    use_expression(stages, expression);
    all.push_back({.name = std::string(expression.name), .models = {DefectModel(std::move(stages))}});
  }
  return all;
}

bool requantizations_diverge(const Lowered& lowered) {
  const QLinearConv* quantized = qlinear_conv_of(lowered);
  for (std::size_t m = 0; quantized != nullptr && m < quantized->w_scale.size(); ++m) {
    if (!reference::within_domain(quantized->requantization(m))) return true;
  }
  return false;
}

bool admits_requantization(const Choice& choice, const Variant& variant, const Policy& policy) {
  if (choice.op_type != "QLinearConv" || !is_open(policy)) return false;
  if (choice.id == "subnormals") return true;
  const auto expressions = reference::float_expressions();
  return choice.id == "product" &&
         std::any_of(expressions.begin(), expressions.end(), [&](const auto& e) { return e.name == variant.id; });
}

std::string_view layout_of_convolution(const Lowered& lowered) {
  const ConvolutionGeometry& g = operands_of(lowered)->geometry;
  if (g.group == 1) return g.kernel_taps() == 1 ? layout::pointwise : layout::windows;
  if (g.group_input_channels() > 1) return layout::groups;
  return g.group_output_channels() == 1 ? layout::depthwise : layout::multiplied;
}

std::optional<Profile> profile_of_requantization(const Pin& pin) {
  const auto variant = [&](const char* choice) {
    const auto found = pin.variants.find(choice);
    return found == pin.variants.end() ? std::string() : found->second;
  };
  if (variant("product") == "ort-f32" && variant("rounding") == "half-even") return Profile::ort_f32;
  if (variant("product") == "f32-multiplier-widened" && variant("rounding").starts_with("zero-point-first")) {
    return Profile::onnx_reference;
  }
  if (variant("product") == "q31-double-round") return Profile::tflite;
  if (variant("product") == "q31-single-round") return Profile::tflite_single_rounding;
  return std::nullopt;
}

namespace {

void place_window(const ConvolutionGeometry& geometry, Element& element) {
  const std::int64_t positions = geometry.output_positions();
  const std::int64_t plane = element.index / positions;
  std::int64_t rest = element.index % positions;
  element.image = plane / geometry.output_channels;
  element.channel = plane % geometry.output_channels;
  element.channels = geometry.output_channels;
  element.group = element.channel / geometry.group_output_channels();
  for (std::size_t a = geometry.axes.size(); a-- > 0;) {
    const reference::SpatialAxis& axis = geometry.axes[a];
    const std::int64_t at = rest % axis.output;
    rest /= axis.output;
    if (a + 1 == geometry.axes.size()) {
      element.column = at;
      element.columns = axis.output;
    }
    if (a == 0 && geometry.axes.size() > 1) element.is_last_row = at + 1 == axis.output && axis.output > 1;
    std::int64_t outside = 0;
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
      const std::int64_t position = at * axis.stride - axis.pad_begin + tap * axis.dilation;
      outside += position < 0 || position >= axis.input ? 1 : 0;
    }
    element.touches_padding = element.touches_padding || outside > 0;
    element.is_padding_only = element.is_padding_only || outside == axis.kernel;
  }
}

}  // namespace

bool axes_differ(std::span<const reference::SpatialAxis> axes, std::int64_t reference::SpatialAxis::*number) {
  return std::any_of(axes.begin(), axes.end(), [&](const auto& axis) { return axis.*number != axes[0].*number; });
}

void place_in_convolution(const Lowered& lowered, std::span<Element> elements) {
  for (Element& element : elements) place_window(operands_of(lowered)->geometry, element);
}

// Lists the features that tell convolutions apart in a few words.

namespace {

using reference::SpatialAxis;

struct DiagnosedConvolution {
  DiagnosedConvolution(const Case& of, const Expected& with)
      : test_case(of),
        expected(with),
        qlinear(qlinear_conv_of(*with.classification.lowered)),
        operands(*operands_of(*with.classification.lowered)) {}

  const Case& test_case;
  const Expected& expected;
  const reference::QLinearConv* qlinear;  // null for ConvInteger
  const reference::ConvolutionOperands& operands;

  [[nodiscard]] const reference::ConvolutionGeometry& geometry() const { return operands.geometry; }
  [[nodiscard]] const Tensor& w() const { return *test_case.input(qlinear != nullptr ? 3 : 1); }
};

using View = DiagnosedConvolution;
using Questions = FeatureQuestions<View>;

bool is_qlinear(const View& v) {
  return v.qlinear != nullptr;
}

bool any_axis(const View& v, bool (*holds)(const SpatialAxis&)) {
  return std::any_of(v.geometry().axes.begin(), v.geometry().axes.end(), holds);
}

void add_types(Questions& all) {
  for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
    const std::string name(qconform::name_of(type));
    all.add("x " + name, [=](const View& v) { return v.test_case.input(0)->type == type; });
    all.add("w " + name, [=](const View& v) { return v.w().type == type; });
    all.add("y " + name, [=](const View& v) { return v.expected.output->type == type; });
  }
}

bool is_depthwise(const View& v) {
  return v.geometry().group > 1 && v.geometry().group_input_channels() == 1;
}

// The shapes for which kernels have ways of their own.
void add_paths(Questions& all) {
  all.add_both("depthwise", "not depthwise", is_depthwise);
  all.add_both("depthwise of several taps", "not depthwise, or of one tap",
               [](const View& v) { return is_depthwise(v) && v.geometry().kernel_taps() > 1; });
  all.add_both("1x1 kernel without pads and strides", "several taps, pads or strides", [](const View& v) {
    return v.geometry().kernel_taps() == 1 &&
           !any_axis(v, [](const auto& a) { return a.pad_begin > 0 || a.pad_end > 0 || a.stride > 1; });
  });
  all.add_both("a kernel of 3 in single steps", "not a kernel of 3 in single steps", [](const View& v) {
    return !any_axis(v, [](const auto& a) { return a.kernel != 3 || a.stride > 1 || a.dilation > 1; });
  });
}

void add_geometry(Questions& all) {
  all.add_both("padded", "not padded", [](const View& v) {
    return any_axis(v, [](const auto& a) { return a.pad_begin > 0 || a.pad_end > 0; });
  });
  all.add_both("pads differ by side", "pads alike on both sides",
               [](const View& v) { return any_axis(v, [](const auto& a) { return a.pad_begin != a.pad_end; }); });
  all.add("padded before, not behind", [](const View& v) {
    return any_axis(v, [](const auto& a) { return a.pad_begin > 0; }) &&
           !any_axis(v, [](const auto& a) { return a.pad_end > 0; });
  });
  all.add("padded behind, not before", [](const View& v) {
    return any_axis(v, [](const auto& a) { return a.pad_end > 0; }) &&
           !any_axis(v, [](const auto& a) { return a.pad_begin > 0; });
  });
  all.add_both("1x1 kernel", "kernel of more than one tap",
               [](const View& v) { return v.geometry().kernel_taps() == 1; });
  all.add_both("group > 1", "group = 1", [](const View& v) { return v.geometry().group > 1; });
  all.add_both("one input channel for each group", "more input channels for each group",
               [](const View& v) { return v.geometry().group_input_channels() == 1; });
  all.add_both("batch > 1", "batch = 1", [](const View& v) { return v.geometry().batch > 1; });
  all.add_both("a stride > 1", "strides 1",
               [](const View& v) { return any_axis(v, [](const auto& a) { return a.stride > 1; }); });
  all.add_both("a dilation > 1", "dilations 1",
               [](const View& v) { return any_axis(v, [](const auto& a) { return a.dilation > 1; }); });
  for (const auto& [name, number] :
       {std::pair("dilations", &SpatialAxis::dilation), std::pair("strides", &SpatialAxis::stride),
        std::pair("kernel extents", &SpatialAxis::kernel), std::pair("pads before", &SpatialAxis::pad_begin),
        std::pair("pads behind", &SpatialAxis::pad_end)}) {
    all.add_both(std::string(name) + " differ", std::string(name) + " alike",
                 [number = number](const View& v) { return axes_differ(v.geometry().axes, number); });
  }
  all.add_both("2 spatial dimensions or more", "1 spatial dimension",
               [](const View& v) { return v.geometry().axes.size() > 1; });
  all.add("3 spatial dimensions", [](const View& v) { return v.geometry().axes.size() == 3; });
  all.add_both("a stride beyond its window", "no stride beyond its window", [](const View& v) {
    return any_axis(v, [](const auto& a) { return a.stride > (a.kernel - 1) * a.dilation + 1; });
  });
  all.add("padded before an axis whose stride lies beyond its window", [](const View& v) {
    return any_axis(v, [](const auto& a) { return a.pad_begin > 0 && a.stride > (a.kernel - 1) * a.dilation + 1; });
  });
  all.add("pads of a dilated axis differ by side", [](const View& v) {
    return any_axis(v, [](const auto& a) { return a.dilation > 1 && a.pad_begin != a.pad_end; });
  });
  all.add("pads of the width differ by side",
          [](const View& v) { return v.geometry().axes.back().pad_begin != v.geometry().axes.back().pad_end; });
  for (const std::string_view name : {"SAME", "SAME_UPPER", "SAME_LOWER", "VALID"}) {
    all.add("auto_pad " + std::string(name), [=](const View& v) {
      const auto* text = v.test_case.node().get<std::string>("auto_pad");
      return text != nullptr && text->starts_with(name);
    });
  }
}

bool has_weight_beyond(const View& v, double limit) {
  for (std::int64_t i = 0; i < v.w().elements(); ++i) {
    if (std::fabs(number_at(v.w(), i)) > limit) return true;
  }
  return false;
}

double greatest_multiplier(const View& v) {
  double greatest = 0;
  for (const float scale : v.qlinear->w_scale) greatest = std::max(greatest, double{scale});
  return double{v.qlinear->x_scale} * greatest / double{v.qlinear->y_scale};
}

void add_parameters(Questions& all) {
  all.add_both("x_zero_point != 0", "x_zero_point = 0", [](const View& v) { return v.operands.x_zero_point != 0; });
  all.add_both("w_zero_point != 0", "w_zero_point = 0",
               [](const View& v) { return any_nonzero(v.operands.w_zero_point); });
  all.add_both("w_zero_point differs by channel", "w_zero_point the same for all channels",
               [](const View& v) { return differ(v.operands.w_zero_point); });
  all.add_both("both zero points != 0", "a zero point 0",
               [](const View& v) { return v.operands.x_zero_point != 0 && any_nonzero(v.operands.w_zero_point); });
  all.add("x_zero_point > 127", [](const View& v) { return v.operands.x_zero_point > 127; });
  all.add("a w_zero_point > 127", [](const View& v) {
    const auto& zero_points = v.operands.w_zero_point;
    return std::any_of(zero_points.begin(), zero_points.end(), [](auto zero_point) { return zero_point > 127; });
  });
  all.add_both("|w| > 64", "|w| <= 64", [](const View& v) { return has_weight_beyond(v, 64); });
  all.add_both("|w| > 127", "|w| <= 127", [](const View& v) { return has_weight_beyond(v, 127); });
  all.add_both(is_qlinear, "w_scale differs by channel", "w_scale the same for all channels",
               [](const View& v) { return differ(v.qlinear->w_scale); });
  all.add_both(is_qlinear, "bias != 0", "no bias, or 0", [](const View& v) { return any_nonzero(v.operands.bias); });
  for (const auto& [number, name] : {std::pair(0.5, "1/2"), std::pair(1.0, "1")}) {
    all.add_both(is_qlinear, std::string("a multiplier >= ") + name, std::string("multipliers < ") + name,
                 [number = number](const View& v) { return greatest_multiplier(v) >= number; });
  }
  all.add_both(is_qlinear, "y_zero_point odd", "y_zero_point even",
               [](const View& v) { return v.qlinear->y_zero_point % 2 != 0; });
  all.add_both(is_qlinear, "y_zero_point != 0", "y_zero_point = 0",
               [](const View& v) { return v.qlinear->y_zero_point != 0; });
}

std::int64_t most_along_axes(const View& v, std::int64_t SpatialAxis::*size) {
  std::int64_t most = 0;
  for (const SpatialAxis& axis : v.geometry().axes) most = std::max(most, axis.*size);
  return most;
}

// Numbers of the axis that is `From` axes before the last one; 0 where there is none.
template <std::size_t From, std::int64_t SpatialAxis::*Number>
std::int64_t of_axis(const View& v) {
  const auto& axes = v.geometry().axes;
  return axes.size() > From ? axes[axes.size() - 1 - From].*Number : 0;
}

template <std::size_t From>
void add_axis(Questions& all, const std::string& name) {
  all.add_size("kernel " + name, of_axis<From, &SpatialAxis::kernel>);
  all.add_size("stride along the " + name, of_axis<From, &SpatialAxis::stride>);
  all.add_size("dilation along the " + name, of_axis<From, &SpatialAxis::dilation>);
  all.add_size("pad before the " + name, of_axis<From, &SpatialAxis::pad_begin>);
  all.add_size("pad behind the " + name, of_axis<From, &SpatialAxis::pad_end>);
}

void add_sizes(Questions& all) {
  all.add_remainders("products", [](const View& v) { return v.geometry().depth(); });
  all.add_remainders("C", [](const View& v) { return v.geometry().input_channels; });
  all.add_remainders("M", [](const View& v) { return v.geometry().output_channels; });
  all.add_remainders("output width", [](const View& v) { return v.geometry().axes.back().output; });
  all.add_size("batch", [](const View& v) { return v.geometry().batch; });
  all.add_size("groups", [](const View& v) { return v.geometry().group; });
  all.add_remainders("C of a group", [](const View& v) { return v.geometry().group_input_channels(); });
  all.add_size("M of a group", [](const View& v) { return v.geometry().group_output_channels(); });
  all.add_size("kernel", [](const View& v) { return most_along_axes(v, &SpatialAxis::kernel); });
  all.add_size("taps", [](const View& v) { return v.geometry().kernel_taps(); });
  all.add_size("stride", [](const View& v) { return most_along_axes(v, &SpatialAxis::stride); });
  all.add_size("dilation", [](const View& v) { return most_along_axes(v, &SpatialAxis::dilation); });
  all.add_size("pad before", [](const View& v) { return most_along_axes(v, &SpatialAxis::pad_begin); });
  all.add_size("pad behind", [](const View& v) { return most_along_axes(v, &SpatialAxis::pad_end); });
  all.add_size("width", [](const View& v) { return v.geometry().axes.back().input; });
  all.add_size("height", [](const View& v) { return v.geometry().axes.size() > 1 ? v.geometry().axes[0].input : 0; });
  add_axis<0>(all, "width");
  add_axis<1>(all, "height");
  add_axis<2>(all, "depth");
  all.add_size("spatial dimensions", [](const View& v) { return std::ssize(v.geometry().axes); });
  all.add_size("weights", [](const View& v) { return v.geometry().output_channels * v.geometry().depth(); });
  all.add_size("output pixels", [](const View& v) { return v.geometry().output_positions(); });
  all.add_size("elements of x", [](const View& v) {
    return v.geometry().batch * v.geometry().input_channels * v.geometry().input_positions();
  });
  all.add_size("elements of y", [](const View& v) {
    return v.geometry().batch * v.geometry().output_channels * v.geometry().output_positions();
  });
}

}  // namespace

const FeatureList& convolution_case_features() {
  static const FeatureList all = [] {
    Questions questions;
    for (const auto add : {add_types, add_paths, add_geometry, add_parameters, add_sizes}) add(questions);
    return std::move(questions).list();
  }();
  return all;
}

}  // namespace qconform::diagnose

namespace qconform {

using Shape = std::vector<std::int64_t>;

// [N, C, spatial...] for a weight [M, C/group, kernel...].
Result<InputShape> convolution_data_shape(const NodeInputs& inputs) {
  const auto unusable = fail("", "size: weights of unknown or unusable shape", "skip");
  const auto w = full_shape(inputs.facts("w").shape);
  if (!w || w->size() < 3) return unusable;
  const auto facts = inputs.facts("x");
  PartialShape known = facts.shape && facts.shape->size() == w->size() ? *facts.shape : PartialShape(w->size());
  std::int64_t channels = 0;
  const std::int64_t group = int_attribute(inputs.node, "group", 1);
  if (__builtin_mul_overflow((*w)[1], group, &channels) || channels < 0) return unusable;
  if (!known[1]) known[1] = channels;
  Shape windows(w->size(), 1);
  Shape assumed;  // the least that is assumed
  for (std::size_t i = 2; i < known.size(); ++i) {
    if (known[i]) continue;
    const auto extent = window_extent(inputs.node, (*w)[i], i - 2);
    if (!extent) return unusable;
    windows[i] = std::max<std::int64_t>(*extent, 1);
    assumed.push_back(windows[i]);
  }
  if (saturated_elements(assumed) > kAssumedElements) {
    return fail("", "size: a window larger than an input whose size the model does not tell is assumed to be", "skip");
  }
  return InputShape{assumed_shape(known, windows),
                    assumed.empty() ? "" : "spatial size of x assumed, the model does not tell it"};
}

Result<Shape> convolution_parameter_shape(const NodeInputs& inputs, std::string_view name) {
  constexpr std::int64_t kUnknown = -1;
  const PartialShape w = inputs.facts("w").shape.value_or(PartialShape{});
  const std::int64_t channels = w.empty() ? kUnknown : w.front().value_or(kUnknown);
  if (name == "B" && channels != kUnknown) return Shape{channels};
  if (name == "B" || name == "w") return fail("", fmt::format("size: input {} of unknown shape", name), "skip");
  const PartialShape known = parameter_facts(inputs, name).value_or(PartialShape{});
  Shape shape;
  const std::int64_t assumed = name.starts_with("w") && channels != kUnknown ? channels : 1;
  for (const auto& size : known) shape.push_back(size.value_or(assumed));
  return shape;
}

}  // namespace qconform
