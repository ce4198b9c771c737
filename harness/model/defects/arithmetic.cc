#include "harness/model/defects/arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/family.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform::diagnose {

const DefectModel& NodeModels::of(const ModelledCase& modelled) const {
  if (of_kinds.empty()) return common;
  const NodeKind kind = kind_of(modelled);
  const auto found =
      std::find_if(of_kinds.begin(), of_kinds.end(), [&](const auto& one) { return matches(one.first, kind); });
  return found == of_kinds.end() ? common : found->second;
}

std::optional<Tensor> NodeModels::run(const ModelledCase& modelled) const {
  return modelled.run(of(modelled));
}

namespace {

KindPattern properties_of(const NodeKind& kind) {
  KindPattern all;
  const auto add_type = [&](const char* key, ElementType type) {
    if (type != ElementType::undefined) all[key] = name_of(type);
  };
  add_type("x", kind.x);
  add_type("w", kind.w);
  add_type("y", kind.y);
  if (!kind.layout.empty()) all["layout"] = kind.layout;
  return all;
}

bool is_part(const KindPattern& pattern, const KindPattern& all) {
  return std::includes(all.begin(), all.end(), pattern.begin(), pattern.end());
}

// Every choice of its properties, the fewest first.
std::vector<KindPattern> patterns_of(const NodeKind& kind) {
  const KindPattern all = properties_of(kind);
  std::vector<KindPattern> patterns;
  for (unsigned chosen = 0; chosen < 1U << all.size(); ++chosen) {
    KindPattern pattern;
    unsigned bit = 1;
    for (const auto& property : all) {
      if ((chosen & bit) != 0) pattern.insert(property);
      bit <<= 1U;
    }
    patterns.push_back(std::move(pattern));
  }
  std::stable_sort(patterns.begin(), patterns.end(),
                   [](const KindPattern& a, const KindPattern& b) { return a.size() < b.size(); });
  return patterns;
}

std::size_t count_matching(const KindPattern& pattern, const std::vector<KindPattern>& kinds) {
  return static_cast<std::size_t>(
      std::count_if(kinds.begin(), kinds.end(), [&](const KindPattern& kind) { return is_part(pattern, kind); }));
}

// The pattern that has the most of the group's kinds that are `left`, and none of `others`.
KindPattern widest_pattern(const std::vector<NodeKind>& group, const std::vector<KindPattern>& left,
                           const std::vector<KindPattern>& others) {
  KindPattern widest;
  std::size_t most = 0;
  for (const NodeKind& kind : group) {
    for (KindPattern& pattern : patterns_of(kind)) {
      const std::size_t count = count_matching(pattern, left);
      if (count <= most || count_matching(pattern, others) > 0) continue;
      most = count;
      widest = std::move(pattern);
    }
  }
  return widest;
}

std::vector<KindPattern> patterns_for(std::span<const std::vector<NodeKind>> groups, std::size_t index) {
  std::vector<KindPattern> left;
  std::vector<KindPattern> others;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const NodeKind& kind : groups[i]) (i == index ? left : others).push_back(properties_of(kind));
  }
  std::vector<KindPattern> patterns;
  while (!left.empty()) {
    patterns.push_back(widest_pattern(groups[index], left, others));
    std::erase_if(left, [&](const KindPattern& kind) { return is_part(patterns.back(), kind); });
  }
  return patterns;
}

// "x uint8, depthwise"
std::string text_of_properties(const KindPattern& properties) {
  std::string text;
  for (const std::string key : {"x", "w", "y", "layout"}) {
    const auto found = properties.find(key);
    if (found == properties.end()) continue;
    text += (text.empty() ? "" : ", ") + (key == "layout" ? "" : key + " ") + found->second;
  }
  return text;
}

}  // namespace

NodeKind kind_of(const ModelledCase& modelled) {
  NodeKind kind{ElementType::undefined, ElementType::undefined, modelled.lowered().output_type()};
  const auto inputs = modelled.op().inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == "x") kind.x = modelled.test_case().input(i)->type;
    if (inputs[i].name == "w") kind.w = modelled.test_case().input(i)->type;
  }
  if (const auto layout_of = modelled.family().arithmetic.layout_of) kind.layout = layout_of(modelled.lowered());
  return kind;
}

