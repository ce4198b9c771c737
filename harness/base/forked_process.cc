#include "harness/base/forked_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

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

}  // namespace qconform
