// Protobuf messages of ONNX from files and bytes that may be damaged or hostile.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "harness/base/error.h"
#include "harness/base/text.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace qconform {

/// Parses `bytes` as `message`. What is nested deeper than protobuf's limit of 100 is refused; an
/// empty text is no message, although protobuf would take it for one with no fields set.
[[nodiscard]] Result<void> parse_message(std::string_view bytes, google::protobuf::MessageLite& message);

/// Both in one; the error names the file. Refused too: a file that takes more than limits::kModelMemory to parse.
[[nodiscard]] Result<void> read_message(const std::filesystem::path& file, google::protobuf::MessageLite& message);

/// The message's bytes, the same for the same message. Fails above limits::kOnnxFileBytes.
[[nodiscard]] Result<std::string> message_bytes(const google::protobuf::MessageLite& message);

}  // namespace qconform
