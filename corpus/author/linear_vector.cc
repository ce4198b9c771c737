#include "corpus/author/linear_vector.h"

#include <array>
#include <cmath>

#include "harness/operators/element_text.h"
#include "harness/operators/operator.h"
#include "reference/linear_quantization/value.h"
#include "reference/numerics/small_float.h"

namespace qconform::author {
namespace {

constexpr std::array<std::int64_t, 7> kVersions{10, 13, 19, 21, 23, 24, 25};

LinearBuilder stated(LinearBuilder builder, std::int64_t version, const std::string& id, std::string note,
                     std::vector<std::string> rules, std::vector<std::string> tags) {
  return builder.version(version)
      .id(id + "-v" + std::to_string(version))
      .note(std::move(note))
      .rules(std::move(rules))
      .tags(std::move(tags));
}

}  // namespace

std::span<const std::int64_t> linear_versions(std::int64_t first) {
  std::size_t begin = 0;
  while (kVersions[begin] < first) ++begin;
  return std::span(kVersions).subspan(begin);
}

LinearBuilder quantize_vector(std::int64_t version, const std::string& id, std::string note,
                              std::vector<std::string> rules, std::vector<std::string> tags) {
  return stated(LinearBuilder::quantize(), version, id, std::move(note), std::move(rules), std::move(tags));
}

LinearBuilder dequantize_vector(std::int64_t version, const std::string& id, std::string note,
                                std::vector<std::string> rules, std::vector<std::string> tags) {
  return stated(LinearBuilder::dequantize(), version, id, std::move(note), std::move(rules), std::move(tags));
}

double rounded_to_type(ElementType type, double value) {
  if (reference::is_integer(element_of(type))) return value;
  return reference::rounded_to(reference::float_format(element_of(type)), value);
}

double next_number(ElementType type, double value) {
  if (reference::is_integer(element_of(type))) return value + 1;
  const reference::FloatFormat& format = reference::float_format(element_of(type));
  double step = std::ldexp(std::fabs(value), -format.mantissa_bits - 1);
  while (rounded_to_type(type, value + step) <= value) step *= 1.5;
  return rounded_to_type(type, value + step);
}

bool Choice::admits(double y) const {
  const Tensor tensor = numbers(static_cast<ElementType>(right.type()), {1}, {y});
  return right.contains(raw_bits_at(tensor.bytes, bits_of(tensor.type), 0));
}

double Choice::answer(std::size_t index) const {
  return reference::value_of(right.type(), right.members()[index]);
}

std::vector<Choice> choose(LinearBuilder vector, ElementType type, const std::vector<double>& candidates,
                           std::size_t count, const std::function<bool(const Choice&)>& holds) {
  vector.x(numbers(type, {static_cast<std::int64_t>(candidates.size())}, candidates));
  const Case probe = vector.build();
  const Classification classification = classify(probe);
  std::vector<Choice> chosen;
  for (std::size_t i = 0; classification.lowered && i < candidates.size() && chosen.size() < count; ++i) {
    const auto right = classification.lowered->admissible_bits(static_cast<std::int64_t>(i), reference::Latitude::onnx);
    if (!right) continue;
    Choice choice{candidates[i], *right};
    if (holds(choice)) chosen.push_back(std::move(choice));
  }
  return chosen;
}

Tensor x_of(ElementType type, const std::vector<Choice>& choices) {
  std::vector<double> values;
  for (const Choice& choice : choices) values.push_back(choice.x);
  return numbers(type, {static_cast<std::int64_t>(values.size())}, values);
}

std::vector<double> answers(const std::vector<Choice>& choices, const std::function<double(double x)>& arithmetic) {
  std::vector<double> values;
  for (const Choice& choice : choices) values.push_back(arithmetic(choice.x));
  return values;
}

std::vector<double> beside_ties(ElementType type, double scale, int count) {
  std::vector<double> found;
  for (int k = 0; k <= count; ++k) {
    const double tie = rounded_to_type(type, (k + 0.5) * scale);
    for (const double x : {tie, next_number(type, tie), -next_number(type, -tie)}) {
      found.insert(found.end(), {x, -x});
    }
  }
  return found;
}

std::vector<double> integers_between(std::int64_t first, std::int64_t last) {
  std::vector<double> values;
  for (std::int64_t value = first; value <= last; ++value) values.push_back(static_cast<double>(value));
  return values;
}

}  // namespace qconform::author
