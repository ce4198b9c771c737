#include "harness/model/defects/diagnosed_case.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "harness/base/small_set.h"
#include "harness/model/family.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "reference/numerics/element.h"
#include "reference/numerics/floats.h"

namespace qconform::diagnose {
namespace {

// Measured: a product takes 1 to 3 ns, an element some 40, a run some 2 us, and one of a graph, which models rewrite,
// some 8 us for each node.
std::uint64_t expense_of_run(const Case& test_case) {
  return is_judged_as_graph(test_case) ? 4000 * test_case.nodes.size() : 1000;
}

std::uint64_t expense_of_values_in(std::int64_t work, const Lowered& lowered) {
  constexpr std::int64_t kOfAnElement = 20;
  std::int64_t elements = 1;
  for (const std::int64_t dimension : lowered.output_shape()) elements *= dimension;
  return static_cast<std::uint64_t>(work + kOfAnElement * elements);
}

bool can_be_modelled(const Case& test_case, const Classification& classification) {
  return classification.lowered != nullptr && !classification.value_is_open &&
         family_of(test_case)->diagnosis.run != nullptr;
}

}  // namespace

ModelledCase::ModelledCase(const Case& test_case, const Lowered& lowered, std::unique_ptr<Classification> owned)
    : case_(test_case),
      owned_(std::move(owned)),
      lowered_(lowered),
      op_(operator_of(test_case)),
      family_(family_of(test_case)),
      work_(lowered.work()),
      of_run_(expense_of_run(test_case)),
      of_values_(expense_of_values_in(work_, lowered)) {}

std::unique_ptr<ModelledCase> ModelledCase::prepare(const Case& test_case) {
  auto owned = std::make_unique<Classification>(classify(test_case));
  if (!can_be_modelled(test_case, *owned)) return nullptr;
  const Lowered& lowered = *owned->lowered;
  return std::unique_ptr<ModelledCase>(new ModelledCase(test_case, lowered, std::move(owned)));
}

std::unique_ptr<ModelledCase> ModelledCase::prepare(const Case& test_case, const Classification& classification) {
  if (!can_be_modelled(test_case, classification)) return nullptr;
  return std::unique_ptr<ModelledCase>(new ModelledCase(test_case, *classification.lowered, nullptr));
}

std::optional<Tensor> ModelledCase::run(const DefectModel& model) const {
  return run(model.stages(op_->name));
}

std::optional<std::uint64_t> ModelledCase::element(const DefectModel& model, std::int64_t index) const {
  if (family_->diagnosis.element == nullptr) return std::nullopt;
  return family_->diagnosis.element(case_, lowered_, model.stages(op_->name), index);
}

// Families speak of the first output: each takes its turn as that.
std::optional<std::vector<Tensor>> ModelledCase::outputs(const DefectModel& model) const {
  std::optional<Tensor> first = run(model);
  if (!first) return std::nullopt;
  std::vector<Tensor> all{std::move(*first)};
  Case turned = case_;
  while (all.size() < case_.output_count()) {
    std::rotate(turned.outputs.begin(), turned.outputs.begin() + 1, turned.outputs.end());
    const Classification classification = classify(turned);
    std::optional<Tensor> output = family_->diagnosis.run(turned, *classification.lowered, model.stages(op_->name));
    if (!output) return std::nullopt;
    all.push_back(std::move(*output));
  }
  return all;
}

std::optional<Tensor> ModelledCase::run(const Stages& stages) const {
  return family_->diagnosis.run(case_, lowered_, stages);
}

std::optional<Tensor> ModelledCase::run(const Defect& defect) const {
  Stages stages;
  if (defect.operators.contains(op_->name)) defect.apply(stages);
  return run(stages);
}

namespace {

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
  auto owned = std::make_unique<OwnedCase>();
  owned->test_case = std::move(test_case);
  owned->expected = expect(owned->test_case, policy);
  assess(owned->test_case, owned->expected);
  const OwnedCase& held = *owned;
  std::unique_ptr<Observation> result(new Observation(held.test_case, held.expected, std::move(owned)));
  return result->take(outcome) ? std::move(result) : nullptr;
}

std::unique_ptr<Observation> Observation::borrowing(const Case& test_case, const Expected& expected,
                                                    const Outcome& outcome) {
  std::unique_ptr<Observation> result(new Observation(test_case, expected, nullptr));
  return result->take(outcome) ? std::move(result) : nullptr;
}

namespace {

// How far apart right values of each element lie, of outputs in float that have intervals of them.
std::vector<double> widths_of_sets(const Lowered& lowered, const Tensor& right, const Policy& policy) {
  if (right.type != ElementType::float32 && !is_16bit_float(right.type)) return {};
  if (!lowered.has_tiers()) return {};
  std::vector<double> widths(static_cast<std::size_t>(right.elements()), 0);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const RightValues values = lowered.right_values(static_cast<std::int64_t>(i), policy);
    if (values.any_value || values.ranges.size() != 1) continue;
    const auto& format = reference::float_format(right.type);
    widths[i] = std::fabs(decode(format, values.ranges[0].hi) - decode(format, values.ranges[0].lo));
  }
  return widths;
}

}  // namespace

