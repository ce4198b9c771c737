#include "harness/operators/graph/unit.h"

#include <algorithm>
#include <cmath>

#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/model/sweep/model.h"
#include "harness/model/text.h"
#include "reference/graph/interpreter.h"
#include "reference/numerics/floats.h"

namespace qconform::unit {
namespace {

using enum ElementType;
namespace graph = reference::graph;

// Bits of a small float: no NaN, and no more than a few units.
std::uint64_t draw_float8(Rng& rng) {
  return rng.below(0x60) | (rng.chance(1, 2) ? 0x80U : 0U);
}

Tensor draw_data(Rng& rng, ElementType type, const Shape& shape) {
  Tensor tensor = Tensor::zeros(type, shape);
  const int bits = qconform::bits_of(type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    set_raw_bits_at(tensor.bytes, bits, i, is_integer(type) ? rng.next() >> (64 - bits) : draw_float8(rng));
  }
  return tensor;
}

// Replaces each element that is its zero point by the number beside it.
void leave_zero(Tensor& tensor, std::int64_t zero_point) {
  const int bits = qconform::bits_of(tensor.type);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const bool is_zero = is_integer(tensor.type) ? integer_at(tensor, i) == zero_point
                                                 : (raw_bits_at(tensor.bytes, bits, i) & 0x7FU) == 0;
    if (!is_zero) continue;
    set_raw_bits_at(tensor.bytes, bits, i, raw_bits_at(tensor.bytes, bits, i) ^ 1U);
  }
}

// Integers near their zero point; with several of these, near the first.
void make_quiet(Rng& rng, Tensor& tensor, const std::vector<std::int64_t>& zero_points) {
  if (!is_integer(tensor.type) || zero_points.empty()) return;
  const IntegerEnds ends = ends_of(tensor.type);
  const std::int64_t lo = std::max(ends.lo, zero_points.front() - 7);
  const std::int64_t hi = std::min(ends.hi, zero_points.front() + 7);
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    set_raw_bits_at(tensor.bytes, qconform::bits_of(tensor.type), i, static_cast<std::uint64_t>(rng.between(lo, hi)));
  }
}

Shape parameter_shape(ParameterLayout layout, const Shape& shape, std::size_t blocked) {
  switch (layout) {
    case kPerTensor: return {};
    case kAxis0: return {shape[0]};
    case kAxis1: return {shape[1]};
    case kLastAxis: return {shape.back()};
    case kBlocks: break;
  }
  Shape result = shape;
  result[blocked] = (result[blocked] + kBlock - 1) / kBlock;
  return result;
}

std::int64_t draw_zero_point_of(Rng& rng, const Operand& operand) {
  if (!is_integer(operand.type) || operand.zero_point >= kOmitted) return 0;
  return sweep::draw_zero_point(rng, operand.type, operand.zero_point);
}

void set_axis(const Operand& operand, std::size_t blocked, Rng& rng, std::vector<Attribute>& attributes) {
  const auto axis = operand.layout == kAxis0    ? std::int64_t{0}
                    : operand.layout == kAxis1  ? std::int64_t{1}
                    : operand.layout == kBlocks ? static_cast<std::int64_t>(blocked)
                                                : std::int64_t{-1};
  if (operand.layout == kPerTensor || (axis == 1 && rng.chance(1, 2))) return;
  attributes.push_back({"axis", axis});
}

}  // namespace

UnitExtent extent_of(ElementType type) {
  if (!is_integer(type)) {
    const double most = reference::decode(reference::float_format(type), reference::float_format(type).largest());
    return {-most, most};
  }
  const IntegerEnds ends = ends_of(type);
  return {static_cast<double>(ends.lo), static_cast<double>(ends.hi)};
}

double UnitDraft::in_real(double value) const {
  return reference::rounded_to(reference::float_format(u.real), value);
}

