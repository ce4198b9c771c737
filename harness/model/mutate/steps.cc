#include "harness/model/mutate/steps.h"

#include <algorithm>

#include "harness/core/profile.h"
#include "harness/model/family.h"
#include "harness/model/mutate/tensor_values.h"
#include "harness/model/operator.h"

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
    default: return std::vector<float>(rng.below(3), 1.0F);
  }
}

void spoil_attribute(Case& test_case, Rng& rng) {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const Family* family : families()) {
      names.insert(names.end(), family->attributes.begin(), family->attributes.end());
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
  return family != nullptr && family->change != nullptr && family->change(test_case, rng);
}

bool solve_tie(Case& test_case, Rng& rng) {
  const Family* family = family_of("", test_case.node().op_type);
  return family != nullptr && family->solve_tie != nullptr && family->solve_tie(test_case, rng);
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
  // Several nodes stay wired.
  switch (test_case.is_one_node() ? rng.below(8) : 5 + rng.below(2)) {
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
      if (input == nullptr || !test_case.is_one_node()) return;
      test_case.recorded_outputs.clear();
      if (*input) test_case.recorded_outputs.push_back(**input);
  }
}

}  // namespace qconform::mutation
