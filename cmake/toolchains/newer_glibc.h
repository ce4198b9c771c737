// Functions that qconform uses and that the C library of a wheel lacks; newer_glibc.c defines those that are not inline.
#pragma once
#include <malloc.h>
#include <stddef.h>

extern "C" int close_range(unsigned int first, unsigned int last, int flags);
extern "C" const char* sigabbrev_np(int number);

// The older function counts in 32 bits.
struct OlderMallinfo {
  size_t uordblks, hblkhd;
};
inline OlderMallinfo mallinfo2() {
  const auto older = mallinfo();
  return {static_cast<unsigned>(older.uordblks), static_cast<unsigned>(older.hblkhd)};
}
