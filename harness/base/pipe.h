// Pipes with owners, and messages through them.
#pragma once

#include <signal.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"

namespace qconform {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.take()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return value_; }  ///< -1: none
  [[nodiscard]] int take() { return std::exchange(value_, -1); }
  void close();

 private:
  int value_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;

  /// Both ends are closed where a program is executed. False where the system has no more; errno says why.
  [[nodiscard]] bool open(int flags = 0);
};

/// Keeps a pipe without readers from ending this process, for as long as it lives, in this thread.
class NoPipeSignal {
 public:
  NoPipeSignal();
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  ~NoPipeSignal();

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

/// Reads `size` bytes, however often the call is interrupted or gives a part. False where they end before.
bool read_all_of(int descriptor, void* to, std::size_t size);

/// Writes all of it, however often the call is interrupted or takes a part. False where nobody reads, or nothing fits.
bool write_all(int descriptor, std::string_view bytes);

// Messages of texts between two processes over a pipe. Nothing else writes to it.

struct PipeMessage {
  char kind = 0;
  std::vector<std::string> texts;
};

/// Writes the message. False where nobody reads any more.
bool send(int descriptor, const PipeMessage& message);

/// Reads messages from one end of a pipe. What has been written by a process that a hostile file controls is no more
/// than memory: sizes are checked against what has come.
class MessageReader {
 public:
  explicit MessageReader(int descriptor) : descriptor_(descriptor) {}

  /// The next message; nothing where none is whole after `milliseconds`. Errors: the writer's end is closed, and what
  /// is no message.
  [[nodiscard]] Result<std::optional<PipeMessage>> next(int milliseconds);
  /// Waits for the next message, however long it takes. Errors as above.
  [[nodiscard]] Result<PipeMessage> next();

 private:
  [[nodiscard]] Result<bool> read_more(int milliseconds);
  [[nodiscard]] Result<std::optional<PipeMessage>> take();

  int descriptor_;
  std::string bytes_;
};

}  // namespace qconform
