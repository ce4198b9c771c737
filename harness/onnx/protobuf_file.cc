#include "harness/onnx/protobuf_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>

#include "harness/base/file.h"
#include "harness/core/limits.h"

namespace qconform {

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

}  // namespace qconform
