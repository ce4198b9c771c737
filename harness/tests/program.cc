#include "harness/tests/program.h"

#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace qconform::testing {

namespace {

// Solved arrays are shared by tests, and leave the user's own folder alone.
std::string command_line(const std::string& program, const std::string& arguments, const std::string& environment) {
  return "QCONFORM_CACHE=" QCONFORM_TEST_CACHE " " + environment + " " QCONFORM_EMULATOR " " + program + " " +
         arguments;
}

ProgramResult run_program(const std::string& program, const std::string& arguments, const std::string& environment) {
  const std::string command = command_line(program, arguments, environment) + " 2>&1 </dev/null";
  ProgramResult result;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> chunk{};
  for (std::size_t read = 0; (read = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
    result.output.append(chunk.data(), read);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace

ProgramResult qconform(const std::string& arguments, const std::string& environment) {
  return run_program(QCONFORM_PROGRAM, arguments, environment);
}

ProgramResult planted(const std::string& arguments) {
  return run_program(QCONFORM_PLANTED_PROGRAM, arguments, {});
}

ProgramResult qconform_in_terminal(const std::string& arguments, int columns, const std::string& environment) {
  const std::string command = command_line(QCONFORM_PROGRAM, arguments, "TERM=xterm " + environment);
  ProgramResult result;
  const winsize size{.ws_row = 40, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child < 0) return result;
  if (child == 0) {
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  std::array<char, 4096> chunk{};
  ssize_t got = 0;
  // At the end of the last process that has it, a terminal fails to be read.
  while ((got = read(terminal, chunk.data(), chunk.size())) > 0) {
    result.output.append(chunk.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace qconform::testing