double UnitDraft::draw_scale() {
  const auto fraction = static_cast<double>(rng.between(1, (1 << 23) - 1)) * 0x1p-23;
  const auto drawn = [&](int least, int most) {
    const auto exponent = static_cast<int>(rng.between(least, most));
    if (u.scales == kPowersOfTwo) return std::ldexp(1.0, exponent);
    const double scale = in_real(std::ldexp(1 + fraction, exponent));
    return reference::is_power_of_two(scale) ? scale * 1.5 : scale;
  };
  switch (u.scales) {
    case kTiny: return drawn(-20, -16);
    case kHuge: return drawn(8, 11);
    default: return drawn(-8, u.real == float32 ? -2 : -5);  // no overflow in narrow types
  }
}

std::string UnitDraft::real_tensor(const Shape& shape, const std::vector<double>& values) {
  Tensor tensor = Tensor::zeros(u.real, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    set_raw_bits_at(tensor.bytes, qconform::bits_of(u.real), static_cast<std::int64_t>(i),
                    reference::encode(reference::float_format(u.real), values[i], reference::Overflow::saturate));
  }
  return nodes.initializer(std::move(tensor));
}

std::string UnitDraft::integers(const std::vector<std::int64_t>& values) {
  return nodes.initializer(make::integers(int64, {static_cast<std::int64_t>(values.size())}, values));
}

Parameters UnitDraft::parameters(const Operand& operand, const Shape& shape, std::size_t blocked,
                                 const std::function<double()>& draw) {
  Parameters result;
  const Shape own = parameter_shape(operand.layout, shape, blocked);
  Tensor zero_points = Tensor::zeros(operand.type, own);
  const std::int64_t count = zero_points.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    result.scales.push_back(draw());
    result.zero_points.push_back(draw_zero_point_of(rng, operand));
    set_raw_bits_at(zero_points.bytes, qconform::bits_of(operand.type), i,
                    static_cast<std::uint64_t>(result.zero_points.back()));
  }
  result.names.push_back(real_tensor(own, result.scales));
  if (operand.zero_point < kOmitted) result.names.push_back(nodes.initializer(std::move(zero_points)));
  set_axis(operand, blocked, rng, result.attributes);
  if (operand.layout == kBlocks) result.attributes.push_back({"block_size", kBlock});
  return result;
}

Parameters UnitDraft::beside_x(const Operand& operand, const Shape& shape, std::size_t blocked) {
  const bool is_x = x.quantized.empty();
  const double other = is_x ? 0 : x.parameters.scales.front();
  const bool is_alike = !is_x && u.alike != kDiffer;
  const auto draw = [&] {
    double scale = is_alike ? other : draw_scale();
    while (!is_alike && scale == other) scale = draw_scale();
    return scale;
  };
  Parameters result = parameters(operand, shape, blocked, draw);
  if (is_alike && u.alike == kSameInitializers) result.names[0] = x.parameters.names[0];
  return result;
}

Dequantized UnitDraft::dequantized(const Operand& operand, const Shape& shape, bool is_fed, std::size_t summed,
                                   bool without_zero) {
  Dequantized result;
  result.type = operand.type;
  result.parameters = beside_x(operand, shape, summed);
  Tensor data = draw_data(rng, operand.type, shape);
  if (u.is_quiet) make_quiet(rng, data, result.parameters.zero_points);
  if (without_zero && !result.parameters.zero_points.empty()) leave_zero(data, result.parameters.zero_points.front());
  result.quantized = is_fed ? nodes.input(std::move(data)) : nodes.initializer(std::move(data));
  std::vector<std::string> inputs{result.quantized};
  inputs.insert(inputs.end(), result.parameters.names.begin(), result.parameters.names.end());
  result.real = nodes.node("DequantizeLinear", inputs, result.parameters.attributes);
  return result;
}

Dequantized UnitDraft::dequantized_again(const std::string& quantized, const Operand& operand, const Shape& shape) {
  Dequantized result{quantized, operand.type, {}, {}};
  result.parameters = beside_x(operand, shape, shape.size() - 1);
  std::vector<std::string> inputs{quantized};
  inputs.insert(inputs.end(), result.parameters.names.begin(), result.parameters.names.end());
  result.real = nodes.node("DequantizeLinear", inputs, result.parameters.attributes);
  return result;
}

