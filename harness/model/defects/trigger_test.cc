// Every defect shows where its trigger says, and nowhere else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/judge/judge.h"
#include "harness/model/text.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/pipeline.h"
#include "harness/operators/linear/linear.h"
#include "harness/operators/linear/pipeline.h"
#include "harness/suites/drawn.h"
#include "harness/suites/select.h"
#include "harness/tests/test_scale.h"
#include "reference/numerics/floats.h"

namespace qconform::diagnose {
namespace {

// A case with the reference's answer.
struct TriggerSample {
  const Case& test_case;
  const ModelledCase& modelled;
  const Tensor& right;

  [[nodiscard]] const QLinearConv* qlinear() const { return qlinear_conv_of(modelled.lowered()); }
  [[nodiscard]] const ConvolutionOperands& operands() const { return *operands_of(modelled.lowered()); }
  [[nodiscard]] const ConvolutionGeometry& geometry() const { return operands().geometry; }
  [[nodiscard]] ConvolutionAttributes attributes() const { return stated_attributes(test_case); }
  [[nodiscard]] bool is_same() const { return attributes().auto_pad.starts_with("SAME"); }
  [[nodiscard]] const Tensor& x() const { return *test_case.input(0); }
  [[nodiscard]] const Tensor& w() const { return *test_case.input(qlinear() != nullptr ? 3 : 1); }

  [[nodiscard]] const QuantizeLinear& quantize() const { return *quantize_linear_of(modelled.lowered()); }
  [[nodiscard]] const DequantizeLinear& dequantize() const { return *dequantize_linear_of(modelled.lowered()); }
  /// Scale and zero point of each element of an element-wise node.
  [[nodiscard]] const QuantizationLayout& layout() const { return *layout_of(modelled.lowered()); }
  [[nodiscard]] const std::vector<double>& scales() const {
    return quantize_linear_of(modelled.lowered()) != nullptr ? quantize().y_scale : dequantize().x_scale;
  }
};

template <typename Predicate>
bool any_axis(const TriggerSample& s, Predicate predicate) {
  const auto& axes = s.geometry().axes;
  return std::any_of(axes.begin(), axes.end(), predicate);
}

bool has_pads(const TriggerSample& s) {
  return any_axis(s, [](const auto& a) { return a.pad_begin > 0 || a.pad_end > 0; });
}
bool has_x_zero_point(const TriggerSample& s) {
  return s.operands().x_zero_point != 0;
}
bool has_groups(const TriggerSample& s) {
  return s.geometry().group > 1;
}
template <typename Predicate>
bool any_value(const Tensor& tensor, Predicate predicate) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (predicate(number_at(tensor, i))) return true;
  }
  return false;
}

bool has_wide_difference(const TriggerSample& s) {
  if (s.modelled.op().name == "DequantizeLinear") {
    const DequantizeLinear& node = s.dequantize();
    for (std::int64_t i = 0; i < s.x().elements(); ++i) {
      const double difference = number_at(s.x(), i) - node.x_zero_point[node.layout.parameter_of(i)];
      if (is_integer(node.x_type) && bits_of(node.x_type) == 8 && (difference < -128 || difference > 127)) return true;
    }
    return false;
  }
  return any_value(s.x(), [&](double value) {
    const double difference = value - s.operands().x_zero_point;
    return difference < -128 || difference > 127;
  });
}

// Twice the distance between neighbouring numbers of the type that quotients are rounded to, at 1.
double relative_spacing(const TriggerSample& s) {
  if (s.qlinear() != nullptr) return 0x1p-22;
  return std::ldexp(2.0, -reference::float_format(division_type(s.quantize())).mantissa_bits);
}

