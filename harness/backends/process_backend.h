// A backend that is a process: its messages and folders (docs/adding-a-backend.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/backends/sandbox/sandbox.h"
#include "harness/base/error.h"
#include "harness/base/process.h"
#include "harness/core/backend.h"

namespace qconform::backend {

/// The version of the protocol. Raised when a message changes its meaning or layout.
inline constexpr std::uint32_t kProcessProtocol = 1;

/// The kind of a message, which its first four characters state.
enum class MessageKind : std::uint8_t {
  hello,        ///< HELO, from the process: the protocol's version as number; its name and version, and a line for each
                ///< capability
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
  std::uint32_t number = 0;  ///< the number of the case: answers repeat it
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

// The base of both kinds of process backends: a case under way in a child process, and how that may end; and commands
// that are run once for each case, on a backend-test folder.

/// The environment variable that tells a command that qconform started it.
inline const ChildProcess::EnvironmentVariable kProtocolVariable{"QCONFORM_PROTOCOL", std::to_string(kProcessProtocol)};

/// A backend whose cases run in child processes. Where a process was ended from outside, or did not answer in time, the
/// case runs again in a new one, and that is its outcome (Outcome::lost), as in a sandbox.
class ProcessBackend : public Backend, public Worker {
 public:
  ProcessBackend(std::string_view command, const SandboxLimits& limits, BackendInfo info)
      : command_(command), limits_(limits), info_(std::move(info)) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Worker* worker() override { return this; }
  /// For callers that know prepare and run alone.
  [[nodiscard]] Preparation prepare(const Case& test_case) override;
  void start(const Case& test_case) final;
  [[nodiscard]] Outcome finish() final;

 protected:
  /// Begins a case, in a new process where the last one ended.
  virtual void begin_run(const Case& test_case) = 0;
  [[nodiscard]] virtual Outcome end_run() = 0;

  struct Conversation {
    std::string_view to_send;
    std::string received;
  };
  /// Looks at what has been received; what it returns ends the waiting.
  using Look = std::function<std::optional<Outcome>(std::string& received)>;

  /// Sends and receives until `look` finds something, the child ends, `seconds` have passed, or it holds more
  /// than the memory limit beyond `at_rest`. A child that has ended by itself is Exited, with status 0 too.
  [[nodiscard]] Outcome wait_for(ChildProcess& child, Conversation& conversation, const Look& look, double seconds,
                                 std::int64_t at_rest) const;

  [[nodiscard]] static Outcome broken(const std::string& how);
  /// The tensor in a serialized TensorProto, which keeps its values in itself.
  [[nodiscard]] static Result<Tensor> output_from(std::string_view bytes);

  std::string command_;
  SandboxLimits limits_;
  BackendInfo info_;

 private:
  const Case* under_way_ = nullptr;
};

/// Stands in a command for the folder's path.
inline constexpr std::string_view kFolderPlace = "{}";

/// Exit statuses that say something; 0 is an answer, all others are failures.
inline constexpr int kExitUnsupported = 77;  ///< as for tests that are skipped in GNU's Automake
inline constexpr int kExitRejected = 65;     ///< EX_DATAERR of sysexits.h

/// `name` is for BackendInfo.
[[nodiscard]] std::unique_ptr<Backend> open_folder_process(std::string_view command, const SandboxLimits& limits,
                                                           std::string name);

}  // namespace qconform::backend
