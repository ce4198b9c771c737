// A process forked from this one: it ends with its owner, and when this process is gone.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

namespace qconform {

class ForkedProcess {
 public:
  enum class Group {
    own,     ///< what it starts ends with it; a terminal's signals do not reach it
    shared,  ///< suspended and resumed with this process; leaves SIGINT and SIGTERM to it
  };

  ForkedProcess() = default;
  /// Forks. `work` runs in the child, which then leaves with status 0, without destructors or exit handlers: they
  /// belong to this process. is_running() is false where the system has no more processes; errno says why.
  ForkedProcess(Group group, const std::function<void()>& work);
  ForkedProcess(ForkedProcess&& other) noexcept;
  ForkedProcess& operator=(ForkedProcess&& other) noexcept;
  ~ForkedProcess() { end(); }

  /// Whether there is one whose end nobody has seen.
  [[nodiscard]] bool is_running() const { return process_ > 0; }
  [[nodiscard]] pid_t id() const { return process_; }

  // Each gives the status as waitpid does, and sees its end.

  /// Nothing while it runs.
  [[nodiscard]] std::optional<int> poll();
  int wait();
  /// Kills it first, of its own group all that it has started.
  int end();

 private:
  Group group_ = Group::own;
  pid_t process_ = -1;
};

}  // namespace qconform
