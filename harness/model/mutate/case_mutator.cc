#include "harness/model/mutate/case_mutator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/profile.h"
#include "harness/model/draws/draws.h"
#include "harness/model/family.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "reference/numerics/floats.h"

namespace qconform {
namespace {

bool is_float(ElementType type) {
  return is_numeric(type) && !is_integer(type);
}

// Patterns that are the ends of integers and the special values of floats alike.
std::uint64_t draw_extreme(Rng& rng, ElementType type) {
  const std::uint64_t top = std::uint64_t{1} << (bits_of(type) - 1);
  const std::uint64_t ones = top | (top - 1);
  switch (rng.below(9)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return ones;
    case 3: return ones - 1;
    case 4: return top;
    case 5: return top - 1;
    case 6: return top + 1;
    case 7: return is_float(type) ? reference::float_format(type).largest() : top >> 1;
    default: return is_float(type) ? reference::float_format(type).largest() + 1 : ones / 3;
  }
}

std::uint64_t draw_pattern(Rng& rng, const Tensor& tensor, std::int64_t index) {
  const std::uint64_t present = bits_at(tensor, index);
  switch (rng.below(6)) {
    case 0: return draw_extreme(rng, tensor.type);
    case 1: return present + 1;
    case 2: return present - 1;
    case 3: return present ^ std::uint64_t{1} << rng.below(static_cast<std::uint32_t>(bits_of(tensor.type)));
    case 4: return bits_at(tensor, mutation::draw_index(rng, tensor));
    default: return rng.next();
  }
}

double power_of_two(Rng& rng, int lo, int hi) {
  return std::ldexp(1.0, static_cast<int>(rng.between(lo, hi)));
}

double draw_odd_scale(Rng& rng) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kOdd[] = {0.0, -0.0, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), -1.0, -0.5};
  return rng.pick(kOdd);
}

double draw_scale(Rng& rng, double present) {
  switch (rng.below(9)) {
    case 0: return power_of_two(rng, -20, 10);
    case 1: return power_of_two(rng, -149, 127);
    case 2: return present * power_of_two(rng, -4, 4);
    case 3: return present * 3;
    case 4: return static_cast<double>(rng.between(1, 255)) * power_of_two(rng, -16, 2);
    case 5: return rng.chance(1, 2) ? 0x1p-30 : 0x1p30;
    case 6: return random_float(rng, static_cast<int>(rng.between(-149, 104)));
    case 7: return 1;
    default: return random_scale(rng);
  }
}

}  // namespace

void store_number(Tensor& tensor, std::int64_t index, double value) {
  const ElementType element = tensor.type;
  if (is_float(tensor.type)) {
    using reference::Overflow;
    set_bits_at(tensor, index, reference::encode(reference::float_format(element), value, Overflow::saturate));
    return;
  }
  const auto [lo, hi] = reference::range_of(element);
  const double whole = std::isnan(value) ? 0 : std::nearbyint(std::clamp<double>(value, lo, hi));
  set_bits_at(tensor, index, static_cast<std::uint64_t>(static_cast<std::int64_t>(whole)));
}

Tensor converted(const Tensor& tensor, ElementType type) {
  if (tensor.type == type || !is_numeric(tensor.type) || !is_numeric(type)) return tensor;
  const std::int64_t elements = tensor.elements();
  Tensor result{type, tensor.shape, {}};
  result.bytes.resize(static_cast<std::size_t>(bytes_for(type, elements)));
  for (std::int64_t i = 0; i < elements; ++i) store_number(result, i, number_at(tensor, i));
  return result;
}

Tensor reshaped(Rng& rng, const Tensor& tensor, std::vector<std::int64_t> shape) {
  Tensor result{tensor.type, std::move(shape), {}};
  const std::int64_t elements = result.elements();
  const std::int64_t present = tensor.elements();
  const int bits = bits_of(tensor.type);
  result.bytes.resize(static_cast<std::size_t>(bytes_for(tensor.type, elements)));
  if (bits > 64) return result;
  for (std::int64_t i = 0; i < elements; ++i)
    set_bits_at(result, i, present > 0 ? bits_at(tensor, i % present) : rng.next());
  return result;
}

