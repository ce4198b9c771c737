// Attention, QAttention and RotaryEmbedding: heads of queries, keys and values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/graphs/node_lowering.h"
#include "harness/model/text.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;
using enum ElementType;
using List = std::vector<std::int64_t>;

/// Queries, keys and values, each [batch, heads, positions, size].
struct AttentionHeads {
  std::string query;
  std::string key;
  std::string value;
};

/// Keeps positions out of a row of scores, or moves its scores.
struct AttentionMask {
  std::vector<std::string> allowed;  ///< truth values
  std::string bias;                  ///< "": none
};

// [batch, positions, heads * size] becomes [batch, heads, positions, size]; four axes stay as they are.
std::string split_heads(const NodeLowering& node, Expansion& out, const std::string& value, std::string_view count) {
  if (!out.is_right() || out.shape(value).size() == 4) return value;
  const Shape shape = out.shape(value);
  const std::int64_t heads = node.get_or<std::int64_t>(count, 0);
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0) {
    node.violate(
        count, fmt::format("expected a divisor of the last of 3 dimensions, got {} for {}", heads, shape_text(shape)));
    return out.give_up();
  }
  const std::string split = out.reshaped(value, {shape[0], shape[1], heads, shape[2] / heads});
  return out.add("Transpose", {split}, {{"perm", List{0, 2, 1, 3}}});
}

std::string joined_heads(Expansion& out, const std::string& value) {
  const Shape shape = out.shape(value);
  const std::string turned = out.add("Transpose", {value}, {{"perm", List{0, 2, 1, 3}}});
  return out.reshaped(turned, {shape[0], shape[2], shape[1] * shape[3]});
}

// Multiplies a's heads by b's, or with a factor by b's rows. A group of a's heads shares one of b's.
std::string product_of_heads(const NodeLowering& node, Expansion& out, const std::string& a, const std::string& b,
                             std::optional<double> factor) {
  const Shape from = out.shape(a);
  const Shape by = out.shape(b);
  const std::int64_t columns = factor ? by[2] : by[3];
  MatrixTaps taps{.m = from[2], .n = columns, .k = from[3], .a_row = from[3], .b_inner = factor ? 1 : by[3]};
  if (factor) taps.b_column = by[3];
  taps.a_begin.clear();
  taps.b_begin.clear();
  for (std::int64_t i = 0; i < from[0] * from[1]; ++i) {
    const std::int64_t head = i % from[1] / (from[1] / by[1]);
    taps.a_begin.push_back(i * from[2] * from[3]);
    taps.b_begin.push_back((i / from[1] * by[1] + head) * by[2] * by[3]);
  }
  WeightedSum sum{.taps = std::move(taps), .alpha = factor.value_or(1)};
  const Shape shape{from[0], from[1], from[2], columns};
  if (!node.claim_taps(2 * elements_of(shape))) return out.give_up();
  // Both factors may be multiplied by the rounded root instead: one rounding more than alpha counts.
  if (factor) sum.divisor.assign(static_cast<std::size_t>(elements_of(shape)), 1);
  const auto product = node.compute(std::move(sum), {node.id_of(a), node.id_of(b)}, shape, out.type(a));
  return product ? node.named(*product) : out.give_up();
}

// The scores with `blocked` in all places that the mask keeps out.
std::string masked(const NodeLowering& node, Expansion& out, const AttentionMask& mask, std::string scores,
                   double blocked) {
  if (!out.is_right()) return "";
  const std::string number = node.named(node.add_stated(out.type(scores), {}, {blocked}));
  for (const std::string& allowed : mask.allowed) scores = out.add("Where", {allowed, scores, number});
  return scores;
}

std::string biased(Expansion& out, const AttentionMask& mask, const std::string& scores) {
  return mask.bias.empty() ? scores : out.add("Add", {scores, mask.bias});
}

// A score becomes softcap * tanh(score / softcap).
std::string capped(const NodeLowering& node, Expansion& out, const std::string& scores, double softcap) {
  const std::string cap = node.named(node.add_stated(node.type(0), {}, {softcap}));
  return out.add("Mul", {out.add("Tanh", {out.add("Div", {scores, cap})}), cap});
}

