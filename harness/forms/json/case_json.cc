#include "harness/forms/json/case_json.h"

#include <bit>

#include "harness/base/file.h"
#include "harness/core/limits.h"
#include "harness/core/verdict.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/operator.h"

namespace qconform {
namespace {

constexpr std::string_view kFormat = "qconform-cases";
constexpr std::int64_t kCaseVersion = 1;

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

Json float_object(float value) {
  return element_json(ElementType::float32, std::bit_cast<std::uint32_t>(value));
}

Json attribute_object(const Attribute& attribute) {
  Json object = Json::object();
  object["name"] = text_json(attribute.name);
  std::visit(Overloaded{[&](std::int64_t value) { object["int"] = value; },
                        [&](float value) { object["float"] = float_object(value); },
                        [&](const std::string& value) { object["string"] = text_json(value); },
                        [&](const std::vector<std::int64_t>& values) { object["ints"] = values; },
                        [&](const std::vector<float>& values) {
                          Json& list = object["floats"] = Json::array();
                          for (const float value : values) list.push_back(float_object(value));
                        },
                        [&](const std::vector<std::string>& values) { object["strings"] = texts_object(values); }},
             attribute.value);
  return object;
}

Json attributes_object(const Node& node) {
  Json list = Json::array();
  for (const Attribute& attribute : node.attributes) list.push_back(attribute_object(attribute));
  return list;
}

Json outputs_object(const std::vector<Tensor>& outputs) {
  Json list = Json::array();
  for (const Tensor& output : outputs) list.push_back(tensor_object(output));
  return list;
}

Json defect_object(const DefectAnswer& defect) {
  Json object = Json::object();
  object["verdict"] = name_of(defect.verdict);
  if (!defect.outputs.empty()) object["outputs"] = outputs_object(defect.outputs);
  return object;
}

// Those from `begin` to `end`.
Json inputs_object(const Case& test_case, std::span<const std::string> names, std::size_t begin, std::size_t end) {
  Json list = Json::array();
  for (std::size_t i = begin; i < end; ++i) {
    const std::optional<Tensor>& input = test_case.inputs[i];
    list.push_back(input ? tensor_object(*input, names[i]) : Json());
  }
  return list;
}

Json node_object(const Node& node) {
  Json object = Json::object();
  object["op_type"] = text_json(node.op_type);
  if (!node.domain.empty()) object["domain"] = text_json(node.domain);
  object["opset_version"] = node.opset_version;
  if (!node.attributes.empty()) object["attributes"] = attributes_object(node);
  object["inputs"] = texts_object(node.inputs);
  object["outputs"] = texts_object(node.outputs);
  return object;
}

void add_node(const Case& test_case, Json& object) {
  const Node& node = test_case.node();
  object["op_type"] = text_json(node.op_type);
  if (!node.domain.empty()) object["domain"] = text_json(node.domain);
  object["opset_version"] = node.opset_version;
  if (!node.attributes.empty()) object["attributes"] = attributes_object(node);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) names.emplace_back(input_name(test_case, i));
  object["inputs"] = inputs_object(test_case, names, 0, names.size());
  if (const Tensor* recorded = test_case.recorded_output()) {
    object["recorded_output"] = tensor_object(*recorded);
  } else if (!test_case.recorded_outputs.empty()) {
    // Readers refuse several of one output, as check_wiring() does; without them the file would be of another case.
    object["recorded_outputs"] = outputs_object(test_case.recorded_outputs);
  }
}

void add_graph(const Case& test_case, Json& object) {
  Json& nodes = object["nodes"] = Json::array();
  for (const Node& node : named_nodes(test_case)) nodes.push_back(node_object(node));
  const std::vector<std::string> names = input_names(test_case);
  object["inputs"] = inputs_object(test_case, names, 0, test_case.fed_inputs);
  object["initializers"] = inputs_object(test_case, names, test_case.fed_inputs, names.size());
  object["outputs"] = texts_object(output_names(test_case));
  if (!test_case.shown_outputs.empty()) object["shown_outputs"] = texts_object(test_case.shown_outputs);
  if (!test_case.recorded_outputs.empty()) object["recorded_outputs"] = outputs_object(test_case.recorded_outputs);
}

Json provenance_object(const Provenance& provenance) {
  Json object = Json::object();
  object["source"] = text_json(provenance.source);
  object["seed"] = provenance.seed;
  object["index"] = provenance.index;
  return object;
}

template <typename T>
bool read_value(JsonFields& fields, const Json& value, const std::string& where, Attribute::Value& out) {
  T result{};
  bool good = false;
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    good = fields.read(value, where, result);
  } else {
    good = fields.read_list(value, where, limits::kAttributeValues, result);
  }
  out = std::move(result);
  return good;
}

