#include "harness/base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/base/pipe.h"
#include "harness/base/process_tree.h"

namespace qconform {
namespace {

using Variable = ChildProcess::Variable;

// Descriptors of the command's side.
struct CommandEnds {
  int input;   // becomes the command's stdin
  int output;  // its stdout
  int errors;  // its stderr
};

constexpr int kNotStarted = 127;  // as shells have it

// A shell that runs one program need not stay: the program's end is then told as it was.
std::string without_waiting_shell(const std::string& command) {
  const bool compound = command.find_first_of("|&;<>()`\n") != std::string::npos;
  const std::string first_word = command.substr(0, command.find(' '));
  const bool sets_variables = first_word.find('=') != std::string::npos;
  return (compound || sets_variables ? "" : "exec ") + command;
}

[[noreturn]] void become(const std::string& command, const std::vector<Variable>& environment,
                         const CommandEnds& ends) {
  (void)dup2(ends.input, STDIN_FILENO);
  (void)dup2(ends.output, STDOUT_FILENO);
  (void)dup2(ends.errors, STDERR_FILENO);
  close_all_but({});
  const rlimit none{0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)signal(SIGPIPE, SIG_DFL);
  (void)signal(SIGCHLD, SIG_DFL);
  for (const Variable& variable : environment) (void)setenv(variable.name.c_str(), variable.value.c_str(), 1);
  (void)execl("/bin/sh", "sh", "-c", without_waiting_shell(command).c_str(), nullptr);
  _exit(kNotStarted);
}

constexpr std::size_t kLogKept = 4096;
constexpr std::size_t kBlock = std::size_t{1} << 16;
constexpr int kPipeSize = 1 << 20;
// Bytes that one visit takes from a pipe at most: a child that writes without end must not keep qconform from its other
// work.
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

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::string& command, Output output,
                                                          const std::vector<Variable>& environment) {
  const auto failed = []() {
    return fail("--backend", "cannot start a process: " + std::generic_category().message(errno));
  };
  Pipe input;
  Pipe answers;
  Pipe errors;
  for (Pipe* pipe : {&input, &answers, &errors}) {
    if (!pipe->open()) return failed();
  }
  const CommandEnds ends{input.read.get(), output == Output::piped ? answers.write.get() : errors.write.get(),
                         errors.write.get()};
  std::unique_ptr<ChildProcess> child(new ChildProcess(output));
  child->process_ = ForkedProcess(ForkedProcess::Group::own, [&] { become(command, environment, ends); });
  if (!child->process_.is_running()) return failed();
  if (output == Output::piped) {
    child->input_ = prepared(input.write);
    child->output_ = prepared(answers.read);
  }
  child->errors_ = prepared(errors.read);
  return child;
}

ChildProcess::~ChildProcess() {
  process_.end();
  for (int* descriptor : {&input_, &output_, &errors_}) close_and_forget(*descriptor);
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
  if (log_.size() > kLogKept) log_.erase(0, log_.size() - kLogKept);
}

void ChildProcess::exchange(std::string_view& to_send, std::string& received, std::chrono::milliseconds patience) {
  // Closed ones are -1, which poll passes over.
  std::array<pollfd, 4> ends{pollfd{output_, POLLIN, 0}, pollfd{errors_, POLLIN, 0},
                             pollfd{process_.end_file(), POLLIN, 0}, pollfd{to_send.empty() ? -1 : input_, POLLOUT, 0}};
  (void)poll(ends.data(), ends.size(), static_cast<int>(patience.count()));
  write(to_send);
  // First the status: what was written before it is then there to be read.
  if (!status_) status_ = process_.poll();
  read_into(output_, received);
  read_log();
}

std::int64_t ChildProcess::resident() const {
  return (process_.is_running() ? resident_of(process_.id()) + resident_below(process_.id()) : 0) +
         (counted_ > 0 ? resident_of(counted_) + resident_below(counted_) : 0);
}

const std::string& ChildProcess::log() {
  read_log();
  return log_;
}

void ChildProcess::forget_log() {
  read_log();
  log_.clear();
}

}  // namespace qconform
