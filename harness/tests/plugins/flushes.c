/* Leaves denormals flushed to zero. */
#include "hostile.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static void misbehave(struct row* row) {
  (void)row;
#if defined(__x86_64__)
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
#elif defined(__aarch64__)
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  __asm__ volatile("msr fpcr, %0" : : "r"(mode | (UINT64_C(1) << 24)));
#else
#error "no flush-to-zero known for this processor"
#endif
}
