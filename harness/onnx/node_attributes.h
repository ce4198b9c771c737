// Attributes of a node by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace onnx {
class AttributeProto;
class NodeProto;
}  // namespace onnx

namespace qconform {

/// The attribute of that name, or null.
[[nodiscard]] const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);

/// An int attribute of the node, or `absent`.
[[nodiscard]] std::int64_t int_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t absent);

/// The values of an ints attribute; nullopt where there is none, or more values than limits.h allows.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ints_attribute(const onnx::NodeProto& node,
                                                                      std::string_view name);

}  // namespace qconform
