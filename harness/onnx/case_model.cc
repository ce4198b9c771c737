#include "harness/onnx/case_model.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/base/file.h"
#include "harness/core/limits.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/operator.h"
#include "harness/onnx/enclosed_graph.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf.h"

namespace qconform {
namespace {

const onnx::TensorProto* initializer_named(const onnx::GraphProto& graph, const std::string& name) {
  const auto& all = graph.initializer();
  const auto found = std::find_if(all.begin(), all.end(), [&](const onnx::TensorProto& t) { return t.name() == name; });
  return found == all.end() ? nullptr : &*found;
}

constexpr const char* kDefectOutputName = "qconform.defect_output";

std::string recorded_output_name(const Case& test_case, std::size_t output) {
  return is_judged_as_graph(test_case) ? kRecordedOutputName + ("." + std::to_string(output)) : kRecordedOutputName;
}

std::string defect_output_name(std::size_t output) {
  return kDefectOutputName + ("." + std::to_string(output));
}

bool is_answer(const std::string& name) {
  return name.starts_with(kRecordedOutputName) || name.starts_with(kDefectOutputName);
}

Result<void> read_answers(const onnx::GraphProto& graph, const ExternalFolder& external, Case& out) {
  for (std::size_t i = 0; i < out.output_count(); ++i) {
    const onnx::TensorProto* recorded = initializer_named(graph, recorded_output_name(out, i));
    if (recorded == nullptr) break;
    QCONFORM_ASSIGN(auto tensor, tensor_from_proto(*recorded, external));
    out.recorded_outputs.push_back(std::move(tensor));
  }
  QCONFORM_TRY(read_defect_outputs(graph, external, out));
  return check_wiring(out);
}

/// `file` names a case whose model says nothing of itself; empty when it comes from memory.
Result<Case> case_from_proto(const onnx::ModelProto& model, const std::filesystem::path& file) {
  const ExternalFolder external = file.empty() ? std::nullopt : ExternalFolder(file.parent_path());
  const onnx::GraphProto& graph = model.graph();
  const auto lookup = [&](const std::string& name) -> Result<Tensor> {
    const onnx::TensorProto* const found = initializer_named(graph, name);
    if (found == nullptr) return fail("input " + quoted_name(name), "has no initializer");
    return tensor_from_proto(*found, external);
  };
  std::set<std::string> fed;
  for (const onnx::ValueInfoProto& input : graph.input()) fed.insert(input.name());
  QCONFORM_ASSIGN(auto result, case_from_graph(model, fed, lookup));
  result.id = file.stem().string();
  if (!file.empty()) result.provenance.source = "onnx:" + file.filename().string();
  QCONFORM_TRY(read_metadata(model, result));
  QCONFORM_TRY(read_answers(graph, external, result));
  return result;
}

/// The tensors, as initializers.
void write_initializers(const Case& test_case, onnx::GraphProto& graph) {
  const std::vector<std::string> names = input_names(test_case);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (test_case.inputs[i]) write_tensor(*test_case.inputs[i], names[i], *graph.add_initializer());
  }
}

void write_opset_imports(const Case& test_case, onnx::ModelProto& model) {
  for (const Node& node : test_case.nodes) {
    const auto& imports = model.opset_import();
    const auto same_domain = [&](const onnx::OperatorSetIdProto& opset) { return opset.domain() == node.domain; };
    if (std::any_of(imports.begin(), imports.end(), same_domain)) continue;
    onnx::OperatorSetIdProto& opset = *model.add_opset_import();
    opset.set_domain(node.domain);
    opset.set_version(node.opset_version);
  }
}

/// Returns the opset version of ONNX's own domain; 0 where no node is of it.
std::int64_t opset_version_of_onnx(const Case& test_case) {
  for (const Node& node : test_case.nodes) {
    if (node.domain.empty() || node.domain == "ai.onnx") return node.opset_version;
  }
  return 0;
}

}  // namespace

Result<void> read_defect_outputs(const onnx::GraphProto& graph, const ExternalFolder& external, Case& out) {
  if (!out.defect) return {};
  for (std::size_t i = 0; i < limits::kInputs; ++i) {
    const onnx::TensorProto* output = initializer_named(graph, defect_output_name(i));
    if (output == nullptr) break;
    QCONFORM_ASSIGN(auto tensor, tensor_from_proto(*output, external));
    out.defect->outputs.push_back(std::move(tensor));
  }
  return {};
}

