#include "harness/suites/sweep/model.h"

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

}  // namespace qconform::sweep