std::string text_of(const NodeKind& kind) {
  return text_of_properties(properties_of(kind));
}

std::string text_of_patterns(const std::vector<KindPattern>& patterns) {
  std::vector<std::pair<std::string, std::string>> layouts_by_types;
  for (KindPattern pattern : patterns) {
    const auto layout = pattern.extract("layout");
    const std::string types = text_of_properties(pattern);
    auto same = std::find_if(layouts_by_types.begin(), layouts_by_types.end(),
                             [&](const auto& known) { return known.first == types && !layout.empty(); });
    if (same == layouts_by_types.end()) same = layouts_by_types.insert(same, {types, ""});
    if (!layout.empty()) same->second += (same->second.empty() ? "" : ", ") + layout.mapped();
  }
  std::string text;
  for (const auto& [types, layouts] : layouts_by_types) {
    const bool has_both = !types.empty() && !layouts.empty();
    text += (text.empty() ? "" : "; ") + types + (has_both ? " (" + layouts + ")" : layouts);
  }
  return text;
}

bool matches(const KindPattern& pattern, const NodeKind& kind) {
  return is_part(pattern, properties_of(kind));
}

bool any_matches(std::span<const KindPattern> patterns, const NodeKind& kind) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const KindPattern& pattern) { return matches(pattern, kind); });
}

std::vector<std::vector<KindPattern>> tell_apart(std::span<const std::vector<NodeKind>> groups) {
  std::vector<std::vector<KindPattern>> patterns;
  for (std::size_t i = 0; i < groups.size(); ++i) patterns.push_back(patterns_for(groups, i));
  return patterns;
}

std::vector<std::string> told_apart(std::span<const std::vector<NodeKind>> groups) {
  const auto patterns = tell_apart(groups);
  std::size_t all = 0;
  for (const auto& own : patterns) all += own.size();
  std::vector<std::string> words;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].size() * 2 <= all || patterns.size() < 2) {
      words.push_back(text_of_patterns(patterns[i]));
      continue;
    }
    std::vector<KindPattern> others;
    for (std::size_t j = 0; j < patterns.size(); ++j) {
      if (j != i) others.insert(others.end(), patterns[j].begin(), patterns[j].end());
    }
    words.push_back("all but " + text_of_patterns(others));
  }
  return words;
}

KindPattern pattern_of(const Pin& pin) {
  KindPattern pattern = pin.types;
  if (!pin.layout.empty()) pattern["layout"] = pin.layout;
  return pattern;
}

std::optional<Tensor> pinned_output(const Case& test_case, const Classification& classification,
                                    const PinnedProfile& profile) {
  const auto modelled = ModelledCase::prepare(test_case, classification);
  if (modelled == nullptr) return std::nullopt;
  const NodeKind kind = kind_of(*modelled);
  const auto pin = std::find_if(profile.pins.begin(), profile.pins.end(), [&](const Pin& p) {
    return p.op_type == modelled->op().name && matches(pattern_of(p), kind);
  });
  if (pin == profile.pins.end()) return std::nullopt;
  Stages stages;
  for (const Choice& choice : choices()) {
    if (choice.op_type != modelled->op().name || !choice.concerns(modelled->lowered())) continue;
    const auto variant = pin->variants.find(choice.id);
    if (variant == pin->variants.end()) return std::nullopt;
    find_variant(choice, variant->second)->replace(stages);
  }
  return modelled->run(stages);
}

Profile named_profile_like(const PinnedProfile& profile) {
  for (const Pin& pin : profile.pins) {
    const Family* family = family_of("", pin.op_type);
    if (!pin.types.empty() || !pin.layout.empty() || family == nullptr || family->arithmetic.profile_of == nullptr)
      continue;
    if (const auto like = family->arithmetic.profile_of(pin)) return *like;
  }
  return Profile::conformance;
}