// Some value before rounding.
template <typename Predicate>
bool any_scaled(const TriggerSample& s, Predicate predicate) {
  if (const QLinearConv* node = s.qlinear()) {
    const auto sums = exact_sums(node->operands, s.x(), s.w());
    const auto channels = static_cast<std::size_t>(s.geometry().output_channels);
    const auto positions = static_cast<std::size_t>(s.geometry().output_positions());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double scale = static_cast<double>(node->x_scale) *
                           static_cast<double>(node->w_scale[i / positions % channels]) /
                           static_cast<double>(node->y_scale);
      if (predicate(static_cast<double>(sums[i]) * scale)) return true;
    }
    return false;
  }
  for (std::int64_t i = 0; i < s.x().elements(); ++i) {
    if (predicate(number_at(s.x(), i) / s.scales()[s.layout().parameter_of(i)])) return true;
  }
  return false;
}

// Some value before rounding is within `distance` of a tie, or within two roundings.
bool comes_near_a_tie(const TriggerSample& s, double distance) {
  const double spacing = relative_spacing(s);
  return any_scaled(
      s, [&](double v) { return std::fabs(std::fabs(v - std::floor(v)) - 0.5) <= distance + std::fabs(v) * spacing; });
}

// float32 rounds a sum with a zero point of 16 bits to multiples of this at most, or to a neighbour.
constexpr double kRoundingBesideZeroPoint = 0x1p-7;

// NaN, or beyond int32 less a zero point.
bool leaves_int32(const TriggerSample& s) {
  return any_scaled(s, [](double v) { return !(std::fabs(v) < 0x1p31 - 0x1p16); });
}

// Some multiplier is not a whole number, so that values can have fractions.
bool has_fractions(const TriggerSample& s) {
  const auto is_fraction = [](double value) { return value != std::floor(value); };
  if (const QLinearConv* node = s.qlinear()) {
    return std::any_of(node->w_scale.begin(), node->w_scale.end(), [&](float scale) {
      return is_fraction(static_cast<double>(node->x_scale) * static_cast<double>(scale) /
                         static_cast<double>(node->y_scale));
    });
  }
  for (std::int64_t i = 0; i < s.x().elements(); ++i) {
    if (is_fraction(number_at(s.x(), i) / s.scales()[s.layout().parameter_of(i)])) return true;
  }
  return false;
}

// Fixed-point multipliers are exact for 1, and sums of fewer than 30 bits pass.
bool has_a_multiplier_to_round(const TriggerSample& s) {
  const QLinearConv& node = *s.qlinear();
  const auto sums = exact_sums(node.operands, s.x(), s.w());
  const bool is_large = std::any_of(sums.begin(), sums.end(), [](std::int64_t a) { return std::llabs(a) >= 1 << 29; });
  return is_large || std::any_of(node.w_scale.begin(), node.w_scale.end(),
                                 [&](float scale) { return node.x_scale * scale / node.y_scale != 1.0F; });
}

