#include "harness/operators/linear/contract.h"

namespace qconform {
namespace {

// Zero point and scale have the same shape; where each has one element, of any rank, that is one value either way.
bool check_zero_point_shape(const Tensor& scale, const Tensor* zero_point, const char* name,
                            reference::Contract& contract) {
  if (zero_point == nullptr || zero_point->shape == scale.shape) return true;
  if (scale.elements() == 1 && zero_point->elements() == 1) return true;
  return contract.violate(
      "D7", name,
      "expected the shape of the scale " + shape_text(scale.shape) + ", got " + shape_text(zero_point->shape));
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = number_at(tensor, static_cast<std::int64_t>(i));
  return values;
}

}  // namespace

const LinearVersion& version_for(std::span<const LinearVersion> versions, std::int64_t opset_version) {
  std::size_t current = 0;
  while (current + 1 < versions.size() && versions[current + 1].version <= opset_version) ++current;
  return versions[current];
}

bool check_type_in(const NodeReader& reader, std::string_view name, const TypeSet& types, const char* rule,
                   reference::Contract& contract) {
  const Tensor* tensor = reader.input(name);
  if (tensor == nullptr || types.contains(tensor->type)) return true;
  return contract.violate(rule, std::string(name),
                          "expected element type " + types.text() + ", got " + name_of(tensor->type));
}

std::optional<ElementType> read_type_attribute(const NodeReader& reader, std::string_view name, const TypeSet& types,
                                               const char* rule, reference::Contract& contract) {
  const std::int64_t number = reader.int_attribute(name, 0);
  if (number == 0) return ElementType::undefined;
  const bool is_type = number > 0 && number < 64;
  const ElementType type = is_type ? static_cast<ElementType>(number) : ElementType::undefined;
  if (is_type && types.contains(type)) return type;
  contract.violate(
      rule, std::string(name),
      "expected " + types.text() + ", got " + (is_type ? name_of(type) : "type " + std::to_string(number)));
  return std::nullopt;
}

std::optional<QuantizationParameters> read_quantization(const NodeReader& reader, const char* scale_name,
                                                        const char* zero_point_name, int version,
                                                        reference::Contract& contract) {
  const Tensor& scale = *reader.input(scale_name);
  const Tensor* zero_point = reader.input(zero_point_name);
  const reference::PlacementAttributes attributes{.has_axis = version >= 13,
                                                  .axis = reader.int_attribute("axis", 1),
                                                  .has_block_size = version >= 21,
                                                  .block_size = reader.int_attribute("block_size", 0)};
  const auto layout = resolve_layout(reader.input("x")->shape, scale.shape, scale_name, attributes, contract);
  if (!layout) return std::nullopt;
  if (!check_zero_point_shape(scale, zero_point, zero_point_name, contract)) return std::nullopt;
  QuantizationParameters parameters{*layout, numbers(scale), {}};
  parameters.zero_point =
      zero_point == nullptr ? std::vector<double>(parameters.scale.size(), 0) : numbers(*zero_point);
  return parameters;
}

}  // namespace qconform
