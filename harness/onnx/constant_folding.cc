#include "harness/onnx/graph_scope.h"

#include <onnx/onnx_pb.h>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "reference/numerics/floats.h"

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
  return node.output_size() > 0 && can_be_folded(node) && needed_.count(node.output(0)) != 0;
}

void Folder::note_needs(const GraphScope& scope) {
  for (const auto& body : scope.bodies()) note_needs(*body);
  const auto& nodes = scope.graph().node();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const bool takes_parameters =
        find_operator(node->domain(), node->op_type()) != nullptr || has_quantized_name(node->op_type());
    if (!is_needed(*node) && !takes_parameters) continue;
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

namespace {

enum class NumberKind : std::uint8_t { other, boolean, integer, real };

NumberKind kind_of(ElementType type) {
  if (is_integer(type)) return NumberKind::integer;
  switch (type) {
    case ElementType::boolean: return NumberKind::boolean;
    case ElementType::float16:
    case ElementType::bfloat16:
    case ElementType::float32:
    case ElementType::float64:
    case ElementType::float8e4m3fn:
    case ElementType::float8e4m3fnuz:
    case ElementType::float8e5m2:
    case ElementType::float8e5m2fnuz:
    case ElementType::float4e2m1: return NumberKind::real;
    default: return NumberKind::other;
  }
}

bool fits(double value, ElementType type) {  // false for NaN
  const int bits = bits_of(type) - (is_signed_integer(type) ? 1 : 0);
  const double end = std::ldexp(1.0, bits);
  return std::trunc(value) >= (is_signed_integer(type) ? -end : 0.0) && std::trunc(value) < end;
}

std::uint64_t bits_of_integral(double value) {  // the value fits one of the integer types
  return value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) : static_cast<std::uint64_t>(value);
}

/// One element of a tensor, and the type that it becomes.
struct CastElement {
  const Tensor& from;
  std::int64_t index;
  ElementType type;
  reference::Overflow overflow;

  [[nodiscard]] std::optional<std::uint64_t> of_integer() const;
  [[nodiscard]] std::optional<std::uint64_t> of_real() const;
};

std::optional<std::uint64_t> CastElement::of_integer() const {
  const std::int64_t value = integer_at(from, index);
  const auto bits = static_cast<std::uint64_t>(value);
  switch (kind_of(type)) {
    case NumberKind::integer: return bits;
    case NumberKind::boolean: return bits != 0 ? 1 : 0;
    default: break;
  }
  reference::Ratio exact;
  exact.negative = value < 0 && is_signed_integer(from.type);
  exact.numerator = exact.negative ? 0 - bits : bits;
  return reference::encode(reference::float_format(type), exact, overflow);
}

std::optional<std::uint64_t> CastElement::of_real() const {
  const double value = number_at(from, index);
  switch (kind_of(type)) {
    case NumberKind::boolean: return value != 0 ? 1 : 0;
    case NumberKind::integer:
      return fits(value, type) ? std::optional(bits_of_integral(std::trunc(value))) : std::nullopt;
    default: return reference::encode(reference::float_format(type), value, overflow);
  }
}

}  // namespace

std::optional<Tensor> cast(const Tensor& tensor, ElementType type, bool saturate) {
  if (tensor.type == type) return tensor;
  if (kind_of(tensor.type) == NumberKind::other || kind_of(type) == NumberKind::other) return std::nullopt;
  const bool real = kind_of(tensor.type) == NumberKind::real;
  Tensor from = tensor;
  if (from.type == ElementType::boolean) from.type = ElementType::uint8;
  const std::int64_t count = tensor.elements();
  Tensor result{type, tensor.shape, std::vector<std::byte>(static_cast<std::size_t>(bytes_for(type, count)))};
  const bool small = bits_of(type) <= 8;
  const auto overflow = saturate && small ? reference::Overflow::saturate : reference::Overflow::special;
  for (std::int64_t i = 0; i < count; ++i) {
    const CastElement element{from, i, type, overflow};
    const auto bits = real ? element.of_real() : element.of_integer();
    if (!bits) return std::nullopt;
    set_raw_bits_at(result.bytes, bits_of(type), i, *bits);
  }
  return result;
}

}  // namespace qconform
