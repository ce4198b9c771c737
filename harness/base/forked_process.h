// Processes forked from this one: they end with their owner, and when this process is gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/pipe.h"

namespace qconform {

class ForkedProcess {
 public:
  enum class Group {
    own,     ///< all that it starts ends with it, in any session; a terminal's signals do not reach it
    shared,  ///< suspended and resumed with this process; leaves SIGINT, SIGTERM and SIGHUP to it
  };

  ForkedProcess() = default;
  /// Forks. `work` runs in the child, which then leaves with status 0, without destructors or exit handlers: they
  /// belong to this process. An exception of `work` ends there too, with status kThrew. Of `own` a guard stands
  /// between the two processes: it kills what the child has started when that ends, is ended, or this process is gone.
  /// is_running() is false where the system has no more processes; errno says why.
  ForkedProcess(Group group, const std::function<void()>& work);
  static constexpr int kThrew = 70;
  ForkedProcess(ForkedProcess&& other) noexcept { *this = std::move(other); }
  ForkedProcess& operator=(ForkedProcess&& other) noexcept;
  ~ForkedProcess() { end(); }

  /// Whether there is one whose end nobody has seen.
  [[nodiscard]] bool is_running() const { return process_ > 0; }
  [[nodiscard]] pid_t id() const { return process_; }
  /// Readable, or at its end, when the child has ended; -1 of `shared`.
  [[nodiscard]] int end_file() const { return report_.get(); }

  // Each gives the status as waitpid does, and sees its end. In a fork of the process that started it they do nothing:
  // there it is somebody else's.

  /// Nothing while it runs.
  [[nodiscard]] std::optional<int> poll();
  int wait();
  /// Kills it first, of `own` with all that it has started.
  int end();

 private:
  void start_guarded(const std::function<void()>& work);
  [[nodiscard]] bool is_mine() const;
  int take_report();

  Group group_ = Group::own;
  pid_t owner_ = -1;    ///< who started it
  pid_t process_ = -1;  ///< the one that does the work
  pid_t guard_ = -1;
  Descriptor life_;    ///< to the guard: a byte, or the end, means to end everything
  Descriptor report_;  ///< from the guard: the status of the child
};

/// Makes this process the program `words`, found by PATH, whose stdin is empty, whose stdout and stderr go to `log`,
/// and which inherits `files` and no others: for the work of a fork. Where there is no such program, says so and exits
/// with status 127.
[[noreturn]] void become_program(std::vector<std::string> words, std::span<const int> files, int log);

struct ForkLimits {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  std::uint64_t cpu_seconds = 30;
  /// Bytes beyond what this process has mapped, which a fork inherits: workers' shared memory may be more than any
  /// limit. Not in builds with sanitizers. A process that is itself limited gives no more than it has.
  std::uint64_t address_space = std::uint64_t{8} << 30;

  /// "needs more than the limit of 4 GiB of memory", of what it was not given.
  [[nodiscard]] Error out_of_memory() const;
};

/// Holds this process, a fork, to the limits. Its stderr goes nowhere: a library's report of its crash is none on us.
void confine(const ForkLimits& limits);
/// Whether this process, or one that it was forked from, is confined in its memory.
[[nodiscard]] bool is_memory_confined();

/// Runs `work` in a confined process forked for it, and returns what `work` returns. Errors, all with `field`: that of
/// `work`, with its message and rule; that it needed more memory (rule `limit`); that the process died or gave up.
[[nodiscard]] Result<std::string> run_forked(const std::string& field, const ForkLimits& limits,
                                             const std::function<Result<std::string>()>& work);

/// Not in a build whose sanitizer maps terabytes of addresses for its shadow memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCanLimitAddressSpace = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kCanLimitAddressSpace = false;
#else
inline constexpr bool kCanLimitAddressSpace = true;
#endif
#else
inline constexpr bool kCanLimitAddressSpace = true;
#endif

}  // namespace qconform