bool read_attribute(JsonFields& fields, const Json& value, const std::string& where, Attribute& out) {
  if (!fields.object(value, where, {"name"}, {"int", "float", "string", "ints", "floats", "strings"})) return false;
  if (value.size() != 2) return fields.refuse(where, "expected one of int, float, string, ints, floats, strings");
  if (!fields.read(value["name"], json_path(where, "name"), out.name)) return false;
  const auto is_name = [](const auto& member) { return member.key() == "name"; };
  auto member = value.begin();
  if (is_name(member)) ++member;
  const std::string path = json_path(where, member.key());
  if (member.key() == "int") return read_value<std::int64_t>(fields, *member, path, out.value);
  if (member.key() == "float") return read_value<float>(fields, *member, path, out.value);
  if (member.key() == "string") return read_value<std::string>(fields, *member, path, out.value);
  if (member.key() == "ints") return read_value<std::vector<std::int64_t>>(fields, *member, path, out.value);
  if (member.key() == "floats") return read_value<std::vector<float>>(fields, *member, path, out.value);
  return read_value<std::vector<std::string>>(fields, *member, path, out.value);
}

bool read_attributes(JsonFields& fields, const Json& value, const std::string& where, Node& out) {
  if (!fields.array(value, where, limits::kAttributes)) return false;
  out.attributes.resize(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!read_attribute(fields, value[i], json_path(where, i), out.attributes[i])) return false;
  }
  return true;
}

// Reads an operator and its attributes, which stand at the top of a case of one node, and in each entry of "nodes".
bool read_operator(JsonFields& fields, const Json& value, const std::string& where, Node& out) {
  const auto attributes = value.find("attributes");
  return fields.read(value["op_type"], json_path(where, "op_type"), out.op_type) &&
         fields.read_optional(value, where, "domain", out.domain) &&
         fields.read(value["opset_version"], json_path(where, "opset_version"), out.opset_version) &&
         (attributes == value.end() || read_attributes(fields, *attributes, json_path(where, "attributes"), out));
}

// The name is for the reader of the file; the position decides. A wrong one would mislead.
bool check_input_name(JsonFields& fields, const Json& input, const std::string& where, const Case& test_case,
                      std::size_t position) {
  const auto name = input.find("name");
  if (name == input.end()) return true;
  std::string text;
  if (!fields.read(*name, json_path(where, "name"), text)) return false;
  const Operator* known = operator_of(test_case);
  const std::string_view expected = input_name(test_case, position);
  if (known == nullptr || known->inputs.empty() || text == expected) return true;
  return fields.refuse(json_path(where, "name"),
                       brief(*name) + " is not input " + std::to_string(position) + " of " + std::string(known->name) +
                           (expected.empty() ? "" : ", which is \"" + std::string(expected) + "\""));
}

bool read_inputs(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left, Case& out) {
  if (!fields.array(value, where, limits::kInputs)) return false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    out.inputs.emplace_back();
    if (value[i].is_null()) continue;
    const std::string path = json_path(where, i);
    if (!read_tensor(fields, value[i], path, bytes_left, out.inputs.back().emplace()) ||
        !check_input_name(fields, value[i], path, out, i)) {
      return false;
    }
  }
  return true;
}

// Inputs or initializers of several nodes: each has a name.
bool read_named_tensors(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left,
                        Case& out) {
  if (!fields.array(value, where, limits::kGraphTensors)) return false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string path = json_path(where, i);
    if (!read_tensor(fields, value[i], path, bytes_left, out.inputs.emplace_back().emplace())) return false;
    if (!value[i].contains("name")) return fields.refuse(path, "expected a name", "graph");
    if (!fields.read(value[i]["name"], json_path(path, "name"), out.input_names.emplace_back())) return false;
  }
  return true;
}

bool read_names(JsonFields& fields, const Json& object, const std::string& where, std::string_view key,
                std::vector<std::string>& out) {
  return fields.read_list(object[key], json_path(where, key), limits::kInputs, out);
}

bool read_nodes(JsonFields& fields, const Json& value, const std::string& where, std::vector<Node>& out) {
  if (!fields.array(value, where, limits::kNodes)) return false;
  if (value.empty()) return fields.refuse(where, "expected a node");
  out.resize(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string path = json_path(where, i);
    if (!fields.object(value[i], path, {"op_type", "opset_version", "inputs", "outputs"}, {"domain", "attributes"}) ||
        !read_operator(fields, value[i], path, out[i]) ||
        !read_names(fields, value[i], path, "inputs", out[i].inputs) ||
        !read_names(fields, value[i], path, "outputs", out[i].outputs)) {
      return false;
    }
  }
  return true;
}

