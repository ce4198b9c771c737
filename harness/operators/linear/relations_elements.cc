#include <algorithm>

#include "harness/model/case_builder.h"
#include "harness/operators/linear/relation_parts.h"

namespace qconform::relations {
namespace {

// More derived cases than this cost more than they show.
constexpr std::size_t kMaxParameters = 64;

// Chosen elements of a tensor of any type.
Tensor picked(const Tensor& tensor, const Values& elements, Values shape) {
  const int bits = bits_of(tensor.type);
  const auto size = static_cast<std::size_t>(bytes_for(tensor.type, static_cast<std::int64_t>(elements.size())));
  Tensor result{tensor.type, std::move(shape), std::vector<std::byte>(size)};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    set_raw_bits_at(result.bytes, bits, static_cast<std::int64_t>(i), raw_bits_at(tensor.bytes, bits, elements[i]));
  }
  return result;
}

void drop_attribute(Case& test_case, std::string_view name) {
  std::erase_if(test_case.node().attributes, [&](const Attribute& attribute) { return attribute.name == name; });
}

// Each parameter with its elements, in one dimension.
Applied parameters_apart(const Subject& subject) {
  const Case& base = *subject.base;
  const reference::QuantizationLayout& layout = linear_of(subject)->layout;
  if (base.input(1)->is_scalar()) return NotApplicable{"one scale for the whole tensor"};
  const auto parameters = static_cast<std::size_t>(layout.parameters());
  if (parameters > kMaxParameters) return NotApplicable{"too many parameters"};
  std::vector<Values> members(parameters);
  for (std::int64_t i = 0; i < layout.elements(); ++i) members[layout.parameter_of(i)].push_back(i);
  Application result;
  for (std::size_t p = 0; p < parameters; ++p) {
    Case part = base;
    part.id += "/parameter-" + std::to_string(p);
    drop_attribute(part, "axis");
    drop_attribute(part, "block_size");
    for (std::size_t i = 0; i < members[p].size(); ++i) {
      result.links.push_back({members[p][i], p, static_cast<std::int64_t>(i)});
    }
    part.inputs[0] = picked(*base.input(0), members[p], {static_cast<std::int64_t>(members[p].size())});
    for (std::size_t i = 1; i < part.inputs.size(); ++i) {
      if (part.inputs[i]) part.inputs[i] = picked(*base.input(i), {static_cast<std::int64_t>(p)}, {});
    }
    result.derived.push_back(std::move(part));
  }
  return Derivation([result = std::move(result)](const Tensor&) { return result; });
}

Applied reverse_elements(const Subject& subject) {
  const Case& base = *subject.base;
  if (!base.input(1)->is_scalar()) return NotApplicable{"more than one scale"};
  const Tensor& x = *base.input(0);
  const std::int64_t count = x.elements();
  if (count < 2) return NotApplicable{"one element"};
  Application result;
  result.derived = {base};
  result.derived[0].id += "/elements-reversed";
  result.derived[0].inputs[0] = picked(x, counting_down(count), x.shape);
  for (std::int64_t i = 0; i < count; ++i) result.links.push_back({i, 0, count - 1 - i});
  return Derivation([result = std::move(result)](const Tensor&) { return result; });
}

// axis counted from the other end.
Applied recount_axis(const Subject& subject) {
  const Case& base = *subject.base;
  const bool has_axis = base.node().opset_version >= 13;
  if (!has_axis || base.input(1)->is_scalar()) return NotApplicable{"no axis is used"};
  const auto rank = static_cast<std::int64_t>(base.input(0)->shape.size());
  const Attribute* stated = base.attribute("axis");
  const std::int64_t axis = stated == nullptr ? 1 : std::get<std::int64_t>(stated->value);
  Case derived = base;
  drop_attribute(derived, "axis");
  derived.node().attributes.push_back({"axis", axis < 0 ? axis + rank : axis - rank});
  derived.id += "/axis-recounted";
  return same_output(std::move(derived));
}

constexpr FamilyRelation kElementRelations[] = {
    {{Topic::elements, "parameters-apart",
      "The elements of one scale and zero point, along an axis or in a block, give what they give by themselves.",
      "No element depends on another."},
     "QuantizeLinear, DequantizeLinear",
     parameters_apart},
    {{Topic::elements, "elements-reversed",
      "The elements of a tensor with one scale in reverse order give y in reverse order.",
      "No element depends on another."},
     "QuantizeLinear, DequantizeLinear",
     reverse_elements},
    {{Topic::elements, "axis-recounted", "axis counted from the other end of the shape is the same axis.",
      "axis and axis - rank name one axis (D7)."},
     "QuantizeLinear, DequantizeLinear",
     recount_axis},
};

}  // namespace

std::span<const FamilyRelation> element_relations() {
  return kElementRelations;
}

}  // namespace qconform::relations
