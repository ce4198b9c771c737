// Judges every kernel set of this CPU against the reference on a one-node ONNX model: in contract, it
// has to give the reference's bytes under every arithmetic that it knows; out of contract, it must
// refuse. The input is an ONNX model, so that every corpus entry and crash file opens elsewhere.
//
// With --backend it judges those backends alone, as a campaign does (campaign_judge.h).
//
// The custom mutator decodes the model, changes the case and encodes it again (harness/model/mutate).
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "fuzz/campaign_judge.h"
#include "fuzz/model_damage.h"
#include "harness/backends/kinds.h"
#include "harness/engine/execute.h"
#include "harness/model/judge/judge.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/suites/drawn.h"
#include "reference/kernels/kernels.h"

// libFuzzer's own mutator of bytes; null in a plain reproducer.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                                              std::size_t max_size);

namespace {

using namespace qconform;

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

[[noreturn]] void report(const char* backend, std::string_view profile, const Expected& expected,
                         const Verdict& verdict) {
  const auto* const remark = expected.classification.deciding_remark();
  std::fprintf(stderr, "\n%s under %.*s: %s: %s\n", backend, static_cast<int>(profile.size()), profile.data(),
               std::string(name_of(verdict.kind)).c_str(), verdict.detail.c_str());
  if (remark != nullptr) std::fprintf(stderr, "  contract  %s\n", remark->text().c_str());
  if (verdict.worst) {
    std::string index;
    for (const std::int64_t i : verdict.worst->index) index += (index.empty() ? "" : ",") + std::to_string(i);
    std::fprintf(stderr, "  worst     y[%s] got %s, admissible %s; exact %s\n", index.c_str(),
                 verdict.worst->got.c_str(), verdict.worst->admissible.c_str(), verdict.worst->exact.c_str());
  }
  std::fprintf(stderr, "  replay    qconform replay FILE.onnx --backend %s --profile %.*s\n", backend,
               static_cast<int>(profile.size()), profile.data());
  std::abort();
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "\n%s\n", what);
  std::abort();
}

// The only right bytes for an in-tree kernel: they equal the reference's, where a judge admits more.
const Tensor* only_answer(const Expected& expected) {
  if (expected.pinned) return &*expected.pinned;
  return expected.output ? &*expected.output : nullptr;
}

void judge_kernels(const Case& test_case, Profile profile) {
  Expected expected = expect(test_case, {profile});
  assess(test_case, expected);
  static GuardedOutput output;
  for (const reference::KernelSet& set : reference::kernel_sets()) {
    if (!set.available()) continue;
    const auto backend = backend::in_tree(set, arithmetic_of(profile), set.name);
    const Outcome outcome = execute(*backend, test_case, output);
    Verdict verdict = judge(expected, outcome);
    const Tensor* const produced = output_of(outcome);
    const Tensor* const answer = only_answer(expected);
    if (!is_failure(verdict.kind) && produced != nullptr && answer != nullptr && !(*produced == *answer)) {
      verdict.kind = VerdictKind::wrong;
      verdict.detail = "admissible, but not the reference's bytes";
    }
    if (is_failure(verdict.kind)) report(set.name, name_of(profile), expected, verdict);
  }
}

// A profile must admit every value that a stricter one admits, and must list the values that it admits. ort-f32 is one
// of the expressions that the default profile admits (admissible.h).
void check_opinions(const Lowered& lowered, const Tensor& right) {
  constexpr std::array kProfiles{Profile::correctly_rounded, Profile::conformance, Profile::dml_doc};
  if (right.elements() == 0) return;
  const Tensor pinned = lowered.evaluate(RoundingProfile::ort_f32);
  for (const std::int64_t index : {std::int64_t{0}, right.elements() / 2, right.elements() - 1}) {
    require(lowered.examine(index, right, {}).right, "the reference's own answer is not admissible");
    require(lowered.examine(index, pinned, {}).right, "ort-f32's answer is not admissible");
    Tensor beside = right;
    const int bits = bits_of(right.type);
    const std::uint64_t raw = raw_bits_at(right.bytes, bits, index);
    for (const std::uint64_t step : {std::uint64_t{1}, ~std::uint64_t{0}}) {
      set_raw_bits_at(beside.bytes, bits, index, raw + step);
      bool stricter = false;
      for (const Profile profile : kProfiles) {
        const bool admitted = lowered.examine(index, beside, {profile}).right;
        const bool is_told = lowered.right_values(index, {profile}).contains(raw_bits_at(beside.bytes, bits, index));
        require(is_told == admitted, "the right values that are told are not those that are admitted");
        require(admitted || !stricter, "a profile refuses what a stricter one admits");
        stricter = admitted;
      }
      if (!stricter)
        require(!qconform::text_of(lowered.right_values(index, {})).empty(), "no text for the right answers");
    }
  }
  static_cast<void>(lowered.statistics({Profile::dml_doc}));
}