void change_values(Rng& rng, Tensor& tensor) {
  const std::int64_t elements = tensor.elements();
  const int bits = bits_of(tensor.type);
  if (elements == 0 || bits > 64 || tensor.type == ElementType::boolean) return;
  const std::int64_t first = mutation::draw_index(rng, tensor);
  switch (rng.below(4)) {
    case 0: {  // one value over a run
      const std::uint64_t raw = draw_pattern(rng, tensor, first);
      const std::int64_t last = std::min(elements - 1, first + rng.between(0, 40));
      for (std::int64_t i = first; i <= last; ++i) set_bits_at(tensor, i, raw);
      return;
    }
    case 1: {  // every element, from two patterns
      const std::uint64_t patterns[] = {draw_pattern(rng, tensor, first), draw_extreme(rng, tensor.type)};
      for (std::int64_t i = 0; i < elements; ++i) set_bits_at(tensor, i, rng.pick(patterns));
      return;
    }
    default: set_bits_at(tensor, first, draw_pattern(rng, tensor, first));
  }
}

void change_scales(Rng& rng, Tensor& scales, bool odd) {
  const std::int64_t elements = scales.elements();
  if (elements == 0 || !is_numeric(scales.type)) return;
  const std::int64_t chosen = mutation::draw_index(rng, scales);
  if (rng.chance(1, 3)) {
    const std::uint64_t raw = bits_at(scales, chosen);
    set_bits_at(scales, chosen, raw + static_cast<std::uint64_t>(rng.between(-2, 2)));
    const double neighbour = number_at(scales, chosen);
    if (!(neighbour > 0 && std::isfinite(neighbour))) set_bits_at(scales, chosen, raw);
    return;
  }
  const double value = odd ? draw_odd_scale(rng) : draw_scale(rng, number_at(scales, chosen));
  const bool all = rng.chance(1, 4);
  for (std::int64_t i = all ? 0 : chosen; i <= (all ? elements - 1 : chosen); ++i) store_number(scales, i, value);
}

}  // namespace qconform

namespace qconform::mutation {
namespace {

std::size_t position_of(const Case& test_case, std::string_view name) {
  const Operator* known = operator_of(test_case);
  if (known == nullptr) return test_case.inputs.size();
  const auto found =
      std::find_if(known->inputs.begin(), known->inputs.end(), [&](const auto& input) { return input.name == name; });
  return static_cast<std::size_t>(found - known->inputs.begin());
}

std::optional<Tensor>* draw_input(Case& test_case, Rng& rng) {
  if (test_case.inputs.empty()) return nullptr;
  return &test_case.inputs[rng.below(static_cast<std::uint32_t>(test_case.inputs.size()))];
}

Attribute::Value draw_wrong_value(Rng& rng) {
  switch (rng.below(6)) {
    case 0: return rng.between(-3, 3);
    case 1: return static_cast<std::int64_t>(rng.next());
    case 2: return 1.5F;
    case 3: return std::string("SAME");
    case 4: return std::vector<std::int64_t>(rng.below(9), rng.between(-2, 4));
    default: break;
  }
  const auto count = static_cast<std::size_t>(rng.below(3));  // one draw, so that later ones of a seed stay
  if (count == 2) return std::vector<std::string>(count, "SAME");
  return std::vector<float>(count, 1.0F);
}

void spoil_attribute(Case& test_case, Rng& rng) {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const Family* family : families()) {
      names.insert(names.end(), family->mutation.attributes.begin(), family->mutation.attributes.end());
    }
    names.emplace_back("colour");
    return names;
  }();
  const std::string_view name = kNames[rng.below(static_cast<std::uint32_t>(kNames.size()))];
  if (rng.chance(1, 8)) {
    test_case.node().attributes.push_back({std::string(name), draw_wrong_value(rng)});  // perhaps a second time
  } else {
    set_attribute(test_case, name, draw_wrong_value(rng));
  }
}

