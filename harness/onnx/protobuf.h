// Protobuf messages, and ONNX's tensors with their external data, from files and bytes that may be damaged or hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/text.h"
#include "harness/core/tensor.h"

namespace onnx {
class GraphProto;
class TensorProto;
class ValueInfoProto;
}  // namespace onnx

namespace google::protobuf {

class MessageLite;

}  // namespace google::protobuf

namespace qconform {

/// Parses `bytes` as `message`. What is nested deeper than protobuf's limit of 100 is refused; an
/// empty text is no message, although protobuf would take it for one with no fields set.
[[nodiscard]] Result<void> parse_message(std::string_view bytes, google::protobuf::MessageLite& message);

/// Reads and parses a file; the error names it. Refused too: a file that takes more than limits::kModelMemory to parse.
[[nodiscard]] Result<void> read_message(const std::filesystem::path& file, google::protobuf::MessageLite& message);

/// The message's bytes, the same for the same message. Fails above limits::kOnnxFileBytes.
[[nodiscard]] Result<std::string> message_bytes(const google::protobuf::MessageLite& message);

// Tensor values that a model keeps in files of their own.

/// Reads the `expected` bytes that `proto` (data_location EXTERNAL) keeps in a file below
/// `base_folder`, the model's folder; an empty path stands for the current folder. Refused: absolute locations, "..",
/// links that lead out of the folder, files that are not regular, Git LFS pointers, offsets and lengths that do not fit
/// the file or the tensor. `field` names the tensor in messages.
[[nodiscard]] Result<std::vector<std::byte>> read_external_data(const onnx::TensorProto& proto,
                                                                const std::string& field, std::int64_t expected,
                                                                const std::filesystem::path& base_folder);

/// An error where an initializer of the graph lies in a file that is a Git LFS pointer. Other faults are left to
/// read_external_data.
[[nodiscard]] Result<void> check_external_data_is_fetched(const onnx::GraphProto& graph,
                                                          const std::filesystem::path& base_folder);

// ONNX's TensorProto to and from Tensor, for every type that a Tensor holds. Types go by number, so
// that an ONNX library older than a type does not prevent reading it.

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
