#include "harness/model/defects/output_regions.h"

#include <algorithm>
#include <optional>

#include "harness/model/text.h"
#include "reference/numerics/element.h"

namespace qconform::diagnose {
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
  const reference::IntegerRange range = reference::range_of(element_of(right.type));
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
