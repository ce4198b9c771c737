// A command in a shell, and everything that it starts, as something that can be talked to and ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/forked_process.h"

namespace qconform {

/// Runs below a guard (ForkedProcess): the command ends with all its descendants, those too that have left its process
/// group or lost their parent, when the command ends, with this object, and when qconform is gone.
class ChildProcess {
 public:
  enum class Output {
    piped,   ///< stdin is written and stdout read by exchange()
    logged,  ///< stdin is empty, and stdout goes into the log, like stderr
  };

  struct Variable {
    std::string name;
    std::string value;
  };

  /// `environment` is added to this process's. Errors: no more processes or files.
  [[nodiscard]] static Result<std::unique_ptr<ChildProcess>> start(const std::string& command, Output output,
                                                                   const std::vector<Variable>& environment = {});
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  /// Writes what the command's stdin takes of `to_send` and removes that from its front; appends what has come
  /// from stdout to `received`. Waits up to `patience` for any of it, or for the command's end.
  void exchange(std::string_view& to_send, std::string& received, std::chrono::milliseconds patience);

  /// The command's status as waitpid gives it; nothing while it runs. What it wrote before stays readable.
  [[nodiscard]] std::optional<int> status() const { return status_; }
  /// Whether nothing more can come from stdout.
  [[nodiscard]] bool output_closed() const { return output_mode_ == Output::piped && output_ < 0; }
  /// Bytes that the command and its descendants hold in memory by themselves.
  [[nodiscard]] std::int64_t resident() const;
  /// A process that is no descendant, whose memory counts too, with that of its descendants.
  void count_memory_of(pid_t process) { counted_ = process; }

  /// The end of what came from stderr since forget_log().
  [[nodiscard]] const std::string& log();
  void forget_log();

 private:
  explicit ChildProcess(Output output) : output_mode_(output) {}
  void read_log();
  void write(std::string_view& to_send);

  Output output_mode_;
  ForkedProcess process_;
  pid_t counted_ = -1;  ///< count_memory_of()
  int input_ = -1;      ///< to the command's stdin
  int output_ = -1;     ///< from its stdout
  int errors_ = -1;     ///< from its stderr
  std::optional<int> status_;
  std::string log_;
};

}  // namespace qconform