void write_defect_outputs(const Case& test_case, onnx::GraphProto& graph) {
  if (!test_case.defect) return;
  for (std::size_t i = 0; i < test_case.defect->outputs.size(); ++i) {
    write_tensor(test_case.defect->outputs[i], defect_output_name(i), *graph.add_initializer());
  }
}

std::int64_t ir_version_for(std::int64_t opset_version) {
  struct Release {
    std::int64_t last_opset;
    std::int64_t ir_version;
  };
  // From ONNX's table of versions. Older IR versions would do for old opsets, but every reader of
  // interest takes 8, and initializers that are no graph inputs need 4.
  for (const Release release : {Release{18, 8}, Release{20, 9}, Release{22, 10}, Release{23, 11}, Release{24, 12}}) {
    if (opset_version <= release.last_opset) return release.ir_version;
  }
  return 13;
}

Result<void> write_graph(const Case& test_case, const OutputTypes& outputs, onnx::ModelProto& model) {
  model.set_ir_version(ir_version_for(opset_version_of_onnx(test_case)));
  model.set_producer_name("qconform");
  write_opset_imports(test_case, model);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("case");
  QCONFORM_TRY(write_nodes(test_case, graph));
  const std::vector<std::string> names = output_names(test_case);
  for (std::size_t i = 0; i < names.size(); ++i) {
    onnx::ValueInfoProto& info = *graph.add_output();
    info.set_name(names[i]);
    if (i < outputs.size()) write_value_info(names[i], outputs[i].type, outputs[i].shape, info);
  }
  return {};
}

Result<std::string> case_to_model(const Case& test_case, const OutputTypes& outputs) {
  onnx::ModelProto model;
  QCONFORM_TRY(write_graph(test_case, outputs, model));
  onnx::GraphProto& graph = *model.mutable_graph();
  write_initializers(test_case, graph);
  for (std::size_t i = 0; i < test_case.fed_inputs; ++i) {
    const Tensor& tensor = *test_case.inputs[i];
    write_value_info(test_case.input_names[i], tensor.type, tensor.shape, *graph.add_input());
  }
  for (std::size_t i = 0; i < test_case.recorded_outputs.size(); ++i) {
    write_tensor(test_case.recorded_outputs[i], recorded_output_name(test_case, i), *graph.add_initializer());
  }
  write_defect_outputs(test_case, graph);
  write_metadata(test_case, test_case.recorded_outputs.empty() ? OutputOrigin::none : OutputOrigin::recorded, model);
  return message_bytes(model);
}

namespace {

// Before anything is looked up among them, which takes time with the square of their number.
Result<void> check_counts(const onnx::GraphProto& graph) {
  const auto check = [](const char* what, int count, std::size_t limit) -> Result<void> {
    if (static_cast<std::size_t>(count) <= limit) return {};
    return fail(what, fmt::format("{} exceed the limit of {} for a case", count, limit), "limit");
  };
  QCONFORM_TRY(check("nodes", graph.node_size(), limits::kNodes));
  // Recorded and defect's answers stand beside the tensors.
  QCONFORM_TRY(check("initializers", graph.initializer_size(), limits::kGraphTensors + 2 * limits::kInputs));
  return check("inputs", graph.input_size(), limits::kGraphTensors);
}

}  // namespace

namespace {

// Whether the names are those under which a node of an unknown operator is written whose case leaves them out.
bool leaves_names_out(const onnx::NodeProto& node) {
  for (int i = 0; i < node.input_size(); ++i) {
    if (!node.input(i).empty() && node.input(i) != "input_" + std::to_string(i)) return false;
  }
  return node.output_size() == 1 && node.output(0) == "y";
}

// Whether the only node is a graph by itself: by its operator, or because it takes quantized data and no operator of a
// family does.
bool is_graph_of_one(const onnx::GraphProto& graph) {
  const onnx::NodeProto& node = graph.node(0);
  if (is_quantized_graph_operator(node.domain(), node.op_type())) return true;
  if (find_operator(node.domain(), node.op_type()) != nullptr) return false;
  if (!is_graph_operator(node.domain(), node.op_type()) || leaves_names_out(node)) return false;
  const auto& inputs = graph.input();
  const auto& initializers = graph.initializer();
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const auto& input) {
                       return is_narrow(static_cast<ElementType>(input.type().tensor_type().elem_type()));
                     }) ||
         std::any_of(initializers.begin(), initializers.end(), [](const onnx::TensorProto& tensor) {
           return !is_answer(tensor.name()) && is_narrow(static_cast<ElementType>(tensor.data_type()));
         });
}

}  // namespace

