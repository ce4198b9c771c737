#include "harness/diagnose/separate.h"

#include <algorithm>

#include "harness/hazards/hazard.h"
#include "harness/mutate/case_mutator.h"
#include "harness/mutate/steps.h"
#include "harness/source/directed/convolution.h"
#include "harness/source/random_convolution.h"
#include "harness/source/random_linear.h"
#include "harness/source/swarm.h"

namespace qconform::diagnose {
namespace {

constexpr std::size_t kNeighbourhoods = 12;

// Enough for a sum that leaves int32.
constexpr std::int64_t kMostWork = std::int64_t{1} << 17;

// Keeps these cases apart from those of other generators that have the same seed.
constexpr std::uint64_t kProbeStream = 0x5345'5041'5241'5445U;

std::uint64_t raw(const Tensor& tensor, std::int64_t index) {
  return raw_bits_at(tensor.bytes, bits_of(tensor.type), index);
}

// Neighbouring integers of up to 32 bits, the ends of the range being neighbours too.
bool are_neighbours(ElementType type, std::uint64_t a, std::uint64_t b) {
  const int bits = bits_of(type);
  if (bits > 32 || !is_integer(type)) return false;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  return ((a - b) & mask) == 1 || ((b - a) & mask) == 1;
}

}  // namespace

void Probes::add_neighbourhood(const Case& test_case) {
  if (!is_small(test_case, classify(test_case))) return;
  if (neighbours_.size() < kNeighbourhoods) {
    neighbours_.push_back(test_case);
  } else {
    neighbours_[oldest_++ % kNeighbourhoods] = test_case;
  }
}

Hazard Probes::draw_hazard(Rng& rng) const {
  // Not always: what nobody aims for on purpose is to be met as well.
  if (!aims_.empty() && rng.chance(3, 4)) return aims_[rng.below(static_cast<std::uint32_t>(aims_.size()))];
  for (;;) {
    const HazardInfo& info = hazards()[rng.below(static_cast<std::uint32_t>(hazards().size()))];
    if (info.concerns(name_of(op_))) return info.hazard;
  }
}

// Half of those that aim for ties get them under multipliers that are no powers of two, too.
Case Probes::draw_aimed(Rng& rng) const {
  const Hazard hazard = draw_hazard(rng);
  Case drawn = directed::draw_convolution(rng, name_of(op_), hazard);
  const bool is_rounding = hazard <= Hazard::near_tie_below;
  if (is_rounding && rng.chance(1, 2)) mutation::solve_tie(drawn, rng);
  return drawn;
}

Case Probes::draw(Rng& rng) const {
  const std::uint64_t turn = drawn_ % 3;
  if ((turn == 0 || (is_near_ && turn == 1)) && !neighbours_.empty()) {
    return mutate(neighbours_[rng.below(static_cast<std::uint32_t>(neighbours_.size()))], rng);
  }
  if (op_ == Op::quantize_linear) return random_quantize_linear(rng);
  if (op_ == Op::dequantize_linear) return random_dequantize_linear(rng);
  if (turn == 1 || (!aims_.empty() && rng.chance(1, 2)))
    return directed::draw_convolution(rng, name_of(op_), draw_hazard(rng));
  const Swarm swarm = Swarm::of_case(seed_, drawn_ * kSwarmBlock);
  return op_ == Op::qlinear_conv ? random_qlinear_conv(rng, swarm) : random_conv_integer(rng, swarm);
}

Case Probes::next() {
  for (;; ++drawn_) {
    Rng rng(seed_ ^ kProbeStream, drawn_);
    Case drawn = draw(rng);
    const Classification classification = classify(drawn);
    if (!classification.lowered || classification.value_is_open ||
        work_of(drawn, *classification.lowered) > kMostWork) {
      continue;
    }
    drawn.id = "probe-" + std::to_string(seed_) + "-" + std::to_string(drawn_++);
    return drawn;
  }
}

std::unique_ptr<Observation> Observation::of(Case test_case, const Runner& run, const Policy& policy) {
  const Outcome outcome = run(test_case);
  return of(std::move(test_case), outcome, policy);
}

std::unique_ptr<Observation> Observation::of(Case test_case, const Outcome& outcome, const Policy& policy) {
  auto owned = std::make_unique<Owned>();
  owned->test_case = std::move(test_case);
  owned->expected = expect(owned->test_case, policy);
  assess(owned->test_case, owned->expected);
  const Owned& held = *owned;
  std::unique_ptr<Observation> result(new Observation(held.test_case, held.expected, std::move(owned)));
  return result->take(outcome) ? std::move(result) : nullptr;
}

std::unique_ptr<Observation> Observation::borrowing(const Case& test_case, const Expected& expected,
                                                    const Outcome& outcome) {
  std::unique_ptr<Observation> result(new Observation(test_case, expected, nullptr));
  return result->take(outcome) ? std::move(result) : nullptr;
}

bool Observation::take(const Outcome& outcome) {
  const auto* produced = std::get_if<outcome::Produced>(&outcome);
  if (produced == nullptr || !expected_.output) return false;
  modelled_ = ModelledCase::prepare(case_, expected_.classification);
  if (modelled_ == nullptr) return false;
  got_ = produced->output;
  has_wrong_shape_ = got_.type != right().type || got_.shape != right().shape;
  if (has_wrong_shape_) return true;
  states_.assign(static_cast<std::size_t>(got_.elements()), ElementState::right);
  if (got_.bytes == right().bytes) return true;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if (raw(got_, index) == raw(right(), index)) continue;
    const bool is_legal = !expected_.pinned && modelled_->lowered().examine(index, got_, expected_.policy).right;
    states_[i] = is_legal ? ElementState::legal : ElementState::wrong;
    wrong_ += is_legal ? 0 : 1;
  }
  return true;
}

Match match(const Observation& observation, const std::optional<Tensor>& predicted) {
  const Tensor& got = observation.got();
  Match result;
  if (!predicted || predicted->type != got.type || predicted->shape != got.shape) return result;
  if (predicted->bytes == got.bytes) return {true, true, 0, observation.wrong_elements(), 0};
  if (observation.has_wrong_shape()) return result;
  result.holds = result.is_near = true;
  for (std::size_t i = 0; i < observation.states().size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const ElementState state = observation.states()[i];
    const std::uint64_t model = raw(*predicted, index);
    const std::uint64_t backend = raw(got, index);
    if (model == backend) {
      result.explained += state == ElementState::wrong ? 1 : 0;
      continue;
    }
    if (state == ElementState::legal && model == raw(observation.right(), index)) {
      ++result.legal;
      continue;
    }
    result.holds = false;
    result.is_near = result.is_near && are_neighbours(got.type, model, backend);
    result.broken += state == ElementState::wrong ? 0 : 1;
  }
  return result;
}

}  // namespace qconform::diagnose
