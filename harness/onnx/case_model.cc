#include "harness/onnx/case_model.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

#include "harness/base/file.h"
#include "harness/onnx/case_metadata.h"
#include "harness/onnx/node_proto.h"
#include "harness/onnx/protobuf_file.h"
#include "harness/onnx/tensor_proto.h"

namespace qconform {
namespace {

/// `file` names a case whose model says nothing of itself; empty when it comes from memory.
Result<Case> case_from_proto(const onnx::ModelProto& model, const std::filesystem::path& file) {
  const ExternalFolder external = file.empty() ? std::nullopt : ExternalFolder(file.parent_path());
  const onnx::GraphProto& graph = model.graph();
  if (graph.node_size() != 1) {
    return fail("graph", "expected a single node, got " + std::to_string(graph.node_size()));
  }
  const auto find = [&](const std::string& name) {
    const auto& all = graph.initializer();
    return std::find_if(all.begin(), all.end(), [&](const onnx::TensorProto& t) { return t.name() == name; });
  };
  const auto lookup = [&](const std::string& name) -> Result<Tensor> {
    const auto found = find(name);
    if (found == graph.initializer().end()) return fail("input " + quoted_name(name), "has no initializer");
    return tensor_from_proto(*found, external);
  };
  QCONFORM_ASSIGN(auto result, case_from_node(model, graph.node(0), lookup));
  result.id = file.stem().string();
  if (!file.empty()) result.provenance.source = "onnx:" + file.filename().string();
  QCONFORM_TRY(read_metadata(model, result));
  const auto recorded = find(kRecordedOutputName);
  if (recorded == graph.initializer().end()) return result;
  QCONFORM_ASSIGN(result.recorded_output, tensor_from_proto(*recorded, external));
  return result;
}

}  // namespace

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

Result<void> write_one_node_model(const Case& test_case, const std::optional<OutputType>& output,
                                  onnx::ModelProto& model) {
  const bool default_domain = test_case.domain.empty() || test_case.domain == "ai.onnx";
  model.set_ir_version(ir_version_for(default_domain ? test_case.opset_version : 0));
  model.set_producer_name("qconform");
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain(test_case.domain);
  opset.set_version(test_case.opset_version);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("case");
  QCONFORM_TRY(write_node(test_case, *graph.add_node()));
  onnx::ValueInfoProto& info = *graph.add_output();
  info.set_name(kOutputName);
  if (output) write_value_info(kOutputName, output->type, output->shape, info);
  return {};
}

Result<std::string> case_to_model(const Case& test_case, const std::optional<OutputType>& output) {
  onnx::ModelProto model;
  QCONFORM_TRY(write_one_node_model(test_case, output, model));
  onnx::GraphProto& graph = *model.mutable_graph();
  const std::vector<std::string> names = input_names(test_case);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (test_case.inputs[i]) write_tensor(*test_case.inputs[i], names[i], *graph.add_initializer());
  }
  if (test_case.recorded_output) {
    write_tensor(*test_case.recorded_output, kRecordedOutputName, *graph.add_initializer());
  }
  write_metadata(test_case, test_case.recorded_output ? OutputOrigin::recorded : OutputOrigin::none, model);
  return message_bytes(model);
}

Result<std::string> case_to_fed_model(const Case& test_case, std::span<const std::size_t> fed) {
  onnx::ModelProto model;
  QCONFORM_TRY(write_one_node_model(test_case, {}, model));
  onnx::GraphProto& graph = *model.mutable_graph();
  const std::vector<std::string> names = input_names(test_case);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!test_case.inputs[i]) continue;
    const Tensor& tensor = *test_case.inputs[i];
    if (std::find(fed.begin(), fed.end(), i) == fed.end()) {
      write_tensor(tensor, names[i], *graph.add_initializer());
    } else {
      write_value_info(names[i], tensor.type, tensor.shape, *graph.add_input());
    }
  }
  return message_bytes(model);
}

Result<Case> case_from_model(std::string_view bytes) {
  onnx::ModelProto model;
  QCONFORM_TRY(parse_message(bytes, model));
  return case_from_proto(model, {});
}

Result<void> write_case_model(const Case& test_case, const std::filesystem::path& file,
                              const std::optional<OutputType>& output) {
  QCONFORM_ASSIGN(const auto bytes, in_context(file.string(), case_to_model(test_case, output)));
  return write_file(file, bytes);
}

Result<Case> read_case_model(const std::filesystem::path& file) {
  onnx::ModelProto model;
  QCONFORM_TRY(read_message(file, model));
  return in_context(file.string(), case_from_proto(model, file));
}

}  // namespace qconform
