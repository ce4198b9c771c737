#include "harness/bench/pinning.h"

#include <sched.h>

#include <string>

namespace qconform::bench {

Result<std::vector<int>> choose_cpus(int threads) {
  cpu_set_t set;
  CPU_ZERO(&set);
  (void)sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  if (threads < 1 || static_cast<std::size_t>(threads) > cpus.size()) {
    return fail("--threads", "expected 1 to " + std::to_string(cpus.size()) +
                                 ", the processors that this process may use, got " + std::to_string(threads));
  }
  return std::vector<int>(cpus.end() - threads, cpus.end());
}

void pin(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  (void)sched_setaffinity(0, sizeof set, &set);  // checked before the fork
}

}  // namespace qconform::bench
