// Lists the features that tell convolutions apart in a few words.
#include <cmath>

#include "harness/model/text.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/diagnosis.h"

namespace qconform::diagnose {
namespace {

using reference::SpatialAxis;

struct ConvolutionView {
  ConvolutionView(const Case& of, const Expected& with)
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

using View = ConvolutionView;
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

void add_geometry(Questions& all) {
  all.add_both("padded", "not padded", [](const View& v) {
    return any_axis(v, [](const auto& a) { return a.pad_begin > 0 || a.pad_end > 0; });
  });
  all.add_both("pads differ by side", "pads alike on both sides",
               [](const View& v) { return any_axis(v, [](const auto& a) { return a.pad_begin != a.pad_end; }); });
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
  all.add_both("dilations differ", "dilations alike", [](const View& v) {
    const auto& axes = v.geometry().axes;
    return std::any_of(axes.begin(), axes.end(), [&](const auto& a) { return a.dilation != axes[0].dilation; });
  });
  all.add_both("2 spatial dimensions or more", "1 spatial dimension",
               [](const View& v) { return v.geometry().axes.size() > 1; });
  for (const std::string_view name : {"SAME", "SAME_UPPER", "SAME_LOWER", "VALID"}) {
    all.add("auto_pad " + std::string(name), [=](const View& v) {
      const Attribute* attribute = v.test_case.attribute("auto_pad");
      const auto* text = attribute == nullptr ? nullptr : std::get_if<std::string>(&attribute->value);
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

void add_parameters(Questions& all) {
  all.add_both("x_zero_point != 0", "x_zero_point = 0", [](const View& v) { return v.operands.x_zero_point != 0; });
  all.add_both("w_zero_point != 0", "w_zero_point = 0",
               [](const View& v) { return any_nonzero(v.operands.w_zero_point); });
  all.add_both("w_zero_point differs by channel", "w_zero_point the same for all channels",
               [](const View& v) { return differ(v.operands.w_zero_point); });
  all.add_both("|w| > 64", "|w| <= 64", [](const View& v) { return has_weight_beyond(v, 64); });
  all.add_both("|w| > 127", "|w| <= 127", [](const View& v) { return has_weight_beyond(v, 127); });
  all.add_both(is_qlinear, "w_scale differs by channel", "w_scale the same for all channels",
               [](const View& v) { return differ(v.qlinear->w_scale); });
  all.add_both(is_qlinear, "bias != 0", "no bias, or 0", [](const View& v) { return any_nonzero(v.operands.bias); });
  all.add_both(is_qlinear, "y_zero_point odd", "y_zero_point even",
               [](const View& v) { return v.qlinear->y_zero_point % 2 != 0; });
  all.add_both(is_qlinear, "y_zero_point != 0", "y_zero_point = 0",
               [](const View& v) { return v.qlinear->y_zero_point != 0; });
}

void add_sizes(Questions& all) {
  all.add_remainders("products", [](const View& v) { return v.geometry().depth(); });
  all.add_remainders("C", [](const View& v) { return v.geometry().input_channels; });
  all.add_remainders("M", [](const View& v) { return v.geometry().output_channels; });
  all.add_remainders("output width", [](const View& v) { return v.geometry().axes.back().output; });
  for (const std::int64_t least : {2, 16, 64, 259, 33026}) {
    all.add_both("products >= " + std::to_string(least), "products < " + std::to_string(least),
                 [=](const View& v) { return v.geometry().depth() >= least; });
  }
}

}  // namespace

const FeatureList& convolution_case_features() {
  static const FeatureList all = [] {
    Questions questions;
    for (const auto add : {add_types, add_geometry, add_parameters, add_sizes}) add(questions);
    return std::move(questions).list();
  }();
  return all;
}

}  // namespace qconform::diagnose
