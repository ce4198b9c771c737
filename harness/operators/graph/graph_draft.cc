#include "harness/operators/graph/graph_draft.h"

#include <algorithm>
#include <limits>

#include "harness/model/case_builder.h"
#include "reference/numerics/floats.h"

namespace qconform::drawn_graphs {

using enum ElementType;
namespace graph = reference::graph;

ElementType GraphDraft::quantized_type() {
  if (opset() >= 21 && rng.chance(1, 12)) return rng.chance(1, 2) ? uint16 : int16;
  return rng.chance(1, 2) ? uint8 : int8;
}

ElementType GraphDraft::weight_type() {
  if (opset() >= 21 && rng.chance(1, 16)) return rng.chance(1, 2) ? uint4 : int4;
  return rng.chance(2, 3) ? int8 : uint8;
}

std::int64_t GraphDraft::zero_point(ElementType type) {
  return type == uint8 || type == int8 ? random_zero_point(rng, type) : 0;
}

Tensor GraphDraft::multiples(Shape shape, std::int64_t least, std::int64_t most, int exponent) {
  std::vector<float> values(static_cast<std::size_t>(elements_of(shape)));
  for (float& value : values) value = std::ldexp(static_cast<float>(rng.between(least, most)), exponent);
  return make::float32(std::move(shape), values);
}

Wire GraphDraft::codes(Tensor tensor, bool is_fed) {
  Wire q{"", tensor.type, tensor.shape};
  q.name = is_fed ? build.input(std::move(tensor)) : build.initializer(std::move(tensor));
  return q;
}

Wire GraphDraft::dequantize(const Wire& q, float scale, std::int64_t zp, std::optional<std::int64_t> axis) {
  std::vector<std::string> inputs{q.name};
  std::vector<Attribute> attributes;
  double own = scale;
  last_ = {q.type, scale, zp};
  if (axis) {
    const auto at = static_cast<std::size_t>(*axis);
    std::vector<float> scales;
    for (std::int64_t i = 0; i < q.shape[at]; ++i)
      scales.push_back(is_exact_ ? std::ldexp(scale, static_cast<int>(rng.between(-2, 0)))
                                 : scale * random_float(rng, -1 - kMantissaBits));
    own = 0;
    if (!scales.empty()) last_.scale = scales.front();
    inputs.push_back(build.initializer(make::float32({q.shape[at]}, scales)));
    axis_scales_ = scales;
    if (*axis != 1 || rng.chance(1, 2)) attributes.push_back({"axis", *axis});
  } else {
    // An initializer that a caller may override is a fed scale to the runtime.
    Tensor one = make::float32(scale);
    inputs.push_back(rng.chance(1, 48) ? build.input(std::move(one)) : build.initializer(std::move(one)));
  }
  const bool omits = zp == 0 && q.type == uint8 && rng.chance(1, 2);
  if (!omits) {
    const Shape shape = axis ? Shape{q.shape[static_cast<std::size_t>(*axis)]} : Shape{};
    inputs.push_back(build.initializer(make::filled(q.type, shape, zp)));
  }
  return {build.node("DequantizeLinear", inputs, attributes), float32, q.shape, own};
}

Wire GraphDraft::operand(Shape shape, bool is_fed, std::optional<ElementType> type) {
  const ElementType chosen = type ? *type : quantized_type();
  Tensor tensor = data(chosen, shape);
  const bool is_per_axis = shape.size() > 1 && opset() >= 13 && rng.chance(1, 12);
  const std::int64_t zp = zero_point(chosen);  // one draw after the other: compilers order arguments differently
  // Other data times such a scale overflow.
  if (magnitude_ == kHuge) tensor = make::filled(chosen, std::move(shape), zp);
  const Wire q = codes(std::move(tensor), is_fed);
  const float sign = !is_exact_ && rng.chance(1, 12) ? -1.0F : 1.0F;
  const float scale = sign * draw_scale();
  return dequantize(q, scale, zp, is_per_axis ? std::optional<std::int64_t>(1) : std::nullopt);
}

Wire GraphDraft::weights(Shape shape, std::optional<std::int64_t> axis) {
  if (shared_ && shared_->shape == shape && rng.chance(1, 2)) {
    axis_scales_ = shared_->axis_scales;
    const auto& nodes = build.added_nodes();
    const auto dq = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const Node& node) { return node.outputs.front() == shared_->real.name; });
    if (dq == nodes.end()) return float_weights(std::move(shape));  // it was taken back
    const std::vector<std::string> inputs = dq->inputs;
    const std::vector<Attribute> attributes = dq->attributes;
    return {build.node("DequantizeLinear", inputs, attributes), float32, shape, shared_->real.scale};
  }
  if (rng.chance(1, 16)) return float_weights(std::move(shape));
  const ElementType type = weight_type();
  const Wire q = codes(data(type, std::move(shape)), false);
  const bool is_per_axis = axis && opset() >= 13 && rng.chance(1, 2);
  if (is_per_axis && !is_exact_ && rng.chance(1, 8)) axis = (*axis + 1) % static_cast<std::int64_t>(q.shape.size());
  axis_scales_.clear();
  const std::int64_t zp = is_per_axis || rng.chance(2, 3) ? 0 : zero_point(type);
  Wire real = dequantize(q, draw_scale(), zp, is_per_axis ? axis : std::nullopt);
  shared_ = SharedWeights{q.shape, real, axis_scales_};
  return real;
}

