#include "harness/suites/onnx_folder.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <system_error>

#include "harness/graphs/lowering.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_folder.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/node_proto.h"
#include "harness/suites/model_nodes.h"

namespace qconform {
namespace {

namespace fs = std::filesystem;

Result<void> collect(const fs::path& folder, int depth, std::vector<fs::path>& found) {
  std::error_code error;
  if (fs::exists(folder / "model.onnx", error)) {
    found.push_back(folder);
    return {};
  }
  if (depth == OnnxFolderSuite::kMaxDepth) return {};
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored)) continue;
    QCONFORM_TRY(collect(entry->path(), depth + 1, found));
  }
  if (error) return fail(folder.string(), "cannot be read: " + error.message());
  return {};
}

/// Whether it is in QDQ form: nothing else tells a quantized graph from any other.
bool is_quantized_graph(const onnx::GraphProto& graph) {
  return std::any_of(graph.node().begin(), graph.node().end(), [](const onnx::NodeProto& node) {
    return node.op_type() == "QuantizeLinear" || node.op_type() == "DequantizeLinear";
  });
}

/// The operator of the first node with an attribute that a case cannot hold, such as Constant's tensor; empty if there
/// is none.
std::string operator_beyond_cases(const onnx::GraphProto& graph) {
  const auto found = std::find_if(graph.node().begin(), graph.node().end(),
                                  [](const onnx::NodeProto& node) { return !attributes_of(node).has_value(); });
  return found == graph.node().end() ? "" : printable(operator_name(found->domain(), found->op_type()));
}

/// Why the model gives no case; empty when it gives some.
std::string reason_to_skip(const onnx::ModelProto& model, const std::vector<fs::path>& data_sets) {
  if (model.graph().node_size() == 0) return "no node";
  const bool is_graph = model.graph().node_size() > 1;
  if (is_graph && !is_quantized_graph(model.graph()))
    return "several nodes without QuantizeLinear and DequantizeLinear";
  if (const std::string op = is_graph ? operator_beyond_cases(model.graph()) : ""; !op.empty()) {
    return "an attribute that a case cannot hold: " + op;
  }
  const onnx::NodeProto& node = model.graph().node(0);
  const bool is_known = is_graph || find_operator(node.domain(), node.op_type()) != nullptr ||
                        is_quantized_graph_operator(node.domain(), node.op_type());
  if (!is_known) {
    const char* const why =
        has_quantized_name(node.op_type()) ? "operator that qconform does not test: " : "not quantized: ";
    return why + printable(operator_name(node.domain(), node.op_type()));
  }
  return data_sets.empty() ? "no data set: " + node.op_type() : "";
}

/// "/1" and so on, as case_from_data_set numbers them.
std::string id_below(const fs::path& root, const fs::path& folder, std::uint64_t data_set) {
  std::error_code error;
  const fs::path below = folder == root ? fs::canonical(root, error).filename() : folder.lexically_relative(root);
  return below.generic_string() + (data_set == 0 ? "" : "/" + std::to_string(data_set));
}

}  // namespace

Result<std::unique_ptr<OnnxFolderSuite>> OnnxFolderSuite::open(const fs::path& root) {
  std::error_code error;
  if (!fs::is_directory(root, error)) return fail(root.string(), "no such folder");
  std::vector<fs::path> folders;
  QCONFORM_TRY(collect(root, 0, folders));
  if (folders.empty()) return fail(root.string(), "holds no backend tests (folders with a model.onnx)");
  std::sort(folders.begin(), folders.end(),
            [](const fs::path& a, const fs::path& b) { return a.generic_string() < b.generic_string(); });
  return std::unique_ptr<OnnxFolderSuite>(new OnnxFolderSuite(root, std::move(folders)));
}

Result<void> OnnxFolderSuite::load(const fs::path& folder) {
  onnx::ModelProto model;
  QCONFORM_TRY(read_model(folder / "model.onnx", model));
  const std::vector<fs::path> data_sets = data_sets_of(folder);
  if (const std::string reason = reason_to_skip(model, data_sets); !reason.empty()) {
    ++skipped_[reason];
    return {};
  }
  const bool ours = std::any_of(model.metadata_props().begin(), model.metadata_props().end(),
                                [](const auto& entry) { return entry.key() == "qconform.id"; });
  for (const fs::path& data_set : data_sets) {
    QCONFORM_ASSIGN(auto one, in_context(folder.string(), case_from_data_set(model, folder, data_set)));
    if (!ours) {
      one.id = id_below(root_, folder, one.provenance.index);
      one.provenance.source = name();
    }
    cases_.push_back(std::move(one));
  }
  return {};
}

Result<std::optional<Case>> OnnxFolderSuite::next() {
  while (next_case_ == cases_.size()) {
    cases_.clear();
    next_case_ = 0;
    if (next_folder_ == folders_.size()) return std::optional<Case>();
    if (const auto loaded = load(folders_[next_folder_++]); !loaded) {
      next_folder_ = folders_.size();
      cases_.clear();
      return tl::unexpected(loaded.error());
    }
  }
  return std::optional<Case>(std::move(cases_[next_case_++]));
}

}  // namespace qconform