namespace {

graph::ValueId output_of(const GraphProgram& lowered) {
  return lowered.program.outputs.front();
}

std::optional<GraphProgram> lowered_to(const UnitDraft& draft, const std::string& value) {
  const Case so_far = draft.nodes.build({value});
  reference::Contract contract;
  return lower_graph(so_far, contract);
}

}  // namespace

std::optional<UnitExtent> UnitDraft::extent(const std::string& value) const {
  const auto lowered = lowered_to(*this, value);
  if (!lowered) return std::nullopt;
  const std::vector<double> values = graph::interpret(lowered->program, {})[output_of(*lowered)];
  UnitExtent result;
  for (const double one : values) {
    if (!std::isfinite(one)) return std::nullopt;
    result = {std::min(result.lo, one), std::max(result.hi, one)};
  }
  return result;
}

Shape UnitDraft::shape_of(const std::string& value) const {
  const auto lowered = lowered_to(*this, value);
  return lowered ? lowered->program.values[output_of(*lowered)].shape : Shape{};
}

namespace {

// The least that is no less: by the library's logarithm it would depend on the machine.
double power_of_two_from(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
}

// Quantized once more with other parameters, and back.
std::string requantized(UnitDraft& draft) {
  const ElementType type = draft.rng.chance(1, 2) ? uint8 : int8;
  const UnitExtent from = extent_of(draft.x.type);
  const double step = (from.hi - from.lo) / 255 * draft.x.parameters.scales.front();
  const double factor = draft.u.scales == kPowersOfTwo ? 2 : 1.3;
  const double scale = draft.u.scales == kPowersOfTwo ? power_of_two_from(step * factor) : draft.in_real(step * factor);
  const Parameters own = draft.parameters({type, kOther, kPerTensor}, {}, 0, [&] { return scale; });
  const std::string q = draft.nodes.node("QuantizeLinear", {draft.x.real, own.names[0], own.names[1]});
  return draft.nodes.node("DequantizeLinear", {q, own.names[0], own.names[1]});
}

std::string squeezed(UnitDraft& draft, const std::string& real, bool adds) {
  const char* name = adds ? "Unsqueeze" : "Squeeze";
  if (draft.u.opset < 13) return draft.nodes.node(name, {real}, {{"axes", Shape{0}}});
  return draft.nodes.node(name, {real, draft.integers({0})});
}

std::size_t padded_axis(const Shape& shape) {
  const std::size_t before_last = shape.size() - 2;
  return shape[before_last] > 1 ? before_last : shape.size() - 1;
}

// Returns whether a shape has a first axis of 1, and rank 2 at least without it.
bool is_unsqueezed(const Shape& shape) {
  return shape.size() > 2 && shape[0] == 1;
}

// The shape that x has before the path.
Shape stored_shape(InputPath path, Shape shape) {
  switch (path) {
    case kTransposed: std::swap(shape[shape.size() - 2], shape.back()); break;
    case kReshaped: return {shape[0], elements_of(shape) / std::max<std::int64_t>(shape[0], 1)};
    case kSliced: ++shape.back(); break;
    case kPadded: --shape[padded_axis(shape)]; break;
    case kSqueezed:
      if (is_unsqueezed(shape)) {
        shape.erase(shape.begin());
      } else {
        shape.insert(shape.begin(), 1);
      }
      break;
    default: break;
  }
  return shape;
}

std::string moved(UnitDraft& draft, const Shape& shape, const std::string& real) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  switch (draft.u.path) {
    case kTransposed: {
      Shape order(shape.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
      std::swap(order[order.size() - 2], order.back());
      return draft.nodes.node("Transpose", {real}, {{"perm", order}});
    }
    case kReshaped: return draft.nodes.node("Reshape", {real, draft.integers(shape)});
    case kSliced:
      return draft.nodes.node(
          "Slice", {real, draft.integers({1}), draft.integers({shape.back() + 1}), draft.integers({rank - 1})});
    case kPadded: {
      Shape pads(shape.size() * 2, 0);
      pads[padded_axis(shape)] = 1;
      if (draft.u.opset < 11) return draft.nodes.node("Pad", {real}, {{"pads", pads}});
      return draft.nodes.node("Pad", {real, draft.integers(pads)});
    }
    case kSqueezed: return squeezed(draft, real, is_unsqueezed(shape));
    case kIdentityPath: return draft.nodes.node("Identity", {real});
    case kRequantized: return requantized(draft);
    default: return real;
  }
}

}  // namespace