// Weights that nobody quantized, beside data that somebody did.
Wire GraphDraft::float_weights(Shape shape) {
  axis_scales_.clear();
  const float scale = draw_scale();
  std::vector<float> values(static_cast<std::size_t>(elements_of(shape)));
  for (float& value : values) value = scale * static_cast<float>(rng.between(-100, 100));
  return {build.initializer(make::float32(shape, values)), float32, std::move(shape), 0};
}

std::string GraphDraft::bias(std::int64_t count, const Wire& x, const Wire& w) {
  if (x.scale == 0 || (!is_exact_ && rng.chance(1, 3))) return float_bias(count, x, w);
  constexpr std::int64_t kEnd = std::numeric_limits<std::int32_t>::max();
  const bool is_extreme = rng.chance(1, 32);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(is_extreme ? kEnd - rng.between(0, 4000) : rng.between(-4000, 4000));
  std::vector<float> scales;
  const auto sx = static_cast<float>(x.scale) * bias_ratio();
  for (const float sw : axis_scales_) scales.push_back(sx * sw);
  std::vector<std::string> inputs{build.initializer(make::int32({count}, values))};
  const bool is_per_axis = static_cast<std::int64_t>(scales.size()) == count && w.scale == 0;
  inputs.push_back(build.initializer(is_per_axis ? make::float32({count}, scales)
                                                 : make::float32(sx * static_cast<float>(w.scale == 0 ? 1 : w.scale))));
  std::vector<Attribute> attributes;
  if (is_per_axis) attributes.push_back({"axis", std::int64_t{0}});
  return build.node("DequantizeLinear", inputs, attributes);
}

std::string GraphDraft::float_bias(std::int64_t count, const Wire& x, const Wire& w) {
  const double unit = (x.scale == 0 ? 1 : x.scale) * (w.scale == 0 ? 0.01 : w.scale);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(unit * static_cast<double>(rng.between(-400000, 400000)) / 100));
  return build.initializer(make::float32({count}, values));
}

std::optional<Wire> GraphDraft::wire(std::string name) {
  if (build.node_count() == 0 || !seen_.follow(build)) return std::nullopt;
  auto shape = seen_.shape_of(name);
  const std::int64_t elements = shape ? elements_of(*shape) : 0;
  if (elements == 0 || elements > 2048) return std::nullopt;
  return Wire{std::move(name), float32, std::move(*shape), 0};
}