Result<Case> case_from_graph(const onnx::ModelProto& model, const std::set<std::string>& fed,
                             const ValueLookup& lookup) {
  const onnx::GraphProto& graph = model.graph();
  if (graph.node_size() == 1 && !is_graph_of_one(graph)) {
    return case_from_node(model, graph.node(0), lookup);
  }
  QCONFORM_TRY(check_counts(graph));
  Case result;
  result.nodes.clear();
  for (const onnx::NodeProto& proto : graph.node()) {
    Node& node = result.nodes.emplace_back();
    QCONFORM_ASSIGN(node, in_context("node " + quoted_name(proto.name()), node_from_proto(model, proto)));
    node.inputs.assign(proto.input().begin(), proto.input().end());
    node.outputs.assign(proto.output().begin(), proto.output().end());
  }
  const auto add = [&](const std::string& name) -> Result<void> {
    QCONFORM_ASSIGN(auto tensor, lookup(name));
    result.inputs.emplace_back(std::move(tensor));
    result.input_names.push_back(name);
    return {};
  };
  std::set<std::string> added;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const bool is_fed = fed.contains(input.name()) || initializer_named(graph, input.name()) == nullptr;
    if (!is_fed || !added.insert(input.name()).second) continue;
    QCONFORM_TRY(add(input.name()));
  }
  result.fed_inputs = result.inputs.size();
  for (const onnx::TensorProto& initializer : graph.initializer()) {
    if (is_answer(initializer.name()) || !added.insert(initializer.name()).second) continue;
    QCONFORM_TRY(add(initializer.name()));
  }
  for (const onnx::ValueInfoProto& output : graph.output()) result.outputs.push_back(output.name());
  QCONFORM_TRY(check_wiring(result));
  return result;
}

namespace {

// Constants stand before the nodes that read them.
void hold(const Tensor& tensor, const std::string& name, ModelForm::Storage storage, onnx::GraphProto& graph) {
  if (storage == ModelForm::Storage::initializers) return write_tensor(tensor, name, *graph.add_initializer());
  onnx::NodeProto& constant = *graph.add_node();
  constant.set_op_type("Constant");
  constant.add_output(name);
  onnx::AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  write_tensor(tensor, name, *value.mutable_t());
  for (int i = graph.node_size() - 1; i > 0; --i) graph.mutable_node()->SwapElements(i, i - 1);
}

void write_fed(const Tensor& tensor, const std::string& name, ModelForm::Shapes shapes, onnx::ValueInfoProto& info) {
  write_value_info(name, tensor.type, tensor.shape, info);
  onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  if (shapes == ModelForm::Shapes::unknown) type.clear_shape();
  if (shapes != ModelForm::Shapes::symbolic) return;
  for (int i = 0; i < type.shape().dim_size(); ++i) {
    type.mutable_shape()->mutable_dim(i)->set_dim_param(name + ".d" + std::to_string(i));
  }
}

}  // namespace

Result<std::string> case_to_fed_model(const Case& test_case, std::span<const std::size_t> fed, const ModelForm& form) {
  onnx::ModelProto model;
  QCONFORM_TRY(write_graph(test_case, {}, model));
  onnx::GraphProto& graph = *model.mutable_graph();
  const std::vector<std::string> names = input_names(test_case);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!test_case.inputs[i]) continue;
    const Tensor& tensor = *test_case.inputs[i];
    if (std::find(fed.begin(), fed.end(), i) == fed.end()) {
      hold(tensor, names[i], form.storage, graph);
    } else {
      write_fed(tensor, names[i], form.shapes, *graph.add_input());
    }
  }
  if (form.place == ModelForm::Place::branches) put_in_branches(graph);
  if (form.place == ModelForm::Place::loop) put_in_loop(graph);
  return message_bytes(model);
}

