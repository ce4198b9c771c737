#include "harness/operators/convolution/diagnosis.h"

#include <algorithm>

#include "harness/operators/convolution/convolution.h"

namespace qconform::diagnose {

std::span<const DefectList> convolution_defects() {
  static const DefectList lists[] = {
      {Topic::geometry, geometry_defects()}, {Topic::sum, sum_defects()}, {Topic::output, requantization_defects()}};
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
    all.push_back({.name = std::string(expression.name), .models = {Model(std::move(stages))}});
  }
  return all;
}

// Returns whether products of scales over- or underflow.
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

void place_in_convolution(const Lowered& lowered, std::span<Element> elements) {
  for (Element& element : elements) place_window(operands_of(lowered)->geometry, element);
}

}  // namespace qconform::diagnose
