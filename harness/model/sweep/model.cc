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

}  // namespace qconform::sweep
