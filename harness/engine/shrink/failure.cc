#include "harness/engine/shrink/shrink.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/model/reductions/reductions.h"
#include "harness/model/text.h"
#include "harness/operators/convolution/hooks.h"
#include "reference/numerics/floats.h"

namespace qconform::shrink {

namespace {

std::string_view name_of(outcome::WroteOutOfBounds::Side side) {
  return side == outcome::WroteOutOfBounds::Side::before ? "before" : "past";
}

// The place does not depend on how large the case is.
std::string place_of(const Outcome& outcome) {
  if (const auto* crash = std::get_if<outcome::Crashed>(&outcome)) {
    return fmt::format("signal {} {}", crash->signal, crash->place);
  }
  if (const auto* exit = std::get_if<outcome::Exited>(&outcome)) return fmt::format("status {}", exit->status);
  if (const auto* write = std::get_if<outcome::WroteOutOfBounds>(&outcome)) return std::string(name_of(write->side));
  if (const auto* read = std::get_if<outcome::ReadOutOfBounds>(&outcome)) {
    return fmt::format("{} {}{}", name_of(read->side), read->tensor, read->wrote ? ", written" : "");
  }
  if (const auto* change = std::get_if<outcome::ChangedInput>(&outcome)) return change->tensor;
  return {};
}

// Whether two floats of one sign and type are neighbours.
bool are_neighbours(const Tensor& got, const Tensor& right, std::int64_t index) {
  if (bits_of(got.type) > 64) return false;
  const std::uint64_t a = bits_at(got, index);
  const std::uint64_t b = bits_at(right, index);
  return (a > b ? a - b : b - a) <= 1;
}

Distance distance_of(const Tensor& got, const Tensor& right, std::int64_t index, double error) {
  constexpr double kRelative = 0.01;
  if (!std::isfinite(error)) return Distance::incomparable;
  const double size = std::fabs(error);
  if (!is_integer(got.type)) {
    const double larger = std::max(std::fabs(number_at(got, index)), std::fabs(number_at(right, index)));
    return size <= kRelative * larger || are_neighbours(got, right, index) ? Distance::one : Distance::more;
  }
  return size <= 1 ? Distance::one : Distance::more;
}

}  // namespace

Requirement requirement_of(const Classification& classification) {
  Requirement requirement{classification.expectation(), {}, classification.value_is_open};
  if (const auto& violation = classification.contract.violation) {
    requirement.rules.push_back(violation->rule + " " + violation->field);
    return requirement;
  }
  for (const reference::Remark& remark : classification.contract.implementation_defined)
    requirement.rules.push_back(remark.rule);
  std::sort(requirement.rules.begin(), requirement.rules.end());
  requirement.rules.erase(std::unique(requirement.rules.begin(), requirement.rules.end()), requirement.rules.end());
  return requirement;
}

Failure failure_of(const Expected& expected, const Outcome& outcome, const Verdict& verdict) {
  Failure failure{verdict.kind, verdict.rule, place_of(outcome)};
  if (failure.place.empty()) failure.place = verdict.place;  // the place of a refusal is its message
  const auto* produced = std::get_if<outcome::Produced>(&outcome);
  if (produced == nullptr || !verdict.worst || !expected.output || verdict.worst->output >= produced->outputs.size()) {
    return failure;
  }
  const std::size_t number = verdict.worst->output;
  const Tensor& got = produced->outputs[number];
  const Tensor& right = number == 0 && expected.pinned ? *expected.pinned : expected.output_at(number);
  std::int64_t index = 0;
  for (std::size_t i = 0; i < got.shape.size(); ++i) index = index * got.shape[i] + verdict.worst->index[i];
  const double error = number_at(got, index) - number_at(right, index);
  failure.distance = distance_of(got, right, index, error);
  failure.sign = error > 0 ? 1 : error < 0 ? -1 : 0;
  return failure;
}

namespace {

void add(std::uint64_t& sum, std::uint64_t summand) {
  sum = summand > std::numeric_limits<std::uint64_t>::max() - sum ? std::numeric_limits<std::uint64_t>::max()
                                                                  : sum + summand;
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
}

// An attribute costs by being there, and by what it says; auto_pad, whose meaning depends on the
// shapes, costs more than any pads that it stands for are likely to.
std::uint64_t weight(const Attribute& attribute) {
  std::uint64_t sum = 1;
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) add(sum, magnitude(*integer));
  if (const auto* text = std::get_if<std::string>(&attribute.value)) add(sum, 1'000'000 + text->size());
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    for (const std::int64_t element : *integers) add(sum, magnitude(element));
    add(sum, integers->size());
  }
  if (const auto* reals = std::get_if<std::vector<float>>(&attribute.value)) add(sum, reals->size());
  if (const auto* texts = std::get_if<std::vector<std::string>>(&attribute.value)) {
    for (const std::string& element : *texts) add(sum, element.size());
    add(sum, texts->size());
  }
  return sum;
}

void add_values(const Case& test_case, const Role& role, Measure& result) {
  const Tensor& tensor = *test_case.input(role.position);
  if (!is_number(tensor.type)) return;
  const std::int64_t elements = tensor.elements();
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint64_t cost = complexity(tensor.type, bits_at(tensor, i), neutral_value(test_case, role, i));
    if (cost == 0) continue;
    switch (role.part) {
      case InputPart::scale: add(result.scales, cost); break;
      case InputPart::zero_point:
        ++result.zero_points;
        add(result.magnitude, cost);
        break;
      case InputPart::data:
        ++result.contributing;
        add(result.magnitude, cost);
        break;
    }
  }
}

}  // namespace

Measure measure(const Case& test_case, const std::optional<std::int64_t>& output_elements) {
  Measure result;
  result.nodes = test_case.nodes.size();
  add(result.elements, static_cast<std::uint64_t>(output_elements.value_or(0)));
  add(result.elements, static_cast<std::uint64_t>(implied_elements(test_case)));
  for (const auto& input : test_case.inputs) {
    if (!input) continue;
    add(result.elements, static_cast<std::uint64_t>(input->elements()));
    add(result.structure, 1 + input->shape.size());
  }
  add(result.structure, test_case.inputs.size());
  for (const Node& node : test_case.nodes) {
    for (const Attribute& attribute : node.attributes) add(result.structure, weight(attribute));
  }
  for (const Role& role : roles_of(test_case)) add_values(test_case, role, result);
  return result;
}

}  // namespace qconform::shrink