bool read_provenance(JsonFields& fields, const Json& object, const std::string& where, Provenance& out) {
  const auto value = object.find("provenance");
  if (value == object.end()) return true;
  const std::string path = json_path(where, "provenance");
  return fields.object(*value, path, {"source", "seed", "index"}) &&
         fields.read_optional(*value, path, "source", out.source) &&
         fields.read_optional(*value, path, "seed", out.seed) && fields.read_optional(*value, path, "index", out.index);
}

bool read_output(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left,
                 std::vector<Tensor>& out) {
  if (value.is_object() && value.contains("name")) return fields.refuse(where, "the output has no name");
  return read_tensor(fields, value, where, bytes_left, out.emplace_back());
}

bool read_outputs(JsonFields& fields, const Json& object, const std::string& where, std::string_view key,
                  std::int64_t& bytes_left, std::vector<Tensor>& out) {
  const auto value = object.find(key);
  if (value == object.end()) return true;
  const std::string path = json_path(where, key);
  if (!fields.array(*value, path, limits::kInputs)) return false;
  for (std::size_t i = 0; i < value->size(); ++i) {
    if (!read_output(fields, (*value)[i], json_path(path, i), bytes_left, out)) return false;
  }
  return true;
}

bool read_defect(JsonFields& fields, const Json& object, const std::string& where, std::int64_t& bytes_left,
                 std::optional<DefectAnswer>& out) {
  const auto value = object.find("defect");
  if (value == object.end()) return true;
  const std::string path = json_path(where, "defect");
  std::string name;
  if (!fields.object(*value, path, {"verdict"}, {"outputs"}) ||
      !fields.read((*value)["verdict"], json_path(path, "verdict"), name)) {
    return false;
  }
  const std::optional<VerdictKind> verdict = verdict_named(name);
  if (!verdict || !is_failure(*verdict)) {
    return fields.refuse(json_path(path, "verdict"), "expected a failing verdict, got " + brief((*value)["verdict"]));
  }
  DefectAnswer& defect = out.emplace();
  defect.verdict = *verdict;
  return read_outputs(fields, *value, path, "outputs", bytes_left, defect.outputs);
}

// Cases that run before one.
bool read_before(JsonFields& fields, const Json& object, const std::string& where, std::int64_t& bytes_left,
                 std::vector<Case>& out) {
  const auto value = object.find("before");
  if (value == object.end()) return true;
  const std::string path = json_path(where, "before");
  if (!fields.array(*value, path, limits::kNodes)) return false;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const std::string at = json_path(path, i);
    if (!read_case(fields, (*value)[i], at, bytes_left, out.emplace_back())) return false;
    if (!out.back().before.empty()) return fields.refuse(json_path(at, "before"), "a case before another has none");
  }
  return true;
}

bool read_one_node(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left,
                   Case& out) {
  if (!fields.object(value, where, {"id", "op_type", "opset_version", "inputs"},
                     {"note", "rules", "tags", "expectation", "domain", "attributes", "recorded_output", "defect",
                      "provenance", "before"}) ||
      !read_operator(fields, value, where, out.node()) ||
      !read_inputs(fields, value["inputs"], json_path(where, "inputs"), bytes_left, out)) {
    return false;
  }
  const auto recorded = value.find("recorded_output");
  return recorded == value.end() ||
         read_output(fields, *recorded, json_path(where, "recorded_output"), bytes_left, out.recorded_outputs);
}

bool read_graph(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left, Case& out) {
  if (!fields.object(value, where, {"id", "nodes", "inputs", "initializers", "outputs"},
                     {"note", "rules", "tags", "expectation", "shown_outputs", "recorded_outputs", "defect",
                      "provenance", "before"}) ||
      !read_nodes(fields, value["nodes"], json_path(where, "nodes"), out.nodes) ||
      !read_named_tensors(fields, value["inputs"], json_path(where, "inputs"), bytes_left, out)) {
    return false;
  }
  out.fed_inputs = out.inputs.size();
  if (!read_named_tensors(fields, value["initializers"], json_path(where, "initializers"), bytes_left, out) ||
      !read_names(fields, value, where, "outputs", out.outputs) ||
      (value.contains("shown_outputs") && !read_names(fields, value, where, "shown_outputs", out.shown_outputs)) ||
      !read_outputs(fields, value, where, "recorded_outputs", bytes_left, out.recorded_outputs)) {
    return false;
  }
  Result<Case> fitting = wired(std::move(out));
  if (!fitting) return fields.refuse(fitting.error().in(where));
  out = std::move(*fitting);
  return true;
}

