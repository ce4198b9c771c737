// Cases of Halve: drawn, swept, changed, related, timed.
#include <array>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/model/draws/random_values.h"
#include "harness/model/layers.h"
#include "harness/model/mutate/tensor_values.h"
#include "harness/model/relations/rearrange.h"
#include "harness/model/relations/relation.h"
#include "harness/model/sweep/model.h"
#include "harness/tests/third_family/halve.h"

namespace qconform::testing {
namespace {

using enum ElementType;
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
enum ZeroPointClass : std::uint8_t { kOmitted, kEven, kOdd };
enum ValuesClass : std::uint8_t { kWhole, kTies };

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

sweep::Row classify_halve_row(const Case& test_case) {
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
  const relations::Range range = relations::range_of(zero_point->type);
  const std::int64_t value = integer_at(*zero_point, 0);
  const std::int64_t step = value == range.hi ? -1 : 1;
  Case derived = *subject.base;
  derived.id += "/zero-point-moved";
  derived.inputs[1] = make::integer(zero_point->type, value + step);
  return relations::moved_output(std::move(derived), range, step);
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