// Releases of ONNX cap scores before the mask, or behind it: then what is masked has the cap's negative.
std::string masked_and_capped(const NodeLowering& node, Expansion& out, const AttentionMask& mask,
                              const std::string& scores, double softcap) {
  constexpr double kBlocked = -std::numeric_limits<double>::infinity();
  if (softcap == 0) return masked(node, out, mask, biased(out, mask, scores), kBlocked);
  const std::string first = masked(node, out, mask, biased(out, mask, capped(node, out, scores, softcap)), kBlocked);
  if (mask.bias.empty() && mask.allowed.empty()) return first;
  const std::string last = masked(node, out, mask, capped(node, out, biased(out, mask, scores), softcap), -softcap);
  return out.either(first, last);
}

/// Scores are multiplied by the factor, and capped unless softcap is 0.
struct AttentionScale {
  double factor;
  double softcap;
};

std::string attention(const NodeLowering& node, Expansion& out, const AttentionHeads& heads, const AttentionMask& mask,
                      AttentionScale scale) {
  if (!out.is_right()) return "";
  std::string scores = product_of_heads(node, out, heads.query, heads.key, scale.factor);
  if (out.is_right()) scores = masked_and_capped(node, out, mask, scores, scale.softcap);
  const std::string weights = out.add("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  return out.is_right() ? product_of_heads(node, out, weights, heads.value, std::nullopt) : "";
}

// Query i stands at position `past` + i.
std::vector<double> visible(std::int64_t queries, std::int64_t keys, std::int64_t past, std::int64_t left,
                            std::int64_t right) {
  std::vector<double> truths;
  for (std::int64_t i = past; i < past + queries; ++i) {
    for (std::int64_t j = 0; j < keys; ++j) {
      truths.push_back((left < 0 || j >= i - left) && (right < 0 || j <= i + right) ? 1 : 0);
    }
  }
  return truths;
}

bool check_heads(const NodeLowering& node, Expansion& out, const AttentionHeads& heads) {
  if (!out.is_right()) return false;
  const Shape q = out.shape(heads.query);
  const Shape k = out.shape(heads.key);
  const Shape v = out.shape(heads.value);
  const bool fit = q.size() == 4 && k.size() == 4 && v.size() == 4 && q[0] == k[0] && k[0] == v[0] && k[1] == v[1] &&
                   k[2] == v[2] && q[3] == k[3];
  if (!fit || k[1] == 0 || q[1] % k[1] != 0) {
    return node.violate("inputs",
                        fmt::format("heads {}, {} and {} do not fit", shape_text(q), shape_text(k), shape_text(v)));
  }
  return elements_of(q) * elements_of(k) * elements_of(v) > 0 || node.limit("inputs", "no element is there");
}

// A stated bias masks where it is -infinity, or so low that no score changes it; elsewhere it is added.
void add_stated_bias(const NodeLowering& node, const Tensor& stated, AttentionMask& mask) {
  constexpr double kAlmostInfinite = 0x1p100;
  std::vector<double> truths;
  std::vector<double> rest;
  bool masks = false;
  for (std::int64_t i = 0; i < stated.elements(); ++i) {
    const double value = number_at(stated, i);
    const bool blocks = value <= -kAlmostInfinite;
    masks = masks || blocks;
    truths.push_back(blocks ? 0 : 1);
    rest.push_back(blocks ? 0 : value);
  }
  if (!masks) return;
  mask.allowed.push_back(node.named(node.add_stated(boolean, stated.shape, std::move(truths))));
  mask.bias = node.named(node.add_stated(stated.type, stated.shape, std::move(rest)));
}

bool add_attention_mask(const NodeLowering& node, Expansion& out, const Shape& scores, AttentionMask& mask) {
  if (!node.has(3)) return true;
  const Shape shape = node.shape(3);
  if (!shape.empty() && node.opset() >= 24 && shape.back() < scores.back()) {
    return node.limit("attn_mask", "one that is shorter than the keys is not judged");
  }
  if (broadcast_shape(shape, scores) != scores) {
    return node.violate("attn_mask", fmt::format("{} does not broadcast to {}", shape_text(shape), shape_text(scores)));
  }
  if (node.type(3) == boolean) return mask.allowed.push_back(out.input(3)), true;
  if (node.type(3) != node.type(0)) {
    return node.limit("attn_mask", name_of(node.type(3)) + " is not judged");
  }
  mask.bias = out.input(3);
  if (const Tensor* stated = node.stated_tensor(node.id(3))) add_stated_bias(node, *stated, mask);
  return true;
}

bool check_attention(const NodeLowering& node) {
  if (node.type(2) != node.type(0)) return node.limit("V", "types that differ are not judged");
  if (node.has(4) != node.has(5))
    return node.violate("past_key", "expected past_key and past_value together, got one of them");
  if (node.has(6)) return node.limit("nonpad_kv_seqlen", "is not judged");
  const std::vector<std::string>& outputs = node.node().outputs;
  if (outputs.size() > 3 && !outputs[3].empty()) return node.limit("outputs", "scores are not judged");
  const auto precision = node.get_or<std::int64_t>("softmax_precision", static_cast<std::int64_t>(node.type(0)));
  if (precision != static_cast<std::int64_t>(node.type(0))) {
    return node.limit("softmax_precision", "another type than that of Q is not judged");
  }
  const float softcap = node.get_or<float>("softcap", 0);
  if (softcap < 0 || !std::isfinite(softcap)) return node.limit("softcap", fmt::format("{} is not judged", softcap));
  return true;
}

// Gives a value to an output, if the node has it.
bool give(const NodeLowering& node, const Expansion& out, const std::string& value, std::size_t output) {
  return out.is_right() && node.claim(out.shape(value)) &&
         node.emit(Move{}, {node.id_of(value)}, out.shape(value), out.type(value), output);
}

bool lower_attention(const NodeLowering& node) {
  if (!check_attention(node)) return false;
  Expansion out(node);
  const bool is_joined = node.shape(0).size() == 3;
  AttentionHeads heads{split_heads(node, out, out.input(0), "q_num_heads"),
                       split_heads(node, out, out.input(1), "kv_num_heads"),
                       split_heads(node, out, out.input(2), "kv_num_heads")};
  std::int64_t past = 0;
  if (out.is_right() && node.has(4)) {
    past = node.shape(4).size() == 4 ? node.shape(4)[2] : 0;
    heads.key = out.add("Concat", {out.input(4), heads.key}, {{"axis", std::int64_t{2}}});
    heads.value = out.add("Concat", {out.input(5), heads.value}, {{"axis", std::int64_t{2}}});
  }
  if (!check_heads(node, out, heads)) return false;
  const Shape q = out.shape(heads.query);
  const std::int64_t keys = out.shape(heads.key)[2];
  AttentionMask mask;
  const std::int64_t left = node.get_or<std::int64_t>("left_window_size", -1);
  std::int64_t right = node.get_or<std::int64_t>("right_window_size", -1);
  if (node.get_or<std::int64_t>("is_causal", 0) != 0) right = 0;
  if (left >= 0 || right >= 0) {
    if (!node.claim({q[2], keys})) return false;
    mask.allowed.push_back(node.named(node.add_stated(boolean, {q[2], keys}, visible(q[2], keys, past, left, right))));
  }
  if (!add_attention_mask(node, out, {q[0], q[1], q[2], keys}, mask)) return false;
  const auto* stated_scale = node.get<float>("scale");
  const double scale = stated_scale != nullptr ? *stated_scale : 1 / std::sqrt(static_cast<double>(q[3]));
  node.multiplies_by(scale);
  std::string y = attention(node, out, heads, mask, {scale, node.get_or<float>("softcap", 0)});
  if (out.is_right() && is_joined) y = joined_heads(out, y);
  return give(node, out, y, 0) && give(node, out, heads.key, 1) && give(node, out, heads.value, 2);
}

// QAttention of com.microsoft: one product gives queries, keys and values, side by side.

// The mask of keys: their number for each batch, or truths for each key. Adds mask_filter_value to scores.
bool add_key_mask(const NodeLowering& node, std::int64_t batch, std::int64_t keys, AttentionMask& mask) {
  if (!node.has(5)) return true;
  const auto stated = node.integers(5, "mask_index", true);
  if (!stated) return false;
  const Shape& shape = node.shape(5);
  const bool is_length = shape == Shape{batch};
  if (!is_length && shape != Shape{batch, keys}) {
    return node.limit("mask_index", fmt::format("shape {} is not judged", shape_text(shape)));
  }
  std::vector<double> added;
  for (std::int64_t i = 0; i < batch * keys; ++i) {
    const std::int64_t number = (*stated)[static_cast<std::size_t>(is_length ? i / keys : i)];
    const bool takes_part = is_length ? i % keys < number : number > 0;
    added.push_back(takes_part ? 0 : node.get_or<float>("mask_filter_value", -10000));
  }
  mask.bias = node.named(node.add_stated(float32, {batch, 1, 1, keys}, std::move(added)));
  return true;
}

bool check_quantized_attention(const NodeLowering& node) {
  const bool has_past = node.has(8) || node.node().outputs.size() > 1;
  if (has_past) return node.limit("past", "a cache is not judged");
  if (node.get_or<std::int64_t>("do_rotary", 0) != 0) return node.limit("do_rotary", "is not judged");
  if (node.get_or<std::int64_t>("unidirectional", 0) != 0 && node.has(5)) {
    return node.limit("unidirectional", "is not judged beside a mask");
  }
  const Shape& x = node.shape(0);
  const Shape& w = node.shape(1);
  const auto heads = node.get_or<std::int64_t>("num_heads", 0);
  const bool fit = x.size() == 3 && w.size() == 2 && x[2] == w[0] && heads > 0 && w[1] % (3 * heads) == 0;
  if (!fit) {
    return node.violate(
        "num_heads",
        fmt::format("expected input [b, n, k] and weights [k, m] with m a multiple of 3 * num_heads, got {}, {} and {}",
                    shape_text(x), shape_text(w), heads));
  }
  return elements_of(x) * w[1] > 0 || node.limit("inputs", "no element is there");
}

bool lower_quantized_attention(const NodeLowering& node) {
  if (!check_quantized_attention(node)) return false;
  const std::int64_t batch = node.shape(0)[0];
  const std::int64_t keys = node.shape(0)[1];
  const auto size = static_cast<double>(node.shape(1)[1] / 3 / node.get_or<std::int64_t>("num_heads", 1));
  Expansion out(node);
  out.expect_one(3, "input_scale");
  const std::string sum = out.add("MatMulInteger", {out.input(0), out.input(1), out.parameter(6, "input_zero_point"),
                                                    out.parameter(7, "weight_zero_point")});
  const std::string scales = out.add("Mul", {out.parameter(3, "input_scale"), out.parameter(4, "weight_scale")});
  const std::string real = out.add("Cast", {sum}, {{"to", static_cast<std::int64_t>(float32)}});
  const std::string all = out.add("Add", {out.add("Mul", {real, scales}), out.input(2)});
  const std::vector<std::string> parts =
      out.add_all("Split", {all}, 3, {{"axis", std::int64_t{2}}, {"num_outputs", std::int64_t{3}}});
  const AttentionHeads heads{split_heads(node, out, parts[0], "num_heads"),
                             split_heads(node, out, parts[1], "num_heads"),
                             split_heads(node, out, parts[2], "num_heads")};
  AttentionMask mask;
  if (!out.is_right() || !add_key_mask(node, batch, keys, mask)) return false;
  if (node.get_or<std::int64_t>("unidirectional", 0) != 0) {
    if (!node.claim({keys, keys})) return false;
    mask.allowed.push_back(node.named(node.add_stated(boolean, {keys, keys}, visible(keys, keys, 0, -1, 0))));
  }
  const auto* stated_scale = node.get<float>("scale");
  const double scale = stated_scale != nullptr && *stated_scale != 0 ? *stated_scale : 1 / std::sqrt(size);
  std::string y = attention(node, out, heads, mask, {scale, 0});
  if (out.is_right()) y = joined_heads(out, y);
  return give(node, out, y, 0);
}

// RotaryEmbedding: each pair of a head's elements is turned by the angle of its position.

/// Tells which elements of x are turned together: the first `turned` ones of each head and position.
struct RotaryLayout {
  std::int64_t batch;
  std::int64_t heads;
  std::int64_t positions;
  std::int64_t size;
  std::int64_t turned;
  bool is_joined;       ///< x is [batch, positions, heads * size]
  bool is_interleaved;  ///< neighbours are a pair, not elements of both halves
};

/// Holds for each element of x its partner, its place in the caches, and whether it is the first of its pair or stays
/// as it is.
struct RotaryIndex {
  List partner;
  List angle;
  std::vector<std::int32_t> is_first;
  std::vector<std::int32_t> is_kept;
};

// `rows` has a row of the caches for each batch and position.
RotaryIndex rotary_index(const RotaryLayout& at, const List& rows) {
  const std::int64_t half = at.turned / 2;
  RotaryIndex index;
  const std::int64_t count = at.batch * at.heads * at.positions * at.size;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t element = i % at.size;
    const std::int64_t outer = i / at.size;
    const std::int64_t position = at.is_joined ? outer / at.heads % at.positions : outer % at.positions;
    const std::int64_t row =
        rows[static_cast<std::size_t>(outer / (at.heads * at.positions) * at.positions + position)];
    const bool is_kept = element >= at.turned;
    const bool is_first = at.is_interleaved ? element % 2 == 0 : element < half;
    const std::int64_t distance = at.is_interleaved ? 1 : half;
    index.partner.push_back(is_kept ? i : is_first ? i + distance : i - distance);
    index.angle.push_back(is_kept ? 0 : row * half + (at.is_interleaved ? element / 2 : element % half));
    index.is_first.push_back(is_first ? 1 : 0);
    index.is_kept.push_back(is_kept ? 1 : 0);
  }
  return index;
}

