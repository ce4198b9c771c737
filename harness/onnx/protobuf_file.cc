#include "harness/onnx/protobuf_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>

#include <fstream>
#include <system_error>

#include "harness/core/limits.h"

namespace qconform {

Result<std::string> read_onnx_file(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) return fail(file.string(), "no such file");
  if (status.type() == std::filesystem::file_type::directory) return fail(file.string(), "is a folder, not a file");
  if (status.type() != std::filesystem::file_type::regular) return fail(file.string(), "is not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) return fail(file.string(), error.message());
  if (size > static_cast<std::uintmax_t>(limits::kOnnxFileBytes)) {
    return fail(file.string(),
                std::to_string(size) + " bytes exceed the limit of " + std::to_string(limits::kOnnxFileBytes), "limit");
  }
  std::ifstream stream(file, std::ios::binary);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!stream || stream.gcount() != static_cast<std::streamsize>(size)) return fail(file.string(), "cannot be read");
  return bytes;
}

Result<void> write_onnx_file(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  if (!stream) return fail(file.string(), "cannot be written");
  return {};
}

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
  const auto bytes = read_onnx_file(file);
  if (!bytes) return tl::unexpected(bytes.error());
  return parse_message(*bytes, message).map_error([&](const Error& error) { return error.in(file.string()); });
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

std::string quoted_name(std::string_view name) {
  constexpr std::size_t kShown = 64;
  std::string text = "'";
  for (const char character : name.substr(0, kShown)) {
    const auto code = static_cast<unsigned char>(character);
    text += code < 0x20 || code == 0x7F ? '?' : character;
  }
  return text + (name.size() > kShown ? "...'" : "'");
}

}  // namespace qconform
