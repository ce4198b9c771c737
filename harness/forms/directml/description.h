// A description that owns what DirectML's structs point to, with the tensors' contents, and its JSON form.
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
#include "harness/forms/directml/tensor_roles.h"
#include "reference/contract/remark.h"
#include "reference/convolution/geometry.h"

namespace qconform::directml {

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

}  // namespace qconform::directml
