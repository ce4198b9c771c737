#include "harness/backends/plugin_graph.h"

#include <algorithm>
#include <utility>

#include "harness/model/family.h"
#include "harness/model/operator.h"

namespace qconform::backend {
namespace {

static_assert(QC_FLOAT8E8M0 == static_cast<int>(ElementType::float8e8m0));
static_assert(QC_INT2 == static_cast<int>(ElementType::int2));

std::vector<std::int64_t> channels_last_shape(std::vector<std::int64_t> shape) {
  std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return shape;
}

bool is_convolution(const Case& test_case) {
  const Family* family = family_of(test_case);
  return family != nullptr && family->name == "convolution";
}

// The result points into the attribute.
qc_attribute attribute_for_plugin(const Attribute& attribute) {
  qc_attribute result{};
  result.size = sizeof result;
  result.name = attribute.name.c_str();
  if (const auto* i = std::get_if<std::int64_t>(&attribute.value)) {
    result.kind = QC_INT;
    result.i = *i;
  } else if (const auto* f = std::get_if<float>(&attribute.value)) {
    result.kind = QC_FLOAT;
    result.f = *f;
  } else if (const auto* s = std::get_if<std::string>(&attribute.value)) {
    result.kind = QC_STRING;
    result.s = s->c_str();
    result.count = s->size();
  } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    result.kind = QC_INTS;
    result.ints = ints->data();
    result.count = ints->size();
  } else if (const auto* floats = std::get_if<std::vector<float>>(&attribute.value)) {
    result.kind = QC_FLOATS;
    result.floats = floats->data();
    result.count = floats->size();
  }
  return result;
}

}  // namespace

std::string PluginReason::text(const char* otherwise) {
  memory_.back() = '\0';
  return memory_.front() == '\0' ? otherwise : memory_.data();
}

std::optional<PluginRefusal> refusal_of(int status, PluginReason& reason) {
  switch (status) {
    case QC_OK: return std::nullopt;
    case QC_UNSUPPORTED: return outcome::Unsupported{reason.text("unsupported, without a reason")};
    case QC_REJECTED: return outcome::Rejected{reason.text("rejected, without a reason")};
    default: break;
  }
  const std::string given = reason.text("");
  return outcome::BrokenInterface{"status " + std::to_string(status) + ", which qconform/backend.h does not define" +
                                  (given.empty() ? "" : ": " + given)};
}

bool can_turn(ElementType type, std::size_t rank) {
  return rank >= 3 && is_known(type) && bits_of(type) % 8 == 0;
}

std::vector<std::int64_t> channels_first_shape(std::vector<std::int64_t> shape) {
  std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

PluginGraph::PluginGraph(const Case& test_case, InputMemory& memory, bool with_constants, bool channels_last)
    : channels_last_(channels_last && is_convolution(test_case)) {
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) add_value(test_case, i, memory, with_constants);
  for (const Node& node : test_case.nodes) add_node(test_case, node);
  if (test_case.is_one_node()) outputs_ = node_values_.back();
  for (const std::string& name : test_case.outputs) outputs_.push_back(by_name_.at(name));
  graph_ = {sizeof(qc_graph), values_.size(), values_.get(),   nodes_.size(),  nodes_.get(),
            inputs_.size(),   inputs_.data(), outputs_.size(), outputs_.data()};
}

// Its outputs are values of their own; inputs of a node that stands alone are the case's.
void PluginGraph::add_node(const Case& test_case, const Node& node) {
  auto& attributes = attributes_.emplace_back();
  for (const Attribute& attribute : node.attributes) attributes.add(attribute_for_plugin(attribute));
  std::vector<std::int32_t>& inputs = test_case.is_one_node() ? case_values_ : node_values_.emplace_back();
  for (const std::string& name : node.inputs) inputs.push_back(name.empty() ? -1 : by_name_.at(name));
  std::vector<std::int32_t>& outputs = node_values_.emplace_back();
  for (std::size_t i = 0; i < std::max<std::size_t>(node.outputs.size(), 1); ++i) {
    const bool is_omitted = i < node.outputs.size() && node.outputs[i].empty();
    outputs.push_back(is_omitted ? -1 : static_cast<std::int32_t>(values_.size()));
    if (is_omitted) continue;
    if (i < node.outputs.size()) by_name_[node.outputs[i]] = outputs.back();
    values_.add({sizeof(qc_value), QC_COMPUTED, 0, -1, nullptr, nullptr, 0,
                 channels_last_ ? QC_LAYOUT_CHANNELS_LAST : QC_LAYOUT_ONNX});
  }
  nodes_.add({sizeof(qc_node), node.op_type.c_str(), node.domain.c_str(), node.opset_version, attributes.size(),
              attributes.get(), inputs.size(), inputs.data(), outputs.size(), outputs.data()});
}

void PluginGraph::add_value(const Case& test_case, std::size_t position, InputMemory& memory, bool with_constants) {
  if (!test_case.inputs[position]) {
    case_values_.push_back(-1);
    return;
  }
  const Tensor& tensor = *test_case.inputs[position];
  const InputRole role = role_of(test_case, position);
  qc_value value{sizeof(qc_value),
                 QC_PARAMETER,
                 static_cast<std::int32_t>(tensor.type),
                 static_cast<std::int32_t>(tensor.shape.size()),
                 tensor.shape.data(),
                 nullptr,
                 tensor.bytes.size(),
                 QC_LAYOUT_ONNX};
  const auto index = static_cast<std::int32_t>(values_.size());
  case_values_.push_back(index);
  if (position < test_case.input_names.size()) by_name_[test_case.input_names[position]] = index;
  if (role == InputRole::data) {
    inputs_.push_back(index);
    value.kind = QC_INPUT;
  } else if (role == InputRole::weight) {
    value.kind = QC_CONSTANT;
  }
  const bool turned = channels_last_ && value.kind != QC_PARAMETER && can_turn(tensor.type, tensor.shape.size());
  if (turned) {
    value.layout = QC_LAYOUT_CHANNELS_LAST;
    value.dims = turned_shapes_.emplace_back(channels_last_shape(tensor.shape)).data();
  }
  if (value.kind == QC_PARAMETER || with_constants) {
    value.data = turned ? memory.converted(position, tensor.bytes.size(), 0, to_channels_last).data()
                        : memory.bytes(position).data();
  }
  if (role == InputRole::data) {
    run_inputs_.add(value);
    value.data = nullptr;
  }
  values_.add(value);
}

}  // namespace qconform::backend