void spoil_shape(Tensor& tensor, Rng& rng) {
  std::vector<std::int64_t> shape = tensor.shape;
  if (shape.empty() || rng.chance(1, 3)) {
    shape.insert(shape.begin(), rng.between(0, 2));
  } else if (rng.chance(1, 3)) {
    shape.pop_back();
  } else {
    shape[rng.below(static_cast<std::uint32_t>(shape.size()))] = rng.between(0, 9);
  }
  tensor = reshaped(rng, tensor, std::move(shape));
}

ElementType draw_known_type(Rng& rng) {
  for (;;) {
    const auto type = static_cast<ElementType>(rng.below(32));
    if (is_known(type) && type != ElementType::boolean) return type;
  }
}

// A known operator, or one that is not.
std::string draw_operator_name(Rng& rng) {
  const std::span<const std::string_view> known = operator_names();
  const std::size_t choice = rng.below(static_cast<std::uint32_t>(known.size() + 1));
  return choice < known.size() ? std::string(known[choice]) : "Conv";
}

}  // namespace

bool change(Case& test_case, Rng& rng) {
  const Family* family = family_of("", test_case.node().op_type);
  return family != nullptr && family->mutation.change != nullptr && family->mutation.change(test_case, rng);
}

bool solve_tie(Case& test_case, Rng& rng) {
  const Family* family = family_of("", test_case.node().op_type);
  return family != nullptr && family->mutation.solve_tie != nullptr && family->mutation.solve_tie(test_case, rng);
}

std::int64_t draw_index(Rng& rng, const Tensor& tensor) {
  return static_cast<std::int64_t>(rng.below(static_cast<std::uint32_t>(tensor.elements())));
}

Tensor* input_named(Case& test_case, std::string_view name) {
  const std::size_t position = position_of(test_case, name);
  if (position >= test_case.inputs.size() || !test_case.inputs[position]) return nullptr;
  return &*test_case.inputs[position];
}

void set_input(Case& test_case, std::string_view name, std::optional<Tensor> tensor) {
  const std::size_t position = position_of(test_case, name);
  if (test_case.inputs.size() <= position) test_case.inputs.resize(position + 1);
  test_case.inputs[position] = std::move(tensor);
  while (!test_case.inputs.empty() && !test_case.inputs.back()) test_case.inputs.pop_back();
}

void spoil(Case& test_case, Rng& rng) {
  static constexpr std::int64_t kVersions[] = {-1, 0, 1, 9, 11, 12, 18, 20, 22, 26, 27, 99};
  std::optional<Tensor>* const input = draw_input(test_case, rng);
  // Graphs stay wired.
  switch (is_judged_as_graph(test_case) ? 5 + rng.below(2) : rng.below(8)) {
    case 0: test_case.node().opset_version = rng.pick(kVersions); return;
    case 1: test_case.node().op_type = draw_operator_name(rng); return;
    case 2: test_case.node().domain = rng.chance(1, 2) ? "ai.onnx" : "com.example"; return;
    case 3:
      if (input != nullptr) input->reset();
      return;
    case 4:
      if (input != nullptr) test_case.inputs.push_back(*input);
      return;
    case 5:
      if (input != nullptr && *input) **input = converted(**input, draw_known_type(rng));
      return;
    case 6:
      if (input != nullptr && *input) spoil_shape(**input, rng);
      return;
    default: spoil_attribute(test_case, rng);
  }
}

void change_remarks(Case& test_case, Rng& rng) {
  static constexpr const char* kTexts[] = {"", "C17", "profile:ort-f32", "a\nb", "\xC3\xA9"};
  switch (rng.below(5)) {
    case 0: test_case.tags.emplace_back(rng.pick(kTexts)); return;
    case 1: test_case.rules.emplace_back(rng.pick(kTexts)); return;
    case 2: test_case.note = rng.pick(kTexts); return;
    case 3: test_case.expectation = static_cast<Expectation>(rng.below(4)); return;
    default:
      const std::optional<Tensor>* const input = draw_input(test_case, rng);
      if (input == nullptr) return;
      test_case.recorded_outputs.clear();
      if (*input) test_case.recorded_outputs.assign(test_case.output_count(), **input);
  }
}

}  // namespace qconform::mutation