namespace {

using Round = std::int64_t (*)(const Quotient& value, std::int32_t zero_point);

Variant rounding(std::string id, std::string formula, Round round) {
  return {std::move(id), std::move(formula), [round](Stages& s) { s.set(stage::round, round); }};
}

std::int64_t half_down(const Quotient& value, std::int32_t) {
  const Neighbours n = neighbours_of(value);
  if (!n.is_tie) return n.even();
  return n.sign > 0 ? n.lower : -n.lower - 1;
}

double as_float32(double value) {
  return static_cast<double>(static_cast<float>(value));
}

// Adds the zero point in the arithmetic of `narrow`, rounds with `round`, and takes it off again: the next
// stage adds it.
template <double (*narrow)(double), double (*round)(double)>
std::int64_t with_zero_point(const Quotient& value, std::int32_t zero_point) {
  return static_cast<std::int64_t>(round(narrow(float64_of(value) + zero_point))) - zero_point;
}

double in_float64(double value) {
  return value;
}

double nearest_even(double value) {
  return reference::round_half_even(value);
}

double nearest_away(double value) {
  return std::round(value);
}

std::int64_t add_half_and_floor(const Quotient& value, std::int32_t) {
  return static_cast<std::int64_t>(std::floor(as_float32(float64_of(value) + 0.5)));
}

std::int64_t add_half_and_truncate(const Quotient& value, std::int32_t) {
  const double v = float64_of(value);
  return static_cast<std::int64_t>(std::trunc(as_float32(v + std::copysign(0.5, v))));
}

std::vector<Choice> all_choices() {
  std::vector<Choice> all;
  for (const Family* family : families()) {
    if (family->arithmetic.choices == nullptr) continue;
    std::vector<Choice> own = family->arithmetic.choices();
    std::move(own.begin(), own.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<std::string_view> all_ids() {
  std::vector<std::string_view> ids;
  for (const Choice& choice : choices()) {
    if (std::find(ids.begin(), ids.end(), choice.id) == ids.end()) ids.push_back(choice.id);
  }
  return ids;
}

}  // namespace

Variant variant_of_defect(std::string id, std::string formula, std::string_view defect) {
  return {std::move(id), std::move(formula), [model = find_defect(defect)](Stages& s) { model->apply(s); }, defect};
}

Variant plain_variant(std::string id, std::string formula) {
  return {std::move(id), std::move(formula), [](Stages&) {}};
}

std::vector<Variant> rounding_variants() {
  return {
      plain_variant("half-even", "to nearest, ties to even, then the zero point"),
      variant_of_defect("half-away", "to nearest, ties away from zero, then the zero point", "half-away"),
      variant_of_defect("half-up", "to nearest, ties upward, then the zero point", "half-up"),
      rounding("half-down", "to nearest, ties downward, then the zero point", half_down),
      variant_of_defect("truncate", "toward zero, then the zero point", "truncate"),
      variant_of_defect("zero-point-first", "the zero point, then to nearest, ties to even", "zp-before-round"),
      variant_of_defect("zero-point-first-f32", "f32(value + zero point), then to nearest, ties to even", "zp-in-f32"),
      rounding("zero-point-first-f64", "f64(value + zero point), then to nearest, ties to even",
               with_zero_point<in_float64, nearest_even>),
      rounding("zero-point-first-f32-half-away", "f32(value + zero point), then to nearest, ties away from zero",
               with_zero_point<as_float32, nearest_away>),
      rounding("half-added-f32", "floor(f32(value + 0.5)), then the zero point", add_half_and_floor),
      rounding("half-added-f32-truncated", "f32(value +- 0.5) toward zero, then the zero point", add_half_and_truncate),
  };
}

std::vector<Variant> conversion_variants() {
  return {plain_variant("saturates", "values beyond int32 saturate by their sign"),
          variant_of_defect("lowest", "values beyond int32, of either sign, give the lowest int32 (x86's cvtps2dq)",
                            "int32-before-clamp")};
}

std::span<const Choice> choices() {
  static const std::vector<Choice> all = all_choices();
  return all;
}

const Choice* find_choice(std::string_view op_type, std::string_view id) {
  const auto all = choices();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Choice& a) { return a.op_type == op_type && a.id == id; });
  return found == all.end() ? nullptr : &*found;
}

const Variant* find_variant(const Choice& choice, std::string_view id) {
  const auto found = std::find_if(choice.variants.begin(), choice.variants.end(),
                                  [&](const Variant& variant) { return variant.id == id; });
  return found == choice.variants.end() ? nullptr : &*found;
}

}  // namespace qconform::diagnose

std::span<const std::string_view> qconform::choice_ids() {
  static const std::vector<std::string_view> all = diagnose::all_ids();
  return all;
}
