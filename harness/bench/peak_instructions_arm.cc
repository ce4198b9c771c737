#if defined(__aarch64__)

#include <array>

#include "harness/bench/peak_instructions.h"
#include "reference/kernels/cpu.h"

namespace qconform::bench {
namespace {

// Sixteen chains: more than latency times throughput of these instructions on any core so far.
constexpr std::int64_t kChains = 16;
#define QCONFORM_CHAINS(line)                                                                                      \
  line("0") line("1") line("2") line("3") line("4") line("5") line("6") line("7") line("16") line("17") line("18") \
      line("19") line("20") line("21") line("22") line("23")

// The body once a round; sources in registers 30 and 31 have all bits set.
#define QCONFORM_LOOP(rounds, body)                                                                                   \
  asm volatile(                                                                                                       \
      "movi v30.16b, #255\nmovi v31.16b, #255\n"                                                                      \
      "1:\n" body                                                                                                     \
      "subs %0, %0, #1\n"                                                                                             \
      "b.ne 1b\n"                                                                                                     \
      : "+r"(rounds)                                                                                                  \
      :                                                                                                               \
      : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", \
        "v30", "v31")

// By their codes, which every assembler takes: sdot and smmla vN.4s, v30.16b, v31.16b.
#define QCONFORM_SMLAL(n) "smlal v" n ".4s, v30.4h, v31.4h\n"
#define QCONFORM_SDOT(n) ".inst 0x4e9f97c0 + " n "\n"
#define QCONFORM_SMMLA(n) ".inst 0x4e9fa7c0 + " n "\n"

void smlal(std::uint64_t rounds) {
  QCONFORM_LOOP(rounds, QCONFORM_CHAINS(QCONFORM_SMLAL));
}
void sdot(std::uint64_t rounds) {
  QCONFORM_LOOP(rounds, QCONFORM_CHAINS(QCONFORM_SDOT));
}
void smmla(std::uint64_t rounds) {
  QCONFORM_LOOP(rounds, QCONFORM_CHAINS(QCONFORM_SMMLA));
}

constexpr std::array kInstructions{
    PeakInstruction{"smlal", reference::cpu::has_neon, smlal, kChains * 4},
    PeakInstruction{"sdot", reference::cpu::has_dotprod, sdot, kChains * 16},
    PeakInstruction{"smmla", reference::cpu::has_i8mm, smmla, kChains * 32},
};

}  // namespace

std::span<const PeakInstruction> peak_instructions() {
  return kInstructions;
}

}  // namespace qconform::bench

#endif
