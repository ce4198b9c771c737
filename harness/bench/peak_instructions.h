// Loops of one multiply-add instruction each, on registers alone, in independent chains.
//
// Written in assembly: a compiler would be free to drop, merge or reorder what is to be counted. So their
// files need no flags of an instruction set, and hold no code that a compiler could have made with them.
#pragma once

#include <cstdint>
#include <span>

namespace qconform::bench {

struct PeakInstruction {
  const char* name;             ///< "vpdpbusd zmm"
  bool (*available)();          ///< on this CPU, and allowed by the operating system
  void (*loop)(std::uint64_t);  ///< so many rounds
  std::int64_t macs_a_round;    ///< products summed in one round
};

/// Of the architecture that this was built for.
[[nodiscard]] std::span<const PeakInstruction> peak_instructions();

}  // namespace qconform::bench
