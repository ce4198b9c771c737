#include "harness/backends/process_backend.h"

#include <onnx/onnx_pb.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "harness/onnx/protobuf_file.h"
#include "harness/onnx/tensor_proto.h"

namespace qconform::backend {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kSlice(20);
constexpr milliseconds kBetweenLooksAtMemory(50);
// Time for a process that has closed its stdout to end by itself, so that its status is known.
constexpr std::chrono::seconds kGrace(1);

Outcome outcome_of_end(int status) {
  if (WIFSIGNALED(status)) return outcome::Crashed{WTERMSIG(status), strsignal(WTERMSIG(status))};
  return outcome::Exited{WEXITSTATUS(status)};
}

class Remote final : public PreparedCase {
 public:
  Remote(Worker& worker, const Case& test_case) : worker_(worker), test_case_(test_case) {}
  void run(OutputSink& sink) override {
    worker_.start(test_case_);
    Outcome outcome = worker_.finish();
    const auto* produced = std::get_if<outcome::Produced>(&outcome);
    if (produced == nullptr) return sink.refuse(std::move(outcome));
    copy_outputs(*produced, sink);
  }

 private:
  Worker& worker_;
  const Case& test_case_;
};

// Names the signal from outside, or the stall, that may have ended a process; empty where it ended itself.
std::string doubt_about(const Outcome& outcome) {
  if (std::holds_alternative<outcome::TimedOut>(outcome)) return "no answer in time";
  const auto* crash = std::get_if<outcome::Crashed>(&outcome);
  const auto* exit = std::get_if<outcome::Exited>(&outcome);
  // A shell that waits for the command tells its signal so.
  constexpr int kShellsSignal = 128;
  const int number = crash != nullptr ? crash->signal : exit != nullptr ? exit->status - kShellsSignal : 0;
  for (const int outside : {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM}) {
    if (number == outside) return std::string("ended by SIG") + sigabbrev_np(number);
  }
  return "";
}

}  // namespace

void ProcessBackend::start(const Case& test_case) {
  under_way_ = &test_case;
  begin_run(test_case);
}

Outcome ProcessBackend::finish() {
  Outcome first = end_run();
  std::string doubt = doubt_about(first);
  if (doubt.empty()) return first;
  begin_run(*under_way_);
  Outcome second = end_run();
  if (doubt_about(second).empty()) second.lost = std::move(doubt);
  return second;
}

Preparation ProcessBackend::prepare(const Case& test_case) {
  return std::make_unique<Remote>(*this, test_case);
}

Outcome ProcessBackend::broken(const std::string& how) {
  return outcome::BrokenInterface{"broke the protocol: " + how};
}

Outcome ProcessBackend::wait_for(ChildProcess& child, Conversation& conversation, const Look& look, double seconds,
                                 std::int64_t at_rest) const {
  const auto begun = Clock::now();
  const auto deadline = begun + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  auto look_at_memory = begun + kSlice;
  std::optional<Clock::time_point> closed;
  for (;;) {
    child.exchange(conversation.to_send, conversation.received, kSlice);
    if (auto found = look(conversation.received)) return std::move(*found);
    if (child.status()) return outcome_of_end(*child.status());
    const auto now = Clock::now();
    if (child.output_closed() && !closed) closed = now;
    if (closed && now - *closed > kGrace) return broken("closed its stdout without an answer");
    if (now > deadline) return outcome::TimedOut{seconds};
    if (limits_.memory <= 0 || now < look_at_memory) continue;
    if (child.resident() - at_rest > limits_.memory) return outcome::OutOfMemory{limits_.memory};
    look_at_memory = now + kBetweenLooksAtMemory;
  }
}

Result<Tensor> ProcessBackend::output_from(std::string_view bytes) {
  onnx::TensorProto proto;
  QCONFORM_TRY(parse_message(bytes, proto));
  return tensor_from_proto(proto, std::nullopt);
}

}  // namespace qconform::backend
