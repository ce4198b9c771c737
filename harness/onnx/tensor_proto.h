// ONNX's TensorProto to and from Tensor, for every type that a Tensor holds. Types go by number, so
// that an ONNX library older than a type does not prevent reading it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "harness/base/error.h"
#include "harness/core/tensor.h"

namespace onnx {
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace qconform {

/// The folder in which tensors may keep their values outside the model; nullopt: nowhere.
using ExternalFolder = std::optional<std::filesystem::path>;

/// Values from raw_data, from the typed field that ONNX assigns to the type, or from a file below
/// `external`. Sizes are checked against limits.h before anything is allocated. Unused high bits of
/// a packed tensor's last byte are cleared. Refused, with the tensor's name: unknown types, strings,
/// segments, negative or huge dimensions, a wrong number of values, values that do not fit the type,
/// values in more than one field.
[[nodiscard]] Result<Tensor> tensor_from_proto(const onnx::TensorProto& proto, const ExternalFolder& external);

/// Values go into raw_data. The shape has bytes_for(type, elements) bytes behind it.
void write_tensor(const Tensor& tensor, const std::string& name, onnx::TensorProto& proto);

/// A graph's input or output: a tensor of this type and shape.
void write_value_info(const std::string& name, ElementType type, std::span<const std::int64_t> shape,
                      onnx::ValueInfoProto& info);

}  // namespace qconform
