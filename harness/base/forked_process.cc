#include "harness/base/forked_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <system_error>
#include <utility>

#include "harness/base/pipe.h"

namespace qconform {

ForkedProcess::ForkedProcess(Group group, const std::function<void()>& work) : group_(group) {
  (void)std::fflush(nullptr);  // or the child would write it too
  const pid_t parent = getpid();
  process_ = ::fork();
  if (process_ != 0) return;
  if (group == Group::own) (void)setpgid(0, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  if (group == Group::shared) {
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
  }
  work();
  _exit(0);
}

ForkedProcess::ForkedProcess(ForkedProcess&& other) noexcept
    : group_(other.group_), process_(std::exchange(other.process_, -1)) {}

ForkedProcess& ForkedProcess::operator=(ForkedProcess&& other) noexcept {
  if (this != &other) {
    end();
    group_ = other.group_;
    process_ = std::exchange(other.process_, -1);
  }
  return *this;
}

void become_program(std::vector<std::string> words, std::span<const int> files, int log) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (const int file : files) (void)fcntl(file, F_SETFD, 0);
  for (const int file : {STDOUT_FILENO, STDERR_FILENO}) (void)dup2(log, file);
  (void)execvp(arguments[0], arguments.data());
  std::perror(arguments[0]);
  _exit(127);
}

std::optional<int> ForkedProcess::poll() {
  int status = 0;
  if (process_ <= 0 || ::waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
  process_ = -1;
  return status;
}

int ForkedProcess::wait() {
  int status = 0;
  if (process_ <= 0) return status;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
  process_ = -1;
  return status;
}

int ForkedProcess::end() {
  if (process_ <= 0) return 0;
  if (group_ == Group::own) (void)::kill(-process_, SIGKILL);
  (void)::kill(process_, SIGKILL);
  return wait();
}

namespace {

// In front of what the child writes.
constexpr char kResult = 'r';
constexpr char kError = 'e';

// Bytes of addresses that this process has mapped; 0 where the system does not tell.
std::uint64_t mapped_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void limit(int resource, std::uint64_t value) {
  const rlimit both{value, value};
  (void)::setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

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

// The child's life: works, writes what came of it to the pipe, and leaves without running destructors or
// exit handlers, which belong to the parent.
[[noreturn]] void work_and_leave(const ForkLimits& limits, const std::function<Result<std::string>()>& work,
                                 int descriptor) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  if (kCanLimitAddressSpace) limit(RLIMIT_AS, mapped_bytes() + limits.address_space);
  // A sanitizer's report of a library's crash is no report on us. The number stays taken: files that `work` opens do
  // not get it, which programs that it starts write to.
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  (void)::dup2(nowhere, STDERR_FILENO);
  bool written = false;
  try {
    const auto result = work();
    written = write_all(descriptor, result ? kResult + *result : kError + result.error().message);
  } catch (const std::exception&) {
  } catch (...) {
  }
  ::_exit(written ? 0 : 1);
}

}  // namespace

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
  if (!worked) return fail(field, std::move(bytes));
  return bytes;
}

}  // namespace qconform