std::optional<Wire> GraphDraft::quantize(const Wire& x, bool must_be_single) {
  const auto seen = see(x.name, reference::Tier::exact);
  if (!seen) return std::nullopt;
  double lo = 0;
  double hi = 0;
  for (std::size_t i = 0; i < seen->lo.size(); ++i) {
    if (!std::isfinite(seen->lo[i])) return std::nullopt;
    lo = std::min(lo, seen->lo[i]);
    hi = std::max(hi, seen->hi[i]);
  }
  const ElementType type = quantized_type();
  const std::size_t nodes = build.node_count();
  const std::size_t initializers = build.initializer_count();
  std::optional<Wire> best;
  for (int attempt = 0; attempt < (must_be_single ? 4 : 1); ++attempt) {
    build.keep(nodes, initializers);
    best = quantized(x, type, lo, hi);
    const auto result = see(best->name, reference::Tier::any_association);
    if (!result) return std::nullopt;
    if (result->lo == result->hi) break;
  }
  return best;
}

std::optional<QuantizedBytes> GraphDraft::quantize_to_bytes(const Wire& x) {
  const auto q = quantize(x, true);
  if (!q || (q->type != uint8 && q->type != int8)) return std::nullopt;
  const auto scale = static_cast<float>(q->scale);
  const std::string scale_name = build.initializer(make::float32(scale));
  const std::string zero_point_name = build.initializer(make::integer(q->type, zero_point_));
  return QuantizedBytes{q->name, scale_name, zero_point_name, q->type, scale, zero_point_};
}

Wire GraphDraft::quantized(const Wire& x, ElementType type, double lo, double hi) {
  const double steps = type == uint16 || type == int16 ? 65535 : 255;
  // Rarely so small a scale that the quotients are beyond int32.
  const double cut = rng.chance(1, 4) ? 0.5 : rng.chance(1, 64) ? 0x1p-26 : 1.0;
  const double fitting = hi - lo > 0 ? std::max((hi - lo) / steps * cut, 0x1p-120) : 0x1p-20 * cut;
  int exponent = 0;
  (void)std::frexp(fitting, &exponent);
  const float fresh = is_exact_ ? std::ldexp(1.0F, exponent) : random_float(rng, exponent - 1 - kMantissaBits);
  // Exporters repeat the parameters behind what moves data, and runtimes leave out what changes nothing.
  const bool repeats = last_.scale > 0 && rng.chance(1, 12);
  const float scale = repeats ? last_.scale : fresh;
  const double lowest = type == int8 ? -128 : type == int16 ? -32768 : 0;
  const double highest = lowest + steps;
  const double fitted = std::clamp(std::round(lowest - lo / static_cast<double>(scale)), lowest, highest);
  const bool is_plain = rng.chance(1, 4);
  const std::int64_t drawn = is_plain ? 0 : static_cast<std::int64_t>(fitted);
  const std::int64_t zp = repeats && last_.type == type ? last_.zero_point : drawn;
  std::vector<std::string> inputs{x.name, build.initializer(make::float32(scale))};
  std::vector<Attribute> attributes;
  const bool omits = zp == 0 && rng.chance(1, 2);
  if (omits && opset() >= 21) attributes.push_back({"output_dtype", static_cast<std::int64_t>(type)});
  const bool is_told = type == uint8 || !attributes.empty();
  if (!omits || !is_told) inputs.push_back(build.initializer(make::integer(type, zp)));
  Wire y{build.node("QuantizeLinear", inputs, std::move(attributes)), type, x.shape, static_cast<double>(scale)};
  zero_point_ = zp;
  return y;
}

void draw_padding(GraphDraft& draft, Shape pads, std::vector<Attribute>& attributes) {
  static constexpr const char* kWays[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
  if (draft.rng.chance(1, 6)) {
    attributes.push_back({"auto_pad", std::string(draft.rng.pick(kWays))});
  } else {
    attributes.push_back({"pads", std::move(pads)});
  }
}

std::int64_t half_bits(float number) {
  return static_cast<std::int64_t>(
      encode(reference::float_format(float16), static_cast<double>(number), reference::Overflow::special));
}

double largest_of(const std::optional<graph::Bounds>& seen) {
  double largest = 0;
  for (std::size_t i = 0; seen && i < seen->size(); ++i) {
    largest = std::max({largest, std::fabs(seen->lo[i]), std::fabs(seen->hi[i])});
  }
  return largest;
}

}  // namespace qconform::drawn_graphs
