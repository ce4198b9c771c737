#include "harness/model/defects/observation.h"

#include <utility>

namespace qconform::diagnose {
namespace {

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
  const Tensor* const produced = output_of(outcome);
  if (produced == nullptr || !expected_.output) return false;
  modelled_ = ModelledCase::prepare(case_, expected_.classification);
  if (modelled_ == nullptr) return false;
  got_ = *produced;
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
  if (observation.has_wrong_shape()) {
    // The model predicts the backend's wrong shape. It is near where each value is at most one step off, as another
    // arithmetic may have it.
    result.is_near = true;
    for (std::int64_t i = 0; i < got.elements() && result.is_near; ++i) {
      const std::uint64_t model = raw(*predicted, i);
      const std::uint64_t backend = raw(got, i);
      result.is_near = model == backend || are_neighbours(got.type, model, backend);
    }
    return result;
  }
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