// y is x * cos + partner * sin; the first of a pair takes the opposite of sin.
bool emit_rotation(const NodeLowering& node, ValueId cos, ValueId sin, RotaryIndex index) {
  const Shape shape = node.shape(0);
  const ElementType type = node.type(0);
  const ValueId x = node.id(0);
  if (!node.claim_taps(5 * elements_of(shape))) return false;
  const auto opposite = node.compute(Elementwise{.function = Function::neg}, {sin}, node.shape_of(sin), type);
  if (!opposite) return false;
  const auto signed_sin = node.compute(Move{index.is_first, index.angle}, {sin, *opposite}, shape, type);
  if (!signed_sin) return false;
  const auto along =
      node.compute(Elementwise{.function = Function::mul, .index = {{}, index.angle}}, {x, cos}, shape, type);
  if (!along) return false;
  const auto across =
      node.compute(Elementwise{.function = Function::mul, .index = {index.partner, {}}}, {x, *signed_sin}, shape, type);
  if (!across) return false;
  const auto sum = node.compute(Elementwise{.function = Function::add}, {*along, *across}, shape, type);
  return sum && node.claim(shape) && node.emit(Move{std::move(index.is_kept), {}}, {*sum, x}, shape);
}

/// The inputs of a RotaryEmbedding; com.microsoft has them in another order.
struct RotaryInputs {
  std::size_t cos;
  std::size_t sin;
  std::size_t positions;
};

