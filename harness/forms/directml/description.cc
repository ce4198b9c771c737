#include "harness/forms/directml/description.h"

#include <type_traits>

#include "harness/forms/directml/operator_desc.h"

namespace qconform::directml {

OperatorView::OperatorView(const Description& description) {
  for (const TensorRule& rule : kTensors) {
    const std::size_t i = index_of(rule.role);
    const std::optional<BufferTensor>& tensor = description.tensors[i];
    if (!tensor) continue;
    buffers_[i] = {.DataType = tensor->data_type,
                   .Flags = tensor->flags,
                   .DimensionCount = static_cast<UINT>(tensor->sizes.size()),
                   .Sizes = tensor->sizes.data(),
                   .Strides = tensor->strides ? tensor->strides->data() : nullptr,
                   .TotalTensorSizeInBytes = tensor->total_size_in_bytes,
                   .GuaranteedBaseOffsetAlignment = tensor->guaranteed_base_offset_alignment};
    tensors_[i] = {.Type = DML_TENSOR_TYPE_BUFFER, .Desc = &buffers_[i]};
    desc_.*rule.member = &tensors_[i];
  }
  desc_.DimensionCount = description.dimension_count;
  desc_.Strides = description.strides.data();
  desc_.Dilations = description.dilations.data();
  desc_.StartPadding = description.start_padding.data();
  desc_.EndPadding = description.end_padding.data();
  desc_.GroupCount = description.group_count;
}

const DML_BUFFER_TENSOR_DESC* OperatorView::tensor(TensorRole role) const {
  return buffer_tensor(desc_.*kTensors[index_of(role)].member);
}

namespace {

using Operator = DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC;
using Buffer = DML_BUFFER_TENSOR_DESC;
constexpr std::size_t kPointer = 8;
static_assert(sizeof(void*) == kPointer);

static_assert(std::is_standard_layout_v<Operator> && std::is_trivial_v<Operator>);
static_assert(std::is_standard_layout_v<Buffer> && std::is_trivial_v<Buffer>);

static_assert(offsetof(DML_TENSOR_DESC, Type) == 0);
static_assert(offsetof(DML_TENSOR_DESC, Desc) == 8);
static_assert(sizeof(DML_TENSOR_DESC) == 16);

static_assert(offsetof(Buffer, DataType) == 0);
static_assert(offsetof(Buffer, Flags) == 4);
static_assert(offsetof(Buffer, DimensionCount) == 8);
static_assert(offsetof(Buffer, Sizes) == 16);
static_assert(offsetof(Buffer, Strides) == 24);
static_assert(offsetof(Buffer, TotalTensorSizeInBytes) == 32);
static_assert(offsetof(Buffer, GuaranteedBaseOffsetAlignment) == 40);
static_assert(sizeof(Buffer) == 48);

static_assert(offsetof(Operator, InputTensor) == 0 * kPointer);
static_assert(offsetof(Operator, InputScaleTensor) == 1 * kPointer);
static_assert(offsetof(Operator, InputZeroPointTensor) == 2 * kPointer);
static_assert(offsetof(Operator, FilterTensor) == 3 * kPointer);
static_assert(offsetof(Operator, FilterScaleTensor) == 4 * kPointer);
static_assert(offsetof(Operator, FilterZeroPointTensor) == 5 * kPointer);
static_assert(offsetof(Operator, BiasTensor) == 6 * kPointer);
static_assert(offsetof(Operator, OutputScaleTensor) == 7 * kPointer);
static_assert(offsetof(Operator, OutputZeroPointTensor) == 8 * kPointer);
static_assert(offsetof(Operator, OutputTensor) == 9 * kPointer);
static_assert(offsetof(Operator, DimensionCount) == 10 * kPointer);
static_assert(offsetof(Operator, Strides) == 11 * kPointer);
static_assert(offsetof(Operator, Dilations) == 12 * kPointer);
static_assert(offsetof(Operator, StartPadding) == 13 * kPointer);
static_assert(offsetof(Operator, EndPadding) == 14 * kPointer);
static_assert(offsetof(Operator, GroupCount) == 15 * kPointer);
static_assert(sizeof(Operator) == 16 * kPointer);

}  // namespace
}  // namespace qconform::directml
