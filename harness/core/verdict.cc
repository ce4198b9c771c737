#include "harness/core/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "harness/core/backend.h"

namespace qconform {

Outcome::Outcome(const Outcome& other) = default;
Outcome::Outcome(Outcome&& other) noexcept = default;
Outcome& Outcome::operator=(const Outcome& other) = default;
Outcome& Outcome::operator=(Outcome&& other) noexcept = default;
Outcome::~Outcome() = default;

bool is_refusal(const Outcome& outcome) {
  return std::holds_alternative<outcome::Unsupported>(outcome) || std::holds_alternative<outcome::Rejected>(outcome);
}

std::string reason_of(const Outcome& outcome) {
  if (const auto* unsupported = std::get_if<outcome::Unsupported>(&outcome)) return unsupported->reason;
  const auto* rejected = std::get_if<outcome::Rejected>(&outcome);
  return rejected == nullptr ? "" : rejected->reason;
}

const Tensor* output_of(const Outcome& outcome) {
  const auto* produced = std::get_if<outcome::Produced>(&outcome);
  return produced != nullptr && produced->outputs.size() == 1 ? &produced->outputs.front() : nullptr;
}

void copy_outputs(const outcome::Produced& produced, OutputSink& sink) {
  for (std::size_t i = 0; i < produced.outputs.size(); ++i) {
    const Tensor& output = produced.outputs[i];
    const std::span<std::byte> memory = sink.allocate(i, output.type, output.shape);
    std::copy(output.bytes.begin(), output.bytes.end(), memory.begin());
  }
}

namespace {

constexpr std::array<std::string_view, kVerdictKinds> kVerdictNames{"pass",
                                                                    "vacuous",
                                                                    "wrong",
                                                                    "bad-shape",
                                                                    "not-rejected",
                                                                    "crashed",
                                                                    "timed-out",
                                                                    "out-of-bounds",
                                                                    "unwritten",
                                                                    "unsupported",
                                                                    "inconsistent",
                                                                    "exited",
                                                                    "out-of-memory",
                                                                    "read-out-of-bounds",
                                                                    "nondeterministic",
                                                                    "changed-input",
                                                                    "changed-float-mode",
                                                                    "thread-dependent",
                                                                    "refused",
                                                                    "not-asked",
                                                                    "depends-on-earlier-runs",
                                                                    "refused-here",
                                                                    "broken-interface",
                                                                    "not-judged",
                                                                    "threw",
                                                                    "depends-on-earlier-node",
                                                                    "grows-memory"};

}  // namespace

std::string_view name_of(VerdictKind kind) {
  return kVerdictNames[static_cast<std::size_t>(kind)];
}

std::optional<VerdictKind> verdict_named(std::string_view name) {
  const auto found = std::find(kVerdictNames.begin(), kVerdictNames.end(), name);
  if (found == kVerdictNames.end()) return std::nullopt;
  return static_cast<VerdictKind>(found - kVerdictNames.begin());
}

bool is_failure(VerdictKind kind) {
  return kind != VerdictKind::pass && kind != VerdictKind::vacuous && kind != VerdictKind::not_judged &&
         !is_refusal(kind);
}

std::uint64_t TierCounts::elements() const {
  return std::accumulate(by_tier.begin(), by_tier.end(), none);
}

void TierCounts::add(reference::TierSet tiers, std::uint64_t count) {
  if (count == 0) return;
  const auto strictest = tiers.strictest();
  (strictest ? by_tier[static_cast<std::size_t>(*strictest)] : none) += count;
  common &= tiers;
}

void TierCounts::add(const TierCounts& other) {
  for (std::size_t i = 0; i < by_tier.size(); ++i) by_tier[i] += other.by_tier[i];
  none += other.none;
  common &= other.common;
}

std::uint64_t ErrorHistogram::elements() const {
  return std::accumulate(high.begin(), high.end(), std::accumulate(low.begin(), low.end(), incomparable));
}

void ErrorHistogram::add(double error) {
  if (!std::isfinite(error)) {
    ++incomparable;
    return;
  }
  const double distance = std::fabs(error);
  std::size_t bin = 0;
  for (double limit = 0.5; distance > limit && bin + 1 < kBins; limit *= 2) ++bin;
  ++(error < 0 ? low : high)[bin];
}

void ErrorHistogram::add(const ErrorHistogram& other) {
  for (std::size_t i = 0; i < kBins; ++i) {
    low[i] += other.low[i];
    high[i] += other.high[i];
  }
  incomparable += other.incomparable;
}

}  // namespace qconform
