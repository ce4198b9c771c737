#include "harness/onnx/derived_models.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf.h"

namespace qconform {
namespace {

// Sequences, maps and optional values cannot be fed to a part as tensors.
bool computes_tensors_alone(const onnx::NodeProto& node) {
  const std::string& domain = node.domain();
  const bool is_known = domain.empty() || domain == "ai.onnx" || domain == "com.microsoft";
  return is_known && node.op_type().find("Sequence") == std::string::npos && !node.op_type().starts_with("Optional");
}

bool can_be_cut(const onnx::GraphProto& graph) {
  const auto& nodes = graph.node();
  return graph.sparse_initializer_size() == 0 && std::all_of(nodes.begin(), nodes.end(), computes_tensors_alone);
}

// Follows the values that a part must not hand on, node by node in their order.
class OpenValues {
 public:
  OpenValues(const onnx::GraphProto& graph, const std::vector<int>& order, const std::set<std::string>& within)
      : within_(within) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const std::string_view name : names_read_by(graph.node(order[i]))) last_reader_[std::string(name)] = i;
    }
  }

  [[nodiscard]] bool empty() const { return open_.empty(); }

  void pass(const onnx::NodeProto& node, std::size_t position) {
    for (const std::string& name : node.output()) {
      const auto reader = last_reader_.find(name);
      if (within_.contains(name) && reader != last_reader_.end()) open_.insert(name);
    }
    std::erase_if(open_, [&](const std::string& name) { return last_reader_.at(name) <= position; });
  }

 private:
  const std::set<std::string>& within_;
  std::map<std::string, std::size_t> last_reader_;  // positions in the order
  std::set<std::string> open_;
};

}  // namespace

Result<ModelParts> ModelParts::of(const onnx::ModelProto& model, const std::set<std::string>& wanted,
                                  const Limits& limits) {
  const onnx::GraphProto& graph = model.graph();
  QCONFORM_ASSIGN(const auto order, order_of(graph));
  ModelParts result(model);
  result.wanted_ = wanted;
  for (const onnx::TensorProto& tensor : graph.initializer()) result.initializers_.emplace(tensor.name(), &tensor);
  for (const onnx::ValueInfoProto& info : graph.value_info()) result.stated_.emplace(info.name(), &info);
  result.cut(order, limits);
  return result;
}

void ModelParts::cut(const std::vector<int>& order, const Limits& limits) {
  constexpr std::size_t kPatience = 4;
  const onnx::GraphProto& graph = model_->graph();
  const bool cuts = can_be_cut(graph);
  OpenValues open(graph, order, limits.within);
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t nodes = parts_.empty() ? 0 : parts_.back().nodes.size();
    const bool is_full = nodes >= limits.nodes || bytes >= limits.bytes;
    const bool is_far = nodes / kPatience >= limits.nodes || bytes / std::int64_t{kPatience} >= limits.bytes;
    if (i == 0 || (cuts && is_full && (is_far || open.empty()))) {
      parts_.emplace_back();
      bytes = 0;
    }
    const onnx::NodeProto& node = graph.node(order[i]);
    add_node(node);
    open.pass(node, i);
    for (const std::string& name : node.output()) {
      if (is_wanted(name)) bytes += limits.bytes_of(name);
    }
  }
}

void ModelParts::add_node(const onnx::NodeProto& node) {
  Part& part = parts_.back();
  part.nodes.push_back(&node);
  for (const std::string_view name : names_read_by(node)) {
    if (name.empty() || part.computes.contains(std::string(name))) continue;
    part.reads.emplace(name);
    last_reader_[std::string(name)] = parts_.size() - 1;
  }
  part.computes.insert(node.output().begin(), node.output().end());
  part.computes.erase("");
}

bool ModelParts::is_read_after(std::size_t number, const std::string& value) const {
  const auto reader = last_reader_.find(value);
  return reader != last_reader_.end() && reader->second > number;
}

