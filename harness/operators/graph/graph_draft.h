// A quantized graph while it is drawn at random, and the steps by which it grows.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/rng.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/draws/draws.h"
#include "reference/graph/sets.h"

// In a namespace of its own: convolutions have drafts too.
namespace qconform::drawn_graphs {

using Shape = std::vector<std::int64_t>;

inline constexpr int kMantissaBits = 23;  ///< mantissa bits of random_float()

/// A value that nodes can read.
struct Wire {
  std::string name;
  ElementType type = ElementType::undefined;
  Shape shape;
  double scale = 1;  ///< the scale of quantized data, where it is one number
};

/// A value of int8 or uint8 with its parameters, and the names that nodes read all of them by.
struct QuantizedBytes {
  std::string name;
  std::string scale_name;
  std::string zero_point_name;
  ElementType type;
  float scale;
  std::int64_t zero_point;

  [[nodiscard]] std::vector<std::string> inputs() const { return {name, scale_name, zero_point_name}; }
};

class GraphDraft {
 public:
  GraphDraft(std::uint64_t seed, std::uint64_t index, std::int64_t opset_version)
      : rng(seed, index), build(opset_version), is_exact_(rng.chance(1, 2)), magnitude_(draw_magnitude(seed, index)) {}

  Rng rng;
  GraphBuilder build;

  [[nodiscard]] bool is_exact() const { return is_exact_; }
  [[nodiscard]] std::int64_t opset() const { return build.opset_version(); }

  float draw_scale() {
    const int exponent = static_cast<int>(rng.between(-9, 0)) + magnitude_;
    return is_exact_ ? std::ldexp(1.0F, exponent) : random_float(rng, exponent - kMantissaBits);
  }

  Tensor data(ElementType type, Shape shape) { return random_bits(rng, type, std::move(shape)); }
  /// Random int8 or uint8 data.
  Tensor bytes(Shape shape) {
    return data(rng.chance(1, 2) ? ElementType::uint8 : ElementType::int8, std::move(shape));
  }
  /// float32 numbers that are multiples of 2^exponent, from least to most times that.
  Tensor multiples(Shape shape, std::int64_t least, std::int64_t most, int exponent);

  ElementType quantized_type();
  ElementType weight_type();
  /// A zero point of the type: 0 of other types than int8 and uint8.
  std::int64_t zero_point(ElementType type);

  /// Quantized data, fed or constant.
  Wire codes(Tensor tensor, bool is_fed);

  /// DQ with one scale, or with one for each index of an axis.
  Wire dequantize(const Wire& q, float scale, std::int64_t zp, std::optional<std::int64_t> axis = {});

  /// A fed or constant quantized tensor, dequantized.
  Wire operand(Shape shape, bool is_fed, std::optional<ElementType> type = {});

  /// Weights with a scale, or one for each index of `axis`, rarely of the axis behind it, and then in `axis_scales_`;
  /// floats, or initializers of a node before, now and then.
  Wire weights(Shape shape, std::optional<std::int64_t> axis);

  [[nodiscard]] Wire float_weights(Shape shape);

  /// A bias for `count` channels of x * w: int32 with their scales, or float32.
  std::string bias(std::int64_t count, const Wire& x, const Wire& w);

  /// Draws the ratio of a bias's scale to that of its sum: mostly 1.
  float bias_ratio() {
    static constexpr float kRatios[] = {1 + 0x1p-20F, 1.00001F, 1.009F, 0.991F, 1.02F, 12, 0.5F};
    return !is_exact_ && rng.chance(1, 5) ? rng.pick(kRatios) : 1;
  }

  std::string float_bias(std::int64_t count, const Wire& x, const Wire& w);

  /// Returns the right values of a value that was added. Nothing where the graph is out of contract with it.
  [[nodiscard]] std::optional<reference::graph::Bounds> see(const std::string& name, reference::Tier tier) {
    if (build.node_count() == 0 || !seen_.follow(build)) return std::nullopt;
    return seen_.bounds_of(name, tier);
  }

  /// The wire of a float value that was added, if the graph is right with it and it is small.
  std::optional<Wire> wire(std::string name);

