// Processes: pipes and words by which they talk, their descent, forks of this process, and commands in a shell.
#pragma once

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"

namespace qconform {

// Pipes with owners, and messages through them.

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

// Sleeping on a word of memory that processes share.

/// Sleeps until another thread or process wakes the sleepers of `word`, at most for `patience`. Returns at once where
/// `word` is not `value`; may also return earlier without a reason.
inline void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                        std::chrono::nanoseconds patience) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const timespec timeout{seconds.count(), static_cast<long>((patience - seconds).count())};
  (void)syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

/// Safe in a signal handler.
inline void wake_all(const std::atomic<std::uint32_t>& word) {
  (void)syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Processes by their descent.

/// Returns all processes below `process`, without itself: its children and theirs in turn, zombies too. Processes whose
/// parent has ended belong to the nearest ancestor that is a subreaper (prctl). While processes end, others may be
/// missing.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t process);

/// Bytes that `process` holds in memory by itself: neither files nor memory that it shares. 0 where it is gone.
[[nodiscard]] std::int64_t resident_of(pid_t process);

/// Tells whether a process computes or waits.
struct ProcessActivity {
  double cpu_seconds = 0;  ///< of all its threads, those included that have ended
  bool sleeps = false;     ///< every thread waits for something other than a processor or a disk, and none is stopped
};
/// Nothing where it is gone.
[[nodiscard]] std::optional<ProcessActivity> activity_of(pid_t process);

/// Bytes of anonymous memory of all processes below `process`. Each page counts in proportion to how many processes
/// share it: a fork takes no memory until it writes.
[[nodiscard]] std::int64_t resident_below(pid_t process);

/// Bytes of files that lie in memory alone (memfd_create) and that `process` has open, without those that `process` was
/// given: `known` are descriptors of this process.
[[nodiscard]] std::int64_t memory_files_of(pid_t process, std::span<const int> known);

/// Kills all that this process has started, and what that has started, until there is nothing left: this process is a
/// subreaper.
void kill_descendants();

/// Closes the descriptors of this process above stderr, but for `kept`.
void close_all_but(std::span<const int> kept);

// Forks of this process.

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
  friend class ForkServer;

  void start_guarded(const std::function<void()>& work);
  /// The life of a guard that `parent` has forked: it forks what works. The files of the guard are none of the child's.
  [[noreturn]] static void stand_guard(pid_t parent, Descriptor life, Descriptor report,
                                       const std::function<void()>& work);
  /// Hears of the guard which process the child is. False where the guard could not fork.
  [[nodiscard]] bool hear_of_child(Descriptor life, Descriptor report);
  [[nodiscard]] bool is_mine() const;
  int take_report();

  Group group_ = Group::own;
  pid_t owner_ = -1;    ///< who started it
  pid_t process_ = -1;  ///< the one that does the work
  pid_t guard_ = -1;    ///< -1 too where a ForkServer started it, which is its parent
  Descriptor life_;     ///< to the guard: a byte, or the end, means to end everything
  Descriptor report_;   ///< from the guard: the status of the child
};

/// A fork of this process, taken while that is small, which forks itself on request: to fork a process that holds
/// gigabytes, and to end the copy, takes tens of milliseconds. What it starts has none of the memory that this process
/// takes later. Ends with this object, and with this process; what it has started ends then too.
class ForkServer {
 public:
  /// Runs in each process that is started, with the files that were sent to it, under numbers of its own.
  using Work = std::function<void(std::span<const int> files)>;

  explicit ForkServer(Work work);
  /// A process with a guard, as of ForkedProcess::Group::own, that has these files and no others above stderr.
  /// is_running() is false where the system has no more processes or files; errno says why. Starts the server, and once
  /// more where somebody has ended it: then what is forked is this process as it is.
  [[nodiscard]] ForkedProcess start(std::span<const int> files);

 private:
  /// At most, that start() sends along.
  static constexpr std::size_t kMostFiles = 4;

  [[nodiscard]] bool begin();
  [[nodiscard]] ForkedProcess request(std::span<const int> files);
  [[noreturn]] void serve(int requests) const;

  Work work_;
  Descriptor requests_;
  ForkedProcess server_;
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

/// Whether ForkLimits::address_space holds. It does not in a build whose sanitizer maps terabytes of addresses for its
/// shadow memory.
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

// A command in a shell, and everything that it starts, as something that can be talked to and ended.

/// Runs below a guard (ForkedProcess): the command ends with all its descendants, those too that have left its process
/// group or lost their parent, when the command ends, with this object, and when qconform is gone.
class ChildProcess {
 public:
  enum class Output {
    piped,   ///< stdin is written and stdout read by exchange()
    logged,  ///< stdin is empty, and stdout goes into the log, like stderr
  };

  struct EnvironmentVariable {
    std::string name;
    std::string value;
  };

  /// `environment` is added to this process's. Errors: no more processes or files.
  [[nodiscard]] static Result<std::unique_ptr<ChildProcess>> start(
      const std::string& command, Output output, const std::vector<EnvironmentVariable>& environment = {});
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