std::string UnitDraft::operand(const Shape& shape) {
  const Shape stored = stored_shape(u.path, shape);
  x = dequantized(u.x, stored, true, stored.size() - 1);
  return moved(*this, shape, x.real);
}

std::string UnitDraft::operand_beside(const Shape& shape) {
  return dequantized({u.x.type, u.x.zero_point, kPerTensor}, shape, true, shape.size() - 1).real;
}

namespace {

// Returns y's parameters where they are to be alike x's: x's initializers, or others with the same values.
Parameters like_x(UnitDraft& draft) {
  Parameters result = draft.x.parameters;
  if (draft.u.alike == kSameInitializers) return result;
  Operand operand = draft.u.x;
  auto next = result.scales.begin();
  Parameters own = draft.parameters(operand, {}, 0, [&] { return *next++; });
  // Zero points of some classes are drawn: x's are taken.
  own.zero_points = result.zero_points;
  if (own.names.size() > 1 && is_integer(operand.type))
    own.names[1] = draft.nodes.initializer(make::integer(operand.type, own.zero_points[0]));
  return own;
}

// A scale by which most of the values are neither saturated nor alike.
double fitted_scale(UnitDraft& draft, UnitExtent values, ElementType type, double zero_point) {
  const UnitExtent room = extent_of(type);
  const double above = room.hi - zero_point;
  const double below = zero_point - room.lo;
  const double least = (room.hi - room.lo) / 8;
  double scale = 0;
  if (above > least) scale = std::max(scale, values.hi / above);
  if (below > least) scale = std::max(scale, -values.lo / below);
  if (scale == 0) scale = std::max({values.hi, -values.lo, 0x1p-12}) / (room.hi - room.lo);
  if (draft.rng.chance(1, 4)) scale /= 2;
  scale = std::max(scale, draft.u.real == float16 ? 0x1p-13 : 0x1p-100);
  if (draft.u.scales == kPowersOfTwo) return power_of_two_from(scale);
  return draft.in_real(scale * (1 + 0.1 * static_cast<double>(draft.rng.below(1000)) / 1000));
}

Parameters parameters_of_y(UnitDraft& draft, UnitExtent values, const Shape& shape) {
  const Unit& u = draft.u;
  if (u.alike != kDiffer && u.compute >= kFirstUnary) return like_x(draft);
  // The zero points first: scales are fitted to what they leave. One zero point for all tells where.
  const std::int64_t zero_point = draw_zero_point_of(draft.rng, u.y);
  double scale = fitted_scale(draft, values, u.y.type, static_cast<double>(zero_point));
  if (scale == draft.x.parameters.scales.front()) scale *= 2;
  const auto draw = [&] {
    if (u.y.layout == kPerTensor) return scale;
    const auto eighths = static_cast<double>(draft.rng.between(4, 8));
    return u.scales == kPowersOfTwo ? scale / static_cast<double>(draft.rng.between(1, 2))
                                    : draft.in_real(scale * eighths / 8);
  };
  Parameters result = draft.parameters(u.y, shape, shape.size() - 1, draw);
  if (u.y.layout == kPerTensor && u.y.zero_point < kOmitted && is_integer(u.y.type)) {
    result.zero_points = {zero_point};
    result.names[1] = draft.nodes.initializer(make::integer(u.y.type, zero_point));
  }
  return result;
}

std::string clipped(UnitDraft& draft, const std::string& real, double lo, double hi) {
  lo = draft.in_real(lo);
  hi = draft.in_real(hi);
  if (draft.u.opset < 11) {
    return draft.nodes.node("Clip", {real}, {{"min", static_cast<float>(lo)}, {"max", static_cast<float>(hi)}});
  }
  return draft.nodes.node("Clip", {real, draft.scalar(lo), draft.scalar(hi)});
}

// Bounds beside those at which y saturates: a fraction of a step off, so that it matters which comes first.
std::string clipped_at_ends(UnitDraft& draft, const std::string& real, const Parameters& y) {
  static constexpr double kOff[] = {0, 0, 0.4, 1, -0.6, -1};
  const UnitExtent room = extent_of(draft.u.y.type);
  const double scale = y.scales.front();
  const auto zero_point = static_cast<double>(y.zero_points.front());
  const double lo = (room.lo - zero_point + draft.rng.pick(kOff)) * scale;
  const double hi = (room.hi - zero_point + draft.rng.pick(kOff)) * scale;
  return clipped(draft, real, std::min(lo, hi), std::max(lo, hi));
}

UnitExtent behind_activation(Activation activation, UnitExtent values) {
  switch (activation) {
    case kReluBehind: return {std::max(values.lo, 0.0), std::max(values.hi, 0.0)};
    case kClipBehind: return {values.lo / 2, values.hi / 2};
    case kLeakyReluBehind: return {values.lo / 8, values.hi};
    default: return values;
  }
}

std::string activated(UnitDraft& draft, const std::string& real, UnitExtent values, const Parameters& y) {
  const bool is_exact = draft.u.scales == kPowersOfTwo;
  switch (draft.u.activation) {
    case kReluBehind: return draft.nodes.node("Relu", {real});
    case kClipBehind: return clipped(draft, real, values.lo / 8, values.hi / 8);
    case kClipAtEnds: return clipped_at_ends(draft, real, y);
    case kReversedClip: {
      const double middle = values.hi / 4;
      return clipped(draft, real, middle + std::max(values.hi, 0x1p-10) / 2, middle);
    }
    case kLeakyReluBehind: return draft.nodes.node("LeakyRelu", {real}, {{"alpha", is_exact ? 0.125F : 0.1F}});
    default: return real;
  }
}

std::string quantized(UnitDraft& draft, const std::string& real, const Operand& operand, const Parameters& own) {
  std::vector<std::string> inputs{real};
  inputs.insert(inputs.end(), own.names.begin(), own.names.end());
  std::vector<Attribute> attributes = own.attributes;
  if (operand.zero_point == kByType) attributes.push_back({"output_dtype", static_cast<std::int64_t>(operand.type)});
  return draft.nodes.node("QuantizeLinear", inputs, attributes);
}

}  // namespace

