#include "harness/forms/directml/description.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <vector>

#include "harness/forms/directml/tensor_json.h"

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
class DirectmlLowering {
 public:
  DirectmlLowering(const Operator& desc, const Bindings& bindings, UINT output_channels)
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
  return DirectmlLowering(desc, bindings, static_cast<UINT>(geometry->output_channels)).run();
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

namespace {

using reference::Contract;

// UINT values as the 64-bit list that the reference takes.
std::vector<std::int64_t> wide(const UINT* values, UINT count) {
  return {values, values + count};
}

// One tensor's description against everything that does not depend on the other tensors.
class TensorCheck {
 public:
  TensorCheck(const TensorRule& rule, const Buffer& tensor, Contract& contract)
      : rule_(rule), tensor_(tensor), contract_(contract) {}

  bool run() { return type() && sizes() && span() && output_strides() && total_size() && flags() && alignment(); }

 private:
  bool violate(const char* id, std::string_view member, std::string message) {
    return contract_.violate(id, fmt::format("{}.{}", rule_.name, member), std::move(message));
  }

  bool type() {
    if (tensor_.DataType == rule_.types[0] || tensor_.DataType == rule_.types[1]) return true;
    std::string expected = data_type_name(rule_.types[0]);
    if (rule_.types[1] != rule_.types[0]) expected += " or " + data_type_name(rule_.types[1]);
    return violate("X3", "DataType", fmt::format("expected {}, got {}", expected, data_type_name(tensor_.DataType)));
  }

  bool sizes() {
    if (tensor_.DimensionCount != kRank) {
      return violate("X2", "DimensionCount", fmt::format("expected 4, got {}", tensor_.DimensionCount));
    }
    if (tensor_.Sizes == nullptr) return violate("X7", "Sizes", "expected 4 sizes, got null");
    if (std::find(tensor_.Sizes, tensor_.Sizes + kRank, 0U) == tensor_.Sizes + kRank) return true;
    return violate("X7", "Sizes", fmt::format("expected sizes of at least 1, got {}", list_text(tensor_.Sizes, kRank)));
  }

  bool span() {
    const std::optional<std::uint64_t> span = span_in_elements(tensor_);
    if (!span) {
      return violate("X10", tensor_.Strides == nullptr ? "Sizes" : "Strides",
                     fmt::format("the tensor spans more than {} elements", kMaxBufferElements));
    }
    span_ = *span;
    return true;
  }

  // In ascending order, each stride of an output must step over all that the smaller ones reach.
  // Then no two elements share an offset.
  bool output_strides() {
    if (rule_.role != TensorRole::output || tensor_.Strides == nullptr) return true;
    std::array<UINT, kRank> order{0, 1, 2, 3};
    std::stable_sort(order.begin(), order.end(),
                     [this](UINT a, UINT b) { return tensor_.Strides[a] < tensor_.Strides[b]; });
    std::uint64_t reach = 0;
    for (const UINT dimension : order) {
      if (tensor_.Sizes[dimension] == 1) continue;
      const std::uint64_t stride = tensor_.Strides[dimension];
      if (stride <= reach) {
        return violate("X9", "Strides",
                       fmt::format("elements of an output must not share memory: expected a stride above {} in "
                                   "dimension {}, got {}",
                                   reach, dimension, list_text(tensor_.Strides, kRank)));
      }
      reach += (tensor_.Sizes[dimension] - std::uint64_t{1}) * stride;
    }
    return true;
  }

  bool total_size() {
    const std::uint64_t total = tensor_.TotalTensorSizeInBytes;
    const std::uint64_t minimum = minimum_size_in_bytes(tensor_.DataType, span_);
    if (total % 4 != 0) {
      return violate("X10", "TotalTensorSizeInBytes", fmt::format("expected a multiple of 4, got {}", total));
    }
    if (total >= minimum) return true;
    return violate("X10", "TotalTensorSizeInBytes",
                   fmt::format("expected at least {} bytes for {} elements of {}, got {}", minimum, span_,
                               data_type_name(tensor_.DataType), total));
  }