// Returns a row of the caches for each batch and position: their own, or that of the stated position. com.microsoft may
// state the first position alone.
std::optional<List> rotary_rows(const NodeLowering& node, const RotaryLayout& at, RotaryInputs from) {
  const std::int64_t count = at.batch * at.positions;
  const Shape& cache = node.shape(from.cos);
  if (!node.has(from.positions)) {
    if (cache == Shape{at.batch, at.positions, at.turned / 2}) return counted(count);
    return node.violate("cos_cache",
                        fmt::format("expected shape {}, got {}",
                                    shape_text(Shape{at.batch, at.positions, at.turned / 2}), shape_text(cache))),
           std::nullopt;
  }
  auto rows = node.integers(from.positions, "position_ids");
  if (!rows) return std::nullopt;
  if (from.positions < from.cos && node.shape(from.positions) == Shape{1}) {
    const std::int64_t first = rows->front();
    *rows = strided({at.batch, at.positions}, {0, 1}, first);
  }
  const bool is_inside = std::all_of(rows->begin(), rows->end(),
                                     [&](std::int64_t row) { return cache.size() == 2 && row >= 0 && row < cache[0]; });
  if (static_cast<std::int64_t>(rows->size()) == count && is_inside && cache[1] == at.turned / 2) return rows;
  return node.violate("position_ids",
                      fmt::format("do not fit {} positions and caches of shape {}", count, shape_text(cache))),
         std::nullopt;
}

