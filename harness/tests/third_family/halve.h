// A third family, of one small operator: all that a family can state, as short as it gets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/model/defects/arithmetic.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/family.h"
#include "reference/numerics/element.h"

namespace qconform::testing {

/// Halve: y = saturate(round(x / 2) + y_zero_point), ties to even. x is int8 or uint8, y_zero_point a scalar of its
/// type or omitted, y like x. Every odd x is a tie.
[[nodiscard]] const Family& halving_family();

/// The family of Bare, which is Halve by another name. It leaves out all that a family may leave out.
[[nodiscard]] const Family& bare_family();

/// "Halve" or "Bare" of x, with a zero point of its type or without.
[[nodiscard]] Case halve_case(std::string_view op_type, Tensor x, std::optional<std::int64_t> zero_point = {});

// The declarations below are for the families alone.

inline constexpr Feature kHalveFeature{20};

/// Either operator's case, parsed.
class LoweredHalve final : public LoweredElementwise {
 public:
  LoweredHalve(const Tensor& x, std::int32_t zero_point) : LoweredElementwise(x, x.type), zero_point_(zero_point) {}

  [[nodiscard]] std::int32_t zero_point() const { return zero_point_; }
  [[nodiscard]] reference::IntegerRange range() const;

  [[nodiscard]] CaseStatistics statistics(const Policy& policy) const override;
  [[nodiscard]] RightValues right_values(std::int64_t index, const Policy& policy) const override;
  [[nodiscard]] std::unique_ptr<reference::PreparedNode> prepare(const reference::KernelSet& kernels,
                                                                 RoundingProfile profile) const override;
  [[nodiscard]] std::string exact_value(std::int64_t index) const override;

 private:
  void compute(std::span<const std::byte> x, std::span<std::byte> y) const override;

  std::int32_t zero_point_;
};

// Suites, mutation, relations, layers: halve.cc.

[[nodiscard]] Case draw_halve(Rng& rng, const Swarm& swarm);
[[nodiscard]] Case draw_halve_for(Rng& rng, const Operator& known, CornerCase corner_case, const Swarm& swarm);
[[nodiscard]] std::span<const sweep::SweptModel> swept_halve();
bool change_halve(Case& test_case, Rng& rng);
bool solve_halve_tie(Case& test_case, Rng& rng);
[[nodiscard]] std::span<const relations::FamilyRelation> halve_relations();
[[nodiscard]] std::optional<Case> halve_without_dimension(const Case& test_case, std::size_t dimension);
[[nodiscard]] std::vector<bench::LayerSet> halve_layer_sets();

}  // namespace qconform::testing

namespace qconform::diagnose {

[[nodiscard]] std::optional<Tensor> run_halve(const Case& test_case, const Lowered& lowered, const Stages& stages);
[[nodiscard]] std::span<const DefectList> halve_defects();
[[nodiscard]] const FeatureList& halve_case_features();
void place_in_row(const Lowered& lowered, std::span<Element> elements);
[[nodiscard]] std::vector<Choice> halve_choices();
[[nodiscard]] std::vector<Experiment> halve_experiments();

}  // namespace qconform::diagnose