std::map<std::string, Tensor> ModelParts::fed(std::size_t number, const std::map<std::string, Tensor>& known) const {
  std::map<std::string, Tensor> result;
  for (const std::string& name : parts_[number].reads) {
    const auto value = known.find(name);
    if (value != known.end()) result.insert(*value);
  }
  return result;
}

Result<std::string> ModelParts::part(std::size_t number, const std::map<std::string, Tensor>& known) const {
  const Part& part = parts_[number];
  onnx::ModelProto model;
  model.set_ir_version(model_->ir_version());
  *model.mutable_opset_import() = model_->opset_import();
  *model.mutable_functions() = model_->functions();
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(model_->graph().name());
  *graph.mutable_sparse_initializer() = model_->graph().sparse_initializer();
  for (const std::string& name : part.computes) {
    if (const auto stated = stated_.find(name); stated != stated_.end()) *graph.add_value_info() = *stated->second;
    if (is_wanted(name) || is_read_after(number, name)) graph.add_output()->set_name(name);
  }
  if (graph.output_size() == 0) return std::string();
  for (const std::string& name : part.reads) {
    const auto value = known.find(name);
    const auto held = initializers_.find(name);
    if (value != known.end()) {
      write_value_info(name, value->second.type, value->second.shape, *graph.add_input());
    } else if (held != initializers_.end()) {
      *graph.add_initializer() = *held->second;
    }
  }
  for (const onnx::NodeProto* node : part.nodes) *graph.add_node() = *node;
  return message_bytes(model);
}

namespace {

CaseGraph::Value stated_value(const onnx::ValueInfoProto& info) {
  const onnx::TypeProto::Tensor& tensor = info.type().tensor_type();
  CaseGraph::Value result{info.name(), name_of(static_cast<ElementType>(tensor.elem_type())), {}, {}};
  for (const auto& dimension : tensor.shape().dim()) result.shape.push_back(dimension.dim_value());
  return result;
}

CaseGraph::Node node_of(const onnx::NodeProto& node) {
  CaseGraph::Node result{node.op_type(), node.domain(), {}, {}, {}};
  for (const std::string& name : node.input()) result.inputs.push_back(printable(name));
  for (const std::string& name : node.output()) result.outputs.push_back(printable(name));
  if (const auto attributes = attributes_of(node)) {
    for (const Attribute& attribute : *attributes) {
      result.attributes[attribute.name] = attribute_text(attribute.value);
    }
  }
  return result;
}

}  // namespace

Result<CaseGraph> graph_of_model(std::string_view model) {
  onnx::ModelProto proto;
  QCONFORM_TRY(parse_message(model, proto));
  const onnx::GraphProto& graph = proto.graph();
  CaseGraph result;
  std::set<std::string> held;
  for (const onnx::TensorProto& initializer : graph.initializer()) {
    held.insert(initializer.name());
    if (const auto tensor = tensor_from_proto(initializer, std::nullopt)) {
      result.initializers.push_back(shown_value(printable(initializer.name()), *tensor));
    }
  }
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (held.count(input.name()) == 0) result.inputs.push_back(stated_value(input));
  }
  for (const onnx::ValueInfoProto& value : graph.value_info()) result.computed.push_back(stated_value(value));
  for (const onnx::ValueInfoProto& output : graph.output()) result.outputs.push_back(printable(output.name()));
  for (const onnx::NodeProto& node : graph.node()) result.nodes.push_back(node_of(node));
  return result;
}

