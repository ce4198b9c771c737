#include "harness/campaign/guided/command_run.h"

#include <chrono>
#include <string_view>

#include "harness/base/child_process.h"

namespace qconform::guided {

Result<Finished> run_command(const std::string& command, double seconds) {
  using Clock = std::chrono::steady_clock;
  QCONFORM_ASSIGN(auto child,
                  backend::ChildProcess::start("exec 2>&1; " + command, backend::ChildProcess::Output::piped));
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  Finished finished;
  std::string_view nothing;
  while (!child->status() && Clock::now() < end) {
    child->exchange(nothing, finished.output, std::chrono::milliseconds(50));
  }
  child->exchange(nothing, finished.output, std::chrono::milliseconds(0));
  finished.status = child->status();
  return finished;
}

}  // namespace qconform::guided
