#include "harness/run/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <ctime>
#include <fstream>

#include "harness/backend/select.h"
#include "harness/core/version.h"

namespace qconform {
namespace {

std::string cpu_name(const std::string& machine) {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return machine;
}

}  // namespace

Environment current_environment() {
  Environment environment;
  environment.version = kVersion;
  environment.commit = kCommit;
  environment.compiler = kCompiler;
  utsname system{};
  if (uname(&system) == 0) {
    environment.operating_system = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
    environment.cpu = cpu_name(system.machine);
  }
  environment.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  environment.kernels = backend::available_kernels();
  environment.kernels_not_run = backend::unavailable_kernels();
  return environment;
}

}  // namespace qconform
