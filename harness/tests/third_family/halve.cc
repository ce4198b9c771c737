#include "harness/tests/third_family/halve.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "harness/core/corner_cases/corner_case.h"
#include "harness/model/case_builder.h"
#include "harness/model/defects/defect.h"
#include "harness/model/draws/draws.h"
#include "harness/model/family.h"
#include "harness/model/layers.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/model/relations/relation.h"
#include "harness/model/sweep/model.h"
#include "harness/model/text.h"
#include "reference/numerics/integers.h"

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

RightValues LoweredHalve::right_values(std::int64_t index, const Policy&) const {
  const std::byte element = x().bytes[static_cast<std::size_t>(index)];
  std::byte answer{};
  compute({&element, 1}, {&answer, 1});
  RightValues right{.type = output_type()};
  right.admit(std::to_integer<std::uint64_t>(answer), "halve");
  return right;
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

const Family& halving_family() {
  static constexpr Family family{
      .name = "halving",
      .operators = kHalve,
      .draws = {.draw_for = draw_halve_for},
      .swept_models = swept_halve,
      .mutation = {.change = change_halve, .solve_tie = solve_halve_tie},
      .relations = {.list = halve_relations},
      .shrinking = {.without_dimension = halve_without_dimension},
      .layer_sets = halve_layer_sets,
      .diagnosis = {.run = diagnose::run_halve,
                    .defects = diagnose::halve_defects,
                    .case_features = diagnose::halve_case_features,
                    .place = diagnose::place_in_row},
      .arithmetic = {.choices = diagnose::halve_choices, .experiments = diagnose::halve_experiments}};
  return family;
}

const Family& bare_family() {
  static constexpr Family family{.name = "bare", .operators = kBare};
  return family;
}

}  // namespace qconform::testing

namespace qconform::diagnose {
namespace {

// Halve stage by stage, and how implementations of it differ.

using enum ElementType;

/// Before the stages that all quantizing operators share.
constexpr Stage<Quotient (*)(std::int64_t x)> kHalveStage{
    {"halve", kTies}, [](std::int64_t x) { return quotient_of_float(static_cast<double>(x) / 2); }};

constexpr Defect kHalveDefects[] = {
    {.id = "halved-by-shift",
     .description = "an arithmetic shift: halves go toward minus infinity",
     .operators = {"Halve"},
     .trigger = "an odd x",
     .rule = "formula",
     .corner_cases = {CornerCase::tie_positive, CornerCase::tie_negative},
     .replace =
         [](Stages& s) {
           s.set(kHalveStage, [](std::int64_t x) { return quotient_of_float(std::floor(static_cast<double>(x) / 2)); });
         }},
};

struct HalveView {
  HalveView(const Case& of, const Expected& with)
      : x(*of.input(0)),
        zero_point(dynamic_cast<const testing::LoweredHalve&>(*with.classification.lowered).zero_point()) {}

