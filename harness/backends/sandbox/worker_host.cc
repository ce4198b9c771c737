#include "harness/backends/sandbox/worker_host.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "harness/backends/sandbox/message.h"
#include "harness/base/forked_process.h"

namespace qconform {
namespace {

constexpr std::chrono::nanoseconds kFirstSlice = std::chrono::milliseconds(1);
constexpr std::chrono::nanoseconds kLongestSlice = std::chrono::milliseconds(20);
constexpr std::int64_t kLargestLog = std::int64_t{1} << 20;
constexpr std::chrono::seconds kOpenTime(120);  ///< a library under an emulator
constexpr double kScheduledSeconds = 60;        ///< for a worker that has something to do to begin it

MemoryInUse memory_of(pid_t process) {
  std::array<char, 64> path{};
  (void)std::snprintf(path.data(), path.size(), "/proc/%d/statm", static_cast<int>(process));
  std::FILE* file = std::fopen(path.data(), "re");
  if (file == nullptr) return {};
  long long size = 0;
  long long resident = 0;
  long long shared = 0;
  const int read = std::fscanf(file, "%lld %lld %lld", &size, &resident, &shared);
  (void)std::fclose(file);
  if (read != 3) return {};
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return {size * page, (resident - shared) * page};
}

// A backend that prints without end must not fill the memory.
void bound_log(int log) {
  struct stat status {};
  if (fstat(log, &status) == 0 && status.st_size > kLargestLog) (void)ftruncate(log, 0);
}

}  // namespace

WorkerHost::WorkerHost(const SandboxLimits& limits)
    : limits_(limits), channel_(limits.slot_bytes), log_(memfd_create("qconform-log", MFD_CLOEXEC)) {
  (void)fcntl(log_, F_SETFL, O_APPEND);
}

WorkerHost::WorkerHost(const OpenBackend& open, const SandboxLimits& limits) : WorkerHost(limits) {
  process_ = ForkedProcess(ForkedProcess::Group::own, [&] { run_worker(open, channel_, log_, limits.memory); });
}

WorkerHost::WorkerHost(const std::vector<std::string>& command, const SandboxLimits& limits) : WorkerHost(limits) {
  process_ = ForkedProcess(ForkedProcess::Group::own, [&] { become(command); });
}

void WorkerHost::become(std::vector<std::string> command) {
  command.insert(command.end(), {"--channel", std::to_string(channel_.file()), "--log", std::to_string(log_)});
  become_program(std::move(command), std::array{channel_.file(), log_}, log_);
}

WorkerHost::~WorkerHost() {
  process_.end();  // it writes to the log
  (void)close(log_);
}

bool WorkerHost::send(const Case& test_case, bool closely) {
  channel_.release(sent_);  // what its slot held before
  const std::size_t size = encoded_size(test_case);
  const auto memory = channel_.request_memory(sent_, size);
  if (!memory) return false;
  encode(test_case, *memory);
  channel_.post(sent_++, size, closely);
  return true;
}

std::optional<std::span<const std::byte>> WorkerHost::receive_hello(Death& death) {
  const auto deadline = Clock::now() + kOpenTime;
  while (!channel_.wait_for_hello(kLongestSlice)) {
    if (has_ended(death)) return std::nullopt;
    death.timed_out = Clock::now() > deadline;
    if (!death.timed_out) continue;
    death.status = process_.end();
    return std::nullopt;
  }
  at_rest_ = memory_of(process_.id());
  return channel_.answer(0);
}

std::optional<std::span<const std::byte>> WorkerHost::receive(Death& death) {
  std::optional<Clock::time_point> waiting_since;
  for (auto slice = kFirstSlice;; slice = std::min(slice * 3 / 2, kLongestSlice)) {
    if (channel_.wait_for_answer(received_, sent_, slice)) return channel_.answer(received_++);
    if (!waiting_since) waiting_since = Clock::now();
    if (has_ended(death)) return std::nullopt;
    const MemoryInUse memory = memory_of(process_.id());
    death.out_of_memory = limits_.memory > 0 && memory.resident - at_rest_.resident > limits_.memory;
    death.timed_out = !death.out_of_memory && is_overdue(*waiting_since);
    if (death.timed_out && memory.address_space - at_rest_.address_space > limits_.memory / 8 * 7) {
      death.out_of_memory = kCanLimitAddressSpace && limits_.memory > 0;
    }
    if (death.out_of_memory || death.timed_out) {
      death.status = process_.end();
      return std::nullopt;
    }
    bound_log(log_);
  }
}

bool WorkerHost::has_ended(Death& death) {
  const auto status = process_.poll();
  if (status) death.status = *status;
  return status.has_value();
}

bool WorkerHost::is_overdue(Clock::time_point waiting_since) const {
  Clock::time_point begun;
  const std::chrono::duration<double> limit(limits_.timeout);
  if (channel_.is_under_way(received_, begun)) return Clock::now() - begun > limit;
  return Clock::now() - waiting_since > limit + std::chrono::duration<double>(kScheduledSeconds);
}

}  // namespace qconform