bool has_output_zero_point(const TriggerSample& s) {
  if (const QLinearConv* node = s.qlinear()) return node->y_zero_point != 0;
  const auto& zp = s.quantize().y_zero_point;
  return std::any_of(zp.begin(), zp.end(), [](std::int32_t value) { return value != 0; });
}
bool has_odd_output_zero_point(const TriggerSample& s) {
  if (const QLinearConv* node = s.qlinear()) return node->y_zero_point % 2 != 0;
  const auto& zp = s.quantize().y_zero_point;
  return std::any_of(zp.begin(), zp.end(), [](std::int32_t value) { return value % 2 != 0; });
}
bool reaches_a_bound(const TriggerSample& s) {
  if (!is_integer(s.right.type)) return false;
  const IntegerRange range = reference::range_of(s.right.type);
  return any_value(s.right, [&](double value) { return value == range.lo || value == range.hi; });
}
bool has_parameters(const TriggerSample& s) {
  return s.layout().parameters() > 1;
}
bool has_subnormals(const TriggerSample& s) {
  const auto is_small = [](double value) { return value != 0 && std::fabs(value) < 0x1p-14; };
  return std::any_of(s.scales().begin(), s.scales().end(), is_small) || any_value(s.right, is_small) ||
         any_value(s.x(), is_small);
}
// Without a zero point the node's type is uint8 all the same.
bool is_uint8_without_zero_point(const TriggerSample& s) {
  if (s.test_case.input(2) != nullptr) return false;
  const QuantizeLinear* quantize = quantize_linear_of(s.modelled.lowered());
  return (quantize != nullptr ? quantize->y_type : s.dequantize().x_type) == ElementType::uint8;
}
bool has_zero_points_that_differ(const TriggerSample& s) {
  return quantize_linear_of(s.modelled.lowered()) != nullptr ? differ(s.quantize().y_zero_point)
                                                             : differ(s.dequantize().x_zero_point);
}
bool has_another_axis(const TriggerSample& s) {
  const Attribute* axis = s.test_case.attribute("axis");
  const auto rank = static_cast<std::int64_t>(s.x().shape.size());
  return axis != nullptr && rank > 1 && (std::get<std::int64_t>(axis->value) + rank) % rank != 1;
}
bool is_zero_point_scaled(const TriggerSample& s) {
  const DequantizeLinear& node = s.dequantize();
  // Without a zero point 0 * scale is subtracted: that shows where it is no +0, and in -0.
  return std::any_of(node.x_zero_point.begin(), node.x_zero_point.end(), [](double zp) { return zp != 0; }) ||
         !is_integer(node.x_type) || node.x_type == ElementType::int32 ||
         std::any_of(s.scales().begin(), s.scales().end(),
                     [](double scale) { return !(scale > 0) || std::isinf(scale); });
}

// Near a tie, or with scales whose products over- or underflow.
bool can_show_expressions(const TriggerSample& s) {
  const auto is_extreme = [](double scale) { return std::fabs(scale) < 0x1p-30 || std::fabs(scale) > 0x1p30; };
  if (const QLinearConv* node = s.qlinear()) {
    if (std::any_of(node->w_scale.begin(), node->w_scale.end(), is_extreme)) return true;
    if (is_extreme(node->x_scale) || is_extreme(node->y_scale)) return true;
  } else if (std::any_of(s.scales().begin(), s.scales().end(), is_extreme)) {
    return true;
  }
  return comes_near_a_tie(s, 1e-3);
}

using Trigger = bool (*)(const TriggerSample&);

