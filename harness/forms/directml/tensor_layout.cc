#include "harness/forms/directml/tensor_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace qconform::directml {
namespace {

struct DataType {
  std::string_view name;
  ElementType element;
};

// Indexed by DirectML's number.
constexpr std::array<DataType, 14> kDataTypes{{
    {"UNKNOWN", ElementType::undefined},
    {"FLOAT32", ElementType::float32},
    {"FLOAT16", ElementType::float16},
    {"UINT32", ElementType::uint32},
    {"UINT16", ElementType::uint16},
    {"UINT8", ElementType::uint8},
    {"INT32", ElementType::int32},
    {"INT16", ElementType::int16},
    {"INT8", ElementType::int8},
    {"FLOAT64", ElementType::float64},
    {"UINT64", ElementType::uint64},
    {"INT64", ElementType::int64},
    {"UINT4", ElementType::uint4},
    {"INT4", ElementType::int4},
}};
static_assert(kDataTypes[DML_TENSOR_DATA_TYPE_FLOAT32].name == "FLOAT32");
static_assert(kDataTypes[DML_TENSOR_DATA_TYPE_UINT8].name == "UINT8");
static_assert(kDataTypes[DML_TENSOR_DATA_TYPE_INT32].name == "INT32");
static_assert(kDataTypes[DML_TENSOR_DATA_TYPE_INT8].name == "INT8");
static_assert(kDataTypes[DML_TENSOR_DATA_TYPE_INT4].name == "INT4");

}  // namespace

std::string data_type_name(DML_TENSOR_DATA_TYPE type) {
  return type < kDataTypes.size() ? std::string(kDataTypes[type].name) : fmt::format("data type {}", type);
}

std::optional<DML_TENSOR_DATA_TYPE> data_type_named(std::string_view name) {
  for (DML_TENSOR_DATA_TYPE type = 0; type < kDataTypes.size(); ++type) {
    if (kDataTypes[type].name == name) return type;
  }
  return std::nullopt;
}

ElementType element_type_of(DML_TENSOR_DATA_TYPE type) {
  return type < kDataTypes.size() ? kDataTypes[type].element : ElementType::undefined;
}

std::string list_text(const UINT* values, UINT count) {
  return fmt::format("{{{}}}", fmt::join(std::span(values, count), ", "));
}

std::optional<std::uint64_t> span_in_elements(const DML_BUFFER_TENSOR_DESC& tensor) {
  std::uint64_t span = 1;
  for (UINT i = 0; i < tensor.DimensionCount; ++i) {
    // Factors below 2^32: neither product overflows 64 bits, and the sum is formed from checked terms.
    const std::uint64_t size = tensor.Sizes[i];
    const std::uint64_t term = tensor.Strides == nullptr ? span * (size - 1) : (size - 1) * tensor.Strides[i];
    if (term > kMaxBufferElements - span) return std::nullopt;
    span += term;
  }
  return span;
}

std::uint64_t minimum_size_in_bytes(DML_TENSOR_DATA_TYPE type, std::uint64_t span) {
  constexpr std::uint64_t kWordBits = 32;
  const auto bits = static_cast<std::uint64_t>(bits_of(element_type_of(type))) * span;
  return (bits + kWordBits - 1) / kWordBits * 4;
}

std::int64_t logical_elements(const DML_BUFFER_TENSOR_DESC& tensor) {
  std::int64_t elements = 1;
  for (UINT i = 0; i < tensor.DimensionCount; ++i) elements *= tensor.Sizes[i];
  return elements;
}

std::array<std::int64_t, kRank> strides_of(const DML_BUFFER_TENSOR_DESC& tensor) {
  std::array<std::int64_t, kRank> strides{};
  if (tensor.Strides != nullptr) {
    std::copy_n(tensor.Strides, kRank, strides.begin());
    return strides;
  }
  std::int64_t packed = 1;
  for (std::size_t i = kRank; i-- > 0;) {
    strides[i] = packed;
    packed *= tensor.Sizes[i];
  }
  return strides;
}

}  // namespace qconform::directml