Result<Case> case_from_model(std::string_view bytes) {
  onnx::ModelProto model;
  QCONFORM_TRY(parse_model(bytes, model));
  return case_from_proto(model, {});
}

std::vector<std::string> fed_names(const onnx::GraphProto& graph, std::size_t tensors) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const bool has_fewer = tensors < static_cast<std::size_t>(graph.input_size());
    if (has_fewer && initializer_named(graph, input.name()) != nullptr) continue;
    if (names.size() < tensors) names.push_back(input.name());
  }
  return names;
}

namespace {

using NamedInputs = std::map<std::string, Tensor>;

Result<NamedInputs> inputs_in_order(const onnx::GraphProto& graph, std::vector<FedTensor> fed) {
  const std::vector<std::string> names = fed_names(graph, fed.size());
  if (names.size() < fed.size()) {
    return fail("inputs",
                fmt::format("expected {} tensors, one for each input of the graph, got {}", names.size(), fed.size()));
  }
  NamedInputs inputs;
  for (std::size_t i = 0; i < fed.size(); ++i) inputs.insert_or_assign(names[i], std::move(fed[i].tensor));
  return inputs;
}

Result<NamedInputs> inputs_by_name(const onnx::GraphProto& graph, std::vector<FedTensor> fed) {
  NamedInputs inputs;
  for (FedTensor& one : fed) {
    const auto& known = graph.input();
    const bool is_known =
        std::any_of(known.begin(), known.end(), [&](const auto& input) { return input.name() == one.name; });
    if (!is_known) return fail("inputs", "the graph has no input " + quoted_name(one.name));
    if (!inputs.emplace(one.name, std::move(one.tensor)).second) {
      return fail("inputs", "two tensors for the input " + quoted_name(one.name));
    }
  }
  return inputs;
}

}  // namespace

Result<Case> case_from_fed_model(std::string_view bytes, std::vector<FedTensor> fed) {
  onnx::ModelProto model;
  QCONFORM_TRY(parse_model(bytes, model));
  const onnx::GraphProto& graph = model.graph();
  const bool holds_all = fed.empty();  // as files of cases do
  const bool has_names = std::any_of(fed.begin(), fed.end(), [](const FedTensor& one) { return !one.name.empty(); });
  QCONFORM_ASSIGN(NamedInputs inputs,
                  has_names ? inputs_by_name(graph, std::move(fed)) : inputs_in_order(graph, std::move(fed)));
  const auto lookup = [&](const std::string& name) -> Result<Tensor> {
    if (const auto found = inputs.find(name); found != inputs.end()) return found->second;
    const onnx::TensorProto* const held = initializer_named(graph, name);
    if (held == nullptr) return fail("inputs", "nothing is fed to the input " + quoted_name(name));
    return tensor_from_proto(*held, std::nullopt);
  };
  std::set<std::string> names;
  for (const auto& [name, tensor] : inputs) names.insert(name);
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (holds_all) names.insert(input.name());
  }
  QCONFORM_ASSIGN(auto result, case_from_graph(model, names, lookup));
  result.id = graph.name();
  QCONFORM_TRY(read_metadata(model, result));
  QCONFORM_TRY(read_answers(graph, std::nullopt, result));
  return result;
}

std::vector<std::size_t> data_inputs(const Case& test_case) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    if (test_case.inputs[i] && role_of(test_case, i) == InputRole::data) positions.push_back(i);
  }
  return positions;
}

Result<void> write_case_model(const Case& test_case, const std::filesystem::path& file, const OutputTypes& outputs) {
  QCONFORM_ASSIGN(const auto bytes, in_context(file.string(), case_to_model(test_case, outputs)));
  return write_file(file, bytes);
}

Result<Case> read_case_model(const std::filesystem::path& file) {
  onnx::ModelProto model;
  QCONFORM_TRY(read_model(file, model));
  return in_context(file.string(), case_from_proto(model, file));
}

}  // namespace qconform