namespace {

constexpr int kNoBias = -1;
constexpr std::string_view kMicrosoft = "com.microsoft";

/// A quantized operator, by the positions of its inputs. Each tensor has its scale and zero point behind it.
struct QuantizedForm {
  std::string_view domain;
  std::string_view name;
  std::string_view float_name;
  int operands;         ///< 1 or 2, from input 0 on
  int y_scale;          ///< with y_zero_point behind it
  int bias;             ///< or kNoBias
  std::int64_t w_axis;  ///< axis of the second operand's scales, where it has several
};

constexpr std::array kForms{
    QuantizedForm{"", "QLinearConv", "Conv", 2, 6, 8, 0},
    QuantizedForm{"", "QLinearMatMul", "MatMul", 2, 6, kNoBias, -1},
    QuantizedForm{kMicrosoft, "QGemm", "Gemm", 2, 7, 6, 1},
    QuantizedForm{kMicrosoft, "QLinearAdd", "Add", 2, 6, kNoBias, 0},
    QuantizedForm{kMicrosoft, "QLinearMul", "Mul", 2, 6, kNoBias, 0},
    QuantizedForm{kMicrosoft, "QLinearAveragePool", "AveragePool", 1, 3, kNoBias, 0},
    QuantizedForm{kMicrosoft, "QLinearGlobalAveragePool", "GlobalAveragePool", 1, 3, kNoBias, 0},
    QuantizedForm{kMicrosoft, "QLinearSigmoid", "Sigmoid", 1, 3, kNoBias, 0},
    QuantizedForm{kMicrosoft, "QLinearLeakyRelu", "LeakyRelu", 1, 3, kNoBias, 0},
};

const QuantizedForm* form_of(const onnx::NodeProto& node) {
  const auto* found = std::find_if(kForms.begin(), kForms.end(), [&](const QuantizedForm& form) {
    const bool is_onnx = node.domain().empty() || node.domain() == "ai.onnx";
    return form.name == node.op_type() && (form.domain.empty() ? is_onnx : form.domain == node.domain());
  });
  return found == kForms.end() ? nullptr : found;
}

std::string input_of(const onnx::NodeProto& node, int position) {
  return position >= 0 && position < node.input_size() ? node.input(position) : std::string();
}

class QdqWriter {
 public:
  QdqWriter(const onnx::GraphProto& graph, const ExternalFolder& external) : scope_(graph), external_(external) {
    written_ = graph;
    written_.clear_node();
  }

  Result<RewrittenCounts> write() {
    for (const onnx::NodeProto& node : scope_.graph().node()) {
      const QuantizedForm* form = form_of(node);
      if (form == nullptr) {
        *written_.add_node() = node;
        continue;
      }
      const bool is_left = int_attribute(node, "channels_last", 0) != 0;
      ++counts_[(is_left ? "left: " : "") + operator_name(node.domain(), node.op_type())];
      if (is_left) {
        *written_.add_node() = node;
      } else {
        QCONFORM_TRY(rewrite(node, *form));
      }
    }
    return counts_;
  }

  [[nodiscard]] onnx::GraphProto& written() { return written_; }

