#include "harness/backends/process_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace qconform::backend {
namespace {

constexpr std::array<std::string_view, 8> kNames{"HELO", "CASE", "DONE", "SKIP", "DENY", "PLAN", "TAKE", "PART"};
constexpr std::size_t kWord = 4;

void append_word(std::string& bytes, std::uint32_t word) {
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((word >> shift) & 0xFFU);
}

std::uint32_t word_at(std::string_view bytes, std::size_t offset) {
  std::uint32_t word = 0;
  for (unsigned i = 0; i < kWord; ++i) {
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  }
  return word;
}

}  // namespace

std::string message_header(MessageKind kind, std::uint32_t number, std::size_t size) {
  std::string bytes(kNames[static_cast<std::size_t>(kind)]);
  append_word(bytes, number);
  append_word(bytes, static_cast<std::uint32_t>(size));
  return bytes;
}

Result<std::optional<Message>> take_message(std::string& bytes) {
  const std::string_view start = std::string_view(bytes).substr(0, kWord);
  const auto name =
      std::find_if(kNames.begin(), kNames.end(), [&](std::string_view n) { return n.starts_with(start); });
  if (name == kNames.end()) return fail("", fmt::format("expected a message, got \"{}\"", reported_text(bytes)));
  if (bytes.size() < kMessageHeader) return std::nullopt;
  const std::uint32_t size = word_at(bytes, 2 * kWord);
  if (size > kLargestPayload) {
    return fail("", fmt::format("{} announces {} bytes, more than {}", *name, size, kLargestPayload));
  }
  if (bytes.size() - kMessageHeader < size) return std::nullopt;
  Message message{static_cast<MessageKind>(name - kNames.begin()), word_at(bytes, kWord),
                  bytes.substr(kMessageHeader, size)};
  bytes.erase(0, kMessageHeader + size);
  return message;
}

std::string reported_text(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  std::string shown(text.substr(0, kLongest));
  for (char& c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F) c = byte == '\n' || byte == '\t' ? ' ' : '?';
  }
  return text.size() > kLongest ? shown + "..." : shown;
}

}  // namespace qconform::backend
