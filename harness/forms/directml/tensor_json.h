// Buffer tensors in DirectML's layouts, and as JSON. Internal to the folder.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/tensor.h"
#include "harness/forms/directml/description.h"
#include "harness/forms/directml/operator_desc.h"
#include "harness/forms/json/json_text.h"

namespace qconform::directml {

/// Reads the members of DML_BUFFER_TENSOR_DESC; contents are looked for, not read. An absent
/// TotalTensorSizeInBytes becomes the least possible one.
bool read_tensor_members(JsonFields& fields, const Json& value, const std::string& where, TensorRole role,
                         BufferTensor& out);

/// Reads "data" (every element once, in row-major order of the dimensions), "fill" (one value for
/// all) or "buffer" (what the buffer holds, gaps between strides included). The members have been
/// checked. `bytes_left` is what buffers may still take; it is reduced.
bool read_contents(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left,
                   BufferTensor& out);

/// Writes a tensor in the form that the two functions above read.
[[nodiscard]] Json tensor_object(const BufferTensor& tensor);

/// An array of UINT values, at most `limit` of them; a value that is none violates `rule`.
bool read_uints(JsonFields& fields, const Json& value, const std::string& where, std::size_t limit, const char* rule,
                std::vector<UINT>& out);
bool read_uint(JsonFields& fields, const Json& value, const std::string& where, const char* rule, UINT& out);

// The places of a buffer tensor's elements. Offsets and strides count elements.

/// Every tensor of the operator has this many dimensions: batch, channel, height, width.
inline constexpr UINT kRank = 4;

/// A buffer tensor may not span more elements than this.
inline constexpr std::uint64_t kMaxBufferElements = 0xFFFFFFFF;

/// "UINT8" for DML_TENSOR_DATA_TYPE_UINT8; "data type 99" for a number that is none.
[[nodiscard]] std::string data_type_name(DML_TENSOR_DATA_TYPE type);
[[nodiscard]] std::optional<DML_TENSOR_DATA_TYPE> data_type_named(std::string_view name);
/// `undefined` for DML_TENSOR_DATA_TYPE_UNKNOWN and for numbers that are none.
[[nodiscard]] ElementType element_type_of(DML_TENSOR_DATA_TYPE type);

/// "{1, 3, 5, 5}"
[[nodiscard]] std::string list_text(const UINT* values, UINT count);

/// Elements from the first to just behind the last one: dot(Sizes - 1, Strides) + 1. Nothing when
/// they are more than kMaxBufferElements. Sizes are at least 1; any DimensionCount.
[[nodiscard]] std::optional<std::uint64_t> span_in_elements(const DML_BUFFER_TENSOR_DESC& tensor);

/// Returns the same as DMLCalcBufferTensorSize: the span in bytes, rounded up to a multiple of 4.
[[nodiscard]] std::uint64_t minimum_size_in_bytes(DML_TENSOR_DATA_TYPE type, std::uint64_t span);

/// The product of the sizes, which must fit 63 bits.
[[nodiscard]] std::int64_t logical_elements(const DML_BUFFER_TENSOR_DESC& tensor);

/// Strides as given, or packed ones. The tensor has rank 4.
[[nodiscard]] std::array<std::int64_t, kRank> strides_of(const DML_BUFFER_TENSOR_DESC& tensor);

/// visit(index, offset) for every element in row-major order of the dimensions. Rank 4.
template <typename Visit>
void visit_elements(const DML_BUFFER_TENSOR_DESC& tensor, Visit visit) {
  const std::array<std::int64_t, kRank> stride = strides_of(tensor);
  std::int64_t index = 0;
  for (std::int64_t n = 0; n < tensor.Sizes[0]; ++n) {
    for (std::int64_t c = 0; c < tensor.Sizes[1]; ++c) {
      for (std::int64_t h = 0; h < tensor.Sizes[2]; ++h) {
        const std::int64_t row = n * stride[0] + c * stride[1] + h * stride[2];
        for (std::int64_t w = 0; w < tensor.Sizes[3]; ++w) visit(index++, row + w * stride[3]);
      }
    }
  }
}

}  // namespace qconform::directml
