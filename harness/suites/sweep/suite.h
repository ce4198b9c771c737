// The suite `sweep`: cases in which every three classes of a model's parameters meet.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/suite.h"
#include "harness/suites/sweep/covering_array.h"
#include "harness/suites/sweep/model.h"

namespace qconform::sweep {

/// A model's rows and what they cover, computed once in a program's life.
struct Plan {
  SweptModel swept;
  std::vector<Row> rows;
  Proof proof;
};

/// Of the models of all families, in their order.
[[nodiscard]] const std::vector<Plan>& plans();

/// The case of row `index` of a plan: expected to be valid, tagged with its classes, "kernel=uneven".
[[nodiscard]] Case sweep_case(const Plan& plan, std::size_t index, std::uint64_t seed);

/// All rows of all plans. The rows do not depend on the seed; the values of their cases do.
class SweepSuite final : public Suite {
 public:
  explicit SweepSuite(std::uint64_t seed) : seed_(seed) {}
  [[nodiscard]] std::string name() const override { return "sweep"; }
  [[nodiscard]] Result<std::optional<Case>> next() override;
  [[nodiscard]] std::optional<std::uint64_t> size() const override;
  [[nodiscard]] std::vector<CombinationCoverage> coverage() const override;
  [[nodiscard]] std::vector<CombinationCoverage> coverage_of(const std::vector<bool>& chosen) const override;

 private:
  std::uint64_t seed_;
  std::size_t plan_ = 0;
  std::size_t index_ = 0;
};

}  // namespace qconform::sweep