void judge_case(const Case& test_case) {
  const Classification classification = classify(test_case);
  if (!is_small(test_case, classification)) return;
  judge_kernels(test_case, Profile::correctly_rounded);
  if (!classification.lowered || classification.value_is_open) return;
  if (classification.lowered->has_tiers()) {
    judge_kernels(test_case, Profile::ort_f32);
    judge_kernels(test_case, Profile::onnx_reference);
  }
  const Tensor right = classification.lowered->evaluate(RoundingProfile::correctly_rounded);
  check_opinions(*classification.lowered, right);
  const bool needs_text = !is_judged_as_graph(test_case) && classification.lowered->has_tiers() && right.elements() > 0;
  require(!needs_text || !classification.lowered->exact_value(0).empty(), "no text for the exact value");
}

// A case that was read is written and read back unchanged, whoever wrote the model.
void check_round_trip(const Case& test_case) {
  const auto written = case_to_model(test_case);
  require(written.has_value(), "what was read cannot be written");
  const auto again = case_from_model(*written);
  require(again.has_value() && digest_of(*again) == digest_of(test_case), "what was written reads differently");
}

// A case to mutate: what the bytes hold, or a new one. Graphs are judged, and not mutated.
Case decoded(const std::uint8_t* data, std::size_t size, Rng& rng) {
  auto test_case = case_from_model(text_of(data, size));
  if (!test_case || is_judged_as_graph(*test_case) || rng.chance(1, 64)) return random_case(rng.next(), 0);
  return std::move(*test_case);
}

// Writes the bytes if they fit; 0 if they do not.
std::size_t store(const Result<std::string>& bytes, std::uint8_t* data, std::size_t max_size) {
  if (!bytes || bytes->size() > max_size) return 0;
  std::memcpy(data, bytes->data(), bytes->size());
  return bytes->size();
}

constexpr int kAttempts = 4;  // at a mutant that fits the size

std::unique_ptr<fuzz::CampaignJudge> campaign_judge;  // null without --backend

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const auto flags = fuzz::CampaignFlags::of(*argc, *argv);
  if (flags.describe) {
    std::fputs(fuzz::description(LLVMFuzzerMutate != nullptr).c_str(), stdout);
    std::fflush(stdout);
    std::_Exit(0);
  }
  if (flags.judges) campaign_judge = std::make_unique<fuzz::CampaignJudge>(flags);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto test_case = case_from_model(text_of(data, size));
  if (!test_case) {
    require(!test_case.error().text().empty(), "a refusal without a reason");
    return 0;
  }
  check_round_trip(*test_case);
  if (campaign_judge != nullptr) {
    campaign_judge->judge(text_of(data, size));
  } else {
    judge_case(*test_case);
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  Rng rng(seed);
  // The reader's refusals are for bytes that no case is encoded as.
  if (LLVMFuzzerMutate != nullptr && rng.chance(1, 32)) return LLVMFuzzerMutate(data, size, max_size);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto mutant = case_to_model(mutate(decoded(data, size, rng), rng));
    if (mutant && rng.chance(1, 8)) {
      if (const std::size_t damaged = store(fuzz::damaged_model(*mutant, rng), data, max_size)) return damaged;
    }
    if (const std::size_t written = store(mutant, data, max_size)) return written;
  }
  return size;
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* first, std::size_t first_size,
                                                 const std::uint8_t* second, std::size_t second_size, std::uint8_t* out,
                                                 std::size_t max_out_size, unsigned int seed) {
  Rng rng(seed);
  const Case a = decoded(first, first_size, rng);
  const Case b = decoded(second, second_size, rng);
  return store(case_to_model(cross(a, b, rng)), out, max_out_size);
}
