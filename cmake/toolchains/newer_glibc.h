// Functions that qconform uses and that the C library of a wheel lacks (newer_glibc.c).
#pragma once
extern "C" int close_range(unsigned int first, unsigned int last, int flags);
extern "C" const char* sigabbrev_np(int number);
