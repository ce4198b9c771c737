#include "harness/engine/environment.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

#include "harness/backends/select.h"
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

#if defined(__x86_64__)
std::string level_of_x86() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return "x86-64";
  const bool avx2 = (ebx >> 5 & 1) != 0;
  const bool avx512bw = (ebx >> 30 & 1) != 0;
  const bool avx512vnni = (ecx >> 11 & 1) != 0;
  const bool amx_int8 = (edx >> 25 & 1) != 0;
  if (amx_int8) return "amx";
  if (avx512bw) return avx512vnni ? "avx512vnni" : "avx512";
  __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx);
  const bool avxvnni = (eax >> 4 & 1) != 0;
  return avx2 ? (avxvnni ? "avxvnni" : "avx2") : "x86-64";
}
#endif

// Each CI system has a variable of its own for the commit that it builds.
std::string commit_under_test() {
  for (const char* variable : {"GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILD_SOURCEVERSION", "BUILDKITE_COMMIT",
                               "CIRCLE_SHA1", "BITBUCKET_COMMIT", "DRONE_COMMIT_SHA", "TRAVIS_COMMIT"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

}  // namespace

std::string cpu_level() {
#if defined(__x86_64__)
  return level_of_x86();
#else
  return "arm64";
#endif
}

Environment current_environment() {
  Environment environment;
  environment.version = kVersion;
  environment.commit = kCommit;
  environment.judged_commit = commit_under_test();
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
