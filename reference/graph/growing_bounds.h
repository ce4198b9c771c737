// The right values of a program that is written down step by step.
#pragma once

#include <cstddef>
#include <memory>

#include "reference/graph/program.h"
#include "reference/graph/sets.h"

namespace qconform::reference::graph {

/// bounds_of() of a program that grows at its end, or is cut back: what stays is computed once.
class GrowingBounds {
 public:
  explicit GrowingBounds(Reading reading);
  ~GrowingBounds();
  GrowingBounds(const GrowingBounds&) = delete;
  GrowingBounds& operator=(const GrowingBounds&) = delete;

  /// Returns the bounds of one value; `program` is that of the call before with values and steps added at its end.
  [[nodiscard]] Bounds of(const Program& program, ValueId value);
  /// Forgets all but the first values and steps.
  void cut(std::size_t values, std::size_t steps);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qconform::reference::graph
