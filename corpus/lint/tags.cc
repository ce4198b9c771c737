#include "corpus/lint/lint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace qconform::lint {
namespace {

// The input of that name; one that is not there is a tensor without elements.
const Tensor& input_named(const Case& vector, std::string_view name) {
  const Operator* known = operator_of(vector);
  for (std::size_t i = 0; known != nullptr && i < known->inputs.size(); ++i) {
    if (known->inputs[i].name == name && vector.input(i) != nullptr) return *vector.input(i);
  }
  static const Tensor none{ElementType::int32, {0}, {}};
  return none;
}

std::int64_t first_of(const Tensor& tensor) {
  return tensor.elements() == 0 ? 0 : integer_at(tensor, 0);
}

bool begins_with_extremes(const Case& vector, const Lowered& /*lowered*/) {
  const Tensor& x = input_named(vector, "x");
  return first_of(x) == (is_signed_integer(x.type) ? -128 : 255) && std::abs(first_of(input_named(vector, "w"))) >= 64;
}

bool has_weight_zero_point(const Case& vector, const Lowered& /*lowered*/) {
  return first_of(input_named(vector, "w_zero_point")) != 0;
}

bool has_large_bias(const Case& vector, const Lowered& /*lowered*/) {
  const Tensor& bias = input_named(vector, "B");
  for (std::int64_t i = 0; i < bias.elements(); ++i) {
    if (std::abs(integer_at(bias, i)) >= 1 << 22) return true;
  }
  return false;
}

bool is_near_a_tie(const Case& /*vector*/, const Lowered& lowered) {
  return lowered.statistics(Policy{}).ties.near > 0;
}

bool departs_in_float32(const Case& /*vector*/, const Lowered& lowered) {
  return lowered.evaluate(RoundingProfile::ort_f32) != lowered.evaluate(RoundingProfile::correctly_rounded);
}

// Whether some byte is right for `in` and not for `not_in`, in any element of y.
template <reference::Tier in, reference::Tier not_in>
bool admits_more(const Case& /*vector*/, const Lowered& lowered) {
  if (!lowered.has_tiers()) return false;
  Tensor y = lowered.evaluate(RoundingProfile::correctly_rounded);
  for (int byte = 0; byte < 256; ++byte) {
    std::fill(y.bytes.begin(), y.bytes.end(), std::byte(byte));
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const auto tiers = lowered.examine(i, y, Policy{}).tiers;
      if (tiers->contains(in) && !tiers->contains(not_in)) return true;
    }
  }
  return false;
}

std::string broken_claim(const TagClaim& claim, const Case& vector, const Classification& classification) {
  if (classification.expectation() != Expectation::valid) return "a valid vector";
  const CornerCaseCounts reached = classification.lowered->statistics(Policy{}).corner_cases;
  const auto is_reached = [&](CornerCase corner_case) { return reached[corner_case] > 0; };
  if (!claim.corner_cases.empty() && std::none_of(claim.corner_cases.begin(), claim.corner_cases.end(), is_reached)) {
    std::vector<std::string_view> labels;
    for (const CornerCase corner_case : claim.corner_cases) labels.push_back(info_of(corner_case).label);
    return fmt::format("{}", fmt::join(labels, " or "));
  }
  if (claim.holds == nullptr) return "";
  const bool is_convolution = input_named(vector, "w").elements() > 0;
  return is_convolution && claim.holds(vector, *classification.lowered) ? "" : std::string(claim.promise);
}

// Returns whether an input or the output of the node has the type. Vectors of QuantizeLinear and DequantizeLinear are
// tagged by type.
bool has_type(const Case& vector, const Classification& classification, ElementType type) {
  const auto is_meant = [&](const std::optional<Tensor>& input) { return input && input->type == type; };
  return std::any_of(vector.inputs.begin(), vector.inputs.end(), is_meant) ||
         (classification.lowered && classification.lowered->output_type() == type);
}

}  // namespace

const std::vector<TagClaim>& tag_claims() {
  using enum CornerCase;
  using reference::Tier;
  static const std::vector<TagClaim> claims{
      {"power-tie", {tie_positive, tie_negative}},
      {"power-near-tie", {}, "values close to a tie", is_near_a_tie},
      {"power-wide-sum", {sum_beyond_float, float_accumulation}},
      {"power-extreme-products", {}, "the extremes of x and w as first values", begins_with_extremes},
      {"power-padding-value", {padding_extreme_zero_point}, "a nonzero w_zero_point", has_weight_zero_point},
      {"power-channel-zero-point", {channel_zero_points}},
      {"power-same-stride", {same_short_kernel}},
      {"power-padding-only", {padding_only_window}},
      {"power-groups", {grouped_pointwise}},
      {"power-large-bias", {}, "a bias of 2^22 or more", has_large_bias},
      {"power-saturation-edge", {edge_below, edge_low, edge_high, edge_above}},
      {"power-tails"},
      {"power-deep-sum", {int32_wrap}},
      {"power-large-multiplier", {large_multiplier}},
      {"power-batch", {batch}},
      {"power-end-padding", {pads_end_only}},
      {"float32-departs", {}, "another answer in float32 than exactly", departs_in_float32},
      {"tiers:f5-beyond-e", {}, "a value of F5 and not of E", admits_more<Tier::float32, Tier::exact>},
      {"tiers:q31-beyond-f5", {}, "a value of Q31 and not of F5", admits_more<Tier::fixed_point, Tier::float32>},
      {"tiers:f5-beyond-q31", {}, "a value of F5 and not of Q31", admits_more<Tier::float32, Tier::fixed_point>},
      {"tiers:d-beyond-f5", {}, "a value of D and not of F5", admits_more<Tier::float_convolution, Tier::float32>},
      {"hardest", {}, "values close to a tie", is_near_a_tie},
      {"asymmetric", {pads_asymmetric}},
      {"padding-only", {padding_only_window}},
      {"wrap", {int32_wrap}},
      {"nan", {nan_input}},
      {"saturate-0", {float_overflow}},
  };
  return claims;
}

std::string broken_promise(const Case& vector, const Classification& classification, const std::string& tag) {
  const auto is_claim = [&](const TagClaim& claim) { return claim.tag == tag; };
  const auto claim = std::find_if(tag_claims().begin(), tag_claims().end(), is_claim);
  if (claim != tag_claims().end()) return broken_claim(*claim, vector, classification);
  if (tag.starts_with("power-") || tag.starts_with("tiers:")) return "a meaning that docs/corpus.md explains";
  if (tag.starts_with("profile:")) return profile_named(tag.substr(8)) ? "" : "a profile";
  if (tag == "refusal") return classification.lowered ? "a vector that must be refused" : "";
  const std::optional<ElementType> type = element_type_named(tag);
  const bool is_linear = vector.node().op_type.ends_with("quantizeLinear") || vector.node().op_type == "QuantizeLinear";
  return type && is_linear && !has_type(vector, classification, *type) ? "a tensor of that type" : "";
}

}  // namespace qconform::lint
