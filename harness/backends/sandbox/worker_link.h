// The interface to a worker, wherever it runs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "harness/backends/sandbox/guarded_memory.h"
#include "harness/core/case.h"
#include "harness/core/outcome.h"

namespace qconform {

/// How a worker ended.
struct Death {
  int status = 0;  ///< as waitpid gives it
  bool timed_out = false;
  bool out_of_memory = false;
  bool damaged = false;     ///< ended because the memory that it shares with qconform makes no sense
  std::string reason = {};  ///< where the status says nothing of the case that ran
};

/// A worker that has been started; it ends with this, and all that it has started.
class WorkerLink {
 public:
  WorkerLink() = default;
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;
  virtual ~WorkerLink() = default;

  /// The hello's bytes; nothing where the worker ended first, with `death` telling how.
  [[nodiscard]] virtual std::optional<std::span<const std::byte>> receive_hello(Death& death) = 0;
  /// Whether another request can be sent before an answer is received.
  [[nodiscard]] virtual bool has_room() = 0;
  /// False where the case is larger than what can be sent. `closely`: the worker runs it from all sides
  /// (guarded_run.h).
  [[nodiscard]] virtual bool send(const Case& test_case, bool closely) = 0;
  /// The oldest answer's bytes, valid until the next send; nothing where the worker ended, or was killed for it.
  [[nodiscard]] virtual std::optional<std::span<const std::byte>> receive(Death& death) = 0;
  /// Whether it can run further cases after this outcome of one.
  [[nodiscard]] virtual bool is_sound_after(const Outcome& outcome) const = 0;
  [[nodiscard]] virtual const LastWords& last_words() const = 0;
  /// The end of what a dead worker printed in its last case.
  [[nodiscard]] virtual std::string last_log() const = 0;
};

}  // namespace qconform