 private:
  Result<void> rewrite(const onnx::NodeProto& node, const QuantizedForm& form) {
    onnx::NodeProto computed;
    computed.set_op_type(std::string(form.float_name));
    computed.set_name(node.name());
    for (int i = 0; i < form.operands; ++i) {
      QCONFORM_ASSIGN(const bool has_axis, has_several(input_of(node, 3 * i + 1)));
      std::int64_t axis = i == 1 ? form.w_axis : -2;
      if (i == 1 && int_attribute(node, "transB", 0) != 0) axis = 0;
      computed.add_input(dequantize(node, 3 * i, has_axis ? std::optional(axis) : std::nullopt));
    }
    if (!input_of(node, form.bias).empty()) {
      QCONFORM_ASSIGN(auto bias, dequantize_bias(node, form));
      computed.add_input(std::move(bias));
    }
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() != "channels_last") *computed.add_attribute() = attribute;
    }
    const bool is_quantized = !input_of(node, form.y_scale).empty();
    computed.add_output(is_quantized ? node.output(0) + "/float" : node.output(0));
    *written_.add_node() = computed;
    if (!is_quantized) return {};
    onnx::NodeProto& quantize = *written_.add_node();
    quantize.set_op_type("QuantizeLinear");
    quantize.set_name(computed.name() + "/QuantizeLinear");
    for (const std::string& name :
         {computed.output(0), input_of(node, form.y_scale), input_of(node, form.y_scale + 1)}) {
      if (!name.empty()) quantize.add_input(name);
    }
    quantize.add_output(node.output(0));
    return {};
  }

  // The name of the real values of the tensor at `position`.
  std::string dequantize(const onnx::NodeProto& node, int position, std::optional<std::int64_t> axis) {
    onnx::NodeProto& added = *written_.add_node();
    added.set_op_type("DequantizeLinear");
    added.set_name(node.name() + "/DequantizeLinear_" + std::to_string(position));
    for (int i = position; i < position + 3; ++i) {
      if (!input_of(node, i).empty()) added.add_input(node.input(i));
    }
    if (axis) add_axis(added, *axis);
    added.add_output(node.output(0) + "/real_" + std::to_string(position));
    return added.output(0);
  }

  static void add_axis(onnx::NodeProto& node, std::int64_t axis) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("axis");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(axis);
  }

  Result<Tensor> constant(const std::string& name) const {
    if (const onnx::TensorProto* proto = scope_.constant(name)) return tensor_from_proto(*proto, external_);
    return fail(quoted_name(name), "is computed by the model, expected a constant");
  }

  // A scalar, or one number for each index of an axis.
  Result<bool> has_several(const std::string& scale) const {
    QCONFORM_ASSIGN(const auto tensor, constant(scale));
    return tensor.elements() > 1;
  }

  Result<std::string> dequantize_bias(const onnx::NodeProto& node, const QuantizedForm& form) {
    QCONFORM_ASSIGN(const auto x_scale, constant(input_of(node, 1)));
    QCONFORM_ASSIGN(const auto w_scale, constant(input_of(node, 4)));
    if (x_scale.type != ElementType::float32 || w_scale.type != ElementType::float32 || x_scale.elements() != 1) {
      return fail(quoted_name(input_of(node, 1)), "expected float32 scales, and one of x");
    }
    std::vector<float> scales;
    for (std::int64_t i = 0; i < w_scale.elements(); ++i) {
      scales.push_back(static_cast<float>(number_at(x_scale, 0)) * static_cast<float>(number_at(w_scale, i)));
    }
    const auto count = static_cast<std::int64_t>(scales.size());
    const std::string name = node.output(0) + "/bias_scale";
    const std::vector<std::int64_t> shape = count > 1 ? std::vector{count} : std::vector<std::int64_t>{};
    write_tensor(Tensor::of(ElementType::float32, shape, scales), name, *written_.add_initializer());
    onnx::NodeProto& added = *written_.add_node();
    added.set_op_type("DequantizeLinear");
    added.set_name(node.name() + "/DequantizeLinear_bias");
    added.add_input(input_of(node, form.bias));
    added.add_input(name);
    if (count > 1) add_axis(added, 0);
    added.add_output(node.output(0) + "/real_bias");
    return added.output(0);
  }

  GraphScope scope_;
  const ExternalFolder& external_;
  onnx::GraphProto written_;
  RewrittenCounts counts_;
};

}  // namespace

Result<RewrittenCounts> write_in_qdq_form(onnx::ModelProto& model, const ExternalFolder& external) {
  for (const onnx::OperatorSetIdProto& opset : model.opset_import()) {
    if ((opset.domain().empty() || opset.domain() == "ai.onnx") && opset.version() < 13) {
      return fail("opset_import", "expected opset 13 or newer, whose DequantizeLinear has scales along an axis, got " +
                                      std::to_string(opset.version()));
    }
  }
  QdqWriter writer(model.graph(), external);
  QCONFORM_ASSIGN(auto counts, writer.write());
  onnx::GraphProto written = std::move(writer.written());
  model.mutable_graph()->Swap(&written);
  return counts;
}

Result<RewrittenCounts> write_in_qdq_form(const std::filesystem::path& file, const std::filesystem::path& to) {
  onnx::ModelProto model;
  QCONFORM_TRY(read_model(file, model));
  QCONFORM_ASSIGN(auto counts, in_context(file.string(), write_in_qdq_form(model, file.parent_path())));
  if (counts.empty()) return fail(file.string(), "has no quantized operator that has a QDQ form");
  QCONFORM_ASSIGN(const auto bytes, in_context(to.string(), message_bytes(model)));
  QCONFORM_TRY(write_file(to, bytes));
  return counts;
}

}  // namespace qconform
