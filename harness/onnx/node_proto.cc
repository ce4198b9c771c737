#include "harness/onnx/node_proto.h"

#include <onnx/onnx_pb.h>
#include <algorithm>

#include "harness/core/limits.h"
#include "harness/graphs/wiring.h"
#include "harness/model/operator.h"
#include "harness/onnx/protobuf_file.h"

namespace qconform {

namespace {

using onnx::AttributeProto;

tl::unexpected<Error> too_many(const std::string& field, std::size_t count, std::size_t limit) {
  return fail(field, std::to_string(count) + " exceed the limit of " + std::to_string(limit), "limit");
}

/// Before IR version 2 an attribute's type followed from the field that is set.
AttributeProto::AttributeType type_of(const AttributeProto& proto) {
  if (proto.has_type() && proto.type() != AttributeProto::UNDEFINED) return proto.type();
  if (proto.has_f()) return AttributeProto::FLOAT;
  if (proto.has_i()) return AttributeProto::INT;
  if (proto.has_s()) return AttributeProto::STRING;
  if (proto.floats_size() > 0) return AttributeProto::FLOATS;
  if (proto.ints_size() > 0) return AttributeProto::INTS;
  return AttributeProto::UNDEFINED;
}

Result<Attribute::Value> value_of(const AttributeProto& proto) {
  const std::string field = "attribute " + quoted_name(proto.name());
  if (!proto.ref_attr_name().empty()) return fail(field, "refers to an attribute of a function");
  const auto values = static_cast<std::size_t>(std::max(proto.floats_size(), proto.ints_size()));
  if (values > limits::kAttributeValues) return too_many(field, values, limits::kAttributeValues);
  switch (type_of(proto)) {
    case AttributeProto::FLOAT: return Attribute::Value(proto.f());
    case AttributeProto::INT: return Attribute::Value(static_cast<std::int64_t>(proto.i()));
    case AttributeProto::STRING: return Attribute::Value(proto.s());
    case AttributeProto::FLOATS:
      return Attribute::Value(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::INTS:
      return Attribute::Value(std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
    default:
      return fail(field, "type " + std::to_string(static_cast<int>(type_of(proto))) +
                             ": expected float (1), int (2), string (3), floats (6) or ints (7)");
  }
}

/// Refuses nodes beyond the limits of reading: every node that is written can be read again.
Result<void> check_limits(const Node& node) {
  if (node.attributes.size() > limits::kAttributes) {
    return too_many("attributes", node.attributes.size(), limits::kAttributes);
  }
  for (const Attribute& attribute : node.attributes) {
    const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute.value);
    const auto* reals = std::get_if<std::vector<float>>(&attribute.value);
    const std::size_t values = integers != nullptr ? integers->size() : reals != nullptr ? reals->size() : 0;
    if (values > limits::kAttributeValues) {
      return too_many("attribute " + quoted_name(attribute.name), values, limits::kAttributeValues);
    }
  }
  return {};
}

void write_attribute(const Attribute& attribute, AttributeProto& proto) {
  proto.set_name(attribute.name);
  if (const auto* real = std::get_if<float>(&attribute.value)) {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(*real);
  } else if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    proto.set_type(AttributeProto::INT);
    proto.set_i(*integer);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(*text);
  } else if (const auto* reals = std::get_if<std::vector<float>>(&attribute.value)) {
    proto.set_type(AttributeProto::FLOATS);
    proto.mutable_floats()->Add(reals->begin(), reals->end());
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    proto.set_type(AttributeProto::INTS);
    proto.mutable_ints()->Add(integers->begin(), integers->end());
  }
}

Result<void> write_node(const Node& node, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, onnx::NodeProto& proto) {
  QCONFORM_TRY(check_limits(node));
  proto.set_op_type(node.op_type);
  if (!node.domain.empty()) proto.set_domain(node.domain);
  proto.mutable_input()->Add(inputs.begin(), inputs.end());
  proto.mutable_output()->Add(outputs.begin(), outputs.end());
  for (const Attribute& attribute : node.attributes) write_attribute(attribute, *proto.add_attribute());
  return {};
}

bool is_default_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

}  // namespace

Result<std::vector<Attribute>> attributes_of(const onnx::NodeProto& node) {
  const auto count = static_cast<std::size_t>(node.attribute_size());
  if (count > limits::kAttributes) return too_many("attributes", count, limits::kAttributes);
  std::vector<Attribute> attributes;
  for (const AttributeProto& proto : node.attribute()) {
    QCONFORM_ASSIGN(auto value, value_of(proto));
    attributes.push_back({proto.name(), std::move(value)});
  }
  return attributes;
}

Result<std::int64_t> opset_version_of(const onnx::ModelProto& model, const onnx::NodeProto& node) {
  const auto same_domain = [&](const onnx::OperatorSetIdProto& opset) {
    return opset.domain() == node.domain() || (is_default_domain(opset.domain()) && is_default_domain(node.domain()));
  };
  const auto found = std::find_if(model.opset_import().begin(), model.opset_import().end(), same_domain);
  if (found != model.opset_import().end()) return static_cast<std::int64_t>(found->version());
  return fail("opset_import", "the model imports no version of domain " + quoted_name(node.domain()));
}

Result<Node> node_from_proto(const onnx::ModelProto& model, const onnx::NodeProto& proto) {
  Node node;
  node.op_type = proto.op_type();
  node.domain = proto.domain();
  QCONFORM_ASSIGN(node.opset_version, opset_version_of(model, proto));
  QCONFORM_ASSIGN(node.attributes, attributes_of(proto));
  return node;
}

Result<Case> case_from_node(const onnx::ModelProto& model, const onnx::NodeProto& node, const ValueLookup& lookup) {
  Case result;
  QCONFORM_ASSIGN(result.node(), node_from_proto(model, node));
  if (node.output_size() > 1) {
    return fail("outputs", "a case has one output, the node has " + std::to_string(node.output_size()));
  }
  const auto inputs = static_cast<std::size_t>(node.input_size());
  if (inputs > limits::kInputs) return too_many("inputs", inputs, limits::kInputs);
  for (const std::string& name : node.input()) {
    if (name.empty()) {
      result.inputs.emplace_back(std::nullopt);
      continue;
    }
    QCONFORM_ASSIGN(auto value, lookup(name));
    result.inputs.emplace_back(std::move(value));
  }
  return result;
}

std::vector<std::string> input_names(const Case& test_case) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const std::string_view name = input_name(test_case, i);
    if (!test_case.inputs[i]) {
      names.emplace_back();
    } else {
      names.push_back(name.empty() ? "input_" + std::to_string(i) : std::string(name));
    }
  }
  return names;
}

std::vector<std::string> output_names(const Case& test_case) {
  return test_case.is_one_node() ? std::vector<std::string>{kOutputName} : test_case.outputs;
}

Result<void> write_nodes(const Case& test_case, onnx::GraphProto& graph) {
  QCONFORM_TRY(check_wiring(test_case));
  if (!test_case.is_one_node()) {
    for (const Node& node : test_case.nodes)
      QCONFORM_TRY(write_node(node, node.inputs, node.outputs, *graph.add_node()));
    return {};
  }
  if (test_case.inputs.size() > limits::kInputs) return too_many("inputs", test_case.inputs.size(), limits::kInputs);
  return write_node(test_case.node(), input_names(test_case), {kOutputName}, *graph.add_node());
}

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
