#include "harness/source/model_node.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "harness/core/limits.h"
#include "harness/onnx/node_attributes.h"
#include "harness/onnx/node_proto.h"
#include "harness/onnx/shape_rules.h"
#include "harness/operators/operator.h"
#include "harness/source/random_values.h"

namespace qconform {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t kAssumedSpatialSize = 14;  // of the middle layers of common image networks
constexpr std::int64_t kAssumedChannels = 8;

bool is_8bit_integer(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8;
}

/// Draws the inputs of one node that the model does not hold.
class InputDrawer {
 public:
  InputDrawer(const onnx::NodeProto& node, const Operator& op, const GraphScope& scope, const ExternalFolder& external,
              std::int64_t max_elements, Rng& rng)
      : node_(node), operator_(op), scope_(scope), external_(external), max_elements_(max_elements), rng_(rng) {}

  /// The tensor for input `index`, which is not a constant; an error with rule "skip" gives the
  /// reason for which the node is skipped.
  Result<Tensor> draw(std::size_t index);
  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  [[nodiscard]] std::optional<std::size_t> position_of(std::string_view name) const;
  [[nodiscard]] std::string name_at(std::optional<std::size_t> position) const;
  [[nodiscard]] ValueFacts facts_at(std::string_view name) const { return scope_.facts(name_at(position_of(name))); }
  [[nodiscard]] const onnx::TensorProto* constant_at(std::string_view name) const;
  [[nodiscard]] ElementType type_of(std::size_t index) const;
  [[nodiscard]] std::int64_t zero_point_beside(std::string_view tensor) const;
  [[nodiscard]] float scale_beside_data() const;

  std::optional<Shape> data_shape(const ValueFacts& facts);
  std::optional<Shape> convolution_shape(const ValueFacts& facts, const Shape& w);
  Shape linear_shape(const ValueFacts& facts);
  Result<Tensor> values(std::string_view name, ElementType type, Shape shape);
  Tensor floats(std::string_view name, Shape shape);
  void say(const std::string& text) { note_ += (note_.empty() ? "" : "; ") + text; }

