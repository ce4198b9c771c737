#include "harness/base/stopwatch.h"
#include "harness/bench/bench.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string_view>

#include "harness/base/bytes.h"
#include "harness/bench/participant.h"
#include "harness/core/version.h"
#include "harness/model/operator.h"
#include "reference/kernels/kernels.h"
#include "reference/kernels/micro_kernels.h"

#if defined(__x86_64__)
#include "reference/kernels/peak_loop.h"
#endif

namespace qconform::bench {
namespace {

constexpr double kLoopSeconds = 1e-3;
constexpr int kLoops = 20;

double seconds_of(const reference::PeakLoop& loop, std::uint64_t rounds) {
  const auto start = std::chrono::steady_clock::now();
  loop.run(rounds);
  return seconds_since(start);
}

Peak measure(const char* instruction, const reference::PeakLoop& loop) {
  std::uint64_t rounds = 1000;
  while (seconds_of(loop, rounds) < kLoopSeconds) rounds *= 2;
  double fastest = seconds_of(loop, rounds);
  for (int i = 1; i < kLoops; ++i) fastest = std::min(fastest, seconds_of(loop, rounds));
  return {instruction, static_cast<double>(rounds) * static_cast<double>(loop.macs_a_round) / fastest * 1e-9};
}

// Parts of the names of oneDNN's variants, with the instruction that each means. The kernel sets know theirs.
struct VariantInstruction {
  std::string_view name;
  std::string_view instruction;
};
constexpr std::array kVariantInstructions{
    VariantInstruction{"avx512_core_amx", "tdpbusd"},
    VariantInstruction{"avx512_core_vnni", "vpdpbusd zmm"},
    VariantInstruction{"avx512_core", "vpmaddwd zmm"},
    VariantInstruction{"avx2_vnni", "vpdpbusd ymm (VEX)"},
};

// Empty: the name says none.
std::string_view instruction_of(std::string_view backend) {
  for (const VariantInstruction& set : kVariantInstructions) {
    if (backend.find(set.name) != std::string_view::npos) return set.instruction;
  }
  // The longest name, of those that stand in one another.
  std::string_view name;
  std::string_view instruction;
  for (const reference::KernelSet& set : reference::kernel_sets()) {
    const std::string_view candidate = set.name;
    if (set.peak == nullptr || candidate.size() <= name.size()) continue;
    if (backend.find(candidate) == std::string_view::npos) continue;
    name = candidate;
    instruction = set.peak;
  }
  return instruction;
}

#if defined(__x86_64__)
// The loop of AVX-512 without VNNI, which no kernel set here uses.
#define QCONFORM_MADD(n) "vpmaddwd %%zmm14, %%zmm15, %%zmm13\nvpaddd %%zmm13, %%zmm" n ", %%zmm" n "\n"
void run_vpmaddwd_zmm(std::uint64_t rounds) {
  QCONFORM_PEAK_LOOP(rounds, QCONFORM_ZMM_SOURCES, QCONFORM_MADD);
}
constexpr reference::PeakLoop kVpmaddwdZmm{run_vpmaddwd_zmm, reference::kPeakChains * 32};
#endif

}  // namespace

std::vector<Peak> measure_peaks(const std::vector<int>& cpus) {
  cpu_set_t before;
  CPU_ZERO(&before);
  (void)sched_getaffinity(0, sizeof before, &before);
  pin(cpus);
  std::vector<Peak> peaks;
#if defined(__x86_64__)
  if (reference::cpu::has_avx512vnni()) peaks.push_back(measure("vpmaddwd zmm", kVpmaddwdZmm));
#endif
  for (const reference::KernelSet& set : reference::kernel_sets()) {
    const auto is_its = [&set](const Peak& peak) { return peak.instruction == set.peak; };
    if (set.peak == nullptr || !set.available() || std::any_of(peaks.begin(), peaks.end(), is_its)) continue;
    peaks.push_back(measure(set.peak, set.micro_kernels->peak_loop));
  }
  (void)sched_setaffinity(0, sizeof before, &before);
  return peaks;
}

std::string peak_for(const std::string& backend, const std::vector<Peak>& peaks) {
  if (peaks.empty()) return "";
  const std::string_view instruction = instruction_of(backend);
  for (const Peak& peak : peaks) {
    if (peak.instruction == instruction) return peak.instruction;
  }
  // The first of nearly equally fast instructions counts, whatever the noise of the measurement.
  constexpr double kClearly = 1.02;
  const Peak* fastest = &peaks.front();
  for (const Peak& peak : peaks) {
    if (peak.gmacs * kClearly > fastest->gmacs) fastest = &peak;
  }
  return fastest->instruction;
}

namespace {

class Copy final : public RepeatedRun {
 public:
  explicit Copy(std::size_t size) : from_(size), to_(size) {}

  void run() override {
    std::memcpy(to_.bytes().data(), from_.bytes().data(), to_.bytes().size());
    asm volatile("" : : "r"(to_.bytes().data()) : "memory");  // the copy is not for nothing
  }
  [[nodiscard]] Outcome outcome() override { return outcome::Produced{}; }
  [[nodiscard]] RunSetting setting() const override { return {}; }

 private:
  AlignedBytes from_;
  AlignedBytes to_;
};

class Memcpy final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case&) override { return outcome::Unsupported{"memcpy computes nothing"}; }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case, const RunSetting&) override {
    return std::make_unique<Copy>(static_cast<std::size_t>(memcpy_bytes(test_case)));
  }

 private:
  BackendInfo info_{"memcpy", kVersion, "memcpy"};
};

}  // namespace

std::unique_ptr<Backend> memcpy_backend() {
  return std::make_unique<Memcpy>();
}

std::int64_t memcpy_bytes(const Case& test_case) {
  const auto x_bytes = static_cast<std::int64_t>(test_case.input(0)->bytes.size());
  const Classification classification = classify(test_case);
  if (!classification.lowered) return x_bytes;
  const Lowered& lowered = *classification.lowered;
  return std::max(x_bytes, bytes_for(lowered.output_type(), elements_of(lowered.output_shape())));
}

}  // namespace qconform::bench
