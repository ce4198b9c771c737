#include "harness/onnx/constant_folding.h"

#include <onnx/onnx_pb.h>

#include <set>
#include <string>
#include <vector>

#include "harness/model/operator.h"

namespace qconform {
namespace {

class Folder {
 public:
  explicit Folder(const ExternalFolder& external) : external_(external) {}

  /// Notes what the quantized nodes need. Names are those of all graphs: one too many costs time only.
  void note_needs(const GraphScope& scope);
  Result<void> fold(GraphScope& scope);

 private:
  [[nodiscard]] bool is_needed(const onnx::NodeProto& node) const;
  [[nodiscard]] bool may_read(const std::vector<const onnx::TensorProto*>& constants);
  Result<void> fold_node(const onnx::NodeProto& node, GraphScope& scope);

  const ExternalFolder& external_;
  std::set<std::string> needed_;
  std::int64_t left_ = kFoldedBytes;
  std::int64_t left_to_read_ = kReadBytes;
};

bool Folder::is_needed(const onnx::NodeProto& node) const {
  return node.output_size() > 0 && moves_data(node) && needed_.count(node.output(0)) != 0;
}

void Folder::note_needs(const GraphScope& scope) {
  for (const auto& body : scope.bodies()) note_needs(*body);
  const auto& nodes = scope.graph().node();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (!is_needed(*node) && find_operator(node->domain(), node->op_type()) == nullptr) continue;
    needed_.insert(node->input().begin(), node->input().end());
  }
}

// Inputs are copied to be read: a hostile model may name one large constant many times.
bool Folder::may_read(const std::vector<const onnx::TensorProto*>& constants) {
  for (const onnx::TensorProto* constant : constants) {
    if (constant == nullptr) continue;
    const auto bytes = checked_bytes("", static_cast<ElementType>(constant->data_type()),
                                     std::vector<std::int64_t>(constant->dims().begin(), constant->dims().end()));
    if (!bytes || *bytes > left_to_read_) return false;
    left_to_read_ -= *bytes;
  }
  return true;
}

Result<void> Folder::fold_node(const onnx::NodeProto& node, GraphScope& scope) {
  std::vector<const onnx::TensorProto*> constants;
  for (const std::string& name : node.input()) {
    constants.push_back(name.empty() ? nullptr : scope.constant(name));
    const bool unknown =
        constants.back() == nullptr || !is_known(static_cast<ElementType>(constants.back()->data_type()));
    if (!name.empty() && unknown) return {};
  }
  if (node.op_type() == "Identity" && !constants.empty() && constants.front() != nullptr) {
    scope.add_constant(node.output(0), *constants.front());
    return {};
  }
  if (!may_read(constants)) return {};
  std::vector<Tensor> values(constants.size());
  std::vector<const Tensor*> inputs(constants.size());
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (constants[i] == nullptr) continue;
    QCONFORM_ASSIGN(values[i], tensor_from_proto(*constants[i], external_));
    inputs[i] = &values[i];
  }
  const auto value = value_of_node(node, inputs, left_);
  if (!value) return {};
  left_ -= static_cast<std::int64_t>(value->bytes.size());
  scope.add_constant(node.output(0), *value);
  return {};
}

Result<void> Folder::fold(GraphScope& scope) {
  for (const onnx::NodeProto& node : scope.graph().node()) {
    if (is_needed(node) && scope.constant(node.output(0)) == nullptr) QCONFORM_TRY(fold_node(node, scope));
  }
  for (const auto& body : scope.bodies()) QCONFORM_TRY(fold(*body));
  return {};
}

}  // namespace

Result<void> fold_constants(GraphScope& scope, const ExternalFolder& external) {
  Folder folder(external);
  folder.note_needs(scope);
  return folder.fold(scope);
}

}  // namespace qconform
