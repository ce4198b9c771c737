#if defined(__x86_64__)

#include <array>
#include <cstddef>

#include "harness/bench/peak_instructions.h"
#include "reference/kernels/cpu.h"

namespace qconform::bench {
namespace {

// Twelve chains: more than latency times throughput of any of these instructions on any processor so far.
constexpr std::int64_t kChains = 12;
#define QCONFORM_CHAINS(line)                                                                                    \
  line("0") line("1") line("2") line("3") line("4") line("5") line("6") line("7") line("8") line("9") line("10") \
      line("11")

// The body once a round; sources in registers 14 and 15 have all bits set.
#define QCONFORM_LOOP(rounds, set_up, body)                                                                     \
  asm volatile(set_up                                                                                           \
               ".p2align 5\n"                                                                                   \
               "1:\n" body                                                                                      \
               "dec %0\n"                                                                                       \
               "jnz 1b\n"                                                                                       \
               "vzeroupper\n"                                                                                   \
               : "+r"(rounds)                                                                                   \
               :                                                                                                \
               : "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
                 "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

#define QCONFORM_YMM_SOURCES "vpcmpeqd %%ymm14, %%ymm14, %%ymm14\nvpcmpeqd %%ymm15, %%ymm15, %%ymm15\n"
#define QCONFORM_ZMM_SOURCES "vpternlogd $255, %%zmm14, %%zmm14, %%zmm14\nvpternlogd $255, %%zmm15, %%zmm15, %%zmm15\n"

// The product of a pair is added to a sum in a second instruction: without it nothing is accumulated.
#define QCONFORM_MADD_YMM(n) "vpmaddwd %%ymm14, %%ymm15, %%ymm13\nvpaddd %%ymm13, %%ymm" n ", %%ymm" n "\n"
#define QCONFORM_MADD_ZMM(n) "vpmaddwd %%zmm14, %%zmm15, %%zmm13\nvpaddd %%zmm13, %%zmm" n ", %%zmm" n "\n"
#define QCONFORM_DOT_VEX(n) "%{vex%} vpdpbusd %%ymm14, %%ymm15, %%ymm" n "\n"
#define QCONFORM_DOT_YMM(n) "%{evex%} vpdpbusd %%ymm14, %%ymm15, %%ymm" n "\n"
#define QCONFORM_DOT_ZMM(n) "vpdpbusd %%zmm14, %%zmm15, %%zmm" n "\n"

void vpmaddwd_ymm(std::uint64_t rounds) {
  QCONFORM_LOOP(rounds, QCONFORM_YMM_SOURCES, QCONFORM_CHAINS(QCONFORM_MADD_YMM));
}
void vpmaddwd_zmm(std::uint64_t rounds) {
  QCONFORM_LOOP(rounds, QCONFORM_ZMM_SOURCES, QCONFORM_CHAINS(QCONFORM_MADD_ZMM));
}
void vpdpbusd_vex(std::uint64_t rounds) {
  QCONFORM_LOOP(rounds, QCONFORM_YMM_SOURCES, QCONFORM_CHAINS(QCONFORM_DOT_VEX));
}
void vpdpbusd_ymm(std::uint64_t rounds) {
  QCONFORM_LOOP(rounds, QCONFORM_YMM_SOURCES, QCONFORM_CHAINS(QCONFORM_DOT_YMM));
}
void vpdpbusd_zmm(std::uint64_t rounds) {
  QCONFORM_LOOP(rounds, QCONFORM_ZMM_SOURCES, QCONFORM_CHAINS(QCONFORM_DOT_ZMM));
}

// Tiles of 16 rows of 64 bytes: six sums, two sources.
constexpr std::int64_t kTiles = 6;
constexpr std::int64_t kTileMacs = std::int64_t{16} * 16 * 64;

struct TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> bytes_a_row{64, 64, 64, 64, 64, 64, 64, 64};
  std::array<std::uint8_t, 16> rows{16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

void tdpbusd(std::uint64_t rounds) {
  alignas(64) const TileConfiguration configuration;
  asm volatile(
      "ldtilecfg %1\n"
      "1:\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm0\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm1\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm2\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm3\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm4\n"
      "tdpbusd %%tmm7, %%tmm6, %%tmm5\n"
      "dec %0\n"
      "jnz 1b\n"
      "tilerelease\n"
      : "+r"(rounds)
      : "m"(configuration)
      : "cc");
}

using namespace reference::cpu;

constexpr std::array kInstructions{
    PeakInstruction{"vpmaddwd ymm", has_avx2, vpmaddwd_ymm, kChains * 16},
    PeakInstruction{"vpmaddwd zmm", has_avx512vnni, vpmaddwd_zmm, kChains * 32},
    PeakInstruction{"vpdpbusd ymm (VEX)", has_avxvnni, vpdpbusd_vex, kChains * 32},
    PeakInstruction{"vpdpbusd ymm", has_avx512vnni, vpdpbusd_ymm, kChains * 32},
    PeakInstruction{"vpdpbusd zmm", has_avx512vnni, vpdpbusd_zmm, kChains * 64},
    PeakInstruction{"tdpbusd", has_amx, tdpbusd, kTiles* kTileMacs},
};

}  // namespace

std::span<const PeakInstruction> peak_instructions() {
  return kInstructions;
}

}  // namespace qconform::bench

#endif
