#include "harness/directml/description.h"

#include "harness/directml/check.h"

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

}  // namespace qconform::directml
