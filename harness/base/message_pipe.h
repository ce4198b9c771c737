// Messages of texts between two processes over a pipe. Nothing else writes to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"

namespace qconform {

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