  bool flags() {
    if (tensor_.Flags == DML_TENSOR_FLAG_NONE) return true;
    if (tensor_.Flags != DML_TENSOR_FLAG_OWNED_BY_DML) {
      return violate("X11", "Flags", fmt::format("expected NONE (0) or OWNED_BY_DML (1), got {}", tensor_.Flags));
    }
    if (rule_.role != TensorRole::output) return true;
    return violate("X11", "Flags", "OWNED_BY_DML is for inputs only");
  }

  bool alignment() {
    const UINT alignment = tensor_.GuaranteedBaseOffsetAlignment;
    const auto element = static_cast<UINT>(bits_of(element_type_of(tensor_.DataType)) / 8);
    if (alignment == 0 || (std::has_single_bit(alignment) && alignment >= element)) return true;
    return violate(
        "X12", "GuaranteedBaseOffsetAlignment",
        fmt::format("expected 0 or a power of two of at least {} (the element's size), got {}", element, alignment));
  }

  const TensorRule& rule_;
  const Buffer& tensor_;
  Contract& contract_;
  std::uint64_t span_ = 0;
};

bool check_tensor(const TensorRule& rule, const DML_TENSOR_DESC* tensor, Contract& contract) {
  const std::string name(rule.name);
  if (tensor == nullptr) return !rule.required || contract.violate("X1", name, "is required, got null");
  if (tensor->Type != DML_TENSOR_TYPE_BUFFER) {
    return contract.violate("X2", name + ".Type",
                            fmt::format("expected DML_TENSOR_TYPE_BUFFER (1), got {}", tensor->Type));
  }
  if (tensor->Desc == nullptr) return contract.violate("X2", name + ".Desc", "expected a buffer tensor, got null");
  return TensorCheck(rule, *buffer_tensor(tensor), contract).run();
}

// Rule C16: a zero point has the type of its tensor.
bool check_same_type(const Operator& desc, TensorRole zero_point_role, TensorRole role, Contract& contract) {
  const TensorRule& zero_point_rule = kTensors[index_of(zero_point_role)];
  const TensorRule& rule = kTensors[index_of(role)];
  const Buffer* zero_point = buffer_tensor(desc.*zero_point_rule.member);
  const Buffer* tensor = buffer_tensor(desc.*rule.member);
  if (zero_point == nullptr || zero_point->DataType == tensor->DataType) return true;
  return contract.violate("C16", fmt::format("{}.DataType", zero_point_rule.name),
                          fmt::format("expected that of {} ({}), got {}", rule.name, data_type_name(tensor->DataType),
                                      data_type_name(zero_point->DataType)));
}

bool check_arrays(const Operator& desc, Contract& contract) {
  if (desc.DimensionCount != 2) {
    return contract.violate("X5", "DimensionCount", fmt::format("expected 2, got {}", desc.DimensionCount));
  }
  const auto check = [&contract](const char* name, const UINT* values) {
    return values != nullptr || contract.violate("X6", name, "expected DimensionCount = 2 values, got null");
  };
  return check("Strides", desc.Strides) && check("Dilations", desc.Dilations) &&
         check("StartPadding", desc.StartPadding) && check("EndPadding", desc.EndPadding);
}

// The reference speaks of ONNX's attributes; a reader of the description knows DirectML's members.
std::string member_of(const std::string& onnx_field) {
  static const std::map<std::string, std::string> names{{"x", "InputTensor (x)"},
                                                        {"w", "FilterTensor (w)"},
                                                        {"y", "OutputTensor (y)"},
                                                        {"group", "GroupCount (group)"},
                                                        {"strides", "Strides"},
                                                        {"dilations", "Dilations"},
                                                        {"pads", "StartPadding, EndPadding (pads)"}};
  const auto found = names.find(onnx_field);
  return found == names.end() ? onnx_field : found->second;
}

std::optional<reference::ConvolutionGeometry> geometry_of(const Operator& desc, Contract& contract) {
  std::vector<std::int64_t> pads = wide(desc.StartPadding, desc.DimensionCount);
  pads.insert(pads.end(), desc.EndPadding, desc.EndPadding + desc.DimensionCount);
  const reference::ConvolutionAttributes attributes{.group = desc.GroupCount,
                                                    .kernel_shape = std::nullopt,
                                                    .strides = wide(desc.Strides, desc.DimensionCount),
                                                    .dilations = wide(desc.Dilations, desc.DimensionCount),
                                                    .pads = std::move(pads)};
  Contract onnx;
  auto geometry = resolve_geometry(wide(buffer_tensor(desc.InputTensor)->Sizes, kRank),
                                   wide(buffer_tensor(desc.FilterTensor)->Sizes, kRank), attributes, onnx);
  if (!geometry) contract.violate(onnx.violation->rule, member_of(onnx.violation->field), onnx.violation->message);
  return geometry;
}

bool has_sizes(const Buffer& tensor, const std::vector<std::int64_t>& sizes) {
  return wide(tensor.Sizes, kRank) == sizes;
}

bool check_parameter_shape(const TensorRule& rule, const Buffer& tensor, UINT channels, Contract& contract) {
  const bool one_fits = rule.shape != TensorShape::per_channel && has_sizes(tensor, {1, 1, 1, 1});
  const bool channels_fit = rule.shape != TensorShape::per_tensor && has_sizes(tensor, {1, channels, 1, 1});
  if (one_fits || channels_fit) return true;
  std::string expected = rule.shape == TensorShape::per_channel ? "" : "{1, 1, 1, 1}";
  if (rule.shape == TensorShape::per_tensor_or_per_channel) expected += " or ";
  if (rule.shape != TensorShape::per_tensor) expected += fmt::format("{{1, {}, 1, 1}} (output channels)", channels);
  return contract.violate("X4", fmt::format("{}.Sizes", rule.name),
                          fmt::format("expected {}, got {}", expected, list_text(tensor.Sizes, kRank)));
}

bool check_shapes(const Operator& desc, const reference::ConvolutionGeometry& geometry, Contract& contract) {
  for (const TensorRule& rule : kTensors) {
    const Buffer* tensor = buffer_tensor(desc.*rule.member);
    if (tensor == nullptr || rule.shape == TensorShape::data) continue;
    if (!check_parameter_shape(rule, *tensor, static_cast<UINT>(geometry.output_channels), contract)) return false;
  }
  const Buffer& output = *buffer_tensor(desc.OutputTensor);
  const std::vector<std::int64_t> expected = geometry.output_shape();
  if (has_sizes(output, expected)) return true;
  return contract.violate(
      "X13", "OutputTensor.Sizes",
      fmt::format("expected {{{}, {}, {}, {}}} from the input, the filter, strides, dilations and "
                  "padding, got {}",
                  expected[0], expected[1], expected[2], expected[3], list_text(output.Sizes, kRank)));
}

}  // namespace

const DML_BUFFER_TENSOR_DESC* buffer_tensor(const DML_TENSOR_DESC* tensor) {
  return tensor == nullptr ? nullptr : static_cast<const DML_BUFFER_TENSOR_DESC*>(tensor->Desc);
}

std::optional<reference::ConvolutionGeometry> check(const Operator& desc, Contract& contract) {
  for (const TensorRule& rule : kTensors) {
    if (!check_tensor(rule, desc.*rule.member, contract)) return std::nullopt;
  }
  if (!check_same_type(desc, TensorRole::input_zero_point, TensorRole::input, contract) ||
      !check_same_type(desc, TensorRole::filter_zero_point, TensorRole::filter, contract) ||
      !check_same_type(desc, TensorRole::output_zero_point, TensorRole::output, contract) ||
      !check_arrays(desc, contract)) {
    return std::nullopt;
  }
  auto geometry = geometry_of(desc, contract);
  if (!geometry || !check_shapes(desc, *geometry, contract)) return std::nullopt;
  return geometry;
}

}  // namespace qconform::directml
