#include "harness/onnx/protobuf_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>
#include <onnx/onnx_pb.h>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

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

namespace {

struct Extent {
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

Result<Extent> read_extent(const onnx::TensorProto& proto, const std::string& field) {
  Extent extent;
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

}  // namespace qconform
