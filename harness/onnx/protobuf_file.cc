#include "harness/onnx/protobuf_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <memory>

#include "harness/base/file.h"
#include "harness/base/forked_process.h"
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

}  // namespace qconform
