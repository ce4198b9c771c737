#include "harness/engine/shrink/measure.h"

#include <limits>

#include "harness/model/family.h"
#include "harness/model/reductions/edits.h"
#include "harness/model/reductions/roles.h"

namespace qconform::shrink {
namespace {

void add(std::uint64_t& sum, std::uint64_t summand) {
  sum = summand > std::numeric_limits<std::uint64_t>::max() - sum ? std::numeric_limits<std::uint64_t>::max()
                                                                  : sum + summand;
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
}

// An attribute costs by being there, and by what it says; auto_pad, whose meaning depends on the
// shapes, costs more than any pads that it stands for are likely to.
std::uint64_t weight(const Attribute& attribute) {
  std::uint64_t sum = 1;
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) add(sum, magnitude(*integer));
  if (const auto* text = std::get_if<std::string>(&attribute.value)) add(sum, 1'000'000 + text->size());
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    for (const std::int64_t element : *integers) add(sum, magnitude(element));
    add(sum, integers->size());
  }
  if (const auto* reals = std::get_if<std::vector<float>>(&attribute.value)) add(sum, reals->size());
  return sum;
}

void add_values(const Case& test_case, const Role& role, Measure& result) {
  const Tensor& tensor = *test_case.input(role.position);
  if (!is_number(tensor.type)) return;
  const std::int64_t elements = tensor.elements();
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint64_t cost = complexity(tensor.type, bits_at(tensor, i), neutral_value(test_case, role, i));
    if (cost == 0) continue;
    switch (role.part) {
      case Part::scale: add(result.scales, cost); break;
      case Part::zero_point:
        ++result.zero_points;
        add(result.magnitude, cost);
        break;
      case Part::data:
        ++result.contributing;
        add(result.magnitude, cost);
        break;
    }
  }
}

}  // namespace

Measure measure(const Case& test_case, const std::optional<std::int64_t>& output_elements) {
  Measure result;
  result.nodes = test_case.nodes.size();
  add(result.elements, static_cast<std::uint64_t>(output_elements.value_or(0)));
  const Family* family = family_of(test_case);
  if (family != nullptr && family->implied_elements != nullptr) {
    add(result.elements, static_cast<std::uint64_t>(family->implied_elements(test_case)));
  }
  for (const auto& input : test_case.inputs) {
    if (!input) continue;
    add(result.elements, static_cast<std::uint64_t>(input->elements()));
    add(result.structure, 1 + input->shape.size());
  }
  add(result.structure, test_case.inputs.size());
  for (const Node& node : test_case.nodes) {
    for (const Attribute& attribute : node.attributes) add(result.structure, weight(attribute));
  }
  for (const Role& role : roles_of(test_case)) add_values(test_case, role, result);
  return result;
}

}  // namespace qconform::shrink
