#include "harness/onnx/tensor_proto.h"

#include <onnx/onnx_pb.h>

#include <cstring>
#include <vector>

#include "harness/onnx/protobuf_file.h"

namespace qconform {
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
