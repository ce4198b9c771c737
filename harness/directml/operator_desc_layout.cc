// The layout of the description's structs where pointers have 64 bits: that of directml.h.
#include <type_traits>

#include "harness/directml/operator_desc.h"

namespace qconform::directml {
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
