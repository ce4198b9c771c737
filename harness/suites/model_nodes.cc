#include "harness/suites/model_nodes.h"

#include <onnx/onnx_pb.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "harness/graphs/node_lowering.h"
#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/node_inputs.h"
#include "reference/numerics/floats.h"

namespace qconform {

namespace {

constexpr const char* kNotReached = "not reached: the run ended before its case";
constexpr const char* kUnknown = "operator: qconform does not test it";
constexpr const char* kInNoUnit = "operator: it computes from no quantized data that a unit could begin with";
constexpr const char* kInFunction = "operator: its function has operators of another version than the model";
constexpr const char* kConstant = "constant: it computes a constant, which cases hold instead";

bool gives_constants(const onnx::NodeProto& node, const GraphScope& scope) {
  return node.output_size() > 0 &&
         std::all_of(node.output().begin(), node.output().end(),
                     [&](const std::string& name) { return name.empty() || scope.constant(name) != nullptr; });
}

std::string why_in_no_case(const onnx::NodeProto& node, const GraphScope& scope, bool in_unit) {
  if (in_unit || find_operator(node.domain(), node.op_type()) != nullptr) return kNotReached;
  if (gives_constants(node, scope)) return kConstant;
  if (lowering::find_node_operator(node.op_type(), kNewestOpset, node.domain()) == nullptr) return kUnknown;
  return kInNoUnit;
}

std::string full_name(const onnx::NodeProto& node) {
  return printable(operator_name(node.domain(), node.op_type()));
}

}  // namespace

bool is_quantized_node(const onnx::NodeProto& node, const GraphScope& scope) {
  if (node.op_type() == "Constant") return false;
  const auto holds_narrow_data = [&](const std::string& name) {
    return !name.empty() && is_narrow(scope.facts(name).type);
  };
  return has_quantized_name(node.op_type()) ||
         std::any_of(node.input().begin(), node.input().end(), holds_narrow_data) ||
         std::any_of(node.output().begin(), node.output().end(), holds_narrow_data);
}

ModelNodes::ModelNodes(const onnx::ModelProto& model, const GraphScope& scope, const std::set<std::size_t>& in_units) {
  add(scope, in_units);
  for (const onnx::FunctionProto& function : model.functions()) {
    for (const onnx::NodeProto& node : function.node()) {
      nodes_.push_back({full_name(node), has_quantized_name(node.op_type()), kInFunction});
    }
  }
}

void ModelNodes::add(const GraphScope& scope, const std::set<std::size_t>& in_units) {
  for (const onnx::NodeProto& node : scope.graph().node()) {
    const bool in_unit = in_units.contains(nodes_.size());
    nodes_.push_back({full_name(node), is_quantized_node(node, scope), why_in_no_case(node, scope, in_unit)});
  }
  for (const auto& body : scope.bodies()) add(*body, in_units);
}

std::uint64_t ModelNodes::quantized() const {
  return static_cast<std::uint64_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const ModelNode& node) { return node.is_quantized; }));
}

void ModelNodes::leave_out(std::size_t position, const std::string& reason) {
  if (position < nodes_.size() && nodes_[position].reason == kNotReached) nodes_[position].reason = reason;
}

NodeCoverage ModelNodes::coverage(const std::vector<std::string>* why_not) const {
  std::vector<std::optional<std::string>> of_cases(nodes_.size());  // empty: judged
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    const std::string reason = why_not == nullptr ? "" : i < why_not->size() ? (*why_not)[i] : kNotReached;
    for (const std::size_t position : cases_[i]) {
      if (position >= of_cases.size()) continue;
      auto& known = of_cases[position];
      if (!known || reason.empty()) known = reason;
    }
  }
  NodeCoverage result;
  std::map<std::pair<std::string, std::string>, std::uint64_t> uncovered;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const ModelNode& node = nodes_[i];
    const bool is_covered = of_cases[i] && of_cases[i]->empty();
    result.others += node.is_quantized ? 0 : 1;
    (node.is_quantized ? result.covered : result.others_covered) += is_covered ? 1 : 0;
    if (node.is_quantized && !is_covered) ++uncovered[{node.op_type, of_cases[i].value_or(node.reason)}];
  }
  for (const auto& [part, count] : uncovered) result.uncovered.push_back({part.first, part.second, count});
  std::stable_sort(result.uncovered.begin(), result.uncovered.end(),
                   [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
  return result;
}

std::string ModelNodes::others_text() const {
  constexpr std::size_t kShown = 10;
  std::map<std::string, std::uint64_t> by_name;
  for (const ModelNode& node : nodes_) by_name[node.op_type] += node.is_quantized ? 0 : 1;
  std::vector<std::pair<std::string, std::uint64_t>> counts(by_name.begin(), by_name.end());
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, counts.size()); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(counts[i].second) + " " + counts[i].first;
  }
  if (counts.size() > kShown) text += ", and " + std::to_string(counts.size() - kShown) + " other operators";
  return text.empty() ? "no nodes" : text;
}

namespace {

using Shape = std::vector<std::int64_t>;

constexpr double kUsualScale = 1.0 / 64;

/// Types beside which a zero point is there for the sake of the form, and other values than 0 are
/// implementation-defined (D3).
bool has_no_offset(ElementType type) {
  return type == ElementType::int32 || is_float8(type) || type == ElementType::float4e2m1;
}

/// Draws the inputs of one node that the model does not hold.
class InputDrawer {
 public:
  InputDrawer(const NodeInputs& inputs, const ExternalFolder& external, std::int64_t max_elements, Rng& rng)
      : inputs_(inputs), external_(external), max_elements_(max_elements), rng_(rng) {}

