#include "harness/bench/peaks.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "harness/bench/peak_instructions.h"
#include "harness/bench/pinning.h"

namespace qconform::bench {
namespace {

constexpr double kLoopSeconds = 1e-3;
constexpr int kLoops = 20;

double seconds_of(const PeakInstruction& instruction, std::uint64_t rounds) {
  const auto start = std::chrono::steady_clock::now();
  instruction.loop(rounds);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Peak measure(const PeakInstruction& instruction) {
  std::uint64_t rounds = 1000;
  while (seconds_of(instruction, rounds) < kLoopSeconds) rounds *= 2;
  double fastest = seconds_of(instruction, rounds);
  for (int i = 1; i < kLoops; ++i) fastest = std::min(fastest, seconds_of(instruction, rounds));
  return {instruction.name,
          static_cast<double>(rounds) * static_cast<double>(instruction.macs_a_round) / fastest * 1e-9};
}

// What stands in the names of backends and their variants; longer names before those that they contain.
struct InstructionSet {
  std::string_view name;
  std::string_view instruction;
};
constexpr std::array kInstructionSets{
    InstructionSet{"amx", "tdpbusd"},
    InstructionSet{"avx512vnni", "vpdpbusd zmm"},
    InstructionSet{"avx512_core_vnni", "vpdpbusd zmm"},
    InstructionSet{"avxvnni", "vpdpbusd ymm (VEX)"},
    InstructionSet{"avx2_vnni", "vpdpbusd ymm (VEX)"},
    InstructionSet{"avx512vl", "vpdpbusd ymm"},
    InstructionSet{"avx512", "vpmaddwd zmm"},
    InstructionSet{"avx2", "vpmaddwd ymm"},
    InstructionSet{"i8mm", "smmla"},
    InstructionSet{"dotprod", "sdot"},
    InstructionSet{"neon", "smlal"},
};

}  // namespace

std::vector<Peak> measure_peaks(const std::vector<int>& cpus) {
  cpu_set_t before;
  CPU_ZERO(&before);
  (void)sched_getaffinity(0, sizeof before, &before);
  pin(cpus);
  std::vector<Peak> peaks;
  for (const PeakInstruction& instruction : peak_instructions()) {
    if (instruction.available()) peaks.push_back(measure(instruction));
  }
  (void)sched_setaffinity(0, sizeof before, &before);
  return peaks;
}

std::string peak_for(const std::string& backend, const std::vector<Peak>& peaks) {
  if (peaks.empty()) return "";
  for (const InstructionSet& set : kInstructionSets) {
    if (backend.find(set.name) == std::string::npos) continue;
    for (const Peak& peak : peaks) {
      if (peak.instruction == set.instruction) return peak.instruction;
    }
  }
  // Of equally fast ones the widest, whatever the noise of the measurement.
  constexpr double kClearly = 1.02;
  const Peak* fastest = &peaks.front();
  for (const Peak& peak : peaks) {
    if (peak.gmacs * kClearly > fastest->gmacs) fastest = &peak;
  }
  return fastest->instruction;
}

}  // namespace qconform::bench
