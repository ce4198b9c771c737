#include "harness/onnx/protobuf.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include "harness/base/file.h"
#include "harness/base/process.h"
#include "harness/core/limits.h"

namespace qconform {
namespace {

// Parsing takes at most some 130 times a message's size.
constexpr std::uint64_t kParsedWithoutTrial = limits::kModelMemory / 130;

// Parses a large message in a process that may take no more than the limit, and leaves it there.
Result<void> try_to_parse(std::string_view bytes, const google::protobuf::MessageLite& message) {
  if (bytes.size() <= kParsedWithoutTrial || is_memory_confined()) return {};
  const ForkLimits limits{.cpu_seconds = ForkLimits::kUnlimited, .address_space = limits::kModelMemory};
  const auto parse = [&]() -> Result<std::string> {
    const std::unique_ptr<google::protobuf::MessageLite> trial(message.New());
    QCONFORM_TRY(parse_message(bytes, *trial));
    return "parsed";
  };
  QCONFORM_TRY(run_forked("", limits, parse));
  return {};
}

}  // namespace

Result<void> parse_message(std::string_view bytes, google::protobuf::MessageLite& message) {
  if (bytes.empty()) return fail("", "is empty");
  if (bytes.size() > static_cast<std::size_t>(limits::kOnnxFileBytes)) {
    return fail("", "exceeds the limit of " + std::to_string(limits::kOnnxFileBytes) + " bytes", "limit");
  }
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail("", "is damaged, or not ONNX: it cannot be parsed as " + message.GetTypeName());
  }
  return {};
}

Result<void> read_message(const std::filesystem::path& file, google::protobuf::MessageLite& message) {
  QCONFORM_ASSIGN(const auto bytes, read_file(file, limits::kOnnxFileBytes));
  QCONFORM_TRY(in_context(file.string(), try_to_parse(bytes, message)));
  return in_context(file.string(), parse_message(bytes, message));
}

Result<std::string> message_bytes(const google::protobuf::MessageLite& message) {
  if (message.ByteSizeLong() > static_cast<std::size_t>(limits::kOnnxFileBytes)) {
    return fail("", "exceeds the limit of " + std::to_string(limits::kOnnxFileBytes) + " bytes for ONNX files",
                "limit");
  }
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    if (!message.SerializeToCodedStream(&coded)) return fail("", "cannot be written as " + message.GetTypeName());
  }
  return bytes;
}

namespace {

struct ExternalExtent {
  std::string location;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
};

Result<std::int64_t> read_number(const std::string& field, const std::string& key, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    return fail(field, "external_data " + key + ": expected a number of bytes, got " + quoted_name(text));
  }
  return value;
}

Result<ExternalExtent> read_extent(const onnx::TensorProto& proto, const std::string& field) {
  ExternalExtent extent;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") extent.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    QCONFORM_ASSIGN(const auto number, read_number(field, entry.key(), entry.value()));
    if (entry.key() == "offset") {
      extent.offset = number;
    } else {
      extent.length = number;
    }
  }
  if (extent.location.empty()) return fail(field, "external_data has no location");
  return extent;
}

/// The file, with every link resolved, if it lies below the folder.
Result<std::filesystem::path> resolve(const std::string& location, const std::string& field,
                                      const std::filesystem::path& base_folder) {
  const std::filesystem::path relative(location);
  if (location.find('\0') != std::string::npos || relative.is_absolute() ||
      std::find(relative.begin(), relative.end(), "..") != relative.end()) {
    return fail(field, "external_data location " + quoted_name(location) + " must be relative and without '..'");
  }
  std::error_code error;
  const std::filesystem::path base = std::filesystem::canonical(base_folder.empty() ? "." : base_folder, error);
  if (error) return fail(field, "model folder " + base_folder.string() + ": " + error.message());
  const std::filesystem::path file = std::filesystem::canonical(base / relative, error);
  if (error) return fail(field, "external_data location " + quoted_name(location) + ": " + error.message());
  if (std::mismatch(base.begin(), base.end(), file.begin(), file.end()).first != base.end()) {
    return fail(field, "external_data location " + quoted_name(location) + " leads out of the model's folder");
  }
  if (!std::filesystem::is_regular_file(file, error)) {
    return fail(field, "external_data location " + quoted_name(location) + " is not a regular file");
  }
  return file;
}

