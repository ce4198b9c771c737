// Cases and outcomes as bytes, and the channels on which they go to a worker and back: shared memory, or a disk.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/core/backend.h"
#include "harness/core/verdict.h"

namespace qconform {

// Cases and outcomes as bytes, between qconform and its workers on the same machine, and cases in files of its cache.

/// The first message of a worker: which backend it has, or why it has none.
struct Hello {
  BackendInfo info;
  std::string error;  ///< empty when it went well
};

/// A case with what its suite says of it: expectation, rules, tags, note and provenance. Answers that are stated of it
/// are left out.
struct LabelledCase {
  Case test_case;
};

/// Bytes that encode() writes.
[[nodiscard]] std::size_t encoded_size(const Case& test_case);
[[nodiscard]] std::size_t encoded_size(const LabelledCase& labelled);
[[nodiscard]] std::size_t encoded_size(const Outcome& outcome);
[[nodiscard]] std::size_t encoded_size(const Hello& hello);

/// `memory` holds encoded_size() bytes. Of a case only what a backend may look at is sent: operator,
/// version, attributes, inputs, and the id. Of an outcome the log is sent too.
void encode(const Case& test_case, std::span<std::byte> memory);
void encode(const LabelledCase& labelled, std::span<std::byte> memory);
void encode(const Outcome& outcome, std::span<std::byte> memory);
void encode(const Hello& hello, std::span<std::byte> memory);

/// Nothing, or false, where the bytes are damaged: a backend may have written over them.
/// decode_case() keeps the memory of the case that was there.
[[nodiscard]] bool decode_case(std::span<const std::byte> memory, Case& test_case);
[[nodiscard]] std::optional<LabelledCase> decode_labelled_case(std::span<const std::byte> memory);
[[nodiscard]] std::optional<Outcome> decode_outcome(std::span<const std::byte> memory);
[[nodiscard]] std::optional<Hello> decode_hello(std::span<const std::byte> memory);

// The memory that qconform shares with one worker: requests, answers, and wake-ups.

/// CaseChannel's kUsualSlotBytes, or kEmulatedSlotBytes where this processor says that it is an emulator's: x86-64's
/// do.
[[nodiscard]] std::size_t slot_bytes_here();

/// Requests have numbers from 0 on, and the worker answers them in that order; its hello answers none of them. Up to
/// kSlots requests lie here at a time, so that both sides work at once, and each wakes the other only
/// where that one sleeps. Counts wrap around.
class CaseChannel {
 public:
  static constexpr std::uint32_t kSlots = 64;
  /// Messages up to this lie close together: far apart, each would need page tables of its own.
  static constexpr std::size_t kSmallMessage = std::size_t{32} << 10;
  /// Addresses for one larger message; memory comes when it is used. An emulator keeps a record of every page.
  static constexpr std::size_t kUsualSlotBytes = std::size_t{256} << 20;
  static constexpr std::size_t kEmulatedSlotBytes = std::size_t{4} << 20;

  /// Nobody can make the file smaller or larger, and forks of this process do not have the memory: each worker maps its
  /// own channel, and cannot reach those of others. Throws MachineFailure where the system has no memory or no more
  /// files.
  explicit CaseChannel(std::size_t slot_bytes = kUsualSlotBytes);
  /// Maps the file of the other process, and closes it: what writes to strange descriptors does not reach it. Throws
  /// runtime_error where it is not a channel, or has the layout of another program.
  [[nodiscard]] static CaseChannel of_file(int file) { return CaseChannel(file, Inherited{}); }
  CaseChannel(const CaseChannel&) = delete;
  CaseChannel& operator=(const CaseChannel&) = delete;
  ~CaseChannel();

  [[nodiscard]] int file() const { return file_; }
  [[nodiscard]] LastWords& last_words() { return control_->last_words; }
  [[nodiscard]] const LastWords& last_words() const { return control_->last_words; }

  // The side of qconform.

