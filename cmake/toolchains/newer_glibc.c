// Parts of glibc 2.29 to 2.36 that qconform and libstdc++ use, for a wheel that runs on an older one. Compiled with hidden
// visibility: nothing outside of the program or library that is linked with it sees them.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

// libstdc++ counts references atomically unless this is true.
char __libc_single_threaded = 0;

uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

int close_range(unsigned int first, unsigned int last, int flags) {
  return (int)syscall(__NR_close_range, first, last, flags);
}

#define NAME(name) [SIG##name] = #name
const char* sigabbrev_np(int number) {
  static const char* const names[] = {
      NAME(HUP),  NAME(INT),    NAME(QUIT), NAME(ILL),  NAME(TRAP), NAME(ABRT), NAME(BUS), NAME(FPE),
      NAME(KILL), NAME(USR1),   NAME(SEGV), NAME(USR2), NAME(PIPE), NAME(ALRM), NAME(TERM), NAME(STKFLT),
      NAME(CHLD), NAME(CONT),   NAME(STOP), NAME(TSTP), NAME(TTIN), NAME(TTOU), NAME(URG), NAME(XCPU),
      NAME(XFSZ), NAME(VTALRM), NAME(PROF), NAME(WINCH), NAME(POLL), NAME(PWR), NAME(SYS)};
  return number > 0 && number < (int)(sizeof names / sizeof *names) ? names[number] : 0;
}

// glibc 2.29 computes these as 2.28 does, and gave them a new version because they no longer call a user's matherr.
#ifdef __x86_64__
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif
#define FIRST_OF(name, parameters, arguments)                      \
  double first_##name parameters;                                  \
  __asm__(".symver first_" #name "," #name "@" FIRST_VERSION);     \
  double name parameters { return first_##name arguments; }
FIRST_OF(exp, (double x), (x))
FIRST_OF(exp2, (double x), (x))
FIRST_OF(log, (double x), (x))
FIRST_OF(log2, (double x), (x))
FIRST_OF(pow, (double x, double y), (x, y))
