#include "harness/tests/third_family/halve.h"

#include <array>
#include <string>

#include "harness/core/corner_cases/rounding_corner_cases.h"
#include "harness/model/defects/defect.h"
#include "harness/model/layers.h"
#include "harness/model/node_reader.h"
#include "harness/model/relations/relation.h"
#include "harness/model/sweep/model.h"
#include "harness/model/text.h"
#include "harness/onnx/node_inputs.h"
#include "reference/numerics/round.h"

namespace qconform::testing {
namespace {

using enum ElementType;

constexpr std::array kInputs{
    InputSignature{"x", true, InputRole::data, int8, "y_zero_point"},
    InputSignature{"y_zero_point", false, InputRole::parameter, int8, "x"},
};
constexpr std::array<std::int64_t, 1> kVersions{10};

Classification classify_halve(const Case& test_case) {
  Classification result;
  NodeReader reader(test_case, kInputs, result.contract);
  if (!reader.check_signature({}) || !reader.check_type("x", {int8, uint8}, "halve") ||
      !reader.check_same_type("y_zero_point", "x", "halve") || !reader.check_scalar("y_zero_point")) {
    return result;
  }
  result.lowered = std::make_unique<LoweredHalve>(*reader.input("x"), scalar_or(reader.input("y_zero_point"), 0));
  return result;
}

// Those of rounding that integers can reach: no half lies near a tie without being one.
constexpr CornerCaseSet kCornerCasesOfHalves{
    {},
    {CornerCase::tie_positive, CornerCase::tie_negative, CornerCase::tie_odd_zero_point, CornerCase::edge_below,
     CornerCase::edge_low, CornerCase::edge_high, CornerCase::edge_above, CornerCase::clamp_low,
     CornerCase::clamp_high}};

constexpr std::array kHalve{Operator{.name = "Halve",
                                     .inputs = kInputs,
                                     .versions = kVersions,
                                     .classify = classify_halve,
                                     .quantizes = true,
                                     .corner_cases = kCornerCasesOfHalves,
                                     .draw = draw_halve,
                                     .usual_weight = 2,
                                     .feature = kHalveFeature}};

constexpr std::array kBare{
    Operator{.name = "Bare", .inputs = kInputs, .versions = kVersions, .classify = classify_halve}};

}  // namespace

reference::IntegerRange LoweredHalve::range() const {
  return reference::range_of(output_type());
}

void LoweredHalve::compute(std::span<const std::byte> x, std::span<std::byte> y) const {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double half = reference::load8(output_type(), x[i]) / 2.0;
    const auto rounded = static_cast<std::int64_t>(reference::round_half_even(half));
    y[i] = reference::store8(reference::saturate(rounded + zero_point_, range()));
  }
}

std::optional<reference::AdmissibleBits> LoweredHalve::admissible_bits(std::int64_t index, reference::Wording) const {
  const std::byte element = x().bytes[static_cast<std::size_t>(index)];
  std::byte answer{};
  compute({&element, 1}, {&answer, 1});
  reference::AdmissibleBits bits(output_type());
  bits.admit(std::to_integer<std::uint64_t>(answer), "halve");
  return bits;
}

CaseStatistics LoweredHalve::statistics(const Policy&) const {
  CaseStatistics statistics;
  const RoundingCornerCases range_corner_cases(range(), zero_point_);
  for (std::int64_t i = 0; i < x().elements(); ++i) {
    const std::int64_t value = integer_at(x(), i);
    range_corner_cases.count_position(static_cast<double>(value) / 2, statistics.corner_cases);
    if (value % 2 != 0) range_corner_cases.count_tie(static_cast<double>(value) / 2, statistics.corner_cases);
  }
  return statistics;
}

std::unique_ptr<reference::PreparedNode> LoweredHalve::prepare(const reference::KernelSet&, RoundingProfile) const {
  return nullptr;  // no kernel set has one
}

std::string LoweredHalve::exact_value(std::int64_t index) const {
  return element_text(x(), index) + " / 2, zero point " + std::to_string(zero_point_);
}

namespace {

ValueFacts halve_output_facts(const NodeInputs& inputs) {
  return inputs.facts("x");
}

}  // namespace

const Family& halving_family() {
  static constexpr Family family{.name = "halving",
                                 .operators = kHalve,
                                 .draw_for = draw_halve_for,
                                 .swept_models = swept_halve,
                                 .output_facts = halve_output_facts,
                                 .change = change_halve,
                                 .solve_tie = solve_halve_tie,
                                 .relations = halve_relations,
                                 .without_dimension = halve_without_dimension,
                                 .layer_sets = halve_layer_sets,
                                 .run = diagnose::run_halve,
                                 .defects = diagnose::halve_defects,
                                 .case_features = diagnose::halve_case_features,
                                 .place = diagnose::place_in_row,
                                 .choices = diagnose::halve_choices,
                                 .experiments = diagnose::halve_experiments};
  return family;
}

const Family& bare_family() {
  static constexpr Family family{.name = "bare", .operators = kBare};
  return family;
}

}  // namespace qconform::testing