bool lower_rotation(const NodeLowering& node, RotaryInputs from) {
  const Shape& x = node.shape(0);
  const auto stated_heads = node.get_or<std::int64_t>("num_heads", 0);
  const bool is_joined = x.size() == 3;
  if ((!is_joined && x.size() != 4) || elements_of(x) == 0) {
    return node.violate("X", "expected 3 or 4 axes with elements, got shape " + shape_text(x));
  }
  if (is_joined && (stated_heads < 1 || x[2] % stated_heads != 0)) {
    return node.violate("num_heads", fmt::format("expected a divisor of the last of 3 dimensions, got {} for {}",
                                                 stated_heads, shape_text(x)));
  }
  RotaryLayout at{.batch = x[0],
                  .heads = is_joined ? stated_heads : x[1],
                  .positions = is_joined ? x[1] : x[2],
                  .size = is_joined ? x[2] / stated_heads : x[3],
                  .turned = node.get_or<std::int64_t>("rotary_embedding_dim", 0),
                  .is_joined = is_joined,
                  .is_interleaved = node.get_or<std::int64_t>("interleaved", 0) != 0};
  if (at.turned == 0) at.turned = at.size;
  if (at.turned < 0 || at.turned > at.size || at.turned % 2 != 0) {
    return node.violate("rotary_embedding_dim",
                        fmt::format("expected an even number up to {}, got {}", at.size, at.turned));
  }
  if (node.shape(from.sin) != node.shape(from.cos))
    return node.violate("sin_cache", fmt::format("expected the shape of cos_cache, {}, got {}",
                                                 shape_text(node.shape(from.cos)), shape_text(node.shape(from.sin))));
  const auto rows = rotary_rows(node, at, from);
  return rows && emit_rotation(node, node.id(from.cos), node.id(from.sin), rotary_index(at, *rows));
}

