#include "harness/forms/directml/tensor_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <limits>
#include <span>

#include "harness/core/tensor.h"
#include "harness/forms/json/case_json.h"

namespace qconform::directml {

namespace {

// The gaps between strides hold this pattern, so that reading one shows.
constexpr std::byte kGap{0xAA};
constexpr std::size_t kMaxDimensions = 8;  // the most that a DirectML tensor has

DML_BUFFER_TENSOR_DESC desc_of(const BufferTensor& tensor) {
  return {.DataType = tensor.data_type,
          .Flags = tensor.flags,
          .DimensionCount = static_cast<UINT>(tensor.sizes.size()),
          .Sizes = tensor.sizes.data(),
          .Strides = tensor.strides ? tensor.strides->data() : nullptr,
          .TotalTensorSizeInBytes = tensor.total_size_in_bytes,
          .GuaranteedBaseOffsetAlignment = tensor.guaranteed_base_offset_alignment};
}

bool read_data_type(JsonFields& fields, const Json& value, const std::string& where, DML_TENSOR_DATA_TYPE& out) {
  std::string name;
  if (!fields.read(value, where, name)) return false;
  const std::optional<DML_TENSOR_DATA_TYPE> type = data_type_named(name);
  if (!type) return fields.refuse(where, brief(value) + R"( is not the name of a data type, such as "UINT8")", "X3");
  out = *type;
  return true;
}

bool read_flags(JsonFields& fields, const Json& tensor, const std::string& where, DML_TENSOR_FLAGS& out) {
  const auto value = tensor.find("Flags");
  if (value == tensor.end() || *value == "NONE") return true;
  if (*value != "OWNED_BY_DML") {
    return fields.refuse(json_path(where, "Flags"), R"(expected "NONE" or "OWNED_BY_DML", got )" + brief(*value),
                         "X11");
  }
  out = DML_TENSOR_FLAG_OWNED_BY_DML;
  return true;
}

bool read_sizes(JsonFields& fields, const Json& tensor, const std::string& where, BufferTensor& out) {
  if (!read_uints(fields, tensor["Sizes"], json_path(where, "Sizes"), kMaxDimensions, "X7", out.sizes)) return false;
  const auto count = tensor.find("DimensionCount");
  if (count == tensor.end()) return true;
  UINT dimensions = 0;
  if (!read_uint(fields, *count, json_path(where, "DimensionCount"), "X2", dimensions)) return false;
  return dimensions == out.sizes.size() ||
         fields.refuse(json_path(where, "Sizes"),
                       fmt::format("expected DimensionCount = {} values, got {}", dimensions, out.sizes.size()), "X7");
}

bool read_strides(JsonFields& fields, const Json& tensor, const std::string& where, BufferTensor& out) {
  const auto value = tensor.find("Strides");
  if (value == tensor.end() || value->is_null()) return true;
  const std::string path = json_path(where, "Strides");
  if (!read_uints(fields, *value, path, kMaxDimensions, "X8", out.strides.emplace())) return false;
  return out.strides->size() == out.sizes.size() ||
         fields.refuse(
             path, fmt::format("expected DimensionCount = {} values, got {}", out.sizes.size(), out.strides->size()),
             "X8");
}

// The least total where none is stated. Sizes may still be wrong here; they are judged afterwards.
bool read_total_size(JsonFields& fields, const Json& tensor, const std::string& where, BufferTensor& out) {
  if (tensor.contains("TotalTensorSizeInBytes")) {
    return fields.read_optional(tensor, where, "TotalTensorSizeInBytes", out.total_size_in_bytes);
  }
  const std::optional<std::uint64_t> span = span_in_elements(desc_of(out));
  if (span) out.total_size_in_bytes = minimum_size_in_bytes(out.data_type, *span);
  return true;
}

bool read_contents_keys(JsonFields& fields, const Json& tensor, const std::string& where, TensorRole role) {
  int found = 0;
  for (const char* key : {"data", "fill", "buffer"}) found += tensor.contains(key) ? 1 : 0;
  if (found == 1 || (found == 0 && role == TensorRole::output)) return true;
  return fields.refuse(where, R"(expected one of "data", "fill" and "buffer")", "X14");
}

// The stored bits of one element; the type is one that the operator supports.
bool read_element(JsonFields& fields, const Json& value, const std::string& where, ElementType type,
                  std::uint64_t& out) {
  const std::optional<std::uint64_t> bits = element_bits(type, value);
  if (!bits) return fields.refuse(where, brief(value) + " is not a " + name_of(type), "X14");
  out = *bits;
  return true;
}

bool read_elements(JsonFields& fields, const Json& values, const std::string& where, ElementType type,
                   std::vector<std::uint64_t>& out) {
  out.resize(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!read_element(fields, values[i], json_path(where, i), type, out[i])) return false;
  }
  return true;
}

// Elements that share an offset must agree: found by reading back.
bool scatter(JsonFields& fields, const std::string& where, const std::vector<std::uint64_t>& elements,
             BufferTensor& out) {
  const int bits = bits_of(element_type_of(out.data_type));
  const DML_BUFFER_TENSOR_DESC desc = desc_of(out);
  visit_elements(desc, [&](std::int64_t index, std::int64_t offset) {
    set_raw_bits_at(out.bytes, bits, offset, elements[static_cast<std::size_t>(index)]);
  });
  std::optional<std::int64_t> lost;
  visit_elements(desc, [&](std::int64_t index, std::int64_t offset) {
    const std::uint64_t kept = raw_bits_at(out.bytes, bits, offset);
    if (!lost && kept != elements[static_cast<std::size_t>(index)]) lost = index;
  });
  if (!lost) return true;
  return fields.refuse(json_path(where, static_cast<std::size_t>(*lost)),
                       "shares its place in the buffer with an element of another value (Strides " +
                           list_text(desc.Strides, desc.DimensionCount) + ")",
                       "X14");
}

// Memory is taken only after the number of values in the file has been found right.
bool allocate(JsonFields& fields, const std::string& where, std::int64_t elements, std::int64_t& bytes_left,
              BufferTensor& out) {
  const std::int64_t bytes = bytes_for(element_type_of(out.data_type), elements);
  if (bytes > bytes_left) return fields.refuse(where, "the tensors of the file exceed the limit", "limit");
  bytes_left -= bytes;
  out.bytes.assign(static_cast<std::size_t>(bytes), kGap);
  return true;
}

bool check_count(JsonFields& fields, const Json& values, const std::string& where, std::int64_t least,
                 std::int64_t most) {
  if (!fields.array(values, where, std::numeric_limits<std::size_t>::max())) return false;
  const auto count = static_cast<std::int64_t>(values.size());
  if (count >= least && count <= most) return true;
  const std::string expected = least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  return fields.refuse(where, fmt::format("expected {} values, got {}", expected, count), "X14");
}

bool read_data(JsonFields& fields, const Json& values, const std::string& where, std::int64_t span,
               std::int64_t& bytes_left, BufferTensor& out) {
  const std::int64_t elements = logical_elements(desc_of(out));
  std::vector<std::uint64_t> bits;
  return check_count(fields, values, where, elements, elements) && allocate(fields, where, span, bytes_left, out) &&
         read_elements(fields, values, where, element_type_of(out.data_type), bits) &&
         scatter(fields, where, bits, out);
}

bool read_buffer(JsonFields& fields, const Json& values, const std::string& where, std::int64_t span,
                 std::int64_t& bytes_left, BufferTensor& out) {
  const ElementType type = element_type_of(out.data_type);
  const UINT64 most = out.total_size_in_bytes / static_cast<UINT64>(bits_of(type) / 8);
  std::vector<std::uint64_t> bits;
  if (!check_count(fields, values, where, span,
                   static_cast<std::int64_t>(std::min<UINT64>(most, kMaxBufferElements))) ||
      !allocate(fields, where, static_cast<std::int64_t>(values.size()), bytes_left, out) ||
      !read_elements(fields, values, where, type, bits)) {
    return false;
  }
  for (std::size_t i = 0; i < bits.size(); ++i) {
    set_raw_bits_at(out.bytes, bits_of(type), static_cast<std::int64_t>(i), bits[i]);
  }
  return true;
}

bool read_fill(JsonFields& fields, const Json& value, const std::string& where, std::int64_t span,
               std::int64_t& bytes_left, BufferTensor& out) {
  const ElementType type = element_type_of(out.data_type);
  std::uint64_t bits = 0;
  if (!read_element(fields, value, where, type, bits) || !allocate(fields, where, span, bytes_left, out)) return false;
  for (std::int64_t i = 0; i < span; ++i) set_raw_bits_at(out.bytes, bits_of(type), i, bits);
  return true;
}

}  // namespace