bool Observation::agrees(std::int64_t index, std::uint64_t predicted) const {
  const std::uint64_t got = bits_at(got_, index);
  if (got == predicted) return true;
  const auto i = static_cast<std::size_t>(index);
  if (i >= widths_.size() || !std::isfinite(widths_[i])) return false;
  const auto& format = reference::float_format(got_.type);
  const double answer = decode(format, got);
  const double distance = std::fabs(answer - decode(format, predicted));
  if (!(distance <= widths_[i])) return false;
  constexpr double kMuchNearer = 4;
  return states_[i] != ElementState::wrong || kMuchNearer * distance < std::fabs(answer - number_at(right(), index));
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
    if (bits_at(got_, index) == bits_at(right(), index)) continue;
    const bool is_legal = !expected_.pinned && modelled_->lowered().examine(index, got_, expected_.policy).right;
    states_[i] = is_legal ? ElementState::legal : ElementState::wrong;
    wrong_ += is_legal ? 0 : 1;
  }
  if (wrong_ != 0 && !expected_.pinned) widths_ = widths_of_sets(modelled_->lowered(), right(), expected_.policy);
  return true;
}

bool is_refuted(const Observation& observation, const DefectModel& model) {
  const auto& states = observation.states();
  const auto wrong = std::find(states.begin(), states.end(), ElementState::wrong);
  if (wrong == states.end()) return false;
  const std::int64_t index = wrong - states.begin();
  const auto bits = observation.modelled().element(model, index);
  return bits && !observation.agrees(index, *bits);
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
      const std::uint64_t model = bits_at(*predicted, i);
      const std::uint64_t backend = bits_at(got, i);
      result.is_near = model == backend || are_neighbours(got.type, model, backend);
    }
    return result;
  }
  result.holds = result.is_near = true;
  for (std::size_t i = 0; i < observation.states().size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const ElementState state = observation.states()[i];
    const std::uint64_t model = bits_at(*predicted, index);
    const std::uint64_t backend = bits_at(got, index);
    if (observation.agrees(index, model)) {
      result.explained += state == ElementState::wrong ? 1 : 0;
      continue;
    }
    if (state == ElementState::legal && model == bits_at(observation.right(), index)) {
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

struct RegionRule {
  OutputRegion place;
  bool (*holds)(const Element& element, const Element& first_wrong);
};

template <std::int64_t kWidth>
bool is_in_tail(std::int64_t index, std::int64_t count) {
  return count > kWidth && index >= count / kWidth * kWidth;
}

constexpr RegionRule kRules[] = {
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
  if (const auto place = modelled.family().diagnosis.place) place(modelled.lowered(), elements);
  return elements;
}

}  // namespace

std::span<const OutputRegion> output_regions() {
  static const std::vector<OutputRegion> all = [] {
    std::vector<OutputRegion> list;
    for (const RegionRule& rule : kRules) list.push_back(rule.place);
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

namespace {

// A corner case, or corner cases in whichever direction.
struct CornerCaseReach {
  std::string text;
  SmallSet<CornerCase> corner_cases;
};

// Whether failures of some operator that it concerns are explained.
bool is_explained(const CornerCaseInfo& info) {
  return std::any_of(families().begin(), families().end(), [&](const Family* family) {
    const auto concerns = [&](const Operator& known) { return known.corner_cases.contains(info); };
    return family->diagnosis.run != nullptr &&
           std::any_of(family->operators.begin(), family->operators.end(), concerns);
  });
}

const std::vector<CornerCaseReach>& reaches() {
  static const std::vector<CornerCaseReach> all = [] {
    std::vector<CornerCaseReach> list{
        {"reaches exact ties", {CornerCase::tie_positive, CornerCase::tie_negative}},
        {"reaches values an ulp from a tie", {CornerCase::near_tie_above, CornerCase::near_tie_below}},
        {"reaches an end of the output's range", {CornerCase::clamp_low, CornerCase::clamp_high}},
        {"reaches subnormal numbers", {CornerCase::subnormal_scale, CornerCase::subnormal_result}},
    };
    for (const CornerCaseInfo& info : corner_cases()) {
      if (is_explained(info)) list.push_back({"reaches " + std::string(info.label), {info.corner_case}});
    }
    return list;
  }();
  return all;
}

const FeatureList& list_of(const Family& family) {
  static const FeatureList none{{},
                                {},
                                [](const Case&, const Expected&) { return std::vector<bool>(); },
                                [](const Case&, const Expected&) { return std::vector<std::int64_t>(); }};
  return family.diagnosis.case_features == nullptr ? none : family.diagnosis.case_features();
}

}  // namespace

std::span<const CaseFeature> case_features() {
  static const std::vector<CaseFeature> all = [] {
    std::vector<CaseFeature> list;
    for (const Family* family : families()) {
      const std::vector<CaseFeature>& own = list_of(*family).features;
      list.insert(list.end(), own.begin(), own.end());
    }
    for (const CornerCaseReach& reach : reaches()) list.push_back({reach.text});
    return list;
  }();
  return all;
}

std::span<const std::string> case_sizes() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list;
    for (const Family* family : families()) {
      const std::vector<std::string>& own = list_of(*family).sizes;
      list.insert(list.end(), own.begin(), own.end());
    }
    return list;
  }();
  return all;
}

CaseTraits features_of(const Case& test_case, const Expected& expected) {
  assert(case_features().size() <= kMostFeatures && case_sizes().size() <= kMostSizes);
  constexpr auto bounded = [](std::int64_t size) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(size, 0, UINT32_MAX));
  };
  CaseTraits result;
  result.elements = expected.output ? bounded(expected.output->elements()) : 0;
  std::size_t at = 0;
  std::size_t size = 0;
  for (const Family* family : families()) {
    const FeatureList& list = list_of(*family);
    if (family == family_of(test_case)) {
      const std::vector<bool> hold = list.hold(test_case, expected);
      for (std::size_t i = 0; i < hold.size(); ++i) result.features[at + i] = hold[i];
      const std::vector<std::int64_t> sizes = list.measure(test_case, expected);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        result.sizes[size + i] = bounded(sizes[i]);
      }
    }
    at += list.features.size();
    size += list.sizes.size();
  }
  for (const CornerCaseReach& reach : reaches()) {
    result.features[at++] = std::any_of(reach.corner_cases.begin(), reach.corner_cases.end(),
                                        [&](CornerCase corner_case) { return expected.corner_cases[corner_case] > 0; });
  }
  return result;
}

std::optional<Condition> Condition::parse(std::string_view text) {
  Condition result;
  for (std::size_t i = 0; i < case_features().size(); ++i) result.features_[i] = case_features()[i].text == text;
  if (result.features_.any()) return result;
  for (const std::string_view sign : {" >= ", " <= ", " = "}) {
    const std::size_t at = text.find(sign);
    if (at == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, at);
    const std::string_view digits = text.substr(at + sign.size());
    for (std::size_t i = 0; i < case_sizes().size(); ++i) result.sizes_[i] = case_sizes()[i] == name;
    std::uint32_t bound = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bound);
    if (error != std::errc() || end != digits.data() + digits.size() || result.sizes_.none()) continue;
    result.least_ = sign == " <= " ? 1 : bound;
    result.most_ = sign == " >= " ? UINT32_MAX : bound;
    return result;
  }
  return std::nullopt;
}

bool Condition::holds(const CaseTraits& traits) const {
  if ((traits.features & features_).any()) return true;
  for (std::size_t i = 0; sizes_.any() && i < kMostSizes; ++i) {
    const std::uint32_t size = traits.sizes[i];
    if (sizes_[i] && size > 0 && size >= least_ && size <= most_) return true;
  }
  return false;
}

}  // namespace qconform::diagnose
