#include "harness/model/defects/observation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/model/text.h"
#include "reference/numerics/element.h"

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

namespace {

struct Rule {
  OutputRegion place;
  bool (*holds)(const Element& element, const Element& first_wrong);
};

template <std::int64_t kWidth>
bool is_in_tail(std::int64_t index, std::int64_t count) {
  return count > kWidth && index >= count / kWidth * kWidth;
}

constexpr Rule kRules[] = {
    {{"ties", "exact ties before rounding"}, [](const Element& e, const Element&) { return e.is_tie; }},
    {{"near-ties", "values so near a tie that more than one is legal, and ties"},
     [](const Element& e, const Element&) { return e.is_open || e.is_tie; }},
    {{"saturated", "elements at an end of the output's range"},
     [](const Element& e, const Element&) { return e.is_saturated; }},
    {{"padding-only", "windows wholly in padding"}, [](const Element& e, const Element&) { return e.is_padding_only; }},
    {{"border", "windows that reach the padding"}, [](const Element& e, const Element&) { return e.touches_padding; }},
    {{"tail-channels-4", "the channels beyond the last multiple of 4"},
     [](const Element& e, const Element&) { return is_in_tail<4>(e.channel, e.channels); }},
    {{"tail-channels-8", "the channels beyond the last multiple of 8"},
     [](const Element& e, const Element&) { return is_in_tail<8>(e.channel, e.channels); }},
    {{"tail-channels-16", "the channels beyond the last multiple of 16"},
     [](const Element& e, const Element&) { return is_in_tail<16>(e.channel, e.channels); }},
    {{"tail-columns-4", "the columns beyond the last multiple of 4"},
     [](const Element& e, const Element&) { return is_in_tail<4>(e.column, e.columns); }},
    {{"tail-columns-8", "the columns beyond the last multiple of 8"},
     [](const Element& e, const Element&) { return is_in_tail<8>(e.column, e.columns); }},
    {{"tail-elements-4", "the last elements, beyond a multiple of 4"},
     [](const Element& e, const Element&) { return e.index >= e.count / 4 * 4; }},
    {{"tail-elements-16", "the last elements, beyond a multiple of 16"},
     [](const Element& e, const Element&) { return is_in_tail<16>(e.index, e.count); }},
    {{"last-row", "the last row"}, [](const Element& e, const Element&) { return e.is_last_row; }},
    {{"one-image", "one image of the batch"},
     [](const Element& e, const Element& first) { return e.image == first.image; }},
    {{"later-images", "images after the first"}, [](const Element& e, const Element&) { return e.image > 0; }},
    {{"one-group", "one group"}, [](const Element& e, const Element& first) { return e.group == first.group; }},
    {{"later-groups", "groups after the first"}, [](const Element& e, const Element&) { return e.group > 0; }},
    {{"one-channel", "one channel, or parameter"},
     [](const Element& e, const Element& first) { return e.channel == first.channel; }},
    {{"later-channels", "channels, or parameters, after the first"},
     [](const Element& e, const Element&) { return e.channel > 0; }},
};

// Away from the right answer exactly at ties: the other neighbour of each.
Stages with_the_other_neighbour() {
  Stages stages;
  stages.set(stage::round, [](const Quotient& value, std::int32_t) { return neighbours_of(value).odd(); });
  return stages;
}

bool is_at_an_end(const Tensor& right, std::int64_t index) {
  if (!is_integer(right.type) || bits_of(right.type) > 16) return false;
  const reference::IntegerRange range = reference::range_of(right.type);
  const std::int64_t value = integer_at(right, index);
  return value == range.lo || value == range.hi;
}

std::vector<Element> elements_in(const Observation& observation) {
  const ModelledCase& modelled = observation.modelled();
  const Tensor& right = observation.right();
  const std::optional<Tensor> other = modelled.run(with_the_other_neighbour());
  const std::optional<Tensor>& exact = observation.expected().output;
  std::vector<Element> elements(static_cast<std::size_t>(right.elements()));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Element& element = elements[i];
    element.index = static_cast<std::int64_t>(i);
    element.count = right.elements();
    element.is_saturated = is_at_an_end(right, element.index);
    const int bits = bits_of(right.type);
    element.is_tie = raw_bits_at(other->bytes, bits, element.index) != raw_bits_at(exact->bytes, bits, element.index);
    element.is_open = !modelled.lowered().is_determined(element.index, observation.expected().policy);
  }
  if (const auto place = modelled.family().place) place(modelled.lowered(), elements);
  return elements;
}

}  // namespace

std::span<const OutputRegion> output_regions() {
  static const std::vector<OutputRegion> all = [] {
    std::vector<OutputRegion> list;
    for (const Rule& rule : kRules) list.push_back(rule.place);
    return list;
  }();
  return all;
}

std::vector<std::uint64_t> output_regions_of(const Observation& observation) {
  const std::vector<Element> elements = elements_in(observation);
  const std::vector<ElementState>& states = observation.states();
  const auto wrong = std::find(states.begin(), states.end(), ElementState::wrong);
  const std::size_t first = wrong == states.end() ? 0 : static_cast<std::size_t>(wrong - states.begin());
  std::vector<std::uint64_t> result(elements.size(), 0);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    for (std::size_t rule = 0; rule < std::size(kRules); ++rule) {
      if (kRules[rule].holds(elements[i], elements[first])) result[i] |= std::uint64_t{1} << rule;
    }
  }
  return result;
}

}  // namespace qconform::diagnose
