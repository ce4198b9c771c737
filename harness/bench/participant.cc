#include "harness/bench/participant.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "harness/backends/sandbox/message.h"
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
  (void)std::fflush(nullptr);
  const pid_t parent = getpid();
  self->process_ = fork();
  if (self->process_ < 0) return fail("bench", "cannot start a process");
  if (self->process_ == 0) {
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    run_participant(open, test_case, place, self->channel_);
  }
  QCONFORM_TRY(self->hear_start());
  return self;
}

Participant::~Participant() {
  if (process_ <= 0) return;
  (void)kill(-process_, SIGKILL);
  (void)kill(process_, SIGKILL);
  (void)waitpid(process_, nullptr, 0);
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
  while (process_ > 0) {
    if (wait_for_ring(channel_.bells->answers, answers_, std::chrono::milliseconds(50))) {
      ++answers_;
      return channel_.answer.view(channel_.bells->answer_bytes);
    }
    int status = 0;
    if (waitpid(process_, &status, WNOHANG) == process_) {
      ending_ = ending_of(status);
    } else if (Clock::now() > deadline) {
      (void)kill(-process_, SIGKILL);
      (void)kill(process_, SIGKILL);
      (void)waitpid(process_, &status, 0);
      ending_ = outcome::TimedOut{patience_};
    } else {
      continue;
    }
    process_ = -1;
    ready_ = false;
  }
  return std::nullopt;
}

std::optional<Bytes> Participant::ask(double request) {
  if (process_ <= 0) return std::nullopt;
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

}  // namespace qconform::bench
