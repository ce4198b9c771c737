#include "harness/base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "harness/base/pipe.h"
#include "harness/base/process_guard.h"
#include "harness/base/process_tree.h"

namespace qconform::backend {
namespace {

constexpr std::size_t kLogShown = 4096;
constexpr std::size_t kBlock = std::size_t{1} << 16;
constexpr int kPipeSize = 1 << 20;
// What one visit takes from a pipe at most: who writes without end must not keep qconform from looking around.
constexpr std::size_t kOneVisit = std::size_t{16} << 20;

// This side's end: larger than usual, and never waited for.
int prepared(Descriptor& end) {
  (void)fcntl(end.get(), F_SETPIPE_SZ, kPipeSize);
  (void)fcntl(end.get(), F_SETFL, O_NONBLOCK);
  return end.take();
}

void close_and_forget(int& descriptor) {
  if (descriptor >= 0) (void)close(std::exchange(descriptor, -1));
}

// Appends what is there, and closes the descriptor at its end.
void read_into(int& descriptor, std::string& text) {
  std::array<char, kBlock> block;
  for (std::size_t taken = 0; descriptor >= 0 && taken < kOneVisit;) {
    const ssize_t count = ::read(descriptor, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return close_and_forget(descriptor);
    text.append(block.data(), static_cast<std::size_t>(count));
    taken += static_cast<std::size_t>(count);
  }
}

// Keeps a pipe without readers from ending qconform, for as long as it lives, in this thread.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    (void)sigemptyset(&pipe_);
    (void)sigaddset(&pipe_, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  ~NoPipeSignal() {
    const timespec at_once{};
    (void)sigtimedwait(&pipe_, nullptr, &at_once);
    (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::string& command, Output output) {
  const auto failed = []() {
    return fail("--backend", "cannot start a process: " + std::generic_category().message(errno));
  };
  Pipe input;
  Pipe answers;
  Pipe errors;
  Pipe life;
  Pipe report;
  for (Pipe* pipe : {&input, &answers, &errors, &life, &report}) {
    if (!pipe->open()) return failed();
  }
  const GuardEnds ends{input.read.get(), output == Output::piped ? answers.write.get() : errors.write.get(),
                       errors.write.get(), life.read.get(), report.write.get()};
  const pid_t guard = fork();
  if (guard < 0) return failed();
  if (guard == 0) guard_command(command, ends);
  std::unique_ptr<ChildProcess> child(new ChildProcess(output));
  child->guard_ = guard;
  if (output == Output::piped) {
    child->input_ = prepared(input.write);
    child->output_ = prepared(answers.read);
  }
  child->errors_ = prepared(errors.read);
  child->life_ = life.write.take();
  child->report_ = prepared(report.read);
  return child;
}

ChildProcess::~ChildProcess() {
  {
    // Written and not only closed: other children of qconform may hold the same pipe.
    const NoPipeSignal quiet;
    (void)!::write(life_, "", 1);
  }
  for (int* descriptor : {&life_, &input_, &output_, &errors_, &report_}) close_and_forget(*descriptor);
  while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void ChildProcess::write(std::string_view& to_send) {
  const NoPipeSignal quiet;
  while (input_ >= 0 && !to_send.empty()) {
    const ssize_t count = ::write(input_, to_send.data(), to_send.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return close_and_forget(input_);
    to_send.remove_prefix(static_cast<std::size_t>(count));
  }
}

void ChildProcess::read_log() {
  read_into(errors_, log_);
  if (log_.size() > kLogShown) log_.erase(0, log_.size() - kLogShown);
}

void ChildProcess::read_status() {
  // A guard that ends without a word could not start the command.
  constexpr int kNotStarted = 127 << 8;
  int status = kNotStarted;
  if (report_ < 0 || (::read(report_, &status, sizeof status) < 0 && errno == EAGAIN)) return;
  status_ = status;
  close_and_forget(report_);
}

void ChildProcess::exchange(std::string_view& to_send, std::string& received, std::chrono::milliseconds patience) {
  // Closed ones are -1, which poll passes over.
  std::array<pollfd, 4> ends{pollfd{output_, POLLIN, 0}, pollfd{errors_, POLLIN, 0}, pollfd{report_, POLLIN, 0},
                             pollfd{to_send.empty() ? -1 : input_, POLLOUT, 0}};
  (void)poll(ends.data(), ends.size(), static_cast<int>(patience.count()));
  write(to_send);
  // First the status: what was written before it is then there to be read.
  read_status();
  read_into(output_, received);
  read_log();
}

std::int64_t ChildProcess::resident() const {
  return resident_below(guard_);
}

const std::string& ChildProcess::log() {
  read_log();
  return log_;
}

void ChildProcess::forget_log() {
  read_log();
  log_.clear();
}

}  // namespace qconform::backend
