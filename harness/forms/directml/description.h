// A description that owns what DirectML's structs point to, with the tensors' contents: its rules, its JSON form, and
// the case that it is lowered to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/limits.h"
#include "harness/forms/directml/operator_desc.h"
#include "reference/contract/remark.h"
#include "reference/convolution/geometry.h"

namespace qconform::directml {

// The ten tensors of the operator, in the order of its members, with what each may be.

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

// Descriptions, and DirectML's structs over them.

/// The members of DML_BUFFER_TENSOR_DESC; DimensionCount is the number of sizes.
struct BufferTensor {
  DML_TENSOR_DATA_TYPE data_type = DML_TENSOR_DATA_TYPE_UNKNOWN;
  DML_TENSOR_FLAGS flags = DML_TENSOR_FLAG_NONE;
  std::vector<UINT> sizes;
  std::optional<std::vector<UINT>> strides;  ///< as many as sizes
  UINT64 total_size_in_bytes = 0;
  UINT guaranteed_base_offset_alignment = 0;
  std::vector<std::byte> bytes;  ///< the buffer's, little endian; empty for an output that is not recorded

  bool operator==(const BufferTensor&) const = default;
};

struct Description {
  std::string id;
  std::string note;
  std::vector<std::string> rules, tags;                              ///< as a Case has them
  Expectation expectation = Expectation::unstated;                   ///< never `invalid`: see RefusedDescription
  std::array<std::optional<BufferTensor>, kTensorCount> tensors;     ///< indexed by TensorRole
  std::vector<UINT> strides, dilations, start_padding, end_padding;  ///< dimension_count values each
  UINT dimension_count = 2;
  UINT group_count = 1;

  bool operator==(const Description&) const = default;
};

/// A description that says of itself that it is out of contract. DirectML's rules are those of the
/// description, so no case can be made from it; what it shows is that reading refuses it.
struct RefusedDescription {
  std::string id;
  std::string note;
  std::vector<std::string> rules, tags;
  Error error;  ///< its rule is one of `rules`
};

/// DirectML's structs over a Description, which must outlive them and stay as it is.
class OperatorView {
 public:
  explicit OperatorView(const Description& description);
  OperatorView(const OperatorView&) = delete;
  OperatorView& operator=(const OperatorView&) = delete;

  [[nodiscard]] const DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC& desc() const { return desc_; }
  /// The buffer tensor in that role, or null.
  [[nodiscard]] const DML_BUFFER_TENSOR_DESC* tensor(TensorRole role) const;

 private:
  std::array<DML_BUFFER_TENSOR_DESC, kTensorCount> buffers_{};
  std::array<DML_TENSOR_DESC, kTensorCount> tensors_{};
  DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC desc_{};
};

// The contract.

/// Checks rules X1 to X13 of docs/operators/dml_quantized_linear_convolution.md, and those of docs/numerics.md that it
/// shares with QLinearConv. The convolution that is described, or nothing when a rule is violated: `contract` then says
/// which, naming the member ("FilterTensor.Sizes"). Pointers are null or point to as many values as the counts beside
/// them say; the numbers may be any.
[[nodiscard]] std::optional<reference::ConvolutionGeometry> check(
    const DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC& desc, reference::Contract& contract);

/// The buffer tensor in that role, or null. The description has been checked.
[[nodiscard]] const DML_BUFFER_TENSOR_DESC* buffer_tensor(const DML_TENSOR_DESC* tensor);

// Descriptions as JSON: members by DirectML's names, with the tensors' contents, so that they can be
// run. docs/operators/dml_quantized_linear_convolution.md has a complete example.

/// Limits on reading beyond those on the text itself.
struct DescriptionJsonLimits {
  std::int64_t buffer_bytes = limits::kJsonTensorBytes;  ///< bytes of all tensors in the text together
};

/// The contents of a file.
struct DescriptionFile {
  std::vector<Description> descriptions;
  std::vector<RefusedDescription> refused;
};

/// Reads one description, or {"format": "qconform-directml", "version": 1, "cases": [...]}. Strict:
/// what is returned keeps every rule of check() and is bound completely, so lower() takes it. An
/// error's field is the JSON path: "cases[3].FilterScaleTensor.Sizes".
///
/// A description with "expectation": "invalid" must break one of the rules that it names, first of
/// all; one that does not is an error of the file.
[[nodiscard]] Result<DescriptionFile> read_description_file_json(std::string_view text,
                                                                 const DescriptionJsonLimits& allowed = {});

/// Reads a text as read_description_file_json(), and returns only its valid descriptions.
[[nodiscard]] Result<std::vector<Description>> read_descriptions_json(std::string_view text,
                                                                      const DescriptionJsonLimits& allowed = {});

/// Reads the descriptions of a file; an error's field begins with the path.
[[nodiscard]] Result<std::vector<Description>> load_descriptions(const std::filesystem::path& path);

/// A file with these descriptions, which read_descriptions_json gives back bit for bit. They are
/// valid and bound.
[[nodiscard]] std::string descriptions_json(std::span<const Description> descriptions);

// From DirectML's description to a case: QLinearConv at opset 10.

/// Says that the case's contract is DirectML's wording: either neighbour at an exact tie, and the
/// error of dequantizing, convolving and quantizing in float32.
inline constexpr const char* kProfileTag = "profile:dml-doc";

/// The memory that each tensor is bound to, indexed by TensorRole: the bytes from the tensor's base offset on. Empty
/// for a null tensor, and for an output that is not recorded.
using Bindings = std::array<std::span<const std::byte>, kTensorCount>;

/// Tensors are gathered into packed form; zero points that are null become 0; filter parameters are
/// both scalars or both [M] (rule C12 leaves the mixture open); a bound output becomes the recorded
/// output. Errors: what check() finds, and a binding that ends before its tensor (rule X14).
[[nodiscard]] Result<Case> lower(const DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC& desc, const Bindings& bindings);

/// Lowers a description to a case with its id, note, rules, tags and expectation.
[[nodiscard]] Result<Case> lower(const Description& description);

}  // namespace qconform::directml
