// DirectML's description of a quantized linear convolution as plain structs, for C and C++: members,
// order, types and numbers are those of directml.h, which exists on Windows only. In C++ the names
// are in a namespace, so that both headers can be included.
//
// Enumerations are 32-bit numbers here: a description that comes from elsewhere may hold any.
// NOLINTBEGIN(modernize-deprecated-headers,modernize-use-using,readability-identifier-naming)
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
namespace qconform::directml {
#endif

typedef uint32_t UINT;
typedef uint64_t UINT64;

typedef uint32_t DML_TENSOR_DATA_TYPE;
enum {
  DML_TENSOR_DATA_TYPE_UNKNOWN = 0,
  DML_TENSOR_DATA_TYPE_FLOAT32 = 1,
  DML_TENSOR_DATA_TYPE_FLOAT16 = 2,
  DML_TENSOR_DATA_TYPE_UINT32 = 3,
  DML_TENSOR_DATA_TYPE_UINT16 = 4,
  DML_TENSOR_DATA_TYPE_UINT8 = 5,
  DML_TENSOR_DATA_TYPE_INT32 = 6,
  DML_TENSOR_DATA_TYPE_INT16 = 7,
  DML_TENSOR_DATA_TYPE_INT8 = 8,
  DML_TENSOR_DATA_TYPE_FLOAT64 = 9,
  DML_TENSOR_DATA_TYPE_UINT64 = 10,
  DML_TENSOR_DATA_TYPE_INT64 = 11,
  DML_TENSOR_DATA_TYPE_UINT4 = 12,
  DML_TENSOR_DATA_TYPE_INT4 = 13
};

typedef uint32_t DML_TENSOR_TYPE;
enum { DML_TENSOR_TYPE_INVALID = 0, DML_TENSOR_TYPE_BUFFER = 1 };

typedef uint32_t DML_TENSOR_FLAGS;
enum { DML_TENSOR_FLAG_NONE = 0, DML_TENSOR_FLAG_OWNED_BY_DML = 1 };

/// Desc points to what Type says: a DML_BUFFER_TENSOR_DESC.
typedef struct DML_TENSOR_DESC {
  DML_TENSOR_TYPE Type;
  const void* Desc;
} DML_TENSOR_DESC;

/// Sizes and Strides have DimensionCount values, in elements; Strides may be null (packed, row-major).
typedef struct DML_BUFFER_TENSOR_DESC {
  DML_TENSOR_DATA_TYPE DataType;
  DML_TENSOR_FLAGS Flags;
  UINT DimensionCount;
  const UINT* Sizes;
  const UINT* Strides;
  UINT64 TotalTensorSizeInBytes;
  UINT GuaranteedBaseOffsetAlignment;
} DML_BUFFER_TENSOR_DESC;

/// The zero points and the bias may be null. The four arrays have DimensionCount values.
typedef struct DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC {
  const DML_TENSOR_DESC* InputTensor;
  const DML_TENSOR_DESC* InputScaleTensor;
  const DML_TENSOR_DESC* InputZeroPointTensor;
  const DML_TENSOR_DESC* FilterTensor;
  const DML_TENSOR_DESC* FilterScaleTensor;
  const DML_TENSOR_DESC* FilterZeroPointTensor;
  const DML_TENSOR_DESC* BiasTensor;
  const DML_TENSOR_DESC* OutputScaleTensor;
  const DML_TENSOR_DESC* OutputZeroPointTensor;
  const DML_TENSOR_DESC* OutputTensor;
  UINT DimensionCount;
  const UINT* Strides;
  const UINT* Dilations;
  const UINT* StartPadding;
  const UINT* EndPadding;
  UINT GroupCount;
} DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC;

#ifdef __cplusplus
}  // namespace qconform::directml
#endif
// NOLINTEND(modernize-deprecated-headers,modernize-use-using,readability-identifier-naming)
