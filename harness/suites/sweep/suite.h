// The suite `sweep`: cases in which every three classes of a model's parameters meet; the suite `sizes`; and the
// contract of a backend, learnt from what it takes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/suite.h"
#include "harness/model/operator.h"
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

/// Returns the plans of the quantized units of graphs, for the suite `qdq`; computed once in a program's life.
[[nodiscard]] const std::vector<Plan>& unit_plans();

/// The place of a case: the model of plans()[plan], and the case's classes there.
struct Place {
  std::size_t plan;
  Row row;
};
/// Returns the place of a case of one node, of that classification; nothing where it is out of contract, or no model
/// has it. Classes that none of `contracts`, each with one for each of plans(), tells apart stand for each other: to
/// find some takes a look at all data. Without contracts they are the case's own.
[[nodiscard]] std::optional<Place> place_of(const Case& test_case, const Classification& classification,
                                            std::span<const std::vector<SweepContract>> contracts = {});

/// Eight digits that tell the cases of some contracts from those of others.
[[nodiscard]] std::string digest_of(const std::vector<SweepContract>& contracts);

/// Returns `contracts`, one for each of plans(), in which those that took everything take nothing.
[[nodiscard]] std::vector<SweepContract> narrow_ones(std::vector<SweepContract> contracts);

/// The case of row `index` of a plan: expected to be valid, tagged with its classes, "kernel=uneven".
[[nodiscard]] Case sweep_case(const Plan& plan, std::size_t index, std::uint64_t seed);

/// Rows that a backend takes, which cover every three classes that it takes together. Depends on the plan's model and
/// the contract alone.
[[nodiscard]] Plan plan_within(const Plan& plan, const SweepContract& contract);

/// Rows that cover every four classes of the parameters that say where windows lie and how large things are (strength
/// 4), inside a contract; the other parameters are drawn. Nothing where the model has fewer than four of those, or
/// nothing is taken.
[[nodiscard]] std::optional<Plan> plan_thoroughly(const Plan& plan, const SweepContract& contract);

/// Adds `more` rows at random to such a plan.
void draw_rows(Plan& plan, const SweepContract& contract, std::size_t more, std::uint64_t seed);

/// All rows of some plans. The rows do not depend on the seed; the values of their cases do.
class SweepSuite final : public Suite {
 public:
  /// `make` is called when the plans are asked for first: it may solve them.
  SweepSuite(std::string name, std::function<std::vector<Plan>()> make, std::uint64_t seed)
      : name_(std::move(name)), seed_(seed), make_(std::move(make)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Result<std::optional<Case>> next() override;
  [[nodiscard]] std::optional<std::uint64_t> size() const override;
  [[nodiscard]] std::vector<CombinationCoverage> coverage() const override;
  [[nodiscard]] std::vector<CombinationCoverage> coverage_of(const std::vector<bool>& chosen) const override;

 private:
  [[nodiscard]] const std::vector<Plan>& all() const {
    if (!plans_) plans_ = make_();
    return *plans_;
  }

  std::string name_;
  std::uint64_t seed_;
  std::function<std::vector<Plan>()> make_;
  mutable std::optional<std::vector<Plan>> plans_;
  std::size_t plan_ = 0;
  std::size_t index_ = 0;
};

// The suite `sizes`: each extent alone crosses the sizes at which kernels change their way.

/// Cases of each size that is not among the largest, with other types, parameters and kernels.
inline constexpr std::size_t kCasesOfSize = 3;
inline constexpr std::size_t kCasesOfLargeSize = 2;

/// `contracts`: what is taken of each of plans(), in their order; empty: everything. Names of the cases have the size,
/// "sizes-QLinearConv-width 255-1-0", and a digest of the contracts where there are any. Depends on seed and contracts
/// alone. Sizes that nothing inside the contract has are left out.
[[nodiscard]] std::unique_ptr<Suite> sizes_suite(std::string name, const std::vector<SweepContract>& contracts,
                                                 std::uint64_t seed);

/// Draws a case of a size, the largest more often than others, inside of `inside`, whose rows `solver` has. Nothing
/// where a few rows do not go with the size.
[[nodiscard]] std::optional<Case> draw_sized(const SweptModel& swept, const Model& inside,
                                             const ConstraintSolver& solver, Rng& rng);
/// The same of any model, whatever a backend takes; depends on seed and index alone.
[[nodiscard]] std::optional<Case> draw_sized(std::uint64_t seed, std::uint64_t index);

// The suite `neighbours`: nodes of which each differs in one thing from the one before, which a cache with an
// incomplete key takes for the same.

/// `contracts`: as for sizes_suite().
[[nodiscard]] std::unique_ptr<Suite> neighbours_suite(std::string name, const std::vector<SweepContract>& contracts,
                                                      std::uint64_t seed);

// Learns what a backend takes by asking it: rows of a sweep model, one at a time.

/// Whether a backend takes a case, and if not, what it says why.
struct ProbeAnswer {
  bool taken;
  std::string reason;
  ProbeAnswer(bool is_taken, std::string why = {})  // NOLINT(google-explicit-constructor): a reason is an extra
      : taken(is_taken), reason(std::move(why)) {}
};

/// Asks the backend for a case of the row, which the model allows. `index` tells draws of one row apart.
using Probe = std::function<ProbeAnswer(const Row& row, std::uint64_t index)>;

struct LearningLimits {
  std::uint64_t probes = 2000;
  /// Rows drawn inside what was learnt, the last ones, that must all be taken.
  std::uint64_t confirmations = 120;
};

struct LearntContract {
  QC_DESCRIBED();
  QC_FIELD(SweepContract, contract, {}, "contract");
  QC_FIELD(std::uint64_t, probes, {}, "probes");
  /// Rows that were drawn at random inside the contract after it had its last form, and of them those that the backend
  /// declined all the same: how sure it is.
  QC_FIELD(std::uint64_t, confirmed, {}, "confirmed");
  QC_FIELD(std::uint64_t, contradicted, {}, "contradicted");
  bool operator==(const LearntContract&) const = default;
};

/// `rows` are rows of the model that meet many combinations, those of its covering array: they are asked where the
/// plainest rows are all declined. Where these are declined too, rows are changed class by class towards reasons that
/// come up seldom. Deterministic where the probe is. A class counts as taken where one probe with it
/// was; a combination as declined where it was in every probe of it, in several contexts.
[[nodiscard]] LearntContract learn_contract(const Model& model, std::span<const Row> rows, const Probe& probe,
                                            const LearningLimits& limits = {});

}  // namespace qconform::sweep
