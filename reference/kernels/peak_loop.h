// Loops of one multiply-add instruction, on registers alone, in independent chains.
//
// Written in assembly: a compiler would be free to drop, merge or reorder what is to be counted. `line(n)` is the text
// of the instruction, where register number n, as a string, holds the sums of a chain.
#pragma once

#include <cstdint>

namespace qconform::reference {

#if defined(__x86_64__)

/// More than latency times throughput of any of these instructions on any processor so far.
inline constexpr std::int64_t kPeakChains = 12;

#define QCONFORM_PEAK_CHAINS(line)                                                                               \
  line("0") line("1") line("2") line("3") line("4") line("5") line("6") line("7") line("8") line("9") line("10") \
      line("11")

// The chains once a round; all bits of the sources, registers 14 and 15, are set. Register 13 is free.
#define QCONFORM_YMM_SOURCES "vpcmpeqd %%ymm14, %%ymm14, %%ymm14\nvpcmpeqd %%ymm15, %%ymm15, %%ymm15\n"
#define QCONFORM_ZMM_SOURCES "vpternlogd $255, %%zmm14, %%zmm14, %%zmm14\nvpternlogd $255, %%zmm15, %%zmm15, %%zmm15\n"
#define QCONFORM_PEAK_LOOP(rounds, sources, line) \
  asm volatile(sources                                                                                          \
               ".p2align 5\n"                                                                                   \
               "1:\n" QCONFORM_PEAK_CHAINS(line)                                                                \
               "dec %0\n"                                                                                       \
               "jnz 1b\n"                                                                                       \
               "vzeroupper\n"                                                                                   \
               : "+r"(rounds)                                                                                   \
               :                                                                                                \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                 "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

#elif defined(__aarch64__)

/// More than latency times throughput of these instructions on any core so far.
inline constexpr std::int64_t kPeakChains = 16;

#define QCONFORM_PEAK_CHAINS(line)                                                                                 \
  line("0") line("1") line("2") line("3") line("4") line("5") line("6") line("7") line("16") line("17") line("18") \
      line("19") line("20") line("21") line("22") line("23")

// The chains once a round; all bits of the sources, registers 30 and 31, are set.
#define QCONFORM_PEAK_LOOP(rounds, line) \
  asm volatile(                                                                                                       \
      "movi v30.16b, #255\nmovi v31.16b, #255\n"                                                                      \
      "1:\n" QCONFORM_PEAK_CHAINS(line)                                                                               \
      "subs %0, %0, #1\n"                                                                                             \
      "b.ne 1b\n"                                                                                                     \
      : "+r"(rounds)                                                                                                  \
      :                                                                                                               \
      : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", \
        "v30", "v31")

#endif

}  // namespace qconform::reference
