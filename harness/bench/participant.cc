#include "harness/bench/participant.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <new>

#include "harness/backends/sandbox/message.h"
#include "harness/base/futex.h"
#include "harness/bench/turn.h"

namespace qconform::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::span<const std::byte>;

template <typename Plain>
std::optional<Plain> plain(const std::optional<Bytes>& bytes) {
  if (!bytes || bytes->size() != sizeof(Plain)) return std::nullopt;
  Plain value;
  std::memcpy(&value, bytes->data(), sizeof value);
  return value;
}

Outcome ending_of(int status) {
  if (!WIFSIGNALED(status)) return outcome::Exited{WEXITSTATUS(status)};
  return outcome::Crashed{WTERMSIG(status), strsignal(WTERMSIG(status))};
}

}  // namespace

Result<std::unique_ptr<Participant>> Participant::start(const OpenBackend& open, const Case& test_case,
                                                        const Place& place) {
  std::unique_ptr<Participant> self(new Participant);
  self->patience_ = place.patience;
  self->process_ =
      ForkedProcess(ForkedProcess::Group::own, [&] { run_participant(open, test_case, place, self->channel_); });
  if (!self->process_.is_running()) return fail("bench", "cannot start a process");
  QCONFORM_TRY(self->hear_start());
  return self;
}

Result<void> Participant::hear_start() {
  const auto bytes = receive();
  const auto hello = bytes ? decode_hello(*bytes) : std::nullopt;
  if (!hello) return fail("bench", "a backend's process ended while it was opened");
  if (!hello->error.empty()) return fail("", hello->error);
  info_ = hello->info;
  if (const auto readiness = plain<Readiness>(ask(kAskReadiness))) {
    ready_ = readiness->ready;
    setting_ = readiness->setting;
  }
  return {};
}

std::optional<Bytes> Participant::receive() {
  const auto deadline = Clock::now() + std::chrono::duration<double>(patience_);
  while (process_.is_running()) {
    if (wait_for_ring(channel_.bells->answers, answers_, std::chrono::milliseconds(50))) {
      ++answers_;
      return channel_.answer.view(channel_.bells->answer_bytes);
    }
    if (const auto status = process_.poll()) {
      ending_ = ending_of(*status);
    } else if (Clock::now() > deadline) {
      process_.end();
      ending_ = outcome::TimedOut{patience_};
    } else {
      continue;
    }
    ready_ = false;
  }
  return std::nullopt;
}

std::optional<Bytes> Participant::ask(double request) {
  if (!process_.is_running()) return std::nullopt;
  const auto memory = channel_.request.reserve(sizeof request);
  if (memory.size() == sizeof request) std::memcpy(memory.data(), &request, sizeof request);
  ring(channel_.bells->requests);
  return receive();
}

std::optional<Turn> Participant::take_turn(double seconds) {
  if (!ready_) return std::nullopt;
  return plain<Turn>(ask(seconds));
}

Outcome Participant::outcome() {
  const auto bytes = ask(kAskOutcome);
  if (ending_) return *ending_;
  if (auto said = bytes ? decode_outcome(*bytes) : std::nullopt) return std::move(*said);
  return outcome::Crashed{0, "the answer was damaged"};
}

namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

using Clock = std::chrono::steady_clock;

constexpr std::size_t kGrowth = std::size_t{1} << 20;

}  // namespace

SharedBlock::SharedBlock() : file_(memfd_create("qconform", MFD_CLOEXEC)) {
  if (file_ < 0) throw std::bad_alloc();
  void* memory = mmap(nullptr, kLargest, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) {
    (void)close(file_);
    throw std::bad_alloc();
  }
  memory_ = static_cast<std::byte*>(memory);
}

SharedBlock::~SharedBlock() {
  (void)munmap(memory_, kLargest);
  (void)close(file_);
}

std::span<std::byte> SharedBlock::reserve(std::size_t bytes) {
  if (bytes > kLargest) return {};
  if (bytes > size_) {
    const std::size_t size = (bytes + kGrowth - 1) / kGrowth * kGrowth;
    if (ftruncate(file_, static_cast<off_t>(size)) != 0) return {};
    size_ = size;
  }
  return {memory_, bytes};
}

std::span<const std::byte> SharedBlock::view(std::size_t bytes) const {
  if (bytes > size_) {
    struct stat status {};
    if (fstat(file_, &status) != 0 || bytes > static_cast<std::size_t>(status.st_size)) return {};
  }
  return {memory_, bytes};
}

void SharedBlock::make_read_only() {
  (void)mprotect(memory_, kLargest, PROT_READ);
}

void ring(std::atomic<std::uint32_t>& bell) {
  bell.fetch_add(1, std::memory_order_release);
  wake_all(bell);
}

bool wait_for_ring(const std::atomic<std::uint32_t>& bell, std::uint32_t seen, std::chrono::nanoseconds patience) {
  const auto start = Clock::now();
  while (bell.load(std::memory_order_acquire) == seen) {
    const auto left = patience - (Clock::now() - start);
    if (left <= std::chrono::nanoseconds::zero()) return false;
    sleep_while(bell, seen, left);
  }
  return true;
}

WorkerChannel::WorkerChannel() {
  void* memory = mmap(nullptr, sizeof(Doorbells), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  bells = new (memory) Doorbells();
}

WorkerChannel::~WorkerChannel() {
  (void)munmap(bells, sizeof(Doorbells));
}

}  // namespace qconform::bench
