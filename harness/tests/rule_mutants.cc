#include "harness/tests/rule_mutants.h"

#include <algorithm>
#include <cmath>

#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/pipeline.h"
#include "harness/operators/linear/pipeline.h"
#include "reference/numerics/integers.h"

namespace qconform::testing {
namespace {

using diagnose::Defect;
using diagnose::OpSet;
using diagnose::Stages;
using reference::Tier;

// Value rules: the mutated reference's output is judged wrong.

bool is_condemned(const Vector& vector, const std::optional<Tensor>& output) {
  return output && vector.expected.output && is_failure(judge(vector.expected, outcome::Produced{*output}).kind);
}

// `ops`: where it is to show; empty: in any operator.
RuleMutant defect(const char* rule, const char* id, const OpSet& ops = {}) {
  const Defect* model = diagnose::find_defect(id);
  return {rule, std::string("value: ") + id, [model, ops](const Vector& v) {
            return model != nullptr && v.modelled && (ops.is_empty() || ops.contains(v.modelled->op().name)) &&
                   is_condemned(v, v.modelled->run(*model));
          }};
}

RuleMutant value(const char* rule, const char* name, void (*replace)(Stages&)) {
  return {rule, std::string("value: ") + name, [replace](const Vector& v) {
            Stages stages;
            replace(stages);
            return v.modelled && is_condemned(v, v.modelled->run(stages));
          }};
}

// Refusals, and what is implementation-defined: the expectation that follows without the rule is not the vector's.

bool differs(const Vector& vector, Expectation mutated) {
  return vector.test_case.expectation != mutated;
}

RuleMutant violation_dropped(const char* rule) {
  return {rule, "refusal dropped", [rule](const Vector& v) {
            const auto& violation = v.expected.classification.contract.violation;
            return violation && violation->rule == rule && differs(v, Expectation::valid);
          }};
}

bool has_implementation_defined(const Vector& vector, const std::string& rule) {
  const reference::Contract& contract = vector.expected.classification.contract;
  return contract.holds() && std::any_of(contract.implementation_defined.begin(), contract.implementation_defined.end(),
                                         [&](const reference::Remark& remark) { return remark.rule == rule; });
}

RuleMutant implementation_defined_dropped(const char* rule) {
  return {rule, "implementation-defined dropped", [rule](const Vector& v) {
            const auto& implementation_defined = v.expected.classification.contract.implementation_defined;
            const bool alone = std::all_of(implementation_defined.begin(), implementation_defined.end(),
                                           [&](const reference::Remark& remark) { return remark.rule == rule; });
            return has_implementation_defined(v, rule) && alone && differs(v, Expectation::valid);
          }};
}

RuleMutant implementation_defined_refused(const char* rule) {
  return {rule, "implementation-defined refused",
          [rule](const Vector& v) { return has_implementation_defined(v, rule) && differs(v, Expectation::invalid); }};
}

// This mutant refuses cases that the rule declares valid.
RuleMutant refused(const char* rule, const char* what, bool (*applies)(const Vector&)) {
  return {rule, std::string("refused: ") + what, [applies](const Vector& v) {
            return v.expected.classification.expectation() == Expectation::valid && applies(v) &&
                   differs(v, Expectation::invalid);
          }};
}

// Sets: an answer that was the only one is not, or the reverse. A valid vector records an answer where it
// is the only right one.

template <typename Determined>
bool flips(const Vector& v, const Determined& determined) {
  const auto& lowered = v.expected.classification.lowered;
  if (!lowered || v.expected.classification.value_is_open || !v.expected.output) return false;
  for (std::int64_t i = 0; i < v.expected.output->elements(); ++i) {
    if (lowered->is_determined(i, v.expected.policy) != determined(*lowered, i)) return true;
  }
  return false;
}

// QLinearConv's set under one profile in place of that under another.
RuleMutant set_exchanged(const char* rule, const char* name, Profile of, Profile by) {
  return {rule, std::string("set: ") + name, [of, by](const Vector& v) {
            const bool applies = v.modelled && v.modelled->op().name == "QLinearConv";
            if (!applies || v.expected.policy.profile != of) return false;
            return flips(v, [&](const Lowered& lowered, std::int64_t i) {
              return lowered.is_determined(i, Policy{.profile = by});
            });
          }};
}

// A model's output lies in the tier's set but not in the stricter one that takes its place.
RuleMutant tier_narrowed(const char* rule, Tier tier, Tier stricter, const char* model) {
  const std::string name = "set: " + std::string(name_of(stricter)) + " in its place, seen by " + model;
  const Defect* found = diagnose::find_defect(model);
  return {rule, name, [=](const Vector& v) {
            if (!v.modelled || v.modelled->op().name != "QLinearConv" || found == nullptr) return false;
            const std::optional<Tensor> output = v.modelled->run(*found);
            if (!output || output->shape != v.expected.output->shape) return false;
            for (std::int64_t i = 0; i < output->elements(); ++i) {
              const reference::TierSet tiers = *v.modelled->lowered().examine(i, *output, v.expected.policy).tiers;
              if (tiers.contains(tier) && !tiers.contains(stricter)) return true;
            }
            return false;
          }};
}

RuleMutant saturating_sums(const char* rule) {
  return {rule, "set: ConvInteger also saturates", [](const Vector& v) {
            return v.modelled && v.modelled->op().name == "ConvInteger" &&
                   flips(v, [](const Lowered& lowered, std::int64_t i) {
                     return lowered.is_determined(i, Policy{.overflow = OverflowPolicy::permissive});
                   });
          }};
}

// Only the sum itself, or only the wrapped one, may be requantized.
RuleMutant one_sum_only(const char* rule) {
  return {rule, "set: QLinearConv wraps its sums, and nothing else", [](const Vector& v) {
            if (!v.modelled || v.modelled->op().name != "QLinearConv") return false;
            const auto& node = *qlinear_conv_of(v.modelled->lowered());
            const auto sums = exact_sums(node.operands, *v.test_case.input(0), *v.test_case.input(3));
            const auto channels = static_cast<std::size_t>(node.operands.geometry.output_channels);
            const auto positions = static_cast<std::size_t>(node.operands.geometry.output_positions());
            for (std::size_t i = 0; i < sums.size(); ++i) {
              const std::int32_t wrapped = reference::wrap_to_int32(sums[i]);
              if (wrapped == sums[i]) continue;
              const auto parameters = node.requantization(i / positions % channels);
              if (float_set(wrapped, parameters) != float_set(sums[i], parameters)) return true;
            }
            return false;
          }};
}

// The further answers that a rule of the element-wise operators allows are taken away.
RuleMutant narrowed(const char* rule) {
  return {rule, "set: the reference's answer alone", [rule](const Vector& v) {
            const auto& lowered = v.expected.classification.lowered;
            if (!lowered || !v.modelled || !v.expected.output) return false;
            for (std::int64_t i = 0; i < v.expected.output->elements(); ++i) {
              if (std::string_view(lowered->right_values(i, Policy{}).rule) == rule) return true;
            }
            return false;
          }};
}

template <bool (*applies)(const reference::ConvolutionOperands&, const Case&)>
bool of_convolution(const Vector& v) {
  const auto* operands = operands_of(*v.expected.classification.lowered);
  return operands != nullptr && applies(*operands, v.test_case);
}

using Operands = reference::ConvolutionOperands;

bool is_same_with_dilation(const Operands& o, const Case& c) {
  return stated_attributes(c).auto_pad.starts_with("SAME") &&
         std::any_of(o.geometry.axes.begin(), o.geometry.axes.end(), [](const auto& a) { return a.dilation > 1; });
}
bool has_wide_pads(const Operands& o, const Case&) {
  return std::any_of(o.geometry.axes.begin(), o.geometry.axes.end(),
                     [](const auto& a) { return a.pad_begin >= a.kernel_extent() || a.pad_end >= a.kernel_extent(); });
}
bool has_no_images_or_channels(const Operands& o, const Case&) {
  return o.geometry.batch == 0 || o.geometry.output_channels == 0;
}
bool has_differing_zero_points(const Operands& o, const Case&) {
  return std::adjacent_find(o.w_zero_point.begin(), o.w_zero_point.end(), std::not_equal_to<>()) !=
         o.w_zero_point.end();
}
bool has_mixed_types(const Operands& o, const Case&) {
  return o.x_type != o.w_type;
}
bool has_shaped_scalars(const Operands&, const Case& c) {
  return std::any_of(c.inputs.begin() + 1, c.inputs.end(), [](const std::optional<Tensor>& input) {
    const bool is_parameter = input && input->shape.size() < 3 && input->type != ElementType::int32;
    return is_parameter && input->elements() == 1 && !input->is_scalar();
  });
}
bool has_shaped_scale_of_tensor(const Vector& v) {
  return operands_of(*v.expected.classification.lowered) == nullptr && v.test_case.inputs.size() > 1 &&
         v.test_case.input(1)->elements() == 1 && !v.test_case.input(1)->is_scalar();
}
bool omits_x_zero_point_alone(const Operands&, const Case& c) {
  return c.node().op_type == "ConvInteger" && c.input(2) == nullptr && c.input(3) != nullptr;
}
bool is_linear_scalar_or_empty(const Vector& v) {
  return operands_of(*v.expected.classification.lowered) == nullptr &&
         (v.test_case.input(0)->is_scalar() || v.test_case.input(0)->elements() == 0);
}

// The formula without the scales' signs.
void ignore_signs_of_scales(Stages& s) {
  s.set(diagnose::stage::product,
        {[](std::int64_t sum, const reference::Requantization& p, const reference::FloatExpression*) {
          const reference::Requantization positive{std::fabs(p.x_scale), std::fabs(p.w_scale), std::fabs(p.y_scale),
                                                   p.y_zero_point, p.y_range};
          return diagnose::quotient_of_float(requantize(RoundingProfile::correctly_rounded, sum, positive) -
                                             p.y_zero_point);
        }});
}

void lose_signs_of_zeros(Stages& s) {
  s.set(diagnose::stage::result, [](const reference::FloatFormat& format, std::uint64_t bits) {
    return is_zero(format, bits) ? std::uint64_t{0} : bits;
  });
}

std::vector<RuleMutant> convolution_mutants() {
  return {
      defect("C1", "pad-raw-zero"),
      defect("C1", "pad-zp-resigned"),
      defect("C1", "border-comp-omitted"),
      defect("C1", "pad-reads-neighbour"),
      defect("C2", "autopad-ignores-dilation"),
      refused("C2", "SAME with a dilation", of_convolution<is_same_with_dilation>),
      defect("C3", "autopad-no-clamp"),
      defect("C4", "autopad-nc-dims"),
      defect("C4", "autopad-valid-as-same"),
      violation_dropped("C5"),
      implementation_defined_dropped("C5"),
      implementation_defined_refused("C5"),
      violation_dropped("C6"),
      violation_dropped("C7"),
      violation_dropped("C8"),
      defect("C9", "no-valid-tap"),
      refused("C9", "pads as wide as the window", of_convolution<has_wide_pads>),
      implementation_defined_dropped("C10"),
      implementation_defined_refused("C10"),
      refused("C10", "N = 0 or M = 0", of_convolution<has_no_images_or_channels>),
      violation_dropped("C11"),
      refused("C11", "one element in a shape", of_convolution<has_shaped_scalars>),
      implementation_defined_dropped("C12"),
      implementation_defined_refused("C12"),
      defect("C13", "w-zp-first-channel"),
      defect("C13", "w-zp-group-local"),
      refused("C13", "w_zero_point that differs between channels", of_convolution<has_differing_zero_points>),
      violation_dropped("C14"),
      defect("C14", "w-u8-as-s8"),
      refused("C14", "x and w of different types", of_convolution<has_mixed_types>),
      violation_dropped("C15"),
      refused("C15", "x_zero_point omitted before w_zero_point", of_convolution<omits_x_zero_point_alone>),
      violation_dropped("C16"),
  };
}

std::vector<RuleMutant> sum_mutants() {
  return {
      defect("C17", "acc-wrap-i16-9tap"),
      defect("C17", "f32-accumulate"),
      defect("C17", "acc-narrow-i8"),
      defect("C17", "i32-sat"),
      saturating_sums("C17"),
      one_sum_only("C17"),
      defect("C18", "pair-sat-i16"),
      defect("C19", "half-away", {"QLinearConv"}),
      defect("C19", "half-up", {"QLinearConv"}),
      defect("C19", "truncate", {"QLinearConv"}),
      defect("C19", "zp-before-round", {"QLinearConv"}),
      defect("C20", "bias-not-rescaled"),
      implementation_defined_dropped("C21"),
      implementation_defined_refused("C21"),
      value("C21", "the formula without the scales' signs", ignore_signs_of_scales),
      set_exchanged("E", "F_5 in its place", Profile::conformance, Profile::correctly_rounded),
      tier_narrowed("F_5", Tier::float32, Tier::exact, "scale-associate-right"),
      set_exchanged("F_5", "D in its place", Profile::conformance, Profile::dml_doc),
      tier_narrowed("Q31", Tier::fixed_point, Tier::float32, "q31-single-round"),
      tier_narrowed("D", Tier::float_convolution, Tier::float32, "f32-accumulate"),
  };
}

std::vector<RuleMutant> linear_mutants() {
  return {
      defect("D1", "dq-expanded"),
      defect("D1", "zp-sub-wraps-8bit", {"DequantizeLinear"}),
      narrowed("D2"),
      implementation_defined_dropped("D3"),
      implementation_defined_refused("D3"),
      narrowed("D3"),
      narrowed("D4"),
      value("D5", "zeros lose their sign", lose_signs_of_zeros),
      narrowed("D5"),
      narrowed("D6"),
      implementation_defined_dropped("D6"),
      implementation_defined_refused("D6"),
      defect("D7", "axis-ignored"),
      defect("D7", "neg-axis"),
      defect("D7", "blocked-interleave"),
      violation_dropped("D7"),
      implementation_defined_dropped("D7"),
      implementation_defined_refused("D7"),
      refused("D7", "one scale in a shape", has_shaped_scale_of_tensor),
      refused("D8", "rank-0 and empty tensors", is_linear_scalar_or_empty),
      defect("Q1", "reciprocal", {"QuantizeLinear"}),
      narrowed("Q1"),
      defect("Q2", "zp-before-round", {"QuantizeLinear"}),
      narrowed("Q3"),
      defect("Q4", "wrap-not-saturate", {"QuantizeLinear"}),
      defect("Q4", "int32-before-clamp", {"QuantizeLinear"}),
      narrowed("Q5"),
      narrowed("Q6"),
      implementation_defined_dropped("Q6"),
      violation_dropped("Q7"),
      narrowed("Q8"),
      implementation_defined_dropped("Q8"),
      violation_dropped("signature"),
  };
}

std::vector<RuleMutant> directml_mutants() {
  static constexpr const char* kRules[] = {"X1", "X2", "X3",  "X4",  "X5",  "X6",  "X7",
                                           "X8", "X9", "X10", "X11", "X12", "X13", "X14"};
  std::vector<RuleMutant> mutants{set_exchanged("D", "F_5 in its place", Profile::dml_doc, Profile::conformance)};
  for (const char* rule : kRules) mutants.push_back(violation_dropped(rule));
  return mutants;
}

}  // namespace

std::vector<RuleMutant> rule_mutants() {
  std::vector<RuleMutant> all;
  for (const auto& list : {convolution_mutants, sum_mutants, linear_mutants, directml_mutants}) {
    std::vector<RuleMutant> mutants = list();
    std::move(mutants.begin(), mutants.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace qconform::testing
