#include "harness/diagnose/explain/experiment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/model/text.h"

namespace qconform::diagnose {
namespace {

// Work of comparing all names, in products, and failures that it is spent on at most.
constexpr std::uint64_t kComparingWork = std::uint64_t{1} << 24;
constexpr std::size_t kMostCompared = 16;
// Names that come next, of which one is told apart.
constexpr std::size_t kNext = 4;

struct Rival {
  DefectSet set;
  std::uint64_t reproduced = 0;  // failures
  std::uint64_t explained = 0;   // wrong elements
};

std::vector<const Observation*> smallest_first(std::span<const Observation* const> observed) {
  std::vector<const Observation*> ordered(observed.begin(), observed.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const Observation* a, const Observation* b) {
    return std::tuple(!a->is_failure(), a->modelled().expense()) <
           std::tuple(!b->is_failure(), b->modelled().expense());
  });
  return ordered;
}

// The failures in front, as many as every name can be tried on; at least one.
std::span<const Observation* const> compared(std::span<const Observation* const> ordered, std::size_t names) {
  std::uint64_t work = 0;
  std::size_t count = 0;
  for (; count < std::min(ordered.size(), kMostCompared) && ordered[count]->is_failure(); ++count) {
    work += ordered[count]->modelled().expense() * names;
    if (count > 0 && work > kComparingWork) break;
  }
  return ordered.first(count);
}

std::vector<Rival> rivals_of(const CandidateTest& test, const DefectSet& named,
                             std::span<const Observation* const> failures, std::span<const Defect* const> known) {
  std::vector<Rival> rivals;
  for (const Defect* defect : known) {
    if (std::find(named.defects.begin(), named.defects.end(), defect) != named.defects.end()) continue;
    Rival rival{.set = {.defects = {defect}, .arithmetic = named.arithmetic}};
    const NodeModels model = test.model_of(rival.set);
    for (const Observation* failure : failures) {
      const Match found = test.outcome_of(model, *failure);
      rival.reproduced += found.holds ? 1 : 0;
      rival.explained += found.explained;
    }
    if (rival.explained > 0) rivals.push_back(std::move(rival));
  }
  std::stable_sort(rivals.begin(), rivals.end(), [](const Rival& a, const Rival& b) {
    return std::tie(a.reproduced, a.explained) > std::tie(b.reproduced, b.explained);
  });
  if (rivals.size() > kNext) rivals.resize(kNext);
  return rivals;
}

std::string element_name(const Tensor& y, std::int64_t index) {
  std::vector<std::int64_t> position(y.shape.size());
  for (std::size_t axis = y.shape.size(); axis-- > 0; index /= std::max<std::int64_t>(y.shape[axis], 1))
    position[axis] = index % std::max<std::int64_t>(y.shape[axis], 1);
  return fmt::format("y[{}]", fmt::join(position, ","));
}

std::string shape_name(const Tensor& y) {
  return fmt::format("[{}]", fmt::join(y.shape, ","));
}

// For "@" behind a defect's name; empty of what needs none, or has none.
std::string profile_of(const CandidateTest& test, const DefectSet& named) {
  constexpr std::string_view kNeedingOne[] = {"ort-f32", "onnx-reference", "tflite", "tflite-single-rounding"};
  const std::string& name = test.known_arithmetics()[named.arithmetic].name;
  return std::find(std::begin(kNeedingOne), std::end(kNeedingOne), name) != std::end(kNeedingOne) ? name : "";
}

// Fills in the first element in which the tensors differ: `other` is what the rival computes, or what is right.
void compare(SeparatingCase& experiment, const Observation& observation, const std::optional<Tensor>& named,
             const std::optional<Tensor>& rival) {
  const Tensor& got = observation.got();
  const Tensor& right = observation.right();
  const Tensor* const other = rival ? &*rival : &right;
  const bool has_one_shape = got.shape == right.shape && got.shape == other->shape && named->shape == got.shape;
  const auto text = [&](const Tensor& y, std::int64_t index) {
    return has_one_shape ? qconform::element_text(y, index) : shape_name(y);
  };
  std::int64_t index = 0;
  while (has_one_shape && index + 1 < got.elements() &&
         qconform::element_text(*named, index) == qconform::element_text(*other, index))
    ++index;
  experiment.element = has_one_shape ? element_name(got, index) : "shape of y";
  experiment.answered = text(got, index);
  experiment.right = text(right, index);
  experiment.predicted = text(*named, index);
  if (rival) experiment.predicted_otherwise = text(*rival, index);
}

}  // namespace

std::optional<SeparatingCase> experiment_on(const CandidateTest& test, const DefectSet& named,
                                            std::span<const Observation* const> observed,
                                            std::span<const Defect* const> known) {
  const std::vector<const Observation*> ordered = smallest_first(observed);
  const std::vector<Rival> rivals = rivals_of(test, named, compared(ordered, known.size()), known);
  const NodeModels model = test.model_of(named);
  const auto shown_by = [&](const Observation& observation, const DefectSet* rival) -> std::optional<SeparatingCase> {
    const auto predicted = model.run(observation.modelled());
    if (!predicted || !match(observation, predicted).is_exact()) return std::nullopt;
    std::optional<Tensor> otherwise;
    if (rival != nullptr) {
      otherwise = test.model_of(*rival).run(observation.modelled());
      if (!otherwise || match(observation, otherwise).holds) return std::nullopt;
    } else if (!observation.is_failure()) {
      return std::nullopt;
    }
    SeparatingCase experiment;
    experiment.test_case = observation.test_case();
    experiment.name = named.name();
    experiment.arithmetic = profile_of(test, named);
    if (rival != nullptr) experiment.second = rival->name();
    compare(experiment, observation, predicted, otherwise);
    return experiment;
  };
  for (const Rival& rival : rivals) {
    for (const Observation* observation : ordered) {
      if (auto found = shown_by(*observation, &rival.set)) return found;
    }
  }
  if (!rivals.empty()) return std::nullopt;
  for (const Observation* observation : ordered) {
    if (auto found = shown_by(*observation, nullptr)) return found;
  }
  return std::nullopt;
}

}  // namespace qconform::diagnose
