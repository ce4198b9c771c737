#include "harness/diagnose/explain/element_places.h"

#include <algorithm>
#include <optional>

#include "harness/diagnose/models/defect_lists.h"
#include "harness/operators/element_text.h"
#include "reference/numerics/element.h"

namespace qconform::diagnose {
namespace {

struct Element {
  std::int64_t index = 0;
  std::int64_t count = 1;  ///< of the output's elements
  // Of an output [images, channels, ...]; an element-wise operator's "channel" is its parameter.
  std::int64_t image = 0;
  std::int64_t channel = 0;
  std::int64_t channels = 1;
  std::int64_t group = 0;
  std::int64_t column = 0;  ///< along the last axis of a convolution
  std::int64_t columns = 1;
  bool is_last_row = false;
  bool touches_padding = false;
  bool is_padding_only = false;
  bool is_saturated = false;
  bool is_tie = false;
  bool is_open = false;  ///< another value than the reference's is legal
  bool is_convolution = false;
};

struct Rule {
  Place place;
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
     [](const Element& e, const Element&) { return e.is_convolution && is_in_tail<4>(e.channel, e.channels); }},
    {{"tail-channels-8", "the channels beyond the last multiple of 8"},
     [](const Element& e, const Element&) { return e.is_convolution && is_in_tail<8>(e.channel, e.channels); }},
    {{"tail-channels-16", "the channels beyond the last multiple of 16"},
     [](const Element& e, const Element&) { return e.is_convolution && is_in_tail<16>(e.channel, e.channels); }},
    {{"tail-columns-4", "the columns beyond the last multiple of 4"},
     [](const Element& e, const Element&) { return e.is_convolution && is_in_tail<4>(e.column, e.columns); }},
    {{"tail-columns-8", "the columns beyond the last multiple of 8"},
     [](const Element& e, const Element&) { return e.is_convolution && is_in_tail<8>(e.column, e.columns); }},
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
constexpr Defect kOtherNeighbour{.id = "other-neighbour",
                                 .description = "",
                                 .operators = kQuantizing,
                                 .trigger = "",
                                 .rule = "",
                                 .evidence = "",
                                 .admitted = kNoOperators,
                                 .replace = [](Stages& stages) {
                                   stages.output.round = [](const Quotient& value, std::int32_t) {
                                     return neighbours_of(value).odd();
                                   };
                                 }};

const ConvolutionGeometry* geometry_of(const NodeDescription& node) {
  if (const auto* quantized = std::get_if<const QLinearConv*>(&node)) return &(*quantized)->operands.geometry;
  if (const auto* integer = std::get_if<const reference::ConvInteger*>(&node)) return &(*integer)->operands.geometry;
  return nullptr;
}

const QuantizationLayout* layout_of(const NodeDescription& node) {
  if (const auto* quantize = std::get_if<const QuantizeLinear*>(&node)) return &(*quantize)->layout;
  if (const auto* dequantize = std::get_if<const DequantizeLinear*>(&node)) return &(*dequantize)->layout;
  return nullptr;
}

void place_window(const ConvolutionGeometry& geometry, Element& element) {
  const std::int64_t positions = geometry.output_positions();
  const std::int64_t plane = element.index / positions;
  std::int64_t rest = element.index % positions;
  element.is_convolution = true;
  element.image = plane / geometry.output_channels;
  element.channel = plane % geometry.output_channels;
  element.channels = geometry.output_channels;
  element.group = element.channel / geometry.group_output_channels();
  for (std::size_t a = geometry.axes.size(); a-- > 0;) {
    const reference::SpatialAxis& axis = geometry.axes[a];
    const std::int64_t at = rest % axis.output;
    rest /= axis.output;
    if (a + 1 == geometry.axes.size()) {
      element.column = at;
      element.columns = axis.output;
    }
    if (a == 0 && geometry.axes.size() > 1) element.is_last_row = at + 1 == axis.output && axis.output > 1;
    std::int64_t outside = 0;
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
      const std::int64_t position = at * axis.stride - axis.pad_begin + tap * axis.dilation;
      outside += position < 0 || position >= axis.input ? 1 : 0;
    }
    element.touches_padding = element.touches_padding || outside > 0;
    element.is_padding_only = element.is_padding_only || outside == axis.kernel;
  }
}

bool is_at_an_end(const Tensor& right, std::int64_t index) {
  if (!is_integer(right.type) || bits_of(right.type) > 16) return false;
  const reference::IntegerRange range = reference::range_of(element_of(right.type));
  const std::int64_t value = integer_at(right, index);
  return value == range.lo || value == range.hi;
}

std::vector<Element> elements_of(const Observation& observation) {
  const NodeDescription node = description_of(observation.modelled().lowered());
  const ConvolutionGeometry* geometry = geometry_of(node);
  const QuantizationLayout* layout = layout_of(node);
  const Tensor& right = observation.right();
  const std::optional<Tensor> other = observation.modelled().run(kOtherNeighbour);
  const std::optional<Tensor>& exact = observation.expected().output;
  std::vector<Element> elements(static_cast<std::size_t>(right.elements()));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Element& element = elements[i];
    element.index = static_cast<std::int64_t>(i);
    element.count = right.elements();
    if (geometry != nullptr) place_window(*geometry, element);
    if (layout != nullptr) element.channel = static_cast<std::int64_t>(layout->parameter_of(element.index));
    element.is_saturated = is_at_an_end(right, element.index);
    const int bits = bits_of(right.type);
    element.is_tie = raw_bits_at(other->bytes, bits, element.index) != raw_bits_at(exact->bytes, bits, element.index);
    element.is_open = !observation.modelled().lowered().is_determined(element.index, observation.expected().policy);
  }
  return elements;
}

}  // namespace

std::span<const Place> places() {
  static const std::vector<Place> all = [] {
    std::vector<Place> list;
    for (const Rule& rule : kRules) list.push_back(rule.place);
    return list;
  }();
  return all;
}

std::vector<std::uint64_t> places_of(const Observation& observation) {
  const std::vector<Element> elements = elements_of(observation);
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
