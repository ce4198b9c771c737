#include "harness/diagnose/explain/case_features.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <vector>

#include "harness/diagnose/models/node_description.h"
#include "harness/operators/element_text.h"

namespace qconform::diagnose {
namespace {

using reference::ConvolutionGeometry;
using reference::ConvolutionOperands;
using reference::SpatialAxis;

// A case as the features see it. Of its operators' descriptions only one is there.
struct View {
  const Case& test_case;
  const Expected& expected;
  const reference::QLinearConv* qlinear = nullptr;
  const ConvolutionOperands* convolution = nullptr;
  const reference::QuantizeLinear* quantize = nullptr;
  const reference::DequantizeLinear* dequantize = nullptr;

  [[nodiscard]] const ConvolutionGeometry& geometry() const { return convolution->geometry; }
  [[nodiscard]] const Tensor& x() const { return *test_case.input(0); }
  [[nodiscard]] const Tensor& w() const { return *test_case.input(qlinear != nullptr ? 3 : 1); }
  [[nodiscard]] const reference::QuantizationLayout& layout() const {
    return quantize != nullptr ? quantize->layout : dequantize->layout;
  }
};

View view_of(const Case& test_case, const Expected& expected) {
  View view{test_case, expected};
  const NodeDescription node = description_of(*expected.classification.lowered);
  if (const auto* found = std::get_if<const reference::QLinearConv*>(&node)) {
    view.qlinear = *found;
    view.convolution = &(*found)->operands;
  }
  if (const auto* found = std::get_if<const reference::ConvInteger*>(&node)) view.convolution = &(*found)->operands;
  if (const auto* found = std::get_if<const reference::QuantizeLinear*>(&node)) view.quantize = *found;
  if (const auto* found = std::get_if<const reference::DequantizeLinear*>(&node)) view.dequantize = *found;
  return view;
}

using Predicate = std::function<bool(const View&)>;

struct Definition {
  std::string text;
  Predicate holds;
};

using Definitions = std::vector<Definition>;

bool any_axis(const View& v, bool (*holds)(const SpatialAxis&)) {
  return std::any_of(v.geometry().axes.begin(), v.geometry().axes.end(), holds);
}

template <typename T>
bool differ(const std::vector<T>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end();
}

bool any_nonzero(const std::vector<std::int32_t>& values) {
  return std::any_of(values.begin(), values.end(), [](std::int32_t value) { return value != 0; });
}

// Both words: the predicate and its opposite, of operators that `concerns` picks.
void add_both(Definitions& all, const Predicate& concerns, const std::string& yes, const std::string& no,
              const Predicate& holds) {
  all.push_back({yes, [=](const View& v) { return concerns(v) && holds(v); }});
  all.push_back({no, [=](const View& v) { return concerns(v) && !holds(v); }});
}

bool is_convolution(const View& v) {
  return v.convolution != nullptr;
}
bool is_qlinear(const View& v) {
  return v.qlinear != nullptr;
}
bool is_linear(const View& v) {
  return v.convolution == nullptr;
}

void add_types(Definitions& all) {
  const auto is_type = [&](const std::string& name, ElementType type, const Predicate& concerns, auto get) {
    all.push_back({name + " " + std::string(qconform::name_of(type)),
                   [=](const View& v) { return concerns(v) && get(v) == type; }});
  };
  const auto x = [](const View& v) { return v.x().type; };
  const auto y = [](const View& v) { return v.expected.output->type; };
  for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
    is_type("x", type, is_convolution, x);
    is_type("w", type, is_convolution, [](const View& v) { return v.w().type; });
    is_type("y", type, is_qlinear, y);
  }
  for (const ElementType type :
       {ElementType::float32, ElementType::float16, ElementType::bfloat16, ElementType::int32, ElementType::uint8,
        ElementType::int8, ElementType::uint16, ElementType::int16, ElementType::uint4, ElementType::int4}) {
    is_type("x", type, is_linear, x);
    is_type("y", type, is_linear, y);
  }
}

void add_geometry(Definitions& all) {
  const auto both = [&](const char* yes, const char* no, const Predicate& holds) {
    add_both(all, is_convolution, yes, no, holds);
  };
  both("padded", "not padded",
       [](const View& v) { return any_axis(v, [](const auto& a) { return a.pad_begin > 0 || a.pad_end > 0; }); });
  both("pads differ by side", "pads alike on both sides",
       [](const View& v) { return any_axis(v, [](const auto& a) { return a.pad_begin != a.pad_end; }); });
  both("1x1 kernel", "kernel of more than one tap", [](const View& v) { return v.geometry().kernel_taps() == 1; });
  both("group > 1", "group = 1", [](const View& v) { return v.geometry().group > 1; });
  both("one input channel for each group", "more input channels for each group",
       [](const View& v) { return v.geometry().group_input_channels() == 1; });
  both("batch > 1", "batch = 1", [](const View& v) { return v.geometry().batch > 1; });
  both("a stride > 1", "strides 1",
       [](const View& v) { return any_axis(v, [](const auto& a) { return a.stride > 1; }); });
  both("a dilation > 1", "dilations 1",
       [](const View& v) { return any_axis(v, [](const auto& a) { return a.dilation > 1; }); });
  both("dilations differ", "dilations alike", [](const View& v) {
    const auto& axes = v.geometry().axes;
    return std::any_of(axes.begin(), axes.end(), [&](const auto& a) { return a.dilation != axes[0].dilation; });
  });
  both("2 spatial dimensions or more", "1 spatial dimension",
       [](const View& v) { return v.geometry().axes.size() > 1; });
  const auto is_auto_pad = [](const View& v, std::string_view name) {
    const Attribute* attribute = is_convolution(v) ? v.test_case.attribute("auto_pad") : nullptr;
    const auto* text = attribute == nullptr ? nullptr : std::get_if<std::string>(&attribute->value);
    return text != nullptr && text->starts_with(name);
  };
  for (const std::string_view name : {"SAME", "SAME_UPPER", "SAME_LOWER", "VALID"}) {
    all.push_back({"auto_pad " + std::string(name), [=](const View& v) { return is_auto_pad(v, name); }});
  }
}

void add_sizes(Definitions& all) {
  const auto divisible = [&](const std::string& name, const Predicate& concerns, auto size) {
    for (const std::int64_t width : {2, 4, 8, 16, 32}) {
      const std::string text = name + " % " + std::to_string(width);
      add_both(all, concerns, text + " != 0", text + " == 0", [=](const View& v) { return size(v) % width != 0; });
    }
  };
  divisible("products", is_convolution, [](const View& v) { return v.geometry().depth(); });
  divisible("C", is_convolution, [](const View& v) { return v.geometry().input_channels; });
  divisible("M", is_convolution, [](const View& v) { return v.geometry().output_channels; });
  divisible("output width", is_convolution, [](const View& v) { return v.geometry().axes.back().output; });
  divisible("elements", is_linear, [](const View& v) { return v.x().elements(); });
  for (const std::int64_t least : {2, 16, 64, 259, 33026}) {
    add_both(all, is_convolution, "products >= " + std::to_string(least), "products < " + std::to_string(least),
             [=](const View& v) { return v.geometry().depth() >= least; });
  }
}

bool has_weight_beyond(const View& v, double limit) {
  for (std::int64_t i = 0; i < v.w().elements(); ++i) {
    if (std::fabs(number_at(v.w(), i)) > limit) return true;
  }
  return false;
}

void add_parameters(Definitions& all) {
  const auto both = [&](const Predicate& concerns, const char* yes, const char* no, const Predicate& holds) {
    add_both(all, concerns, yes, no, holds);
  };
  both(is_convolution, "x_zero_point != 0", "x_zero_point = 0",
       [](const View& v) { return v.convolution->x_zero_point != 0; });
  both(is_convolution, "w_zero_point != 0", "w_zero_point = 0",
       [](const View& v) { return any_nonzero(v.convolution->w_zero_point); });
  both(is_convolution, "w_zero_point differs by channel", "w_zero_point the same for all channels",
       [](const View& v) { return differ(v.convolution->w_zero_point); });
  both(is_convolution, "|w| > 64", "|w| <= 64", [](const View& v) { return has_weight_beyond(v, 64); });
  both(is_convolution, "|w| > 127", "|w| <= 127", [](const View& v) { return has_weight_beyond(v, 127); });
  both(is_qlinear, "w_scale differs by channel", "w_scale the same for all channels",
       [](const View& v) { return differ(v.qlinear->w_scale); });
  both(is_qlinear, "bias != 0", "no bias, or 0", [](const View& v) { return any_nonzero(v.convolution->bias); });
  both(is_qlinear, "y_zero_point odd", "y_zero_point even",
       [](const View& v) { return v.qlinear->y_zero_point % 2 != 0; });
  both(is_qlinear, "y_zero_point != 0", "y_zero_point = 0", [](const View& v) { return v.qlinear->y_zero_point != 0; });
  both(is_linear, "several scales", "one scale", [](const View& v) { return v.layout().parameters() > 1; });
  both(is_linear, "block_size given", "no block_size", [](const View& v) { return v.layout().is_blocked(); });
  both(is_linear, "axis negative", "axis not negative", [](const View& v) {
    const Attribute* axis = v.test_case.attribute("axis");
    const auto* value = axis == nullptr ? nullptr : std::get_if<std::int64_t>(&axis->value);
    return value != nullptr && *value < 0;
  });
  both(is_linear, "2 dimensions or more", "at most 1 dimension", [](const View& v) { return v.x().shape.size() > 1; });
  both(is_linear, "a zero point != 0", "zero points 0", [](const View& v) {
    if (v.quantize != nullptr) return any_nonzero(v.quantize->y_zero_point);
    const auto& zp = v.dequantize->x_zero_point;
    return std::any_of(zp.begin(), zp.end(), [](double value) { return value != 0; });
  });
}

// Hazards in whichever direction.
void add_either(Definitions& all, const char* text, Hazard one, Hazard other) {
  all.push_back({text, [=](const View& v) { return v.expected.hazards[one] > 0 || v.expected.hazards[other] > 0; }});
}

void add_hazards(Definitions& all) {
  add_either(all, "reaches exact ties", Hazard::tie_positive, Hazard::tie_negative);
  add_either(all, "reaches values an ulp from a tie", Hazard::near_tie_above, Hazard::near_tie_below);
  add_either(all, "reaches an end of the output's range", Hazard::clamp_low, Hazard::clamp_high);
  add_either(all, "reaches subnormal numbers", Hazard::subnormal_scale, Hazard::subnormal_result);
  for (const HazardInfo& info : hazards()) {
    all.push_back({"reaches " + std::string(info.label),
                   [hazard = info.hazard](const View& v) { return v.expected.hazards[hazard] > 0; }});
  }
}

const Definitions& definitions() {
  static const Definitions all = [] {
    Definitions list;
    for (void (*add)(Definitions&) : {add_types, add_geometry, add_parameters, add_sizes, add_hazards}) add(list);
    return list;
  }();
  return all;
}

}  // namespace

std::span<const Feature> case_features() {
  static const std::vector<Feature> all = [] {
    std::vector<Feature> list;
    for (const Definition& definition : definitions()) list.push_back({definition.text});
    return list;
  }();
  return all;
}

FeatureSet features_of(const Case& test_case, const Expected& expected) {
  assert(definitions().size() <= kMostFeatures);
  const View view = view_of(test_case, expected);
  FeatureSet result;
  const Definitions& all = definitions();
  for (std::size_t i = 0; i < all.size(); ++i) result[i] = all[i].holds(view);
  return result;
}

}  // namespace qconform::diagnose
