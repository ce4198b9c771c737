#include "harness/forms/directml/lower.h"

#include <fmt/format.h>

#include "harness/forms/directml/description.h"
#include "harness/forms/directml/tensor_layout.h"

namespace qconform::directml {
namespace {

using Operator = DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC;
using Buffer = DML_BUFFER_TENSOR_DESC;

constexpr const char* kNote = "DirectML quantized linear convolution; profile dml-doc applies";

Tensor zeros(ElementType type, std::vector<std::int64_t> shape) {
  const std::int64_t bytes = bytes_for(type, elements_of(shape));
  return {type, std::move(shape), std::vector<std::byte>(static_cast<std::size_t>(bytes))};
}

// The elements in row-major order, in a tensor of `shape`, which has as many.
Tensor gather(const Buffer& buffer, std::span<const std::byte> bytes, std::vector<std::int64_t> shape) {
  Tensor result = zeros(element_type_of(buffer.DataType), std::move(shape));
  const int bits = bits_of(result.type);
  visit_elements(buffer, [&](std::int64_t index, std::int64_t offset) {
    set_raw_bits_at(result.bytes, bits, index, raw_bits_at(bytes, bits, offset));
  });
  return result;
}

std::vector<std::int64_t> shape_of(const Buffer& buffer) {
  return {buffer.Sizes, buffer.Sizes + kRank};
}

std::vector<std::int64_t> attribute(const UINT* values) {
  return {values[0], values[1]};
}

// A description that has been checked, over bindings that have been.
class Lowering {
 public:
  Lowering(const Operator& desc, const Bindings& bindings, UINT output_channels)
      : desc_(desc), bindings_(bindings), output_channels_(output_channels) {}

  [[nodiscard]] Case run() const {
    Case result;
    result.node().op_type = "QLinearConv";
    result.node().opset_version = 10;
    result.node().attributes = attributes();
    result.inputs = inputs();
    if (!bindings_[index_of(TensorRole::output)].empty()) result.recorded_outputs = {data(TensorRole::output)};
    result.tags = {"directml", kProfileTag};
    result.note = kNote;
    return result;
  }

 private:
  [[nodiscard]] const Buffer* tensor(TensorRole role) const {
    return buffer_tensor(desc_.*kTensors[index_of(role)].member);
  }
  [[nodiscard]] ElementType type(TensorRole role) const { return element_type_of(tensor(role)->DataType); }

  [[nodiscard]] std::vector<Attribute> attributes() const {
    std::vector<std::int64_t> pads = attribute(desc_.StartPadding);
    pads.insert(pads.end(), desc_.EndPadding, desc_.EndPadding + 2);
    return {{"dilations", attribute(desc_.Dilations)},
            {"group", std::int64_t{desc_.GroupCount}},
            {"pads", std::move(pads)},
            {"strides", attribute(desc_.Strides)}};
  }

  [[nodiscard]] std::vector<std::optional<Tensor>> inputs() const {
    const bool per_channel = is_per_channel(TensorRole::filter_scale) || is_per_channel(TensorRole::filter_zero_point);
    std::vector<std::optional<Tensor>> inputs{
        data(TensorRole::input), scalar(TensorRole::input_scale, ElementType::float32),
        scalar(TensorRole::input_zero_point, type(TensorRole::input)), data(TensorRole::filter)};
    for (const TensorRole role : {TensorRole::filter_scale, TensorRole::filter_zero_point}) {
      const ElementType absent_type = type(TensorRole::filter);
      inputs.emplace_back(per_channel ? channels(role, absent_type) : scalar(role, absent_type));
    }
    inputs.emplace_back(scalar(TensorRole::output_scale, ElementType::float32));
    inputs.emplace_back(scalar(TensorRole::output_zero_point, type(TensorRole::output)));
    if (tensor(TensorRole::bias) != nullptr) inputs.emplace_back(channels(TensorRole::bias, ElementType::int32));
    return inputs;
  }

  // With a single output channel per-tensor and per-channel parameters are the same: scalars.
  [[nodiscard]] bool is_per_channel(TensorRole role) const {
    return tensor(role) != nullptr && tensor(role)->Sizes[1] > 1;
  }

  [[nodiscard]] Tensor data(TensorRole role) const {
    return gather(*tensor(role), bindings_[index_of(role)], shape_of(*tensor(role)));
  }

  // Zero of `absent_type` where the tensor is null.
  [[nodiscard]] Tensor scalar(TensorRole role, ElementType absent_type) const {
    const Buffer* present = tensor(role);
    return present == nullptr ? zeros(absent_type, {}) : gather(*present, bindings_[index_of(role)], {});
  }

  // [M], also from a single value.
  [[nodiscard]] Tensor channels(TensorRole role, ElementType absent_type) const {
    const Buffer* present = tensor(role);
    if (present == nullptr) return zeros(absent_type, {output_channels_});
    constexpr std::array<UINT, kRank> kBroadcast{0, 0, 0, 0};
    const std::array<UINT, kRank> sizes{1, output_channels_, 1, 1};
    Buffer expanded = *present;
    if (present->Sizes[1] == 1) expanded.Strides = kBroadcast.data();
    expanded.Sizes = sizes.data();
    return gather(expanded, bindings_[index_of(role)], {output_channels_});
  }

  const Operator& desc_;
  const Bindings& bindings_;
  UINT output_channels_;
};

Result<void> check_bindings(const Operator& desc, const Bindings& bindings) {
  for (const TensorRule& rule : kTensors) {
    const Buffer* tensor = buffer_tensor(desc.*rule.member);
    const std::size_t bound = bindings[index_of(rule.role)].size();
    if (tensor == nullptr || (rule.role == TensorRole::output && bound == 0)) continue;
    const auto span = static_cast<std::int64_t>(*span_in_elements(*tensor));
    const std::int64_t needed = bytes_for(element_type_of(tensor->DataType), span);
    if (static_cast<std::int64_t>(bound) >= needed) continue;
    return fail(std::string(rule.name),
                fmt::format("expected at least {} bytes for {} elements, got {}", needed, span, bound), "X14");
  }
  return {};
}

}  // namespace

Result<Case> lower(const Operator& desc, const Bindings& bindings) {
  reference::Contract contract;
  const auto geometry = check(desc, contract);
  if (!geometry) return fail(contract.violation->field, contract.violation->message, contract.violation->rule);
  QCONFORM_TRY(check_bindings(desc, bindings));
  return Lowering(desc, bindings, static_cast<UINT>(geometry->output_channels)).run();
}

Result<Case> lower(const Description& description) {
  Bindings bindings{};
  for (std::size_t i = 0; i < kTensorCount; ++i) {
    if (description.tensors[i]) bindings[i] = description.tensors[i]->bytes;
  }
  const OperatorView view(description);
  QCONFORM_ASSIGN(auto result, lower(view.desc(), bindings));
  result.id = description.id;
  result.rules = description.rules;
  result.expectation = description.expectation;
  result.tags.insert(result.tags.end(), description.tags.begin(), description.tags.end());
  if (!description.note.empty()) result.note = fmt::format("{} ({})", description.note, kNote);
  return result;
}

}  // namespace qconform::directml