  const Tensor& x;
  std::int32_t zero_point;
};

constexpr std::int64_t kProbeElements = 64;

// Random bytes: half of them are ties, whatever is to be told apart.
Case draw_halves(Rng& rng, const ProbeForm& form, const CandidatePairs&) {
  Tensor x = Tensor::zeros(form.x, {kProbeElements});
  rng.fill(x.bytes);
  const auto zero_point = form.y_zero_point ? std::optional(2 * rng.between(0, 9) + 1) : std::nullopt;
  return testing::halve_case(form.op_type, std::move(x), zero_point);
}

}  // namespace

std::optional<Tensor> run_halve(const Case& test_case, const Lowered& lowered, const Stages& stages) {
  const auto& node = dynamic_cast<const testing::LoweredHalve&>(lowered);
  const Tensor& x = *test_case.input(0);
  Tensor y = Tensor::zeros(x.type, x.shape);
  for (std::size_t i = 0; i < y.bytes.size(); ++i) {
    const Quotient half = stages.get(kHalveStage)(integer_at(x, static_cast<std::int64_t>(i)));
    const std::int64_t answer = finish(stages, half, {node.zero_point(), node.range(), 0});
    y.bytes[i] = static_cast<std::byte>(answer & 0xFF);
  }
  return y;
}

std::span<const DefectList> halve_defects() {
  static constexpr DefectList kLists[] = {{DefectTopic::output, kHalveDefects}};
  return kLists;
}

const FeatureList& halve_case_features() {
  static const FeatureList all = [] {
    FeatureQuestions<HalveView> questions;
    questions.add_both("x int8", "x uint8", [](const HalveView& v) { return v.x.type == int8; });
    questions.add_both("zero point odd", "zero point even", [](const HalveView& v) { return v.zero_point % 2 != 0; });
    questions.add_remainders("elements", [](const HalveView& v) { return v.x.elements(); });
    return std::move(questions).list();
  }();
  return all;
}

void place_in_row(const Lowered& lowered, std::span<Element> elements) {
  const std::vector<std::int64_t> shape = lowered.output_shape();
  if (shape.empty()) return;
  for (Element& element : elements) {
    element.columns = shape.back();
    element.column = element.index % shape.back();
  }
}

std::vector<Choice> halve_choices() {
  const auto concerns = [](const Lowered& node) {
    return dynamic_cast<const testing::LoweredHalve*>(&node) != nullptr;
  };
  return {{"rounding",
           "Halve",
           "how a half becomes an integer",
           concerns,
           {plain_variant("half-even", "to nearest, ties to even"),
            variant_of_defect("half-away", "to nearest, ties away from zero", "half-away"),
            variant_of_defect("half-up", "to nearest, ties upward", "half-up"),
            variant_of_defect("truncate", "toward zero", "truncate"),
            variant_of_defect("shifted", "x >> 1", "halved-by-shift")}}};
}

std::vector<Experiment> halve_experiments() {
  std::vector<std::vector<ProbeForm>> forms;
  for (const ElementType type : {int8, uint8}) {
    forms.push_back({{.op_type = "Halve", .x = type, .y = type, .rank = 1, .y_zero_point = true},
                     {.op_type = "Halve", .x = type, .y = type, .rank = 1}});
  }
  return {{"Halve", {"rounding"}, forms, draw_halves}};
}

}  // namespace qconform::diagnose

namespace qconform::testing {
namespace {

// Cases of Halve: drawn, swept, changed, related, timed.

using Shape = std::vector<std::int64_t>;

constexpr std::string_view kHalveName = "Halve";

Shape draw_shape(Rng& rng, std::int64_t rank) {
  Shape shape(static_cast<std::size_t>(rank));
  for (std::int64_t& size : shape) size = rng.between(1, 9);
  return shape;
}

// One element becomes odd, and small, so that it is not saturated.
void plant_tie(Tensor& x, Rng& rng) {
  const std::int64_t lowest = x.type == uint8 ? 0 : -20;
  store_number(x, mutation::draw_index(rng, x), static_cast<double>(2 * rng.between(lowest, 20) + 1));
}

enum SweptParameter : std::uint8_t { kType, kRank, kZeroPoint, kValues };
enum ZeroPointParity : std::uint8_t { kOmitted, kEven, kOdd };
enum TiesClass : std::uint8_t { kWhole, kTies };

const sweep::Model& halve_model() {
  static const sweep::Model model{"Halve",
                                  {{"type", {"uint8", "int8"}},
                                   {"rank", {"0", "1", "2"}},
                                   {"zero point", {"omitted", "even", "odd"}},
                                   {"values", {"whole halves", "ties"}}},
                                  {}};
  return model;
}

Case realise_halve(const sweep::Row& row, std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed, index);
  Tensor x = random_data8(rng, row[kType] == 0 ? uint8 : int8, draw_shape(rng, row[kRank]), 0);
  for (std::byte& element : x.bytes) element &= std::byte{0xFE};
  if (row[kValues] == kTies) plant_tie(x, rng);
  if (row[kZeroPoint] == kOmitted) return halve_case(kHalveName, std::move(x));
  return halve_case(kHalveName, std::move(x), 2 * rng.between(0, 60) + (row[kZeroPoint] == kOdd ? 1 : 0));
}

sweep::Row classify_halve_row(const Case& test_case, const sweep::Asked& /*asked*/) {
  const Tensor& x = *test_case.input(0);
  const Tensor* zero_point = test_case.input(1);
  sweep::Row row(4, 0);
  row[kType] = x.type == uint8 ? 0 : 1;
  row[kRank] = static_cast<std::uint8_t>(x.shape.size());
  if (zero_point != nullptr) row[kZeroPoint] = integer_at(*zero_point, 0) % 2 == 0 ? kEven : kOdd;
  for (const std::byte element : x.bytes) {
    if ((element & std::byte{1}) != std::byte{0}) row[kValues] = kTies;
  }
  return row;
}

relations::Applied move_halve_zero_point(const relations::RelationSubject& subject) {
  const Tensor* zero_point = subject.base->input(1);
  if (zero_point == nullptr) return relations::NotApplicable{"no zero point"};
  const IntegerEnds ends = ends_of(zero_point->type);
  const std::int64_t value = integer_at(*zero_point, 0);
  const std::int64_t step = value == ends.hi ? -1 : 1;
  Case derived = *subject.base;
  derived.id += "/zero-point-moved";
  derived.inputs[1] = make::integer(zero_point->type, value + step);
  return relations::moved_output(std::move(derived), ends, step);
}

std::vector<bench::Layer> halve_layers(const bench::LayerOptions& options) {
  Rng rng(options.seed);
  bench::Layer layer;
  layer.name = "Halve int8";
  layer.set = "halves";
  layer.test_case = halve_case(kHalveName, random_data8(rng, int8, {std::int64_t{1} << 16}, 0), -11);
  layer.test_case.id = layer.name;
  return {std::move(layer)};
}

}  // namespace

