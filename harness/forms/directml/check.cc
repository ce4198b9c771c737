#include "harness/forms/directml/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <vector>

#include "harness/forms/directml/tensor_layout.h"
#include "harness/forms/directml/tensor_roles.h"

namespace qconform::directml {
namespace {

using reference::Contract;
using Operator = DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC;
using Buffer = DML_BUFFER_TENSOR_DESC;

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
