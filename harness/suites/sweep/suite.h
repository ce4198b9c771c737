// The suite `sweep`: cases in which every three classes of a model's parameters meet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/suite.h"
#include "harness/model/sweep/contract.h"
#include "harness/model/sweep/model.h"
#include "harness/suites/sweep/covering_array.h"

namespace qconform::sweep {

/// A model's rows and what they cover.
struct Plan {
  SweptModel swept;
  std::vector<Row> rows;
  Proof proof;
  std::string name = "sweep";  ///< its cases' names begin with it
};

/// Returns the plans of the models of all families, in their order; computed once in a program's life.
[[nodiscard]] const std::vector<Plan>& plans();

/// Returns the plans of the quantized units of all families, for the suite `qdq`; computed once in a program's life.
[[nodiscard]] const std::vector<Plan>& unit_plans();

/// The place of a case: the model of plans()[plan], and the case's classes there.
struct Place {
  std::size_t plan;
  Row row;
};
/// Returns the place of a valid case of one node; nothing where no model has it.
[[nodiscard]] std::optional<Place> place_of(const Case& test_case);

/// Eight digits that tell the cases of some contracts from those of others.
[[nodiscard]] std::string digest_of(const std::vector<Contract>& contracts);

/// Returns `contracts`, one for each of plans(), in which those that took everything take nothing.
[[nodiscard]] std::vector<Contract> narrow_ones(std::vector<Contract> contracts);

/// The case of row `index` of a plan: expected to be valid, tagged with its classes, "kernel=uneven".
[[nodiscard]] Case sweep_case(const Plan& plan, std::size_t index, std::uint64_t seed);

/// Rows that a backend takes, which cover every three classes that it takes together. Depends on the plan's model and
/// the contract alone.
[[nodiscard]] Plan plan_within(const Plan& plan, const Contract& contract);

/// Rows that cover every four classes of the parameters that say where windows lie and how large things are (strength
/// 4), inside a contract; the other parameters are drawn. Nothing where the model has fewer than four of those, or
/// nothing is taken.
[[nodiscard]] std::optional<Plan> plan_thoroughly(const Plan& plan, const Contract& contract);

/// Adds `more` rows at random to such a plan.
void draw_rows(Plan& plan, const Contract& contract, std::size_t more, std::uint64_t seed);

/// All rows of some plans. The rows do not depend on the seed; the values of their cases do.
class SweepSuite final : public Suite {
 public:
  /// Sweeps plans(), which are made at the first case.
  explicit SweepSuite(std::uint64_t seed) : name_("sweep"), seed_(seed) {}
  SweepSuite(std::string name, std::vector<Plan> plans, std::uint64_t seed)
      : name_(std::move(name)), seed_(seed), own_(std::move(plans)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Result<std::optional<Case>> next() override;
  [[nodiscard]] std::optional<std::uint64_t> size() const override;
  [[nodiscard]] std::vector<CombinationCoverage> coverage() const override;
  [[nodiscard]] std::vector<CombinationCoverage> coverage_of(const std::vector<bool>& chosen) const override;

 private:
  [[nodiscard]] const std::vector<Plan>& all() const { return own_ ? *own_ : plans(); }

  std::string name_;
  std::uint64_t seed_;
  std::optional<std::vector<Plan>> own_;
  std::size_t plan_ = 0;
  std::size_t index_ = 0;
};

}  // namespace qconform::sweep