  const onnx::NodeProto& node_;
  const Operator& operator_;
  const GraphScope& scope_;
  const ExternalFolder& external_;
  std::int64_t max_elements_;
  Rng& rng_;
  std::string note_;
};

tl::unexpected<Error> skip(std::string reason) {
  return fail("", std::move(reason), "skip");
}

std::optional<std::size_t> InputDrawer::position_of(std::string_view name) const {
  for (std::size_t i = 0; i < operator_.inputs.size(); ++i) {
    if (operator_.inputs[i].name == name) return i;
  }
  return std::nullopt;
}

std::string InputDrawer::name_at(std::optional<std::size_t> position) const {
  if (!position || *position >= static_cast<std::size_t>(node_.input_size())) return {};
  return node_.input(static_cast<int>(*position));
}

const onnx::TensorProto* InputDrawer::constant_at(std::string_view name) const {
  const std::string value = name_at(position_of(name));
  return value.empty() ? nullptr : scope_.constant(value);
}

/// From the zero point that belongs to the tensor, then from what is known of the value itself.
ElementType InputDrawer::type_of(std::size_t index) const {
  const std::string name(operator_.inputs[index].name);
  const ElementType stated = scope_.facts(name_at(index)).type;
  if (name == "B") return ElementType::int32;
  if (name.ends_with("_scale")) return stated == ElementType::undefined ? ElementType::float32 : stated;
  if (operator_.name == "QuantizeLinear" && name == "x") {
    return stated == ElementType::undefined ? ElementType::float32 : stated;
  }
  const ElementType partner = name.ends_with("_zero_point") ? facts_at(name.substr(0, name.find('_'))).type
                                                            : facts_at(name + "_zero_point").type;
  if (!name.ends_with("_zero_point") && partner != ElementType::undefined) return partner;
  if (stated != ElementType::undefined) return stated;
  if (partner != ElementType::undefined) return partner;
  return name.starts_with("w") ? ElementType::int8 : ElementType::uint8;
}

/// The first value of the tensor's zero point where the model holds it, otherwise 0.
std::int64_t InputDrawer::zero_point_beside(std::string_view tensor) const {
  const onnx::TensorProto* proto = constant_at(std::string(tensor) + "_zero_point");
  if (proto == nullptr) return 0;
  const auto zero_point = tensor_from_proto(*proto, external_);
  if (!zero_point || !is_integer(zero_point->type) || zero_point->elements() == 0) return 0;
  return integer_at(*zero_point, 0);
}

float InputDrawer::scale_beside_data() const {
  const onnx::TensorProto* proto = constant_at(operator_.name == "QuantizeLinear" ? "y_scale" : "x_scale");
  if (proto == nullptr) return 1.0F / 64;
  const auto scale = tensor_from_proto(*proto, external_);
  if (!scale || scale->type != ElementType::float32 || scale->elements() == 0) return 1.0F / 64;
  return float_at(*scale, 0);
}

/// [N, C, spatial...] for a weight [M, C/group, kernel...].
std::optional<Shape> InputDrawer::convolution_shape(const ValueFacts& facts, const Shape& w) {
  if (w.size() < 3) return std::nullopt;
  PartialShape shape = facts.shape && facts.shape->size() == w.size() ? *facts.shape : PartialShape(w.size());
  std::int64_t channels = 0;
  if (__builtin_mul_overflow(w[1], int_attribute(node_, "group", 1), &channels) || channels < 0) return std::nullopt;
  if (!shape[0]) shape[0] = 1;
  if (!shape[1]) shape[1] = channels;
  bool assumed = false;
  for (std::size_t i = 2; i < shape.size(); ++i) {
    if (shape[i]) continue;
    const auto extent = window_extent(node_, w[i], i - 2);
    if (!extent) return std::nullopt;
    shape[i] = std::max(kAssumedSpatialSize, *extent);
    assumed = true;
  }
  if (assumed) say("spatial size of x assumed, the model does not tell it");
  return full_shape(shape);
}

/// Unknown dimensions of an element-wise operator: the scale's length along its axis.
Shape InputDrawer::linear_shape(const ValueFacts& facts) {
  PartialShape shape = facts.shape.value_or(PartialShape{1, std::nullopt, std::nullopt, std::nullopt});
  const auto scale = full_shape(scope_.facts(name_at(1)).shape);
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::int64_t axis = int_attribute(node_, "axis", 1);
  if (axis < 0) axis += rank;
  bool assumed = false;
  for (std::int64_t i = 0; i < rank; ++i) {
    std::optional<std::int64_t>& size = shape[static_cast<std::size_t>(i)];
    if (size) continue;
    const bool per_axis = scale && scale->size() == 1 && i == axis;
    size = per_axis ? scale->front() : i == 0 ? 1 : i == 1 ? kAssumedChannels : kAssumedSpatialSize;
    assumed |= i != 0 && !per_axis;
  }
  if (assumed || !facts.shape) say("shape of x assumed, the model does not tell it");
  return *full_shape(shape);
}

std::optional<Shape> InputDrawer::data_shape(const ValueFacts& facts) {
  if (!position_of("w")) return linear_shape(facts);
  const auto w = full_shape(facts_at("w").shape);
  if (!w) return std::nullopt;
  return convolution_shape(facts, *w);
}

/// Data of QuantizeLinear: sixteenths of a step around and beyond what the output can hold.
Tensor InputDrawer::floats(std::string_view name, Shape shape) {
  const bool data = name == "x";
  const float scale = data ? scale_beside_data() : 0;
  const std::int64_t zero_point = zero_point_beside("y");
  std::vector<float> drawn(static_cast<std::size_t>(elements_of(shape)));
  for (float& value : drawn) {
    const std::int64_t sixteenths = rng_.between(-16 * 160, 16 * 287) - 16 * (data ? zero_point : 0);
    value = data ? static_cast<float>(sixteenths) / 16.0F * scale : random_scale(rng_);
  }
  return Tensor::of<float>(ElementType::float32, std::move(shape), drawn);
}

Result<Tensor> InputDrawer::values(std::string_view name, ElementType type, Shape shape) {
  const auto bytes = checked_bytes(std::string(name), type, shape);
  if (!bytes) return skip("input " + std::string(name) + " cannot be drawn: " + bytes.error().message);
  if (elements_of(shape) > max_elements_) {
    return skip("input " + std::string(name) + " exceeds the limit of " + std::to_string(max_elements_) +
                " elements to draw");
  }
  if (type == ElementType::float32) return floats(name, std::move(shape));
  if (is_8bit_integer(type)) return random_data8(rng_, type, std::move(shape), zero_point_beside(name));
  Tensor tensor{type, std::move(shape), std::vector<std::byte>(static_cast<std::size_t>(*bytes))};
  rng_.fill(tensor.bytes);
  const auto used_bits = static_cast<unsigned>(tensor.elements() * bits_of(type) % 8);
  if (used_bits != 0) tensor.bytes.back() &= static_cast<std::byte>((1U << used_bits) - 1U);
  return tensor;
}

Result<Tensor> InputDrawer::draw(std::size_t index) {
  if (index >= operator_.inputs.size()) return skip("more inputs than the operator has");
  const InputSignature& input = operator_.inputs[index];
  const std::string name(input.name);
  const ValueFacts facts = scope_.facts(name_at(index));
  if (input.role == InputRole::data) {
    auto shape = data_shape(facts);
    if (!shape) return skip("weights of unknown or unusable shape");
    return values(name, type_of(index), std::move(*shape));
  }
  say(name + " is computed at run time: drawn");
  auto shape = full_shape(facts.shape);
  if (!shape && (input.role == InputRole::weight || name == "B")) return skip("input " + name + " of unknown shape");
  return values(name, type_of(index), shape ? std::move(*shape) : Shape{});
}

}  // namespace

Result<std::variant<Case, SkippedNode>> case_from_model_node(const onnx::ModelProto& model, const onnx::NodeProto& node,
                                                             const GraphScope& scope, const ExternalFolder& external,
                                                             const NamedTensors& computed, std::int64_t max_elements,
                                                             Rng& rng) {
  using Answer = std::variant<Case, SkippedNode>;
  const Operator* op = find_operator(node.domain(), node.op_type());
  if (op == nullptr) return Answer(SkippedNode{"not quantized"});
  InputDrawer drawer(node, *op, scope, external, max_elements, rng);
  int position = 0;  // of the name that is looked up: omitted inputs are not
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
    if (answer != computed.end()) result->recorded_output = answer->second;
    return Answer(std::move(*result));
  }
  if (result.error().rule == "skip") return Answer(SkippedNode{result.error().message});
  return tl::unexpected(result.error());
}

}  // namespace qconform
