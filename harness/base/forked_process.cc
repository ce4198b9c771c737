#include "harness/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <new>
#include <system_error>
#include <utility>

namespace qconform {

namespace {

// The life of a fork: nothing that `work` throws may reach the frames that it was copied from.
[[noreturn]] void work_to_the_end(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    _exit(ForkedProcess::kThrew);
  }
  _exit(0);
}

// Signals that a terminal, or a job scheduler, sends to whole groups: the process that started this one answers them.
void ignore_group_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) (void)signal(number, SIG_IGN);
}

// The child's status once it has ended; it stays a zombie, so that its number remains its own.
bool has_ended(pid_t child, int& status) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return false;
  }
  constexpr int kExitShift = 8;
  status = info.si_code == CLD_EXITED ? info.si_status << kExitShift : info.si_status;
  return true;
}

// A handler for signals that only have to end a wait.
void wake_by(int number) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  (void)sigaction(number, &action, nullptr);
}

// Waits until `child` has ended, or `life` says to end it, or `parent` is gone; tells `report` the child's number, then
// its status; ends all that it has started. `waiting`: the signals that are blocked while this process waits.
[[noreturn]] void guard_to_the_end(pid_t child, pid_t parent, int life, int report, const sigset_t& waiting) {
  const int kept[] = {life, report};
  close_all_but(kept);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) (void)::close(file);
  (void)!::write(report, &child, sizeof child);
  int status = 0;
  pollfd end{life, POLLIN, 0};
  while (!has_ended(child, status) && getppid() == parent) {
    if (ppoll(&end, 1, nullptr, &waiting) > 0) break;
  }
  const bool ended_by_itself = has_ended(child, status);
  if (!ended_by_itself) (void)kill(child, SIGKILL);
  while (!has_ended(child, status)) (void)::poll(nullptr, 0, 1);
  kill_descendants();
  (void)!::write(report, &status, sizeof status);
  _exit(0);
}

}  // namespace

ForkedProcess::ForkedProcess(Group group, const std::function<void()>& work) : group_(group), owner_(getpid()) {
  (void)std::fflush(nullptr);  // or the child would write it too
  if (group == Group::own) {
    start_guarded(work);
    return;
  }
  process_ = ::fork();
  if (process_ != 0) return;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != owner_) _exit(0);
  ignore_group_signals();
  work_to_the_end(work);
}

void ForkedProcess::start_guarded(const std::function<void()>& work) {
  Pipe life;
  Pipe report;
  if (!life.open() || !report.open()) return;
  guard_ = ::fork();
  if (guard_ == 0) {
    life.write.close();
    report.read.close();
    stand_guard(owner_, std::move(life.read), std::move(report.write), work);
  }
  if (guard_ < 0) return;
  report.write.close();
  if (hear_of_child(std::move(life.write), std::move(report.read))) return;
  while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) continue;
  errno = EAGAIN;
}

void ForkedProcess::stand_guard(pid_t parent, Descriptor life, Descriptor report, const std::function<void()>& work) {
  (void)setpgid(0, 0);
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
  ignore_group_signals();
  sigset_t woken;
  sigset_t before;
  (void)sigemptyset(&woken);
  for (const int number : {SIGCHLD, SIGUSR2}) (void)sigaddset(&woken, number);
  (void)sigprocmask(SIG_BLOCK, &woken, &before);
  for (const int number : {SIGCHLD, SIGUSR2}) wake_by(number);
  (void)prctl(PR_SET_PDEATHSIG, SIGUSR2);
  const pid_t guard = getpid();  // asked of a child that begins late, the system may tell who adopted it
  const pid_t child = getppid() == parent ? ::fork() : -1;
  if (child == 0) {
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard) _exit(0);
    (void)sigprocmask(SIG_SETMASK, &before, nullptr);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR2}) (void)signal(number, SIG_DFL);
    life.close();
    report.close();
    work_to_the_end(work);
  }
  if (child < 0) _exit(0);
  (void)sigdelset(&before, SIGCHLD);
  (void)sigdelset(&before, SIGUSR2);
  guard_to_the_end(child, parent, life.get(), report.get(), before);
}

bool ForkedProcess::hear_of_child(Descriptor life, Descriptor report) {
  life_ = std::move(life);
  report_ = std::move(report);
  pid_t child = -1;
  if (!read_all_of(report_.get(), &child, sizeof child)) return false;
  process_ = child;
  return true;
}

ForkedProcess& ForkedProcess::operator=(ForkedProcess&& other) noexcept {
  if (this != &other) {
    end();
    group_ = other.group_;
    owner_ = other.owner_;
    process_ = std::exchange(other.process_, -1);
    guard_ = std::exchange(other.guard_, -1);
    life_ = std::move(other.life_);
    report_ = std::move(other.report_);
  }
  return *this;
}

void become_program(std::vector<std::string> words, std::span<const int> files, int log) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (const int file : {STDOUT_FILENO, STDERR_FILENO}) (void)dup2(log, file);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  (void)dup2(nothing, STDIN_FILENO);
  close_all_but(files);
  for (const int file : files) (void)fcntl(file, F_SETFD, 0);
  (void)execvp(arguments[0], arguments.data());
  std::perror(arguments[0]);
  _exit(127);
}

