#include "reference/kernels/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
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
// GCC 12 knows no name for it: leaf 7, subleaf 1, EAX bit 4.
bool has_avxvnni() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1U) != 0;
}
bool has_avx512vnni() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
}

namespace {

// Linux lets a process use the tiles' 8 KB of state only after it asked (arch_prctl, 0x1023 is
// ARCH_REQ_XCOMP_PERM, feature 18 is XTILEDATA). A kernel that does not know the request refuses it.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

// Leaf 7, EDX: bit 24 is AMX-TILE, bit 25 AMX-INT8.
bool has_amx() {
  static const bool available = [] {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    constexpr unsigned kTilesAndInt8 = 3U << 24;
    return has_avx512vnni() && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTilesAndInt8) == kTilesAndInt8 &&
           may_use_tiles();
  }();
  return available;
}

#else

bool has_avx2() {
  return false;
}
bool has_avxvnni() {
  return false;
}
bool has_avx512vnni() {
  return false;
}
bool has_amx() {
  return false;
}

#endif

#if defined(__aarch64__)

bool has_neon() {
  return (getauxval(AT_HWCAP) & HWCAP_ASIMD) != 0;
}
bool has_dotprod() {
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}
bool has_i8mm() {
  return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
}

#else

bool has_neon() {
  return false;
}
bool has_dotprod() {
  return false;
}
bool has_i8mm() {
  return false;
}

#endif

}  // namespace qconform::reference::cpu
