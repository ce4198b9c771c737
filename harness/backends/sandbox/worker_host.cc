#include "harness/backends/sandbox/worker_host.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string>

#include "harness/backends/sandbox/channel.h"
#include "harness/base/error.h"
#include "harness/base/process.h"

namespace qconform {
namespace {

constexpr std::chrono::nanoseconds kFirstSlice = std::chrono::milliseconds(1);
constexpr std::chrono::nanoseconds kBetweenLooks = std::chrono::milliseconds(25);
constexpr std::chrono::nanoseconds kLongestSlice = std::chrono::milliseconds(20);
constexpr std::int64_t kLargestLog = std::int64_t{1} << 20;
constexpr double kScheduledSeconds = 60;  ///< for a worker that has something to do to begin it

// AddressSanitizer keeps what has been freed, up to its option quarantine_size_mb: the library has not taken that.
constexpr std::int64_t kKeptBySanitizer = kCanLimitAddressSpace ? 0 : std::int64_t{256} << 20;

// A backend that prints without end must not fill the memory.
void bound_log(int log) {
  struct stat status {};
  if (fstat(log, &status) == 0 && status.st_size > kLargestLog) (void)ftruncate(log, 0);
}

}  // namespace

WorkerHost::WorkerHost(ForkServer& server, const SandboxLimits& limits)
    : limits_(limits), channel_(limits.slot_bytes), log_(memfd_create("qconform-log", MFD_CLOEXEC)) {
  if (log_ < 0) throw MachineFailure("cannot make a log for a worker process", errno);
  (void)fcntl(log_, F_SETFL, O_APPEND);
  process_ = server.start(std::array{channel_.file(), log_});
  if (process_.is_running()) return;
  const int error = errno;
  (void)close(log_);
  throw MachineFailure("cannot start a worker process", error);
}

ForkServer WorkerHost::server_of(OpenBackend open, const SandboxLimits& limits) {
  return ForkServer([open = std::move(open), memory = limits.memory](std::span<const int> files) {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)dup2(nothing, STDIN_FILENO);
    (void)close(nothing);
    CaseChannel channel = CaseChannel::of_file(files[0]);
    run_worker(open, channel, files[1], memory);
  });
}

ForkServer WorkerHost::server_of(std::vector<std::string> command) {
  return ForkServer([command = std::move(command)](std::span<const int> files) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--channel", std::to_string(files[0]), "--log", std::to_string(files[1])});
    become_program(std::move(words), files, files[1]);
  });
}

WorkerHost::~WorkerHost() {
  process_.end();  // it writes to the log
  (void)close(log_);
}

bool WorkerHost::send(const Case& test_case, RunMode mode) {
  channel_.release(sent_);  // an earlier case had the same slot
  const std::size_t size = encoded_size(test_case);
  const auto memory = channel_.request_memory(sent_, size);
  if (!memory) return false;
  encode(test_case, *memory);
  channel_.post(sent_++, size, mode);
  return true;
}

std::optional<std::span<const std::byte>> WorkerHost::receive_hello(Death& death) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(kOpenTimes * limits_.timeout);
  while (!channel_.wait_for_hello(kLongestSlice)) {
    if (has_ended(death)) return std::nullopt;
    death.timed_out = Clock::now() > deadline;
    if (!death.timed_out) continue;
    death.status = process_.end();
    return std::nullopt;
  }
  at_rest_ = memory();
  return channel_.answer(0);
}

std::optional<std::span<const std::byte>> WorkerHost::receive(Death& death) {
  std::optional<Clock::time_point> waiting_since;
  for (auto slice = kFirstSlice;; slice = std::min(slice * 3 / 2, kLongestSlice)) {
    const bool is_there = channel_.wait_for_answer(received_, sent_, slice);
    const bool is_sound = channel_.is_sound(received_, sent_);
    if (is_there && is_sound) {
      if (const auto bytes = channel_.answer(received_++)) return bytes;
    }
    death.damaged = is_there || !is_sound;
    if (!waiting_since) waiting_since = Clock::now();
    if (!death.damaged && has_ended(death)) return last_answer();
    if (death.damaged || is_beyond_limits(*waiting_since, death)) {
      death.status = process_.end();
      return std::nullopt;
    }
    bound_log(log_);
  }
}

// A worker that answers and ends may do both between two looks: an exception that leaves exit() is one to answer with.
std::optional<std::span<const std::byte>> WorkerHost::last_answer() {
  const bool is_there = channel_.wait_for_answer(received_, sent_, std::chrono::nanoseconds(0));
  if (!is_there || !channel_.is_sound(received_, sent_)) return std::nullopt;
  return channel_.answer(received_++);
}

MemoryInUse WorkerHost::memory() const {
  std::ifstream file("/proc/" + std::to_string(process_.id()) + "/statm");
  std::int64_t pages = 0;
  file >> pages;
  return {pages * sysconf(_SC_PAGESIZE), resident_of(process_.id()) + resident_below(process_.id()) +
                                             memory_files_of(process_.id(), std::array{channel_.file(), log_})};
}

// A look at all descendants costs milliseconds: it is taken now and then, and before an end.
bool WorkerHost::is_beyond_limits(Clock::time_point waiting_since, Death& death) {
  const bool overdue = is_overdue(waiting_since);
  if (!overdue && Clock::now() < next_look_) return false;
  next_look_ = Clock::now() + kBetweenLooks;
  if (!overdue) note_activity();
  const MemoryInUse now = memory();
  death.out_of_memory = limits_.memory > 0 && now.resident - at_rest_.resident > limits_.memory + kKeptBySanitizer;
  death.timed_out = !death.out_of_memory && overdue;
  if (death.timed_out && now.address_space - at_rest_.address_space > limits_.memory / 8 * 7) {
    death.out_of_memory = kCanLimitAddressSpace && limits_.memory > 0;
  }
  death.had_no_chance = death.timed_out && had_no_chance();
  return death.out_of_memory || death.timed_out;
}

// Notes the processor time that the process had taken when it began the run that is waited for, or soon afterwards.
void WorkerHost::note_activity() {
  Clock::time_point begun;
  if (!channel_.is_under_way(received_, begun) || begun == noted_) return;
  noted_ = begun;
  if (const auto activity = activity_of(process_.id())) cpu_seconds_ = activity->cpu_seconds;
}

// Whether the machine is to blame for a run that takes too long: the process was kept from a processor, a disk or both.
// One that computed for half of the time hangs by itself, and so does one whose threads all sleep.
bool WorkerHost::had_no_chance() const {
  const auto activity = activity_of(process_.id());
  return !activity || (!activity->sleeps && activity->cpu_seconds - cpu_seconds_ < limits_.timeout / 2);
}

bool WorkerHost::has_ended(Death& death) {
  if (!end_) end_ = process_.poll();
  if (!end_) return false;
  // Programs that stand between tell a signal as shells do.
  const int told = WIFEXITED(*end_) ? WEXITSTATUS(*end_) - 128 : 0;
  death.status = told > 0 && told < NSIG && channel_.last_words().signal == 0 ? told : *end_;
  return true;
}

bool WorkerHost::is_overdue(Clock::time_point waiting_since) const {
  Clock::time_point begun;
  const std::chrono::duration<double> limit(limits_.timeout);
  if (channel_.is_under_way(received_, begun)) return Clock::now() - begun > limit;
  return Clock::now() - waiting_since > limit + std::chrono::duration<double>(kScheduledSeconds);
}

}  // namespace qconform