namespace qconform {
namespace {

bool change_input_values(Case& test_case, Rng& rng) {
  if (test_case.inputs.empty()) return false;
  auto& input = test_case.inputs[rng.below(static_cast<std::uint32_t>(test_case.inputs.size()))];
  if (!input) return false;
  change_values(rng, *input);
  return true;
}

bool step(Case& test_case, Rng& rng) {
  const std::uint64_t choice = rng.below(8);
  if (choice < 3) return change_input_values(test_case, rng);
  if (choice < 4) return mutation::solve_tie(test_case, rng);
  return mutation::change(test_case, rng);
}

// Whether a mutant may take the place of its original.
bool is_acceptable(const Case& test_case, bool in_contract) {
  const Classification classification = classify(test_case);
  if (in_contract && !classification.contract.holds()) return false;
  return is_small(test_case, classification);
}

// Steps that lead out of contract are not taken.
void take_step(Case& test_case, bool in_contract, Rng& rng) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    Case next = test_case;
    if (!step(next, rng) || !is_acceptable(next, in_contract)) continue;
    test_case = std::move(next);
    return;
  }
}

// Drops the remarks on the original, which do not hold for a mutant.
Case without_remarks(const Case& original) {
  Case result = computation_of(original);
  result.id = "mutant";
  result.provenance.source = "fuzz";
  return result;
}

bool cross_inputs(Case& result, const Case& other, Rng& rng) {
  const std::size_t count = std::min(result.inputs.size(), other.inputs.size());
  bool changed = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!result.inputs[i] || !other.inputs[i] || !rng.chance(1, 3)) continue;
    const Tensor taken = converted(*other.inputs[i], result.inputs[i]->type);
    if (taken.type != result.inputs[i]->type) continue;
    result.inputs[i] = reshaped(rng, taken, result.inputs[i]->shape);
    changed = true;
  }
  return changed;
}

bool cross_attributes(Case& result, const Case& other, Rng& rng) {
  bool changed = false;
  for (const Attribute& attribute : other.node().attributes) {
    if (!rng.chance(1, 2)) continue;
    set_attribute(result, attribute.name, attribute.value);
    changed = true;
  }
  return changed;
}

}  // namespace

bool is_small(const Case& test_case, const Classification& classification) {
  const auto is_large = [](const std::optional<Tensor>& input) {
    return input && input->elements() > kLargestElements;
  };
  if (std::any_of(test_case.inputs.begin(), test_case.inputs.end(), is_large)) return false;
  if (!classification.lowered) return true;
  std::int64_t outputs = 1;
  for (const std::int64_t dimension : classification.lowered->output_shape()) {
    outputs = saturating_product(outputs, dimension);
  }
  return outputs <= kLargestElements && classification.lowered->work() <= kLargestWork;
}

Case mutate(const Case& original, Rng& rng) {
  Case result = without_remarks(original);
  const bool in_contract = classify(result).contract.holds();
  for (std::uint64_t steps = 1 + rng.below(3); steps > 0; --steps) take_step(result, in_contract, rng);
  if (rng.chance(1, 16)) mutation::spoil(result, rng);
  if (rng.chance(1, 32)) mutation::change_remarks(result, rng);
  return result;
}

Case cross(const Case& first, const Case& second, Rng& rng) {
  const Case original = without_remarks(first);
  const bool in_contract = classify(original).contract.holds();
  const bool same_operator = first.node().op_type == second.node().op_type;
  for (int attempt = 0; attempt < 8; ++attempt) {
    Case next = original;
    const bool changed =
        same_operator && rng.chance(1, 2) ? cross_attributes(next, second, rng) : cross_inputs(next, second, rng);
    if (changed && is_acceptable(next, in_contract)) return next;
  }
  return original;
}

}  // namespace qconform