  /// Q of a float value, with a scale by which most of it is neither saturated nor alike. Tries a few where some
  /// elements would have two right values.
  std::optional<Wire> quantize(const Wire& x, bool must_be_single);

  /// Q of a float value to int8 or uint8, whose elements have one right value each where that can be had.
  std::optional<QuantizedBytes> quantize_to_bytes(const Wire& x);

 private:
  [[nodiscard]] Wire quantized(const Wire& x, ElementType type, double lo, double hi);

 public:
  /// Returns the zero point of the QuantizeLinear added last.
  [[nodiscard]] std::int64_t last_zero_point() const { return zero_point_; }

 private:
  /// Rarely the exponent of all scales of a graph is such that the product of two is subnormal in float32, or beyond
  /// it.
  static int draw_magnitude(std::uint64_t seed, std::uint64_t index) {
    Rng rng(seed + 2, index);
    if (!rng.chance(1, 48)) return 0;
    return rng.chance(1, 2) ? kTiny : kHuge;
  }
  static constexpr int kTiny = -62;
  static constexpr int kHuge = 72;

  bool is_exact_;
  int magnitude_;
  GrowingGraph seen_;
  std::vector<float> axis_scales_;
  /// Parameters of the value that dequantize() made last, with the first scale of an axis.
  struct Parameters {
    ElementType type = ElementType::undefined;
    float scale = 0;
    std::int64_t zero_point = 0;
  };
  Parameters last_;
  /// Initializers that weights were made of, which others of that shape may share.
  struct SharedWeights {
    Shape shape;
    Wire real;
    std::vector<float> axis_scales;
  };
  std::optional<SharedWeights> shared_;
  std::int64_t zero_point_ = 0;
};

/// Adds the nodes of one compute node behind float x, and returns its float output; nothing where x has no fitting
/// shape.
using Step = std::optional<Wire> (*)(GraphDraft& draft, const Wire& x);

struct WeightedStep {
  Step step;
  std::uint32_t weight;
};
/// Convolutions, products of matrices, and what is made of them.
[[nodiscard]] std::span<const WeightedStep> product_steps();
/// Products of quantized numbers as they are, and what makes them real numbers.
[[nodiscard]] std::span<const WeightedStep> integer_steps();
/// Operators of com.microsoft that are no products.
[[nodiscard]] std::span<const WeightedStep> microsoft_steps();
/// Steps that compute element by element, move data, or reduce them.
[[nodiscard]] std::span<const WeightedStep> element_steps();

// Steps that directed draws name.

/// DynamicQuantizeLinear, MatMulInteger and the nodes that make its sums real numbers; x has two axes or more.
[[nodiscard]] std::optional<Wire> dynamic_matmul(GraphDraft& draft, const Wire& x);
/// One node of com.microsoft in the place of those.
[[nodiscard]] std::optional<Wire> fused_dynamic_matmul(GraphDraft& draft, const Wire& x);
/// MatMulNBits.
[[nodiscard]] std::optional<Wire> packed_matmul(GraphDraft& draft, const Wire& x);
/// A product with weights that DequantizeLinear reads in blocks.
[[nodiscard]] std::optional<Wire> blocked_matmul(GraphDraft& draft, const Wire& x);
/// LayerNormalization, or a normalization over the channels of x.
[[nodiscard]] std::optional<Wire> normalization(GraphDraft& draft, const Wire& x);

/// MatMulInteger of x [..., depth] of uint8 or int8, with its zero point, and weights that are drawn; returns its name.
[[nodiscard]] std::string matmul_integer(GraphDraft& draft, const std::string& x, const std::string& zero_point,
                                         std::int64_t depth, std::int64_t columns);

/// Adds the pads, or a way to find them: auto_pad.
void draw_padding(GraphDraft& draft, Shape pads, std::vector<Attribute>& attributes);

/// A graph of one node that is no operator by itself, or of tensors without axes or elements.
[[nodiscard]] Case draw_alone(GraphDraft& draft);

/// The bits of a number as float16, which holds it.
[[nodiscard]] std::int64_t half_bits(float number);

/// The largest magnitude among bounds; 0 of none.
[[nodiscard]] double largest_of(const std::optional<reference::graph::Bounds>& seen);

}  // namespace qconform::drawn_graphs
