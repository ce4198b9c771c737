#include "harness/bench/participant.h"

#include <sys/wait.h>

#include <chrono>
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

}  // namespace qconform::bench