Result<void> refuse_unfetched(const std::filesystem::path& file, const std::string& field) {
  char head[64];
  std::ifstream stream(file, std::ios::binary);
  stream.read(head, sizeof head);
  return refuse_git_lfs_pointer(field + ": external_data location " + quoted_name(file.filename().string()),
                                {head, static_cast<std::size_t>(stream.gcount())});
}

}  // namespace

Result<std::vector<std::byte>> read_external_data(const onnx::TensorProto& proto, const std::string& field,
                                                  std::int64_t expected, const std::filesystem::path& base_folder) {
  QCONFORM_ASSIGN(const auto extent, read_extent(proto, field));
  QCONFORM_ASSIGN(const auto file, resolve(extent.location, field, base_folder));
  QCONFORM_TRY(refuse_unfetched(file, field));
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) return fail(field, quoted_name(extent.location) + ": " + error.message());
  if (extent.length && *extent.length != expected) {
    return fail(field, "external_data length: expected " + std::to_string(expected) + " bytes for this shape, got " +
                           std::to_string(*extent.length));
  }
  const auto offset = static_cast<std::uintmax_t>(extent.offset);
  if (offset > size || static_cast<std::uintmax_t>(expected) > size - offset) {
    return fail(field, std::to_string(expected) + " bytes at offset " + std::to_string(offset) + " lie beyond the " +
                           std::to_string(size) + " bytes of " + quoted_name(extent.location));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(expected));
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(extent.offset);
  stream.read(reinterpret_cast<char*>(bytes.data()), expected);
  if (!stream || stream.gcount() != expected) return fail(field, quoted_name(extent.location) + " cannot be read");
  return bytes;
}

Result<void> check_external_data_is_fetched(const onnx::GraphProto& graph, const std::filesystem::path& base_folder) {
  std::set<std::string> looked_at;
  for (const onnx::TensorProto& proto : graph.initializer()) {
    if (proto.data_location() != onnx::TensorProto::EXTERNAL) continue;
    const std::string field = "tensor " + quoted_name(proto.name());
    const auto extent = read_extent(proto, field);
    if (!extent || !looked_at.insert(extent->location).second) continue;
    if (const auto file = resolve(extent->location, field, base_folder)) QCONFORM_TRY(refuse_unfetched(*file, field));
  }
  return {};
}