  /// The tensor for input `index`, which is not a constant; an error with rule "skip" gives the
  /// reason for which the node is skipped.
  Result<Tensor> draw(std::size_t index);
  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  [[nodiscard]] std::int64_t zero_point_beside(std::string_view tensor) const;
  [[nodiscard]] double scale_beside_data() const;

  Result<Tensor> values(const InputSignature& input, ElementType type, Shape shape);
  Tensor floats(const InputSignature& input, ElementType type, Shape shape);
  void say(const std::string& text) { note_ += (note_.empty() ? "" : "; ") + text; }

  NodeInputs inputs_;
  const ExternalFolder& external_;
  std::int64_t max_elements_;
  Rng& rng_;
  std::string note_;
};

/// The first value of the tensor's zero point where the model holds it, otherwise 0.
std::int64_t InputDrawer::zero_point_beside(std::string_view tensor) const {
  const onnx::TensorProto* proto = inputs_.constant(std::string(tensor) + "_zero_point");
  if (proto == nullptr) return 0;
  const auto zero_point = tensor_from_proto(*proto, external_);
  if (!zero_point || !is_integer(zero_point->type) || zero_point->elements() == 0) return 0;
  return integer_at(*zero_point, 0);
}

double InputDrawer::scale_beside_data() const {
  const onnx::TensorProto* proto = inputs_.constant(inputs_.scale());
  if (proto == nullptr) return kUsualScale;
  const auto scale = tensor_from_proto(*proto, external_);
  const bool real = scale && (scale->type == ElementType::float32 || is_16bit_float(scale->type));
  if (!real || scale->elements() == 0) return kUsualScale;
  const double value = number_at(*scale, 0);
  return std::isfinite(value) ? value : kUsualScale;
}

/// Data to quantize: sixteenths of a step around and beyond what the output can hold. Scales as models have them.
Tensor InputDrawer::floats(const InputSignature& input, ElementType type, Shape shape) {
  const bool data = input.role == InputRole::data;
  const double scale = data ? scale_beside_data() : 0;
  const std::int64_t zero_point = zero_point_beside("y");
  const auto& format = reference::float_format(type);
  Tensor drawn{type, std::move(shape), {}};
  drawn.bytes.resize(static_cast<std::size_t>(bytes_for(type, drawn.elements())));
  for (std::int64_t i = 0, count = drawn.elements(); i < count; ++i) {
    // In double: a zero point of a hostile model may be any int64.
    const double steps = static_cast<double>(rng_.between(-16 * 160, 16 * 287)) / 16 - static_cast<double>(zero_point);
    const double value = data ? steps * scale : random_scale(rng_);
    set_raw_bits_at(drawn.bytes, bits_of(type), i, reference::encode(format, value, reference::Overflow::saturate));
  }
  return drawn;
}

Result<Tensor> InputDrawer::values(const InputSignature& input, ElementType type, Shape shape) {
  const std::string_view name = input.name;
  const auto bytes = checked_bytes(std::string(name), type, shape);
  if (!bytes) return skip("size: input " + std::string(name) + " cannot be drawn: " + bytes.error().message);
  if (elements_of(shape) > max_elements_) {
    return skip("size: input " + std::string(name) + " exceeds the limit of " + std::to_string(max_elements_) +
                " elements to draw");
  }
  const bool scale = name.ends_with("_scale");
  if (type == ElementType::float32 || is_16bit_float(type) || (scale && type == ElementType::float8e8m0)) {
    return floats(input, type, std::move(shape));
  }
  if (is_8bit_integer(type)) return random_data8(rng_, type, std::move(shape), zero_point_beside(name));
  if (name.ends_with("_zero_point") && has_no_offset(type)) return Tensor::zeros(type, std::move(shape));
  return random_bits(rng_, type, std::move(shape));
}

Result<Tensor> InputDrawer::draw(std::size_t index) {
  if (index >= inputs_.op.inputs.size()) return skip("operator: more inputs than it has");
  const InputSignature& input = inputs_.op.inputs[index];
  const ElementType type = type_of_input(inputs_, input);
  if (input.role == InputRole::data) {
    QCONFORM_ASSIGN(auto data, shape_of_data(inputs_, input));
    if (!data.assumption.empty()) say(data.assumption);
    return values(input, type, std::move(data.shape));
  }
  say(std::string(input.name) + " is computed at run time: drawn");
  QCONFORM_ASSIGN(auto shape, shape_of_parameter(inputs_, input.name));
  return values(input, type, std::move(shape));
}

}  // namespace

Result<std::variant<Case, SkippedNode>> case_from_model_node(const onnx::ModelProto& model, const onnx::NodeProto& node,
                                                             const GraphScope& scope, const ExternalFolder& external,
                                                             const NamedTensors& computed, std::int64_t max_elements,
                                                             Rng& rng) {
  using Answer = std::variant<Case, SkippedNode>;
  InputDrawer drawer({node, *find_operator(node.domain(), node.op_type()), scope}, external, max_elements, rng);
  int position = 0;  // the input that is looked up next; omitted ones are skipped
  auto result = case_from_node(model, node, [&](const std::string& name) -> Result<Tensor> {
    while (node.input(position).empty()) ++position;
    const auto index = static_cast<std::size_t>(position++);
    if (const onnx::TensorProto* constant = scope.constant(name)) return tensor_from_proto(*constant, external);
    if (const auto value = computed.find(name); value != computed.end()) return value->second;
    return drawer.draw(index);
  });
  if (result) {
    result->note = drawer.note();
    const auto answer = node.output_size() == 1 ? computed.find(node.output(0)) : computed.end();
    if (answer != computed.end()) result->recorded_outputs = {answer->second};
    return Answer(std::move(*result));
  }
  if (result.error().rule == "skip") return Answer(SkippedNode{result.error().message});
  return tl::unexpected(result.error());
}

}  // namespace qconform
