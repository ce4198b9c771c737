// Graphs that are made for a corner case: rows of the sweep's models with the classes that lead there, or units changed
// so, or drawn steps on numbers that are chosen.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/tensor.h"
#include "harness/model/case_builder.h"
#include "harness/model/sweep/model.h"
#include "harness/operators/graph/graph.h"
#include "harness/operators/graph/graph_draft.h"
#include "harness/operators/graph/sweep_units.h"

namespace qconform {
namespace directed_graphs {
namespace {

using sweep::ConstraintSolver;
using sweep::PartialRow;
using sweep::Row;

// A model with its solver. What is asked for is named as in the model.
class Units {
 public:
  Units(const sweep::SweptModel& swept, unit::Unit (*unit_of)(const Row&))
      : model_(swept.model()), solver_(model_), unit_of_(unit_of) {}

  struct Wanted {
    std::string_view parameter;
    std::string_view chosen;
  };

  // A unit with these classes, which some row has together.
  [[nodiscard]] unit::Unit draw(Rng& rng, std::initializer_list<Wanted> all) const {
    PartialRow partial = solver_.start();
    for (const Wanted& wanted : all) {
      const std::size_t p = position(wanted.parameter);
      const auto& classes = model_.parameters[p].classes;
      const auto found = std::find(classes.begin(), classes.end(), wanted.chosen);
      if (!solver_.decide(partial, p, static_cast<std::uint8_t>(found - classes.begin()))) return {};
    }
    const auto row = solver_.draw(partial, rng);
    return row ? unit_of_(*row) : unit::Unit{};
  }

 private:
  [[nodiscard]] std::size_t position(std::string_view name) const {
    std::size_t p = 0;
    while (model_.parameters[p].name != name) ++p;
    return p;
  }

