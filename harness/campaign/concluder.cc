#include "harness/campaign/concluder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace qconform::campaign {
namespace {

constexpr std::chrono::seconds kShortestPause(2);
constexpr int kShare = 10;  ///< of the time, in which one part may be spent on conclusions
constexpr int kNice = 5;

}  // namespace

Concluder::~Concluder() {
  end();
}

bool Concluder::is_ready() const {
  return process_ < 0 && Clock::now() >= next_;
}

void Concluder::begin(const std::function<void()>& close_files, const std::function<std::string()>& work) {
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;
  (void)std::fflush(nullptr);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)nice(kNice);
    close_files();
    const std::string said = work().substr(0, 4096);  // which a pipe holds
    (void)!::write(pipe[1], said.data(), said.size());
    _exit(0);
  }
  (void)::close(pipe[1]);
  from_ = pipe[0];
  receiving_.clear();
  begun_ = Clock::now();
  if (process_ < 0) end();
}

void Concluder::poll() {
  if (process_ < 0) return;
  char bytes[4096];
  for (ssize_t count = 0; (count = ::read(from_, bytes, sizeof bytes)) > 0;) {
    receiving_.append(bytes, static_cast<std::size_t>(count));
  }
  if (waitpid(process_, nullptr, WNOHANG) != process_) return;
  for (ssize_t count = 0; (count = ::read(from_, bytes, sizeof bytes)) > 0;) {
    receiving_.append(bytes, static_cast<std::size_t>(count));
  }
  process_ = -1;
  end();
  if (!receiving_.empty()) said_ = std::move(receiving_);
}

void Concluder::end() {
  if (process_ > 0) {
    (void)kill(process_, SIGKILL);
    (void)waitpid(process_, nullptr, 0);
  }
  process_ = -1;
  if (from_ >= 0) (void)::close(from_);
  from_ = -1;
  next_ = Clock::now() + std::max<Clock::duration>(kShortestPause, (Clock::now() - begun_) * kShare);
}

}  // namespace qconform::campaign
