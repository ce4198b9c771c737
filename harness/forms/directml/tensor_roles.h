// The ten tensors of the operator, in the order of its members, with what each may be.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "harness/forms/directml/operator_desc.h"

namespace qconform::directml {

enum class TensorRole : std::size_t {
  input,
  input_scale,
  input_zero_point,
  filter,
  filter_scale,
  filter_zero_point,
  bias,
  output_scale,
  output_zero_point,
  output,
};

/// Shape that Sizes must state; M is the number of output channels.
enum class TensorShape {
  data,                       ///< decided by the convolution
  per_tensor,                 ///< {1, 1, 1, 1}
  per_tensor_or_per_channel,  ///< {1, 1, 1, 1} or {1, M, 1, 1}
  per_channel,                ///< {1, M, 1, 1}
};

struct TensorRule {
  TensorRole role;
  std::string_view name;
  const DML_TENSOR_DESC* DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC::*member;
  bool required;
  std::array<DML_TENSOR_DATA_TYPE, 2> types;  ///< supported; twice the same where there is one
  TensorShape shape;
};

inline constexpr std::size_t kTensorCount = 10;
inline constexpr std::array<DML_TENSOR_DATA_TYPE, 2> kInteger8Types{DML_TENSOR_DATA_TYPE_INT8,
                                                                    DML_TENSOR_DATA_TYPE_UINT8};
inline constexpr std::array<DML_TENSOR_DATA_TYPE, 2> kInt32Type{DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_DATA_TYPE_INT32};
inline constexpr std::array<DML_TENSOR_DATA_TYPE, 2> kFloat32Type{DML_TENSOR_DATA_TYPE_FLOAT32,
                                                                  DML_TENSOR_DATA_TYPE_FLOAT32};

/// Indexed by TensorRole.
inline constexpr std::array<TensorRule, kTensorCount> kTensors{{
    {TensorRole::input, "InputTensor", &DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC::InputTensor, true,
     kInteger8Types, TensorShape::data},
    {TensorRole::input_scale, "InputScaleTensor", &DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC::InputScaleTensor,
     true, kFloat32Type, TensorShape::per_tensor},
    {TensorRole::input_zero_point, "InputZeroPointTensor",
     &DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC::InputZeroPointTensor, false, kInteger8Types,
     TensorShape::per_tensor},
    {TensorRole::filter, "FilterTensor", &DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC::FilterTensor, true,
     kInteger8Types, TensorShape::data},
    {TensorRole::filter_scale, "FilterScaleTensor", &DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC::FilterScaleTensor,
     true, kFloat32Type, TensorShape::per_tensor_or_per_channel},
    {TensorRole::filter_zero_point, "FilterZeroPointTensor",
     &DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC::FilterZeroPointTensor, false, kInteger8Types,
     TensorShape::per_tensor_or_per_channel},
    {TensorRole::bias, "BiasTensor", &DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC::BiasTensor, false, kInt32Type,
     TensorShape::per_channel},
    {TensorRole::output_scale, "OutputScaleTensor", &DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC::OutputScaleTensor,
     true, kFloat32Type, TensorShape::per_tensor},
    {TensorRole::output_zero_point, "OutputZeroPointTensor",
     &DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC::OutputZeroPointTensor, false, kInteger8Types,
     TensorShape::per_tensor},
    {TensorRole::output, "OutputTensor", &DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC::OutputTensor, true,
     kInteger8Types, TensorShape::data},
}};

[[nodiscard]] constexpr std::size_t index_of(TensorRole role) {
  return static_cast<std::size_t>(role);
}

}  // namespace qconform::directml