namespace {

using Bytes = std::vector<std::byte>;

/// A typed field of TensorProto that holds the values of `type`, each entry `entry_bytes` of them.
struct TypedField {
  const char* name;
  std::size_t entry_bytes;
};

TypedField typed_field_of(ElementType type) {
  const int bits = bits_of(type);
  switch (type) {
    case ElementType::float32:
    case ElementType::complex64: return {"float_data", sizeof(float)};
    case ElementType::float64:
    case ElementType::complex128: return {"double_data", sizeof(double)};
    case ElementType::int64: return {"int64_data", sizeof(std::int64_t)};
    case ElementType::uint32:
    case ElementType::uint64: return {"uint64_data", static_cast<std::size_t>(bits / 8)};
    default: return {"int32_data", bits < 8 ? 1 : static_cast<std::size_t>(bits / 8)};  // packed types: whole bytes
  }
}

Error wrong_count(const std::string& field, const char* source, std::size_t expected, std::size_t found) {
  return {field,
          std::string(source) + ": expected " + std::to_string(expected) + " for this type and shape, got " +
              std::to_string(found),
          ""};
}

template <typename Values>
Result<Bytes> copy_all(const std::string& field, const TypedField& source, std::size_t bytes, const Values& values) {
  const auto count = static_cast<std::size_t>(values.size());
  if (count * source.entry_bytes != bytes) {
    return tl::unexpected(wrong_count(field, source.name, bytes / source.entry_bytes, count));
  }
  Bytes result(bytes);
  if (bytes != 0) std::memcpy(result.data(), values.data(), bytes);
  return result;
}

/// Integers stored wider than the type: the low bytes of each entry, which must hold the value.
template <typename Values>
Result<Bytes> copy_narrowed(const std::string& field, ElementType type, const TypedField& source, std::size_t bytes,
                            const Values& values) {
  const auto count = static_cast<std::size_t>(values.size());
  if (count * source.entry_bytes != bytes) {
    return tl::unexpected(wrong_count(field, source.name, bytes / source.entry_bytes, count));
  }
  const int bits = static_cast<int>(source.entry_bytes * 8);
  const bool plain_integer = is_integer(type) && bits_of(type) >= 8;
  // Bit patterns (floats, packed integers) are written by some producers as signed, by others as unsigned.
  const bool may_be_negative = !plain_integer || is_signed_integer(type);
  const bool may_use_top_bit = !plain_integer || !is_signed_integer(type);
  const std::int64_t low = may_be_negative ? -(std::int64_t{1} << (bits - 1)) : 0;
  const std::int64_t high = (std::int64_t{1} << (may_use_top_bit ? bits : bits - 1)) - 1;
  Bytes result(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<std::int64_t>(values[static_cast<int>(i)]);
    if (value < low || value > high) {
      return fail(field, std::string(source.name) + "[" + std::to_string(i) + "]: " + std::to_string(value) +
                             " does not fit " + name_of(type));
    }
    std::memcpy(result.data() + i * source.entry_bytes, &value, source.entry_bytes);
  }
  return result;
}

Result<Bytes> from_typed_field(const onnx::TensorProto& proto, const std::string& field, ElementType type,
                               std::size_t bytes) {
  const TypedField source = typed_field_of(type);
  switch (type) {
    case ElementType::float32:
    case ElementType::complex64: return copy_all(field, source, bytes, proto.float_data());
    case ElementType::float64:
    case ElementType::complex128: return copy_all(field, source, bytes, proto.double_data());
    case ElementType::int32: return copy_all(field, source, bytes, proto.int32_data());
    case ElementType::int64: return copy_all(field, source, bytes, proto.int64_data());
    case ElementType::uint64: return copy_all(field, source, bytes, proto.uint64_data());
    case ElementType::uint32: return copy_narrowed(field, type, source, bytes, proto.uint64_data());
    default: return copy_narrowed(field, type, source, bytes, proto.int32_data());
  }
}

bool has_typed_values(const onnx::TensorProto& proto) {
  return proto.float_data_size() + proto.double_data_size() + proto.int32_data_size() + proto.int64_data_size() +
             proto.uint64_data_size() + proto.string_data_size() >
         0;
}

Result<Bytes> read_values(const onnx::TensorProto& proto, const std::string& field, ElementType type,
                          std::int64_t bytes, const ExternalFolder& external) {
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    if (!proto.raw_data().empty() || has_typed_values(proto)) return fail(field, "has values inside and outside");
    if (external) return read_external_data(proto, field, bytes, *external);
    return fail(field, "values in an external file are not read here");
  }
  const auto size = static_cast<std::size_t>(bytes);
  if (proto.raw_data().empty()) return from_typed_field(proto, field, type, size);
  if (has_typed_values(proto)) return fail(field, "has values in raw_data and in a typed field");
  if (proto.raw_data().size() != size) {
    return tl::unexpected(wrong_count(field, "bytes in raw_data", size, proto.raw_data().size()));
  }
  Bytes result(size);
  std::memcpy(result.data(), proto.raw_data().data(), size);
  return result;
}

}  // namespace

Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, const ExternalFolder& external) {
  const std::string field = "tensor " + quoted_name(proto.name());
  Tensor tensor{static_cast<ElementType>(proto.data_type()), {proto.dims().begin(), proto.dims().end()}, {}};
  QCONFORM_ASSIGN(const auto bytes, checked_bytes(field, tensor.type, tensor.shape));
  if (proto.has_segment()) return fail(field, "segmented tensors are not supported");
  QCONFORM_ASSIGN(tensor.bytes, read_values(proto, field, tensor.type, bytes, external));
  const auto used_bits = static_cast<unsigned>(tensor.elements() * bits_of(tensor.type) % 8);
  if (used_bits != 0) tensor.bytes.back() &= static_cast<std::byte>((1U << used_bits) - 1U);
  return tensor;
}

void write_tensor(const Tensor& tensor, const std::string& name, onnx::TensorProto& proto) {
  proto.Clear();
  proto.set_name(name);
  proto.set_data_type(static_cast<std::int32_t>(tensor.type));
  for (const std::int64_t dimension : tensor.shape) proto.add_dims(dimension);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
}

void write_value_info(const std::string& name, ElementType type, std::span<const std::int64_t> shape,
                      onnx::ValueInfoProto& info) {
  info.set_name(name);
  onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<std::int32_t>(type));
  tensor.mutable_shape();  // a scalar's shape is stated, and empty
  for (const std::int64_t dimension : shape) tensor.mutable_shape()->add_dim()->set_dim_value(dimension);
}

}  // namespace qconform
