#include "corpus/author/topic.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <sstream>

#include "harness/judge/judge.h"
#include "harness/operators/element_text.h"
#include "harness/operators/operator.h"
#include "reference/numerics/small_float.h"

namespace qconform::author {
namespace {

// A recorded answer is compared bit for bit by whoever runs the vector elsewhere, so it must be the
// only right one.
bool answer_is_unique(const Case& vector, const Lowered& lowered, const Tensor& answer) {
  const Policy policy = policy_for(vector, Policy{});
  for (std::int64_t i = 0; i < answer.elements(); ++i) {
    if (!lowered.is_determined(i, policy)) return false;
  }
  return true;
}

std::string values_text(const Tensor& tensor) {
  std::ostringstream text;
  text << shape_text(tensor.shape) << " {";
  for (std::int64_t i = 0; i < tensor.elements(); ++i) text << (i == 0 ? "" : ", ") << number_at(tensor, i);
  text << "}";
  return text.str();
}

}  // namespace

void Topic::problem(const Case& vector, const std::string& text) {
  problems_.push_back(path_ + ": " + vector.id + ": " + text);
}

void Topic::add(Case vector, Expectation expectation) {
  const auto same_id = [&](const Case& other) { return other.id == vector.id; };
  if (vector.id.empty() || std::any_of(cases_.begin(), cases_.end(), same_id)) problem(vector, "id is not unique");
  if (vector.note.empty() || vector.note.find('\n') != std::string::npos)
    problem(vector, "expected a note of one line");
  const Classification classification = classify(vector);
  const reference::Remark* remark = classification.deciding_remark();
  if (classification.expectation() != expectation) {
    problem(vector, "expected lane " + std::string(name_of(expectation)) + ", the semantics say " +
                        std::string(name_of(classification.expectation())) + (remark ? ": " + remark->text() : ""));
  } else if (remark && std::find(vector.rules.begin(), vector.rules.end(), remark->rule) == vector.rules.end()) {
    problem(vector, "decided by a rule that it does not name: " + remark->text());
  }
  vector.expectation = expectation;
  cases_.push_back(std::move(vector));
}

void Topic::add_unlike_float32(Case vector) {
  const Classification classification = classify(vector);
  if (classification.lowered && classification.lowered->evaluate(RoundingProfile::ort_f32) ==
                                    classification.lowered->evaluate(RoundingProfile::correctly_rounded)) {
    problem(vector, "float32 and exact arithmetic give the same answer");
  }
  vector.tags.emplace_back("float32-departs");
  add(std::move(vector), Expectation::valid);
}

void Topic::add_computed(Case vector, Expectation expectation) {
  const Classification classification = classify(vector);
  if (classification.lowered && !classification.value_is_open) {
    Tensor answer = classification.lowered->evaluate(RoundingProfile::correctly_rounded);
    const bool is_unique = answer_is_unique(vector, *classification.lowered, answer);
    if (is_unique) vector.recorded_output = std::move(answer);
    if (!is_unique && expectation == Expectation::valid) {
      problem(vector, "more than one answer is right; none may be recorded");
    }
  }
  add(std::move(vector), expectation);
}

void Topic::add_open(Case vector) {
  const Classification classification = classify(vector);
  if (classification.lowered) {
    const Tensor answer = classification.lowered->evaluate(RoundingProfile::correctly_rounded);
    if (answer_is_unique(vector, *classification.lowered, answer)) problem(vector, "there is one right answer");
  }
  add(std::move(vector), Expectation::valid);
}

void Topic::add_separating(Case vector, const std::vector<double>& wrong) {
  const Classification classification = classify(vector);
  if (classification.lowered) {
    const Lowered& lowered = *classification.lowered;
    const Tensor answer = numbers(lowered.output_type(), lowered.output_shape(), wrong);
    for (std::int64_t i = 0; i < answer.elements(); ++i) {
      if (lowered.examine(i, answer, Policy{}).right) {
        problem(vector, "element " + std::to_string(i) + " of the wrong answer is right");
      }
    }
    if (wrong.empty()) problem(vector, "there is no wrong answer");
    const Tensor right = lowered.evaluate(RoundingProfile::correctly_rounded);
    if (answer_is_unique(vector, lowered, right)) vector.recorded_output = right;
  }
  add(std::move(vector), Expectation::valid);
}

void Topic::add_known_numbers(Case vector, const make::Shape& shape, const std::vector<double>& answer) {
  const Classification classification = classify(vector);
  if (!classification.lowered) return add(std::move(vector), Expectation::valid);
  if (elements_of(shape) != static_cast<std::int64_t>(answer.size())) {
    return problem(vector, "the answer's shape and values do not agree");
  }
  add_answered(std::move(vector), numbers(classification.lowered->output_type(), shape, answer));
}

void Topic::add_known(Case vector, const make::Shape& shape, const std::vector<std::int64_t>& answer) {
  const Classification classification = classify(vector);
  if (!classification.lowered) return add(std::move(vector), Expectation::valid);
  if (elements_of(shape) != static_cast<std::int64_t>(answer.size())) {
    return problem(vector, "the answer's shape and values do not agree");
  }
  add_answered(std::move(vector), make::integers(classification.lowered->output_type(), shape, answer));
}

void Topic::add_answered(Case vector, Tensor answer) {
  const Classification classification = classify(vector);
  if (classification.lowered) {
    const Tensor computed = classification.lowered->evaluate(RoundingProfile::correctly_rounded);
    if (computed != answer) problem(vector, "the reference computes " + values_text(computed));
    if (!answer_is_unique(vector, *classification.lowered, computed)) problem(vector, "more than one answer is right");
  }
  vector.recorded_output = std::move(answer);
  add(std::move(vector), Expectation::valid);
}

Tensor numbers(ElementType type, make::Shape shape, const std::vector<double>& values) {
  const reference::Element element = element_of(type);
  std::vector<std::int64_t> patterns;
  for (const double value : values) {
    const std::uint64_t bits =
        reference::is_integer(element)
            ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
            : reference::encode(reference::float_format(element), value, reference::Overflow::special);
    patterns.push_back(static_cast<std::int64_t>(bits));
  }
  Tensor tensor = make::integers(type, std::move(shape), patterns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double stored = number_at(tensor, static_cast<std::int64_t>(i));
    static_cast<void>(stored);
    assert(stored == values[i] || (std::isnan(stored) && std::isnan(values[i])));
  }
  return tensor;
}

Tensor pattern(ElementType type, make::Shape shape, std::int64_t first, std::int64_t step) {
  const std::int64_t lowest = is_signed_integer(type) ? -128 : 0;
  std::vector<std::int64_t> values(static_cast<std::size_t>(elements_of(shape)));
  std::int64_t value = first;
  for (std::int64_t& element : values) {
    element = lowest + ((value - lowest) % 256 + 256) % 256;
    value += step;
  }
  return make::integers(type, std::move(shape), values);
}

}  // namespace qconform::author