Case halve_case(std::string_view op_type, Tensor x, std::optional<std::int64_t> zero_point) {
  Case result;
  result.node().op_type = op_type;
  result.node().opset_version = 10;
  const ElementType type = x.type;
  result.inputs = {std::move(x)};
  if (zero_point) result.inputs.emplace_back(make::integer(type, *zero_point));
  return result;
}

Case draw_halve(Rng& rng, const Swarm& swarm) {
  const ElementType type = rng.chance(1, 2) ? int8 : uint8;
  Tensor x = random_data8(rng, type, draw_shape(rng, rng.between(0, 3)), 0, swarm);
  if (rng.chance(1, 4)) return halve_case(kHalveName, std::move(x));
  return halve_case(kHalveName, std::move(x), random_zero_point(rng, type, swarm));
}

Case draw_halve_for(Rng& rng, const Operator&, CornerCase corner_case, const Swarm& swarm) {
  Case result = draw_halve(rng, swarm);
  if (corner_case <= CornerCase::tie_odd_zero_point) plant_tie(*result.inputs[0], rng);
  return result;
}

std::span<const sweep::SweptModel> swept_halve() {
  static constexpr std::array models{sweep::SweptModel{halve_model, realise_halve, classify_halve_row}};
  return models;
}

bool change_halve(Case& test_case, Rng& rng) {
  Tensor* const x = mutation::input_named(test_case, "x");
  if (x == nullptr || !is_numeric(x->type)) return false;
  if (rng.chance(1, 2)) {
    *x = reshaped(rng, *x, draw_shape(rng, rng.between(0, 3)));
  } else if (mutation::input_named(test_case, "y_zero_point") != nullptr) {
    mutation::set_input(test_case, "y_zero_point", std::nullopt);
  } else {
    Tensor zero_point = Tensor::zeros(x->type, {});
    store_number(zero_point, 0, static_cast<double>(rng.between(-128, 255)));
    mutation::set_input(test_case, "y_zero_point", std::move(zero_point));
  }
  return true;
}

bool solve_halve_tie(Case& test_case, Rng& rng) {
  Tensor* const x = mutation::input_named(test_case, "x");
  if (x == nullptr || !is_numeric(x->type) || x->elements() == 0) return false;
  plant_tie(*x, rng);
  return true;
}

std::span<const relations::FamilyRelation> halve_relations() {
  static constexpr relations::FamilyRelation kAll[] = {{relations::kYZeroPointMoved, "Halve", move_halve_zero_point}};
  return kAll;
}

std::optional<Case> halve_without_dimension(const Case& test_case, std::size_t dimension) {
  Case result = test_case;
  Shape& shape = result.inputs[0]->shape;
  if (shape[dimension] != 1) return std::nullopt;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dimension));
  return result;
}

std::vector<bench::LayerSet> halve_layer_sets() {
  return {{"halves", "Halve on 64 KiB of int8", false, halve_layers}};
}

}  // namespace qconform::testing
