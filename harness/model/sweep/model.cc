#include "harness/model/sweep/model.h"

#include <algorithm>

namespace qconform::sweep {

std::size_t Model::classes() const {
  std::size_t count = 0;
  for (const Parameter& parameter : parameters) count += parameter.classes.size();
  return count;
}

bool Model::allows(const Row& row) const {
  return std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& c) { return c.holds(row); });
}

std::optional<Row> row_of(const SweptModel& swept, const Case& test_case) {
  const Model& model = swept.model();
  const auto is_empty = [](const std::optional<Tensor>& input) { return input && input->elements() == 0; };
  if (std::any_of(test_case.inputs.begin(), test_case.inputs.end(), is_empty)) return std::nullopt;
  Row row = swept.classify(test_case);
  if (row.size() != model.parameters.size()) return std::nullopt;
  for (std::size_t p = 0; p < row.size(); ++p) {
    const Parameter& parameter = model.parameters[p];
    if (row[p] < parameter.classes.size()) continue;
    if (parameter.role != ParameterRole::value && parameter.role != ParameterRole::extent) return std::nullopt;
    row[p] = parameter.plain;
  }
  return row;
}

Range range_of(ElementType type) {
  const std::int64_t values = std::int64_t{1} << bits_of(type);
  return is_signed_integer(type) ? Range{-values / 2, values / 2 - 1} : Range{0, values - 1};
}

std::uint8_t zero_point_class(ElementType type, std::int64_t value) {
  const auto [lo, hi] = range_of(type);
  if (value == lo) return 0;
  if (value == (lo + hi + 1) / 2) return 1;
  return value == hi ? 2 : 3;
}

std::int64_t draw_zero_point(Rng& rng, ElementType type, std::uint8_t zero_point) {
  const auto [lo, hi] = range_of(type);
  switch (zero_point) {
    case 0: return lo;
    case 1: return (lo + hi + 1) / 2;
    case 2: return hi;
    default: break;
  }
  // Every type has a value that is neither.
  for (;;) {
    const std::int64_t value = rng.between(lo, hi);
    if (zero_point_class(type, value) == 3) return value;
  }
}

}  // namespace qconform::sweep