// Conditions of triggers that features do not say (Defect::needs), by the id of the defect.
const std::map<std::string_view, Trigger> kTriggers{
    {"pads-order", [](const TriggerSample& s) { return s.attributes().pads && s.geometry().axes.size() > 1; }},
    {"pad-reads-next-channel",
     [](const TriggerSample& s) {
       return has_groups(s) && has_pads(s) && s.geometry().axes.size() == 2 && s.geometry().axes[1].input >= 18 &&
              !any_axis(s, [](const auto& a) { return a.kernel != 3; });
     }},
    {"autopad-no-clamp",
     [](const TriggerSample& s) {
       return s.is_same() && any_axis(s, [](const auto& a) { return a.kernel_extent() < a.stride; });
     }},
    {"pad-reads-neighbour",
     [](const TriggerSample& s) {
       const auto& last = s.geometry().axes.back();
       return s.geometry().axes.size() > 1 && (last.pad_begin > 0 || last.pad_end > 0);
     }},
    {"kernel-transposed",
     [](const TriggerSample& s) { return !any_axis(s, [](const auto& a) { return a.kernel == 1; }); }},
    {"zp-sub-wraps-8bit", has_wide_difference},
    {"w-halved",
     [](const TriggerSample& s) {
       return s.operands().x_type == ElementType::int8 && s.operands().w_type == ElementType::int8 &&
              any_value(s.w(), [](double value) { return std::fmod(value, 2) != 0; });
     }},
    {"w-zp-middle",
     [](const TriggerSample& s) {
       const auto& zp = s.operands().w_zero_point;
       const std::int32_t middle = s.operands().w_type == ElementType::uint8 ? 128 : 0;
       return std::any_of(zp.begin(), zp.end(), [&](std::int32_t value) { return value != middle; });
     }},
    {"x-compensation-missing",
     [](const TriggerSample& s) {
       const auto& g = s.geometry();
       return g.group > 1 && g.output_channels == 8 && g.depth() == 8 && g.kernel_taps() == 8 &&
              (s.operands().x_type == ElementType::int8 || has_x_zero_point(s));
     }},
    {"acc-narrow-i8",
     [](const TriggerSample& s) { return any_value(s.right, [](double v) { return v < -128 || v > 127; }); }},
    {"bias-in-f32",
     [](const TriggerSample& s) {
       // A sum that float32 does not hold has its part in the total, or its like in the bias.
       const auto is_wide = [](std::int64_t value) { return std::llabs(value) >= std::int64_t{1} << 23; };
       const auto& bias = s.operands().bias;
       const auto totals = exact_sums(s.operands(), s.x(), s.w());
       return std::any_of(bias.begin(), bias.end(), is_wide) ||
              (!bias.empty() && std::any_of(totals.begin(), totals.end(), is_wide));
     }},
    {"half-away-tail", [](const TriggerSample& s) { return comes_near_a_tie(s, 1e-6); }},
    {"zp-wraps-offset-int8", leaves_int32},
    {"double-round", has_a_multiplier_to_round},
    {"q31-single-round", has_a_multiplier_to_round},
    {"scale-associate-right", can_show_expressions},
    {"scale-double", [](const TriggerSample& s) { return comes_near_a_tie(s, 1e-9); }},
    {"reciprocal", can_show_expressions},
    {"half-away", [](const TriggerSample& s) { return comes_near_a_tie(s, 1e-6); }},
    {"half-up", [](const TriggerSample& s) { return comes_near_a_tie(s, 1e-6); }},
    {"truncate", has_fractions},
    {"zp-before-round",
     [](const TriggerSample& s) { return comes_near_a_tie(s, 1e-6) && has_odd_output_zero_point(s); }},
    {"zp-in-f32", [](const TriggerSample& s) { return comes_near_a_tie(s, kRoundingBesideZeroPoint); }},
    {"int32-before-clamp", leaves_int32},
    {"zp-wraps-int32", leaves_int32},
    {"clamp-before-zp", has_output_zero_point},
    {"wrap-not-saturate", reaches_a_bound},
    {"zp-first", has_zero_points_that_differ},
    {"two-bit-parameters-of-later",
     [](const TriggerSample& s) { return has_parameters(s) && bits_of(s.quantize().y_type) == 2; }},
    {"scale-i32-as-f32", [](const TriggerSample& s) { return s.quantize().scale_type == ElementType::int32; }},
    {"zp-absent-128", is_uint8_without_zero_point},
    {"axis-unread", [](const TriggerSample& s) { return has_parameters(s) && has_another_axis(s); }},
    {"block-size-unread", [](const TriggerSample& s) { return s.layout().block > 1; }},
    {"output-dtype-unread", [](const TriggerSample& s) { return s.test_case.attribute("output_dtype") != nullptr; }},
    {"precision-unread", [](const TriggerSample& s) { return s.test_case.attribute("precision") != nullptr; }},
    {"saturate-unread", [](const TriggerSample& s) { return !s.quantize().saturate; }},
    {"quotient-wide", [](const TriggerSample& s) { return is_16bit_float(division_type(s.quantize())); }},
    {"quotient-fused",
     [](const TriggerSample& s) { return can_show_expressions(s) || comes_near_a_tie(s, kRoundingBesideZeroPoint); }},
    {"e4m3fn-overflows-late",
     [](const TriggerSample& s) { return !s.quantize().saturate && s.quantize().y_type == ElementType::float8e4m3fn; }},
    {"e5m2-tie-nan",
     [](const TriggerSample& s) { return !s.quantize().saturate && s.quantize().y_type == ElementType::float8e5m2; }},
    {"dq-fused",
     [](const TriggerSample& s) { return is_zero_point_scaled(s) || s.dequantize().x_type == ElementType::uint8; }},
    {"product-wide", [](const TriggerSample& s) { return is_16bit_float(s.dequantize().y_type); }},
    {"blocked-interleave", [](const TriggerSample& s) { return s.layout().is_blocked() && s.layout().blocks() > 1; }},
    {"dq-expanded", is_zero_point_scaled},
    {"dq-expanded-fused", is_zero_point_scaled},
    {"denormal-flush", has_subnormals},
};