  const sweep::Model& model_;
  ConstraintSolver solver_;
  unit::Unit (*unit_of_)(const Row&);
};

const Units& products() {
  static const Units units(unit::swept_products(), unit::product_unit);
  return units;
}
const Units& pairs() {
  static const Units units(unit::swept_pairs(), unit::pair_unit);
  return units;
}
const Units& unary() {
  static const Units units(unit::swept_unary(), unit::unary_unit);
  return units;
}

unit::Unit with_bias_ratio(Rng& rng, bool is_near, const char* scales) {
  static constexpr double kNear[] = {1 + 0x1p-23, 1 - 0x1p-24, 1.00001, 0.99999, 1.009, 0.991, 1.02, 0.98};
  static constexpr double kFar[] = {12, 1.0 / 12, 2, 0.5, 1.05, 3.7};
  unit::Unit u =
      products().draw(rng, {{"bias", "int32 of another scale"}, {"scales", scales}, {"computed in", "float"}});
  u.bias_ratio = is_near ? rng.pick(kNear) : rng.pick(kFar);
  return u;
}

unit::Unit with_bounds(Rng& rng, const char* activation) {
  const Units& units = rng.chance(1, 2) ? products() : pairs();
  unit::Unit u = units.draw(rng, {{"activation", activation}});
  // Exchanged bounds leave one value: what lies before them shows more.
  if (u.activation == unit::kReversedClip) u.consumers = unit::kRealToo;
  return u;
}

unit::Unit with_weights_along(Rng& rng) {
  static constexpr const char* kLayouts[] = {"axis 0", "axis 1", "axis -1"};
  unit::Unit u = products().draw(rng, {{"w parameters", rng.pick(kLayouts)}});
  if (u.compute == unit::kDepthwise) u.compute = unit::kConv;
  // A kernel cannot tell an axis by its length where extents are equal.
  if (rng.chance(2, 3)) u.n = u.k;
  return u;
}

unit::Unit with_terms(Rng& rng, std::int64_t terms) {
  unit::Unit u = products().draw(rng, {{"operator", rng.chance(1, 2) ? "Gemm" : "MatMul"},
                                       {"scales", "powers of two"},
                                       {"computed in", "float"},
                                       {"x parameters", "per tensor"},
                                       {"w parameters", "per tensor"},
                                       {"x type", rng.chance(1, 2) ? "uint8" : "int8"},
                                       {"w type", rng.chance(1, 2) ? "uint8" : "int8"},
                                       {"y type", rng.chance(1, 2) ? "uint8" : "int8"},
                                       {"before x", "nothing"},
                                       {"activation", "none"},
                                       {"factors", "none"}});
  u.k = terms;
  u.n = 2;
  u.is_quiet = true;
  if (u.bias == unit::kNoBias || u.bias == unit::kLargeBias || u.bias == unit::kOtherBiasScale) {
    u.bias = unit::kExactBias;
  }
  return u;
}

unit::Unit draw_unit(Rng& rng, CornerCase corner_case) {
  static constexpr const char* kPaths[] = {"Transpose", "Reshape", "Slice", "Pad", "Squeeze or Unsqueeze", "Identity"};
  static constexpr const char* kMoves[] = {"MaxPool", "Resize nearest", "Transpose",   "Reshape", "Flatten",
                                           "Squeeze", "Unsqueeze",      "Slice",       "Pad",     "Split",
                                           "Expand",  "Gather",         "DepthToSpace"};
  switch (corner_case) {
    case CornerCase::bias_scale_near:
      return with_bias_ratio(rng, true, rng.chance(1, 2) ? "ordinary" : "powers of two");
    case CornerCase::bias_scale_far: return with_bias_ratio(rng, false, rng.chance(1, 2) ? "ordinary" : "huge");
    case CornerCase::tiny_bias_scale: return with_bias_ratio(rng, rng.chance(1, 2), "tiny");
    case CornerCase::bias_near_int32: return products().draw(rng, {{"bias", "int32 near its ends"}});
    case CornerCase::real_bias: return products().draw(rng, {{"bias", "float"}});
    case CornerCase::weight_axis: return with_weights_along(rng);
    case CornerCase::weight_blocks: return products().draw(rng, {{"w parameters", "blocks"}});
    case CornerCase::data_axis:
      return rng.chance(1, 2) ? products().draw(rng, {{"y parameters", "axis 1"}})
                              : pairs().draw(rng, {{"x parameters", "axis 1"}});
    case CornerCase::activation_at_end: return with_bounds(rng, "Clip where y saturates");
    case CornerCase::activation_reversed: return with_bounds(rng, "Clip reversed");
    case CornerCase::scaled_terms: {
      static constexpr const char* kFactors[] = {"alpha", "beta", "alpha and beta"};
      return products().draw(rng, {{"factors", rng.pick(kFactors)}});
    }
    case CornerCase::shared_value: return products().draw(rng, {{"also an output", "y dequantized"}});
    case CornerCase::shared_weights: {
      unit::Unit u = products().draw(rng, {});
      u.is_twice = true;
      return u;
    }
    case CornerCase::shared_parameters:
      return rng.chance(1, 2) ? products().draw(rng, {{"scales of x and w", "one initializer"}})
                              : pairs().draw(rng, {{"scales of a and b", "one initializer"}});
    case CornerCase::requantized_pair:
      return rng.chance(1, 2) ? products().draw(rng, {{"before x", "QuantizeLinear"}})
                              : pairs().draw(rng, {{"before a", "QuantizeLinear"}});
    case CornerCase::requantized_movement: return unary().draw(rng, {{"operator", rng.pick(kMoves)}});
    case CornerCase::moved_operand:
      return rng.chance(2, 3) ? products().draw(rng, {{"before x", rng.pick(kPaths)}})
                              : pairs().draw(rng, {{"before a", rng.pick(kPaths)}});
    case CornerCase::unlike_operands: return pairs().draw(rng, {});
    case CornerCase::typed_output: return products().draw(rng, {{"y zero point", "omitted beside output_dtype"}});
    case CornerCase::omitted_zero_point: return products().draw(rng, {{"y zero point", "omitted"}});
    case CornerCase::no_terms: return with_terms(rng, 0);
    case CornerCase::many_terms: return with_terms(rng, rng.between(33026, 33100));
    case CornerCase::one_element_softmax: return unary().draw(rng, {{"operator", "Softmax"}, {"width", "1"}});
    default: return {};
  }
}

// Graphs of drawn steps, on numbers that are chosen.

using drawn_graphs::GraphDraft;
using drawn_graphs::Shape;
using drawn_graphs::Wire;

constexpr std::int64_t kNewestOpset = 25;
constexpr int kAttempts = 32;  // steps refuse some drafts

Wire real_input(GraphDraft& draft, const Shape& shape, const std::vector<float>& values) {
  return {draft.build.input(make::float32(shape, values)), ElementType::float32, shape};
}

Shape small_matrix(Rng& rng) {
  return {rng.between(1, 4), rng.between(2, 40)};
}

// Numbers in [least, most], which both occur.
Wire within(GraphDraft& draft, float least, float most) {
  const Shape shape = small_matrix(draft.rng);
  std::vector<float> values(static_cast<std::size_t>(elements_of(shape)));
  for (float& value : values) value = least + (most - least) * static_cast<float>(draft.rng.between(0, 64)) / 64;
  values.front() = least;
  values.back() = most;
  return real_input(draft, shape, values);
}

Wire of_one_sign(GraphDraft& draft) {
  const float scale = draft.draw_scale();
  const float far = scale * static_cast<float>(draft.rng.between(20, 300));
  const float near = draft.rng.chance(1, 3) ? 0 : far / 4;
  return draft.rng.chance(1, 2) ? within(draft, near, far) : within(draft, -far, -near);
}

// Ends that lie odd halves of a step from 0: 255 steps are the range.
Wire with_tied_zero_point(GraphDraft& draft) {
  const float step = std::ldexp(1.0F, static_cast<int>(draft.rng.between(-8, 2)));
  const float below = static_cast<float>(draft.rng.between(0, 254)) + 0.5F;
  return within(draft, -below * step, (255 - below) * step);
}

// Rows of one number each.
Wire even_rows(GraphDraft& draft) {
  const Shape shape = small_matrix(draft.rng);
  const ElementType type = draft.rng.chance(1, 2) ? ElementType::uint8 : ElementType::int8;
  std::vector<std::int64_t> values;
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    const std::int64_t value = type == ElementType::uint8 ? draft.rng.between(0, 255) : draft.rng.between(-128, 127);
    values.insert(values.end(), static_cast<std::size_t>(shape[1]), value);
  }
  const Wire q = draft.codes(make::integers(type, shape, values), true);
  // One draw after the other: a compiler may evaluate arguments in any order.
  const float scale = draft.draw_scale();
  return draft.dequantize(q, scale, draft.zero_point(type));
}

std::optional<Wire> dynamic_product_of(GraphDraft& draft, const Wire& x) {
  return draft.rng.chance(1, 2) ? dynamic_matmul(draft, x) : fused_dynamic_matmul(draft, x);
}

std::optional<Wire> with_cut_block(GraphDraft& draft) {
  const std::int64_t rows = draft.rng.between(1, 4);
  const std::int64_t whole = 16 * draft.rng.between(1, 3);
  const Wire x = draft.operand({rows, whole + draft.rng.between(1, 15)}, true);
  return draft.rng.chance(1, 2) ? packed_matmul(draft, x) : blocked_matmul(draft, x);
}
std::optional<Wire> with_zero_range(GraphDraft& draft) {
  return dynamic_product_of(draft, within(draft, 0, 0));
}
std::optional<Wire> with_one_sided_range(GraphDraft& draft) {
  return dynamic_product_of(draft, of_one_sign(draft));
}
std::optional<Wire> with_tied_range(GraphDraft& draft) {
  return dynamic_product_of(draft, with_tied_zero_point(draft));
}
std::optional<Wire> with_even_row(GraphDraft& draft) {
  return normalization(draft, even_rows(draft));
}

struct DrawnStep {
  CornerCase corner_case;
  std::optional<Wire> (*draw)(GraphDraft& draft);  // nothing where the step refuses
};
constexpr DrawnStep kSteps[] = {{CornerCase::cut_block, with_cut_block},
                                {CornerCase::zero_range, with_zero_range},
                                {CornerCase::one_sided_range, with_one_sided_range},
                                {CornerCase::tied_dynamic_zero_point, with_tied_range},
                                {CornerCase::even_row, with_even_row}};

std::optional<Case> draw_step(Rng& rng, const DrawnStep& step) {
  GraphDraft draft(rng.next(), 0, kNewestOpset);
  auto y = step.draw(draft);
  // A node that is alone would be an operator of its own, and no graph.
  if (y && draft.build.node_count() == 1) y = draft.quantize(*y, false);
  if (!y) return std::nullopt;
  return draft.build.build({y->name});
}

}  // namespace
}  // namespace directed_graphs

Case draw_graph_for(Rng& rng, CornerCase corner_case) {
  using namespace directed_graphs;
  const auto step = std::find_if(std::begin(kSteps), std::end(kSteps),
                                 [&](const DrawnStep& one) { return one.corner_case == corner_case; });
  for (int i = 0; step != std::end(kSteps) && i < kAttempts; ++i) {
    if (auto drawn = draw_step(rng, *step)) return std::move(*drawn);
  }
  return unit::build(draw_unit(rng, corner_case), rng);
}

}  // namespace qconform