bool ForkedProcess::is_mine() const {
  return process_ > 0 && owner_ == getpid();
}

// A guard that ends without a word was killed, and the child with it.
int ForkedProcess::take_report() {
  int status = SIGKILL;
  (void)read_all_of(report_.get(), &status, sizeof status);
  while (guard_ > 0 && ::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) continue;
  report_.close();
  life_.close();
  process_ = -1;
  return status;
}

std::optional<int> ForkedProcess::poll() {
  if (!is_mine()) return std::nullopt;
  if (group_ == Group::own) {
    pollfd report{report_.get(), POLLIN, 0};
    if (::poll(&report, 1, 0) <= 0) return std::nullopt;
    return take_report();
  }
  int status = 0;
  if (::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
  process_ = -1;
  return status;
}

int ForkedProcess::wait() {
  if (!is_mine()) return 0;
  if (group_ == Group::own) return take_report();
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
  process_ = -1;
  return status;
}

int ForkedProcess::end() {
  if (!is_mine()) return 0;
  if (group_ == Group::shared) (void)::kill(process_, SIGKILL);
  if (group_ == Group::own) {
    // Written and not only closed: a fork of this process may hold the same pipe.
    const NoPipeSignal quiet;
    (void)!::write(life_.get(), "", 1);
    if (guard_ > 0) (void)::kill(guard_, SIGCONT);  // somebody may have stopped it
  }
  return wait();
}

namespace {

// Stands in front of a result that the child writes.
constexpr char kResult = 'r';
constexpr char kError = 'e';

// Bytes of addresses that this process has mapped; 0 where the system does not tell.
std::uint64_t mapped_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Never above what holds already: root's processes might raise it.
void limit(__rlimit_resource resource, std::uint64_t value) {
  rlimit known{};
  if (::getrlimit(resource, &known) == 0) value = std::min<std::uint64_t>(value, known.rlim_max);
  const rlimit both{value, value};
  (void)::setrlimit(resource, &both);
}

bool is_confined = false;

std::string read_all(int descriptor) {
  std::string bytes;
  char block[1 << 16];
  while (true) {
    const ssize_t count = ::read(descriptor, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return bytes;
    bytes.append(block, static_cast<std::size_t>(count));
  }
}

// The rule, which has no line break, on a line of its own.
std::string written_error(const Error& error) {
  return kError + error.rule + '\n' + error.message;
}

tl::unexpected<Error> read_error(const std::string& field, std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size() - 1);
  return fail(field, std::string(bytes.substr(end + 1)), std::string(bytes.substr(0, end)));
}

// The child's life: works, writes what came of it to the pipe, and leaves without running destructors or
// exit handlers, which belong to the parent.
[[noreturn]] void work_and_leave(const ForkLimits& limits, const std::function<Result<std::string>()>& work,
                                 int descriptor) {
  confine(limits);
  bool written = false;
  try {
    const auto result = work();
    written = write_all(descriptor, result ? kResult + *result : written_error(result.error()));
  } catch (const std::bad_alloc&) {
    written = write_all(descriptor, written_error(limits.out_of_memory()));
  } catch (const std::exception&) {
  } catch (...) {
  }
  ::_exit(written ? 0 : 1);
}

}  // namespace

Error ForkLimits::out_of_memory() const {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const bool is_whole = address_space % (1024 * kMiB) == 0;
  const std::string size =
      is_whole ? std::to_string(address_space / (1024 * kMiB)) + " GiB" : std::to_string(address_space / kMiB) + " MiB";
  return {"", "needs more than the limit of " + size + " of memory", "limit"};
}

void confine(const ForkLimits& limits) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  if (kCanLimitAddressSpace && limits.address_space != ForkLimits::kUnlimited) {
    limit(RLIMIT_AS, mapped_bytes() + limits.address_space);
  }
  is_confined = true;
  // The number stays taken: files that are opened here do not get it, which programs that are started here write to.
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  (void)::dup2(nowhere, STDERR_FILENO);
}

bool is_memory_confined() {
  return is_confined;
}

Result<std::string> run_forked(const std::string& field, const ForkLimits& limits,
                               const std::function<Result<std::string>()>& work) {
  const auto failed = [&] { return fail(field, std::generic_category().message(errno)); };
  Pipe pipe;
  if (!pipe.open()) return failed();
  ForkedProcess child(ForkedProcess::Group::own, [&] {
    pipe.read.close();
    work_and_leave(limits, work, pipe.write.get());
  });
  if (!child.is_running()) return failed();
  pipe.write.close();
  std::string bytes = read_all(pipe.read.get());
  const int status = child.wait();
  if (WIFSIGNALED(status)) return fail(field, "the library died of signal " + std::to_string(WTERMSIG(status)));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || bytes.empty()) return fail(field, "the library gave up");
  const bool worked = bytes.front() == kResult;
  bytes.erase(0, 1);
  if (!worked) return read_error(field, bytes);
  return bytes;
}

}  // namespace qconform