bool read_uint(JsonFields& fields, const Json& value, const std::string& where, const char* rule, UINT& out) {
  constexpr std::uint64_t kLargest = std::numeric_limits<UINT>::max();
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kLargest) {
    return fields.refuse(
        where, fmt::format("expected a UINT (an integer from 0 to {}), got {}", kLargest, brief(value)), rule);
  }
  out = static_cast<UINT>(value.get<std::uint64_t>());
  return true;
}

bool read_uints(JsonFields& fields, const Json& value, const std::string& where, std::size_t limit, const char* rule,
                std::vector<UINT>& out) {
  if (!fields.array(value, where, limit)) return false;
  out.resize(value.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!read_uint(fields, value[i], json_path(where, i), rule, out[i])) return false;
  }
  return true;
}

bool read_tensor_members(JsonFields& fields, const Json& value, const std::string& where, TensorRole role,
                         BufferTensor& out) {
  if (!fields.object(value, where, {"DataType", "Sizes"},
                     {"Flags", "DimensionCount", "Strides", "TotalTensorSizeInBytes", "GuaranteedBaseOffsetAlignment",
                      "data", "fill", "buffer"})) {
    return false;
  }
  const auto alignment = value.find("GuaranteedBaseOffsetAlignment");
  return read_data_type(fields, value["DataType"], json_path(where, "DataType"), out.data_type) &&
         read_flags(fields, value, where, out.flags) && read_sizes(fields, value, where, out) &&
         read_strides(fields, value, where, out) && read_total_size(fields, value, where, out) &&
         (alignment == value.end() || read_uint(fields, *alignment, json_path(where, "GuaranteedBaseOffsetAlignment"),
                                                "X12", out.guaranteed_base_offset_alignment)) &&
         read_contents_keys(fields, value, where, role);
}

