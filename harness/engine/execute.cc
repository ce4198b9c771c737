#include "harness/engine/execute.h"

#include <algorithm>
#include <cstring>

#include "harness/base/error.h"
#include "harness/engine/cold_replay.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"

namespace qconform {

Outcome execute(Backend& backend, const Case& test_case, GuardedOutput& output, const Classification* classification) {
  if (!test_case.before.empty()) return execute_after_others(backend, test_case);
  if (Worker* worker = backend.worker()) return worker->examine(test_case);
  try {
    Preparation preparation =
        classification == nullptr ? backend.prepare(test_case) : backend.prepare_classified(test_case, *classification);
    if (auto end = end_of(preparation)) return std::move(*end);
    std::get<std::unique_ptr<PreparedCase>>(preparation)->run(output);
    return output.finish();
  } catch (const MachineFailure&) {
    throw;
  } catch (...) {
    (void)output.finish();
    return outcome::Threw{thrown_text()};
  }
}

void ask_siblings(Backend& backend, const Case& test_case, GuardedOutput& output, Outcome& outcome) {
  if (!is_refusal(outcome)) return;
  const auto siblings = backend.siblings();
  if (siblings.empty() || classify(test_case).expectation() != Expectation::valid) return;
  for (const auto& sibling : siblings) {
    Outcome answer = execute(*sibling, test_case, output);
    auto* produced = std::get_if<outcome::Produced>(&answer);
    if (produced == nullptr) continue;
    outcome.elsewhere = {sibling->info().name, std::move(produced->outputs)};
    return;
  }
}

void ask_new_process(Worker& worker, const Case& test_case, Outcome& outcome) {
  const std::optional<Case> other = doubtful_other_input(test_case, outcome);
  if (!other) return;
  const Case* const only[] = {&*other};
  const auto alone = worker.run_apart(only, RunMode::once);
  if (!alone) return;
  const auto* produced = std::get_if<outcome::Produced>(&*alone);
  outcome.on_other_input->is_own = produced != nullptr && produced->outputs == outcome.on_other_input->outputs;
}

Outcome execute_for_judge(Backend& backend, const Case& test_case, GuardedOutput& output) {
  if (Worker* worker = backend.worker(); worker != nullptr && test_case.defect) {
    const bool grew = test_case.defect->verdict == VerdictKind::grows_memory;
    if (auto growth = grew ? grown_memory(*worker, test_case) : std::nullopt) return std::move(*growth);
  }
  Outcome outcome = execute(backend, test_case, output);
  ask_siblings(backend, test_case, output, outcome);
  if (Worker* worker = backend.worker()) ask_new_process(*worker, test_case, outcome);
  return outcome;
}

namespace {

constexpr std::byte kCanary{0xA5};
constexpr std::byte kPoison{0xAA};
constexpr std::size_t kLargestShift = 64;

void fill(std::byte* begin, std::size_t size, std::byte value) {
  std::memset(begin, std::to_integer<int>(value), size);
}

// Whether the bytes are alike: shifted by one byte they are themselves, which memcmp compares many at a time.
bool is_filled_with(const std::byte* begin, std::size_t size, std::byte value) {
  return *begin == value && std::memcmp(begin, begin + 1, size - 1) == 0;
}

}  // namespace

std::span<std::byte> GuardedOutput::allocate(std::size_t output, ElementType type,
                                             std::span<const std::int64_t> shape) {
  if (outputs_.size() <= output) outputs_.resize(output + 1);
  Guarded& one = outputs_[output];
  one.type = type;
  one.shape.assign(shape.begin(), shape.end());
  one.size = static_cast<std::size_t>(bytes_for(type, elements_of(shape)));
  // Odd shifts for byte outputs show kernels that need alignment; wider elements keep theirs.
  const auto element = static_cast<std::size_t>(std::max(1, bits_of(type) / 8));
  one.shift = (one.shift / element + 1) * element % kLargestShift;
  const std::size_t needed = 2 * kCanaryBytes + kLargestShift + one.size;
  if (one.memory.size() < needed) one.memory.resize(needed);
  fill(one.data() - kCanaryBytes, kCanaryBytes, kCanary);
  fill(one.data(), one.size, kPoison);
  fill(one.data() + one.size, kCanaryBytes, kCanary);
  one.allocated = true;
  return {one.data(), one.size};
}

std::optional<outcome::WroteOutOfBounds> GuardedOutput::Guarded::damage() {
  using Damage = outcome::WroteOutOfBounds;
  const bool is_intact = is_filled_with(data() - kCanaryBytes, kCanaryBytes, kCanary) &&
                         is_filled_with(data() + size, kCanaryBytes, kCanary);
  if (is_intact) return std::nullopt;
  for (std::size_t i = 1; i <= kCanaryBytes; ++i) {
    if (data()[size + i - 1] != kCanary) return Damage{Damage::Side::after, static_cast<std::int64_t>(i)};
    if (*(data() - i) != kCanary) return Damage{Damage::Side::before, static_cast<std::int64_t>(i)};
  }
  return std::nullopt;
}

Outcome GuardedOutput::outcome() {
  if (refusal_) return *std::exchange(refusal_, std::nullopt);
  std::vector<Tensor> outputs;
  for (Guarded& one : outputs_) {
    if (!one.allocated) break;
    if (const auto damage = one.damage()) return *damage;
    outputs.push_back({one.type, one.shape, {one.data(), one.data() + one.size}});
  }
  if (outputs.empty()) return outcome::LeftUnwritten{"run ended without asking for an output"};
  return outcome::Produced{std::move(outputs)};
}

Outcome GuardedOutput::finish() {
  Outcome result = outcome();
  for (Guarded& one : outputs_) one.allocated = false;
  return result;
}

}  // namespace qconform
