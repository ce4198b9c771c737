#include "harness/tests/program.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>

namespace qconform::testing {

ProgramResult run_program(const std::string& program, const std::string& arguments, const std::string& environment) {
  // Solved arrays are shared by tests, and leave the user's own folder alone.
  const std::string command = "QCONFORM_CACHE=" QCONFORM_TEST_CACHE " " + environment + " " QCONFORM_EMULATOR " " +
                              program + " " + arguments + " 2>&1 </dev/null";
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

}  // namespace qconform::testing