bool read_contents(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left,
                   BufferTensor& out) {
  const auto span = static_cast<std::int64_t>(*span_in_elements(desc_of(out)));
  const auto at = [&](const char* key) { return json_path(where, key); };
  if (value.contains("data")) return read_data(fields, value["data"], at("data"), span, bytes_left, out);
  if (value.contains("buffer")) return read_buffer(fields, value["buffer"], at("buffer"), span, bytes_left, out);
  if (value.contains("fill")) return read_fill(fields, value["fill"], at("fill"), span, bytes_left, out);
  return true;
}

Json tensor_object(const BufferTensor& tensor) {
  Json object = Json::object();
  const DML_BUFFER_TENSOR_DESC desc = desc_of(tensor);
  const std::uint64_t span = *span_in_elements(desc);
  object["DataType"] = data_type_name(tensor.data_type);
  if (tensor.flags == DML_TENSOR_FLAG_OWNED_BY_DML) object["Flags"] = "OWNED_BY_DML";
  object["Sizes"] = tensor.sizes;
  if (tensor.strides) object["Strides"] = *tensor.strides;
  if (tensor.total_size_in_bytes != minimum_size_in_bytes(tensor.data_type, span)) {
    object["TotalTensorSizeInBytes"] = tensor.total_size_in_bytes;
  }
  if (tensor.guaranteed_base_offset_alignment != 0) {
    object["GuaranteedBaseOffsetAlignment"] = tensor.guaranteed_base_offset_alignment;
  }
  if (tensor.bytes.empty()) return object;
  const ElementType type = element_type_of(tensor.data_type);
  const auto count = static_cast<std::int64_t>(tensor.bytes.size()) * 8 / bits_of(type);
  const Json contents = qconform::tensor_object(Tensor{type, {count}, tensor.bytes});
  const bool is_packed = !tensor.strides && static_cast<std::uint64_t>(count) == span;
  if (const auto data = contents.find("data"); data != contents.end()) {
    object[is_packed ? "data" : "buffer"] = *data;
  } else if (static_cast<std::uint64_t>(count) == span) {
    object["fill"] = contents["fill"];
  } else {
    object["buffer"] = Json::array_t(static_cast<std::size_t>(count), contents["fill"]);
  }
  return object;
}

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