// Whether the case meets all conditions that a defect needs.
bool meets_needs(const Defect& defect, const CaseTraits& traits) {
  return std::all_of(defect.needs.begin(), defect.needs.end(), [&](std::string_view text) {
    const auto condition = Condition::parse(text);
    EXPECT_TRUE(condition) << defect.id << " needs \"" << text << "\", which is no condition";
    return condition && condition->holds(traits);
  });
}

// Features, a predicate, or both.
bool is_triggered(const Defect& defect, const TriggerSample& sample, const CaseTraits& traits) {
  const auto predicate = kTriggers.find(defect.id);
  EXPECT_TRUE(predicate != kTriggers.end() || !defect.needs.is_empty()) << defect.id << " has no trigger to test";
  return meets_needs(defect, traits) && (predicate == kTriggers.end() || predicate->second(sample));
}

struct ShownCounts {
  int shown = 0;    ///< with the trigger, and other than the reference
  int dormant = 0;  ///< without the trigger
};

class TriggerCounts {
 public:
  void look_at(const Case& test_case) {
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) return;
    const Tensor right = modelled->lowered().evaluate(RoundingProfile::correctly_rounded);
    const TriggerSample sample{test_case, *modelled, right};
    const CaseTraits traits = features_of(test_case, expect(test_case, {}));
    for (const Defect& defect : defects()) {
      if (!defect.operators.contains(modelled->op().name)) continue;
      if (modelled->op().judges_graphs) continue;  // theirs are held in harness/operators/graph
      const bool has_trigger = is_triggered(defect, sample, traits);
      const bool equal = modelled->run(defect) == right;
      ShownCounts& counts = counts_[{defect.id, modelled->op().name}];
      counts.shown += has_trigger && !equal ? 1 : 0;
      counts.dormant += has_trigger ? 0 : 1;
      EXPECT_TRUE(has_trigger || equal) << defect.id << " shows without its trigger on " << test_case.provenance.source
                                        << " " << test_case.id;
    }
  }

  [[nodiscard]] ShownCounts counts(const Defect& defect, std::string_view op) const {
    const auto found = counts_.find({defect.id, op});
    return found == counts_.end() ? ShownCounts{} : found->second;
  }

 private:
  std::map<std::pair<std::string_view, std::string_view>, ShownCounts> counts_;
};

TEST(Triggers, TellWhereADefectShows) {
  TriggerCounts observation;
  auto sources = open_suite("corpus", {});
  ASSERT_TRUE(sources) << sources.error().text();
  for (const auto& source : *sources) {
    for (auto next = source->next(); next && *next; next = source->next()) observation.look_at(**next);
  }
  const auto cases = static_cast<std::uint64_t>(testing::scaled(600));
  for (std::uint64_t i = 0; i < cases; ++i) observation.look_at(random_case(31, i));
  for (const Defect& defect : defects()) {
    for (const std::string_view op : defect.operators) {
      if (find_operator("", op)->judges_graphs) continue;
      EXPECT_GT(observation.counts(defect, op).shown, 0) << defect.id << " never shows in " << op;
      EXPECT_GT(observation.counts(defect, op).dormant, 0) << defect.id << " is always triggered in " << op;
    }
  }
}

}  // namespace
}  // namespace qconform::diagnose