  /// Memory for a request `number` of so many bytes, whose slot must be free; nothing where that is too much.
  [[nodiscard]] std::optional<std::span<std::byte>> request_memory(std::uint32_t number, std::size_t bytes) const {
    return room(number, kRequests, bytes);
  }
  /// Sends the request.
  void post(std::uint32_t number, std::size_t bytes, RunMode mode);
  /// Wakes the worker if it sleeps: after the last of several posts, and before waiting.
  void wake_worker();
  /// Waits for the answer to request `number`; false where it has not come within `patience`. Sleeps until
  /// several answers are there, if that many are due: `posted` is how many requests there are.
  [[nodiscard]] bool wait_for_answer(std::uint32_t number, std::uint32_t posted, std::chrono::nanoseconds patience);
  /// Waits for the hello.
  [[nodiscard]] bool wait_for_hello(std::chrono::nanoseconds patience);
  /// Once the hello has been received: whether the counts in the shared memory still fit what this side has sent and
  /// received. A worker may have written over them.
  [[nodiscard]] bool is_sound(std::uint32_t received, std::uint32_t posted) const;
  /// The answer's bytes; nothing where they are not those that were sent as an answer to this request.
  [[nodiscard]] std::optional<std::span<const std::byte>> answer(std::uint32_t number) const;
  /// Gives back the memory of a large request and its answer.
  void release(std::uint32_t number);
  /// When the oldest unanswered request was begun, if it was.
  [[nodiscard]] bool is_under_way(std::uint32_t number, std::chrono::steady_clock::time_point& since) const;

  // The side of the worker.

  /// From now on this process does not write to requests: a stray write faults.
  void make_requests_read_only();
  struct Request {
    std::span<const std::byte> bytes;
    RunMode mode = RunMode::once;
  };
  /// Restarts the time limit: the current request begins another run.
  void begin_again();
  /// Waits for request `number` and marks it as begun.
  [[nodiscard]] Request take(std::uint32_t number);
  /// Returns memory for an answer, as request_memory() does for a request.
  [[nodiscard]] std::optional<std::span<std::byte>> answer_memory(std::uint32_t number, std::size_t bytes) const {
    return room(number, kAnswers, bytes);
  }
  /// Sends the answer.
  void put(std::uint32_t number, std::size_t bytes);
  /// Sends the hello, in the place of the answer to request 0.
  void put_hello(std::size_t bytes);
  /// Announces that this process is about to end. Safe in a signal handler.
  void say_end();

 private:
  struct Inherited {};
  CaseChannel(int file, Inherited);

  struct MessageState {
    std::atomic<std::uint64_t> request_bytes = 0;
    std::atomic<std::uint64_t> answer_bytes = 0;
    std::atomic<std::uint64_t> answer_check = 0;  ///< check_of() the answer
    std::atomic<RunMode> mode = RunMode::once;
  };
  struct Control {
    std::uint64_t layout = 0;
    std::uint64_t slot_bytes = 0;
    std::atomic<std::uint32_t> posted = 0;
    std::atomic<std::uint32_t> begun = 0;
    std::atomic<std::uint32_t> answered = 0;  ///< the hello is counted too
    SharedFlag worker_sleeps;
    SharedFlag asker_sleeps;
    std::atomic<std::uint32_t> awaited = 0;  ///< the count that `answered` has to reach before the sleeper is woken
    SharedFlag worker_ends;
    std::atomic<std::int64_t> begun_at = 0;  ///< the last begun request, of the steady clock, in ns
    LastWords last_words;
    MessageState messages[kSlots];
  };
  /// Changes with the messages: the last figures count kinds of outcomes; raise the first by hand.
  static constexpr std::uint64_t kLayout = 400'000 + 1000 * kSlots + std::variant_size_v<outcome::Any>;
  static constexpr std::size_t kControlBytes = std::size_t{64} << 10;

  /// Behind the control block lie the small slots of requests, those of answers, and the large ones likewise.
  enum Direction : std::size_t { kRequests = 0, kAnswers = 1 };

