#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "harness/core/limits.h"
#include "harness/core/verdict.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/protobuf.h"

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
  if (proto.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

Result<Attribute::Value> value_of(const AttributeProto& proto) {
  const std::string field = "attribute " + quoted_name(proto.name());
  if (!proto.ref_attr_name().empty()) return fail(field, "refers to an attribute of a function");
  const int lengths[] = {proto.floats_size(), proto.ints_size(), proto.strings_size()};
  const auto values = static_cast<std::size_t>(*std::max_element(std::begin(lengths), std::end(lengths)));
  if (values > limits::kAttributeValues) return too_many(field, values, limits::kAttributeValues);
  if (std::count(std::begin(lengths), std::end(lengths), 0) < 2) {
    return fail(field, fmt::format("expected values of one type, got {} floats, {} ints and {} strings", lengths[0],
                                   lengths[1], lengths[2]));
  }
  switch (type_of(proto)) {
    case AttributeProto::FLOAT: return Attribute::Value(proto.f());
    case AttributeProto::INT: return Attribute::Value(static_cast<std::int64_t>(proto.i()));
    case AttributeProto::STRING: return Attribute::Value(proto.s());
    case AttributeProto::FLOATS:
      return Attribute::Value(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::INTS:
      return Attribute::Value(std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::STRINGS:
      return Attribute::Value(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    default:
      return fail(field, "type " + std::to_string(static_cast<int>(type_of(proto))) +
                             ": expected float (1), int (2), string (3), floats (6), ints (7) or strings (8)");
  }
}

/// Refuses nodes beyond the limits of reading: every node that is written can be read again.
Result<void> check_limits(const Node& node) {
  if (node.attributes.size() > limits::kAttributes) {
    return too_many("attributes", node.attributes.size(), limits::kAttributes);
  }
  if (node.inputs.size() > limits::kInputs) return too_many("inputs", node.inputs.size(), limits::kInputs);
  for (const Attribute& attribute : node.attributes) {
    const std::size_t values = std::visit(
        [](const auto& held) {
          using Held = std::decay_t<decltype(held)>;
          if constexpr (std::is_arithmetic_v<Held> || std::is_same_v<Held, std::string>) {
            return std::size_t{1};
          } else {
            return held.size();
          }
        },
        attribute.value);
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
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value)) {
    proto.set_type(AttributeProto::STRINGS);
    proto.mutable_strings()->Add(texts->begin(), texts->end());
  }
}

Result<void> write_node(const Node& node, onnx::NodeProto& proto) {
  QCONFORM_TRY(check_limits(node));
  proto.set_op_type(node.op_type);
  if (!node.domain.empty()) proto.set_domain(node.domain);
  proto.mutable_input()->Add(node.inputs.begin(), node.inputs.end());
  proto.mutable_output()->Add(node.outputs.begin(), node.outputs.end());
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

Result<void> write_nodes(const Case& test_case, onnx::GraphProto& graph) {
  QCONFORM_TRY(check_wiring(test_case));
  for (const Node& node : named_nodes(test_case)) QCONFORM_TRY(write_node(node, *graph.add_node()));
  return {};
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

namespace {

constexpr std::string_view kPrefix = "qconform.";

constexpr std::array kOrigins{std::pair{OutputOrigin::none, std::string_view("none")},
                              std::pair{OutputOrigin::recorded, std::string_view("recorded")},
                              std::pair{OutputOrigin::computed, std::string_view("computed")}};

using Metadata = std::map<std::string, std::string>;  // without the prefix

void add(onnx::ModelProto& model, const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto& entry = *model.add_metadata_props();
  entry.set_key(std::string(kPrefix) + key);
  entry.set_value(value);
}

/// ONNX wants keys to differ, so each entry of a list has its own: "rules.0", "rules.1", ...
void add_list(onnx::ModelProto& model, const std::string& key, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) add(model, key + "." + std::to_string(i), values[i]);
}

Metadata metadata_of(const onnx::ModelProto& model) {
  Metadata metadata;
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (entry.key().compare(0, kPrefix.size(), kPrefix) == 0) {
      metadata.emplace(entry.key().substr(kPrefix.size()), entry.value());
    }
  }
  return metadata;
}

std::string text_of(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

std::vector<std::string> list_of(const Metadata& metadata, const std::string& key) {
  std::vector<std::string> values;
  while (true) {
    const auto found = metadata.find(key + "." + std::to_string(values.size()));
    if (found == metadata.end()) return values;
    values.push_back(found->second);
  }
}

Result<std::uint64_t> number_of(const Metadata& metadata, const std::string& key) {
  const std::string text = text_of(metadata, key);
  if (text.empty()) return 0;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return value;
  return fail(std::string(kPrefix) + key, "expected an integer of 0 to 2^64 - 1, got " + quoted_name(text));
}

Result<void> read_defect(const Metadata& metadata, std::optional<DefectAnswer>& out) {
  const std::string text = text_of(metadata, "defect");
  if (text.empty()) return {};
  const auto verdict = verdict_named(text);
  if (!verdict || !is_failure(*verdict)) {
    return fail("qconform.defect", "expected a failing verdict, got " + quoted_name(text));
  }
  out.emplace().verdict = *verdict;
  return {};
}

Result<OutputOrigin> origin_of(const Metadata& metadata) {
  const std::string text = text_of(metadata, "output");
  for (const auto& [origin, name] : kOrigins) {
    if (text == name) return origin;
  }
  return fail("qconform.output", "expected none, recorded or computed, got " + quoted_name(text));
}

}  // namespace

void write_metadata(const Case& test_case, OutputOrigin origin, onnx::ModelProto& model) {
  add(model, "id", test_case.id);
  add(model, "expectation", std::string(name_of(test_case.expectation)));
  add_list(model, "rules", test_case.rules);
  add_list(model, "tags", test_case.tags);
  add_list(model, "shown_outputs", test_case.shown_outputs);
  add(model, "note", test_case.note);
  add(model, "provenance.source", test_case.provenance.source);
  add(model, "provenance.seed", std::to_string(test_case.provenance.seed));
  add(model, "provenance.index", std::to_string(test_case.provenance.index));
  if (test_case.defect) add(model, "defect", std::string(name_of(test_case.defect->verdict)));
  for (const auto& [known, name] : kOrigins) {
    if (known == origin) add(model, "output", std::string(name));
  }
}

Result<OutputOrigin> read_metadata(const onnx::ModelProto& model, Case& test_case) {
  const Metadata metadata = metadata_of(model);
  if (metadata.empty()) return OutputOrigin::unstated;
  const std::string expectation_text = text_of(metadata, "expectation");
  const auto expectation = expectation_named(expectation_text);
  if (!expectation) {
    return fail("qconform.expectation",
                "expected unstated, valid, implementation-defined or invalid, got " + quoted_name(expectation_text));
  }
  QCONFORM_ASSIGN(const auto seed, number_of(metadata, "provenance.seed"));
  QCONFORM_ASSIGN(const auto index, number_of(metadata, "provenance.index"));
  QCONFORM_TRY(read_defect(metadata, test_case.defect));
  test_case.id = text_of(metadata, "id");
  test_case.expectation = *expectation;
  test_case.rules = list_of(metadata, "rules");
  test_case.tags = list_of(metadata, "tags");
  test_case.shown_outputs = list_of(metadata, "shown_outputs");
  test_case.note = text_of(metadata, "note");
  test_case.provenance = {text_of(metadata, "provenance.source"), seed, index};
  return origin_of(metadata);
}

}  // namespace qconform