Case build(const Unit& unit, Rng& rng) {
  UnitDraft draft(unit, rng);
  const std::string sum = add_compute(draft);
  const UnitExtent values = draft.extent(sum).value_or(UnitExtent{-1, 1});
  const Shape shape = unit.y.layout == kPerTensor ? Shape{} : draft.shape_of(sum);
  const Parameters y = parameters_of_y(draft, behind_activation(unit.activation, values), shape);
  const std::string real = activated(draft, sum, values, y);
  std::vector<std::string> outputs{quantized(draft, real, unit.y, y)};
  if (unit.consumers == kRealToo) outputs.push_back(real);
  if (unit.consumers == kDequantizedToo) {
    std::vector<std::string> inputs{outputs[0]};
    inputs.insert(inputs.end(), y.names.begin(), y.names.end());
    outputs.push_back(draft.nodes.node("DequantizeLinear", inputs, y.attributes));
  }
  for (const std::string& other : draft.further) {
    const Operand plain{uint8, kOther, kPerTensor};
    const double scale = fitted_scale(draft, values, uint8, 128);
    outputs.push_back(quantized(draft, other, plain, draft.parameters(plain, {}, 0, [&] { return scale; })));
  }
  return draft.nodes.build(outputs);
}

}  // namespace qconform::unit
