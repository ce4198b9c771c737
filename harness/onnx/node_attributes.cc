#include "harness/onnx/node_attributes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

#include "harness/core/limits.h"

namespace qconform {

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  const auto& all = node.attribute();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const onnx::AttributeProto& a) { return a.name() == name; });
  return found == all.end() ? nullptr : &*found;
}

std::int64_t int_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t absent) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute == nullptr || !attribute->has_i() ? absent : static_cast<std::int64_t>(attribute->i());
}

std::optional<std::vector<std::int64_t>> ints_attribute(const onnx::NodeProto& node, std::string_view name) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  if (attribute == nullptr || static_cast<std::size_t>(attribute->ints_size()) > limits::kAttributeValues) {
    return std::nullopt;
  }
  return std::vector<std::int64_t>(attribute->ints().begin(), attribute->ints().end());
}

}  // namespace qconform
