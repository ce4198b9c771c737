#include "harness/base/machine_failure.h"

#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace qconform {
namespace {

struct Limit {
  int error;
  decltype(RLIMIT_AS) resource;
  const char* shell;  // what sets it
  rlim_t unit;        // of what the shell says
};

constexpr Limit kLimits[] = {{EFBIG, RLIMIT_FSIZE, "ulimit -f, in KiB", 1024},
                             {EMFILE, RLIMIT_NOFILE, "ulimit -n", 1},
                             {ENOMEM, RLIMIT_AS, "ulimit -v, in KiB", 1024},
                             {EAGAIN, RLIMIT_NPROC, "ulimit -u", 1}};

}  // namespace

std::string machine_reason(int error) {
  std::string text = std::generic_category().message(error);
  for (const Limit& known : kLimits) {
    rlimit limit{};
    if (known.error != error || getrlimit(known.resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    text += std::string(" (the limit is ") + std::to_string(limit.rlim_cur / known.unit) + ": " + known.shell + ")";
  }
  return text;
}

}  // namespace qconform
