/* Leaves denormals flushed to zero. */
#define MISBEHAVES
#include "row.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  (void)row, (void)x, (void)y;
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
