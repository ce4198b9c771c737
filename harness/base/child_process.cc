#include "harness/base/child_process.h"

#include <dirent.h>
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

namespace qconform {
namespace {

using Variable = ChildProcess::Variable;

struct Kinship {
  pid_t process = 0;
  pid_t parent = 0;
};

// The parent as /proc/PID/stat has it: "PID (NAME) STATE PARENT ...", where the name may hold anything.
pid_t parent_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t name_end = text.rfind(')');
  constexpr std::size_t kToParent = 4;  // ") S "
  if (name_end == std::string::npos || name_end + kToParent >= text.size()) return 0;
  pid_t parent = 0;
  (void)std::from_chars(text.data() + name_end + kToParent, text.data() + text.size(), parent);
  return parent;
}

std::vector<Kinship> all_processes() {
  std::vector<Kinship> found;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return found;
  while (const dirent* entry = readdir(folder)) {
    const std::string_view name(entry->d_name);
    pid_t process = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    if (const pid_t parent = parent_of(std::string(name)); parent > 0) found.push_back({process, parent});
  }
  (void)closedir(folder);
  return found;
}

std::int64_t resident_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  std::int64_t shared = 0;
  return file >> size >> resident >> shared ? (resident - shared) * sysconf(_SC_PAGESIZE) : 0;
}

// What `process` has started, and what that has started, without itself.
std::vector<pid_t> descendants_of(pid_t process) {
  const std::vector<Kinship> all = all_processes();
  std::vector<pid_t> found{process};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Kinship& one : all) {
      if (one.parent == found[i] && std::find(found.begin(), found.end(), one.process) == found.end()) {
        found.push_back(one.process);
      }
    }
  }
  found.erase(found.begin());
  return found;
}

// Bytes that the processes below `process` hold in memory by themselves.
std::int64_t resident_below(pid_t process) {
  std::int64_t bytes = 0;
  for (const pid_t one : descendants_of(process)) bytes += resident_of(one);
  return bytes;
}

// Descriptors of the command's and the guard's side.
struct GuardEnds {
  int input;   // becomes the command's stdin
  int output;  // its stdout
  int errors;  // its stderr
  int life;    // readable, or at its end, when everything is to end
  int report;  // takes the command's status as waitpid gives it: one int
};

constexpr int kNotStarted = 127;  // as shells have it

// A shell that runs one program need not stay: the program's end is then told as it was.
std::string without_waiting_shell(const std::string& command) {
  const bool compound = command.find_first_of("|&;<>()`\n") != std::string::npos;
  const std::string first_word = command.substr(0, command.find(' '));
  const bool sets_variables = first_word.find('=') != std::string::npos;
  return (compound || sets_variables ? "" : "exec ") + command;
}

[[noreturn]] void become(const std::string& command, const std::vector<Variable>& environment, const GuardEnds& ends,
                         const sigset_t& mask) {
  (void)setpgid(0, 0);
  (void)dup2(ends.input, STDIN_FILENO);
  (void)dup2(ends.output, STDOUT_FILENO);
  (void)dup2(ends.errors, STDERR_FILENO);
  (void)close_range(STDERR_FILENO + 1, ~0U, 0);
  const rlimit none{0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)signal(SIGPIPE, SIG_DFL);
  (void)signal(SIGCHLD, SIG_DFL);
  (void)sigprocmask(SIG_SETMASK, &mask, nullptr);
  for (const Variable& variable : environment) (void)setenv(variable.name.c_str(), variable.value.c_str(), 1);
  (void)execl("/bin/sh", "sh", "-c", without_waiting_shell(command).c_str(), nullptr);
  _exit(kNotStarted);
}

// Until there is none left: a process that is killed leaves its children to this one.
void kill_descendants(pid_t command) {
  (void)kill(-command, SIGKILL);
  for (;;) {
    for (const pid_t process : descendants_of(getpid())) (void)kill(process, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    if (waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
    constexpr int kPause = 1;  // ms
    (void)poll(nullptr, 0, kPause);
  }
}

// The command's status once it has ended; it stays a zombie, so that its number remains its own.
bool has_ended(pid_t command, int& status) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(command), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return false;
  }
  constexpr int kExitShift = 8;
  status = info.si_code == CLD_EXITED ? info.si_status << kExitShift : info.si_status;
  return true;
}

// The process between qconform and a command, which outlives neither: runs `command` in /bin/sh, in a process group of
// its own, and when it has ended, or life says so, kills what it has started.
[[noreturn]] void guard_command(const std::string& command, const std::vector<Variable>& environment,
                                const GuardEnds& ends) {
  (void)setpgid(0, 0);
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t children;
  sigset_t before;
  (void)sigemptyset(&children);
  (void)sigaddset(&children, SIGCHLD);
  (void)sigprocmask(SIG_BLOCK, &children, &before);
  (void)signal(SIGPIPE, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = [](int) {};
  (void)sigaction(SIGCHLD, &action, nullptr);
  const pid_t child = fork();
  if (child < 0) _exit(kNotStarted);
  if (child == 0) become(command, environment, ends, before);
  // Nothing that qconform has open may stay open through this process.
  (void)dup2(ends.life, STDIN_FILENO);
  (void)dup2(ends.report, STDOUT_FILENO);
  (void)close_range(STDERR_FILENO, ~0U, 0);
  int status = 0;
  pollfd life{STDIN_FILENO, POLLIN, 0};
  while (!has_ended(child, status)) {
    if (ppoll(&life, 1, nullptr, &before) > 0) break;
  }
  const bool told = has_ended(child, status);
  if (told) (void)!::write(STDOUT_FILENO, &status, sizeof status);
  kill_descendants(child);
  _exit(0);
}

constexpr std::size_t kLogKept = 4096;
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

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::string& command, Output output,
                                                          const std::vector<Variable>& environment) {
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
  if (guard == 0) guard_command(command, environment, ends);
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
  if (log_.size() > kLogKept) log_.erase(0, log_.size() - kLogKept);
}

void ChildProcess::read_status() {
  // A guard that ends without a word could not start the command.
  constexpr int kExitShift = 8;
  int status = kNotStarted << kExitShift;
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
  return resident_below(guard_) + (counted_ > 0 ? resident_of(counted_) + resident_below(counted_) : 0);
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