  /// A checksum of the message and of the number of its request.
  [[nodiscard]] static std::uint64_t check_of(std::uint32_t number, std::span<const std::byte> bytes);
  void map(std::size_t bytes);
  [[nodiscard]] std::size_t bytes_mapped() const;
  /// The offset in the file at which the slot for a message of so many bytes begins.
  [[nodiscard]] std::size_t offset_of(std::uint32_t number, Direction direction, std::size_t bytes) const;
  [[nodiscard]] std::byte* at(std::size_t offset) const { return reinterpret_cast<std::byte*>(control_) + offset; }
  [[nodiscard]] std::optional<std::span<std::byte>> room(std::uint32_t number, Direction direction,
                                                         std::size_t bytes) const;
  [[nodiscard]] std::span<const std::byte> content(std::uint32_t number, Direction direction, std::size_t bytes) const;
  [[nodiscard]] MessageState& message(std::uint32_t number) const { return control_->messages[number % kSlots]; }
  [[nodiscard]] bool wait_for_count(std::uint32_t count, std::uint32_t enough, std::chrono::nanoseconds patience);
  void count_answer(std::uint32_t count);

  int file_ = -1;
  std::size_t mapped_ = 0;
  std::size_t slot_bytes_ = 0;
  Control* control_ = nullptr;
};

// Messages between two machines that share a disk and nothing else: qconform and an emulated machine.

/// A file that both sides read and write: one machine as a file, the other as a disk. Each side has a sector in which
/// it counts what it has sent and received, and a ring of bytes for what it sends. Nobody is woken: the receiver asks
/// again.
///
///     DiskChannel line(file, DiskChannel::Side::host);
///     if (line.has_room(size)) line.send(bytes, 0);
///     line.flush();
///     while (!(answer = line.receive())) pause();
class DiskChannel {
 public:
  enum class Side : std::uint8_t { host, guest };
  struct DiskMessage {
    std::span<const std::byte> bytes;  ///< valid until the next receive()
    std::uint32_t mark = 0;
  };

  static constexpr std::size_t kSector = 512;
  static constexpr std::size_t kRing = std::size_t{16} << 20;
  static constexpr std::size_t kLargestMessage = kRing / 4;
  /// Bytes of an old disk's cylinder; the file, of kBytes, holds a whole number of them.
  static constexpr std::size_t kCylinder = 16 * 63 * kSector;
  static constexpr std::size_t kBytes = (2 * kRing / kCylinder + 2) * kCylinder;

  /// `file` stays the caller's. A disk is opened with O_DIRECT: what lies in between must not keep old sectors.
  DiskChannel(int file, Side side);

  /// Whether a message of so many bytes can be sent now; it need never be so for more than kLargestMessage.
  [[nodiscard]] bool has_room(std::size_t bytes);
  /// The other side sees it after flush(), or before. There must be room.
  void send(std::span<const std::byte> bytes, std::uint32_t mark);
  void flush();
  /// The next message, if it is there.
  [[nodiscard]] std::optional<DiskMessage> receive();
  /// Whether what came from the other side makes no sense, or the file cannot be read or written. Nothing more comes.
  [[nodiscard]] bool is_damaged() const { return damaged_; }

 private:
  struct MessageCounts {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t check = 0;
  };
  struct MessageHeader {
    std::uint64_t bytes = 0;
    std::uint32_t mark = 0;
    std::uint32_t reserved = 0;
  };

  [[nodiscard]] static std::uint64_t check_of(const MessageCounts& counts);
  [[nodiscard]] static std::size_t framed(std::size_t bytes);
  [[nodiscard]] std::size_t ring_of(bool own) const;
  void append(std::span<const std::byte> bytes);
  void write_pending();
  void write_counts();
  void look_at_counts();
  void fetch();
  [[nodiscard]] bool transfer(bool is_write, std::size_t offset, std::size_t bytes);

  int file_;
  Side side_;
  bool damaged_ = false;
  std::unique_ptr<std::byte, void (*)(void*)> block_;  ///< a buffer for the disk, which wants whole pages
  std::vector<std::byte> pending_;                     ///< messages that are sent, and not written
  std::uint64_t sent_ = 0;                             ///< bytes written since the beginning, as all counts are
  std::uint64_t fetched_ = 0;
  std::uint64_t published_ = 0;  ///< the count of fetched_ that the other side has been told
  MessageCounts others_;
  std::vector<std::byte> arrived_;
  std::size_t taken_ = 0;  ///< how many bytes of arrived_ are received
};

}  // namespace qconform