bool lower_onnx_rotation(const NodeLowering& node) {
  return lower_rotation(node, {.cos = 1, .sin = 2, .positions = 3});
}

bool lower_microsoft_rotation(const NodeLowering& node) {
  if (node.get_or<std::int64_t>("is_packed_batching", 0) != 0 || node.get_or<float>("scale", 1) != 1) {
    return node.limit("scale", "neither a scale nor packed batches are judged");
  }
  return lower_rotation(node, {.cos = 2, .sin = 3, .positions = 1});
}

using namespace node_types;

constexpr AttributeSignature kAttention[] = {
    {"is_causal", kIntAttribute},         {"kv_num_heads", kIntAttribute},
    {"q_num_heads", kIntAttribute},       {"qk_matmul_output_mode", kIntAttribute},
    {"scale", kFloatAttribute},           {"softcap", kFloatAttribute},
    {"softmax_precision", kIntAttribute}, {"left_window_size", kIntAttribute},
    {"right_window_size", kIntAttribute}};

constexpr NodeOperator attention_row(std::int64_t since, std::size_t most_inputs, std::size_t attributes) {
  NodeOperator result = node_operator("Attention", since, kFloats13, 3, most_inputs,
                                      std::span(kAttention).first(attributes), lower_attention);
  result.like_first = 1U << 0 | 1U << 1 | 1U << 4;
  result.computes = true;
  result.most_outputs = 4;
  return result;
}

constexpr AttributeSignature kQuantizedAttention[] = {
    {"do_rotary", kIntAttribute}, {"mask_filter_value", kFloatAttribute},
    {"num_heads", kIntAttribute}, {"past_present_share_buffer", kIntAttribute},
    {"scale", kFloatAttribute},   {"unidirectional", kIntAttribute}};

constexpr NodeOperator quantized_attention_row() {
  NodeOperator result =
      node_operator("QAttention", 1, TypeSet{int8, uint8}, 5, 9, kQuantizedAttention, lower_quantized_attention);
  result.like_first = 1;
  result.most_outputs = 2;
  result.domain = "com.microsoft";
  result.is_quantized = true;
  return result;
}

constexpr AttributeSignature kRotation[] = {{"interleaved", kIntAttribute},
                                            {"num_heads", kIntAttribute},
                                            {"rotary_embedding_dim", kIntAttribute},
                                            {"is_packed_batching", kIntAttribute},
                                            {"scale", kFloatAttribute}};

// `like_first` has a bit for each input of numbers.
constexpr NodeOperator rotation_row(std::string_view domain, std::int64_t since, std::size_t least_inputs,
                                    std::uint32_t like_first, std::size_t attributes,
                                    bool (*lower)(const NodeLowering&)) {
  NodeOperator result = node_operator("RotaryEmbedding", since, TypeSet{float32, float16, bfloat16}, least_inputs, 4,
                                      std::span(kRotation).first(attributes), lower);
  result.like_first = like_first;
  result.computes = true;
  result.domain = domain;
  return result;
}

constexpr NodeOperator kAttentionNodes[] = {
    attention_row(23, 6, 7),
    attention_row(24, 7, 7),
    attention_row(25, 7, 9),
    quantized_attention_row(),
    rotation_row("", 23, 3, 0b0111, 3, lower_onnx_rotation),
    rotation_row("com.microsoft", 1, 4, 0b1101, 5, lower_microsoft_rotation),
};

}  // namespace

std::span<const NodeOperator> attention_nodes() {
  return kAttentionNodes;
}

}  // namespace qconform::lowering
