#include "reference/cpu/cpu.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace qconform::reference::cpu {

#if defined(__x86_64__)

// The builtin reads CPUID and, for the wide registers, XGETBV.
bool has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0;
}
bool has_avx512vnni() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
}
bool has_neon() {
  return false;
}

#elif defined(__aarch64__)

bool has_avx2() {
  return false;
}
bool has_avx512vnni() {
  return false;
}
bool has_neon() {
  return (getauxval(AT_HWCAP) & HWCAP_ASIMD) != 0;
}

#else

bool has_avx2() {
  return false;
}
bool has_avx512vnni() {
  return false;
}
bool has_neon() {
  return false;
}

#endif

}  // namespace qconform::reference::cpu