bool read_document(JsonFields& fields, const Json& document, const CaseJsonLimits& allowed, std::vector<Case>& out) {
  if (!fields.object(document, "", {"format", "version", "cases"})) return false;
  const Json& format = document["format"];
  if (format != kFormat) return fields.refuse("format", "expected \"qconform-cases\", got " + brief(format));
  const Json& version = document["version"];
  if (version != kCaseVersion) return fields.refuse("version", "expected 1, got " + brief(version));
  const Json& cases = document["cases"];
  if (!fields.array(cases, "cases", limits::kJsonValues)) return false;
  std::int64_t bytes_left = allowed.tensor_bytes;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!read_case(fields, cases[i], json_path("cases", i), bytes_left, out.emplace_back())) return false;
  }
  return true;
}

}  // namespace

bool read_expectation(JsonFields& fields, const Json& object, const std::string& where, Expectation& out) {
  const auto value = object.find("expectation");
  if (value == object.end()) return true;
  const std::string path = json_path(where, "expectation");
  std::string name;
  if (!fields.read(*value, path, name)) return false;
  const std::optional<Expectation> expectation = expectation_named(name);
  if (!expectation)
    return fields.refuse(path, "expected unstated, valid, implementation-defined or invalid, got " + brief(*value));
  out = *expectation;
  return true;
}

bool read_texts(JsonFields& fields, const Json& object, const std::string& where, std::string_view key,
                std::vector<std::string>& out) {
  const auto value = object.find(key);
  return value == object.end() || fields.read_list(*value, json_path(where, key), limits::kAttributeValues, out);
}

Json texts_object(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text_json(text));
  return list;
}

Json case_object(const Case& test_case) {
  Json object = Json::object();
  object["id"] = text_json(test_case.id);
  if (!test_case.note.empty()) object["note"] = text_json(test_case.note);
  if (!test_case.rules.empty()) object["rules"] = texts_object(test_case.rules);
  if (!test_case.tags.empty()) object["tags"] = texts_object(test_case.tags);
  if (test_case.expectation != Expectation::unstated) object["expectation"] = name_of(test_case.expectation);
  is_judged_as_graph(test_case) ? add_graph(test_case, object) : add_node(test_case, object);
  if (test_case.defect) object["defect"] = defect_object(*test_case.defect);
  if (test_case.provenance != Provenance{}) object["provenance"] = provenance_object(test_case.provenance);
  if (!test_case.before.empty()) {
    Json& list = object["before"] = Json::array();
    for (const Case& one : test_case.before) list.push_back(case_object(one));
  }
  return object;
}

bool read_case(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left, Case& out) {
  const bool is_graph = value.is_object() && value.contains("nodes");
  return (is_graph ? read_graph(fields, value, where, bytes_left, out)
                   : read_one_node(fields, value, where, bytes_left, out)) &&
         fields.read(value["id"], json_path(where, "id"), out.id) &&
         fields.read_optional(value, where, "note", out.note) && read_texts(fields, value, where, "rules", out.rules) &&
         read_texts(fields, value, where, "tags", out.tags) &&
         read_expectation(fields, value, where, out.expectation) &&
         read_defect(fields, value, where, bytes_left, out.defect) &&
         read_provenance(fields, value, where, out.provenance) &&
         read_before(fields, value, where, bytes_left, out.before);
}

std::string cases_json(std::span<const Case> cases) {
  Json document = Json::object();
  document["format"] = kFormat;
  document["version"] = kCaseVersion;
  Json& list = document["cases"] = Json::array();
  for (const Case& test_case : cases) list.push_back(case_object(test_case));
  return print_json(document);
}

std::string case_json(const Case& test_case) {
  return cases_json(std::span(&test_case, 1));
}

Result<std::vector<Case>> read_cases_json(std::string_view text, const CaseJsonLimits& allowed) {
  QCONFORM_ASSIGN(const auto document, parse_json(text));
  JsonFields fields;
  std::vector<Case> cases;
  if (!read_document(fields, document, allowed, cases)) return tl::unexpected<Error>(*fields.error());
  return cases;
}

Result<std::vector<Case>> load_cases(const std::filesystem::path& path) {
  QCONFORM_ASSIGN(const auto text, read_file(path, limits::kJsonFileBytes));
  return in_context(path.string(), read_cases_json(text));
}

Result<void> save_cases(const std::filesystem::path& path, std::span<const Case> cases) {
  return write_file(path, cases_json(cases));
}

Result<Case> load_case(const std::filesystem::path& path) {
  QCONFORM_ASSIGN(auto cases, load_cases(path));
  if (cases.size() == 1) return std::move(cases.front());
  return fail(path.string() + ": cases", "expected one case, got " + std::to_string(cases.size()));
}

}  // namespace qconform
