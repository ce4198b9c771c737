// The messages between qconform and a backend that is a process (docs/adding-a-backend.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/error.h"

namespace qconform::backend {

/// The newest version of the protocol; older ones are spoken too. Raised when a message changes its meaning or layout.
inline constexpr std::uint32_t kProcessProtocol = 2;

/// The kind of a message, which its first four characters state.
enum class MessageKind : std::uint8_t {
  hello,        ///< HELO, from the process: the protocol's version as number; its name and version, and from version 2
                ///< on a line for each capability
  test_case,    ///< CASE, to the process: an ONNX model, of one node unless it takes units
  done,         ///< DONE, from the process: the output as a TensorProto, of several the last
  unsupported,  ///< SKIP, from the process: the reason
  rejected,     ///< DENY, from the process: the reason
  plan,         ///< PLAN, to a process that plans: the model of a case without data of x and weights
  taken,        ///< TAKE, from the process: it will compute what was planned
  part,         ///< PART, from the process: an output before the last, in their order
};

struct Message {
  MessageKind kind = MessageKind::hello;
  std::uint32_t number = 0;  ///< of the case: answers repeat it
  std::string payload;
};

/// Characters, number and payload size as three little-endian words, in front of every payload.
inline constexpr std::size_t kMessageHeader = 12;
/// The largest payload that is taken: a tensor at its limit, and what is around it.
inline constexpr std::uint32_t kLargestPayload = (std::uint32_t{1} << 30) + (std::uint32_t{1} << 20);

/// Returns the header of a payload of `size` bytes.
[[nodiscard]] std::string message_header(MessageKind kind, std::uint32_t number, std::size_t size);

/// The message that `bytes` begin with, which is taken from them; nothing while it is incomplete. Errors,
/// from the first wrong byte on: what is no message, and a size above kLargestPayload.
[[nodiscard]] Result<std::optional<Message>> take_message(std::string& bytes);

/// Text of an unknown process as it may stand in a report: one line, at most 200 bytes, without control
/// characters.
[[nodiscard]] std::string reported_text(std::string_view text);

}  // namespace qconform::backend
