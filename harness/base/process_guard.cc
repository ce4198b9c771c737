#include "harness/base/process_guard.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "harness/backends/process_messages.h"
#include "harness/base/process_tree.h"

namespace qconform::backend {
namespace {

constexpr int kNotStarted = 127;  // as shells have it

// A shell that runs one program need not stay: the program's end is then told as it was.
std::string without_waiting_shell(const std::string& command) {
  const bool compound = command.find_first_of("|&;<>()`\n") != std::string::npos;
  const std::string first_word = command.substr(0, command.find(' '));
  const bool sets_variables = first_word.find('=') != std::string::npos;
  return (compound || sets_variables ? "" : "exec ") + command;
}

[[noreturn]] void become(const std::string& command, const GuardEnds& ends, const sigset_t& mask) {
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
  (void)setenv("QCONFORM_PROTOCOL", std::to_string(kProcessProtocol).c_str(), 1);
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

}  // namespace

void guard_command(const std::string& command, const GuardEnds& ends) {
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
  if (child == 0) become(command, ends, before);
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
  if (told) (void)!write(STDOUT_FILENO, &status, sizeof status);
  kill_descendants(child);
  _exit(0);
}

}  // namespace qconform::backend
