// Probes of convolutions' sums and of QLinearConv's extremes, and the list of experiments of both operators.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/operators/convolution/diagnosis.h"

namespace qconform::diagnose {
namespace {

constexpr std::int64_t kInt32Max = 2147483647;

struct Ends {
  std::int64_t lo;
  std::int64_t hi;
};

Ends ends_of(ElementType type) {
  return type == ElementType::int8 ? Ends{-128, 127} : Ends{0, 255};
}

// The operands of a convolution with one output position.
struct Operands {
  make::Shape x_shape;
  make::Shape w_shape;
  std::vector<std::int64_t> x;
  std::vector<std::int64_t> w;
  std::int64_t groups = 1;
  std::int64_t x_zero_point = 0;
  std::int64_t w_zero_point = 0;

  [[nodiscard]] std::int64_t channels() const { return w_shape[0]; }
  [[nodiscard]] std::int64_t sum(std::int64_t channel) const {
    const std::size_t depth = w.size() / static_cast<std::size_t>(channels());
    const std::size_t x_begin = static_cast<std::size_t>(channel / (channels() / groups)) * depth;
    const std::size_t w_begin = static_cast<std::size_t>(channel) * depth;
    std::int64_t total = 0;
    for (std::size_t k = 0; k < depth; ++k) {
      total += (x[x_begin + k] - x_zero_point) * (w[w_begin + k] - w_zero_point);
    }
    return total;
  }
};

// `inputs`: channels of each group.
Operands draw_shapes(const Form& form, std::int64_t outputs, std::int64_t inputs, std::int64_t kernel,
                     std::int64_t groups = 1) {
  Operands o;
  o.groups = groups;
  o.x_shape = {1, groups * inputs};
  o.w_shape = {outputs, inputs};
  o.x_shape.resize(static_cast<std::size_t>(form.rank), kernel);
  o.w_shape.resize(static_cast<std::size_t>(form.rank), kernel);
  return o;
}

// One value in two at an end of its type: `end` or, with `both`, either.
std::vector<std::int64_t> draw_values(Rng& rng, ElementType type, std::int64_t count, std::int64_t end, bool both) {
  const Ends ends = ends_of(type);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool at_end = rng.chance(1, 2);
    values.push_back(!at_end ? rng.between(ends.lo, ends.hi) : both && rng.chance(1, 2) ? ends.lo : end);
  }
  return values;
}

// Few products for pairs and channels that saturate or wrap, or so many that float32 cannot hold the sum.
Operands draw_sum_operands(Rng& rng, const Form& form) {
  constexpr std::int64_t kOutputs = 4;
  const bool is_one_channel = form.layout == layout::depthwise || form.layout == layout::multiplied;
  const bool is_deep = !is_one_channel && rng.chance(1, 4);
  const bool is_pointwise = form.layout == layout::pointwise || (form.layout == layout::groups && rng.chance(1, 2));
  const std::int64_t kernel = is_pointwise ? 1 : 3;
  const std::int64_t deep = rng.between(200, 320) * (is_pointwise ? 9 : 1);
  const std::int64_t inputs = is_deep ? deep : is_one_channel ? 1 : rng.pick({2, 3, 4, 8, 16, 33});
  const bool is_grouped = form.layout == layout::groups || form.layout == layout::multiplied;
  const std::int64_t groups = form.layout == layout::depthwise ? kOutputs : is_grouped ? 2 : 1;
  Operands o = draw_shapes(form, kOutputs, inputs, kernel, groups);
  const Ends x_ends = ends_of(form.x);
  const Ends w_ends = ends_of(form.w);
  const std::int64_t x_end = form.x == ElementType::int8 ? x_ends.lo : x_ends.hi;
  const std::int64_t w_end = form.w == ElementType::int8 && rng.chance(1, 2) ? w_ends.lo : w_ends.hi;
  o.x = draw_values(rng, form.x, elements_of(o.x_shape), x_end, false);
  o.w = draw_values(rng, form.w, elements_of(o.w_shape), w_end, !is_deep);
  if (form.x_zero_point && rng.chance(1, 2)) o.x_zero_point = x_ends.lo + 255 - (x_end - x_ends.lo);
  return o;
}

// As many products of one sign, as large as they come, as leave int32.
Operands draw_deep_operands(Rng& rng, const Form& form) {
  const Ends x_ends = ends_of(form.x);
  const Ends w_ends = ends_of(form.w);
  const std::int64_t x_zero_point = form.x_zero_point ? x_ends.hi : 0;
  const std::int64_t w_zero_point = form.w_zero_point ? w_ends.hi : 0;
  const std::int64_t x_end = form.x == ElementType::uint8 && !form.x_zero_point ? x_ends.hi : x_ends.lo;
  const std::int64_t w_end = form.w == ElementType::uint8 && !form.w_zero_point ? w_ends.hi : w_ends.lo;
  const std::int64_t largest = std::abs((x_end - x_zero_point) * (w_end - w_zero_point));
  Operands o = draw_shapes(form, 2, kInt32Max / largest * 21 / 20 + rng.between(1, 1000), 1);
  o.x_zero_point = x_zero_point;
  o.w_zero_point = w_zero_point;
  o.x.assign(static_cast<std::size_t>(elements_of(o.x_shape)), x_end);
  o.w.assign(static_cast<std::size_t>(elements_of(o.w_shape)), w_end);
  return o;
}

struct Output {
  float x_scale = 1;
  float w_scale = 1;
  float y_scale = 1;
  std::vector<std::int64_t> bias;
};

Case assemble(Rng& rng, const Form& form, const Operands& o, const Output& output) {
  if (form.op_type == "ConvInteger") {
    ConvIntegerBuilder builder;
    builder.x(make::integers(form.x, o.x_shape, o.x)).w(make::integers(form.w, o.w_shape, o.w));
    if (form.x_zero_point || form.w_zero_point) builder.x_zero_point(o.x_zero_point);
    if (form.w_zero_point) builder.w_zero_point(o.w_zero_point);
    if (o.groups > 1) builder.group(o.groups);
    return builder.build();
  }
  QLinearConvBuilder builder;
  builder.x(make::integers(form.x, o.x_shape, o.x)).x_zero_point(o.x_zero_point).x_scale(output.x_scale);
  builder.w(make::integers(form.w, o.w_shape, o.w));
  if (form.channel_scales) {
    const auto channels = static_cast<std::size_t>(o.channels());
    builder.w_scale(std::vector<float>(channels, output.w_scale));
    builder.w_zero_point(std::vector<std::int64_t>(channels, o.w_zero_point));
  } else {
    builder.w_scale(output.w_scale).w_zero_point(o.w_zero_point);
  }
  builder.y_type(form.y).y_scale(output.y_scale);
  if (form.y_zero_point) builder.y_zero_point((form.y == ElementType::int8 ? 0 : 128) + rng.between(-9, 9));
  if (form.bias) builder.bias(output.bias);
  if (o.groups > 1) builder.group(o.groups);
  return builder.build();
}

// The bias takes the exact sum away, so that what is left shows in units; without one, a tie shows it.
Output sum_output(Rng& rng, const Form& form, const Operands& o) {
  Output output;
  if (form.op_type == "ConvInteger") return output;
  for (std::int64_t m = 0; m < o.channels(); ++m) output.bias.push_back(rng.between(-50, 50) - o.sum(m));
  if (form.bias) return output;
  const std::int64_t sum = o.sum(static_cast<std::int64_t>(rng.below(4)));
  if (sum != 0) output.y_scale = tie_scale(sum, 1.0F, 1.0F, 2 * rng.between(10, 100) + 1);
  return output;
}

Case draw_sum(Rng& rng, const Form& form, const CandidatePairs&) {
  const Operands o = draw_sum_operands(rng, form);
  return assemble(rng, form, o, sum_output(rng, form, o));
}

// A tie half way between the end of int32 and the sum: a saturated sum lies below, an exact one above.
void put_tie_at_end(Rng& rng, std::int64_t sum, Output& output) {
  const std::int64_t end = sum > 0 ? kInt32Max : -kInt32Max - 1;
  output.y_scale = tie_scale((end + sum) / 2, output.x_scale, output.w_scale, 2 * rng.between(20, 100) + 1);
}

Case draw_overflow(Rng& rng, const Form& form, const CandidatePairs&) {
  Output output;
  if (form.op_type == "ConvInteger" || !form.bias) {
    const Operands o = draw_deep_operands(rng, form);
    if (form.op_type == "QLinearConv") put_tie_at_end(rng, o.sum(0), output);
    return assemble(rng, form, o, output);
  }
  Operands o = draw_shapes(form, 16, 64, 1);
  const std::int64_t room = form.x_zero_point ? 255 : 0;
  const Ends x_ends = ends_of(form.x);
  if (room != 0) o.x_zero_point = x_ends.lo;
  o.x = draw_values(rng, form.x, 64, x_ends.hi, false);
  o.w = draw_values(rng, form.w, elements_of(o.w_shape), ends_of(form.w).hi, false);
  for (std::int64_t m = 0; m < o.channels(); ++m) {
    const std::int64_t sum = o.sum(m);
    const std::int64_t end = sum < 0 ? -kInt32Max - 1 : kInt32Max;
    output.bias.push_back(end - sum / rng.between(2, 5));
  }
  put_tie_at_end(rng, o.sum(0) + output.bias[0], output);
  return assemble(rng, form, o, output);
}

// Sixteen sums of eight products each, in the middle of their range.
Operands draw_short_sums(Rng& rng, const Form& form) {
  Operands o = draw_shapes(form, 16, 8, 1);
  o.x_zero_point = form.x_zero_point ? (form.x == ElementType::int8 ? 0 : 128) : 0;
  o.x = draw_values(rng, form.x, 8, ends_of(form.x).hi, false);
  o.w = draw_values(rng, form.w, elements_of(o.w_shape), ends_of(form.w).hi, false);
  return o;
}

// Values between 2^31 and 2^40 of either sign.
Case draw_conversion(Rng& rng, const Form& form, const CandidatePairs&) {
  const Operands o = draw_short_sums(rng, form);
  Output output;
  output.bias.assign(16, 0);
  const auto exponent = static_cast<int>(rng.between(20, 27));
  output.x_scale = random_float(rng, exponent - 10 - 23);
  output.w_scale = random_float(rng, 10 - 23);
  for (std::int64_t& bias : output.bias) bias = rng.between(-20000, 20000);
  return assemble(rng, form, o, output);
}

// Scales whose product, or one of which, lies below 2^-126; the outputs are ordinary.
Case draw_subnormals(Rng& rng, const Form& form, const CandidatePairs&) {
  const Operands o = draw_short_sums(rng, form);
  Output output;
  for (int m = 0; m < 16; ++m) output.bias.push_back(rng.between(-2000, 2000));
  switch (rng.below(3)) {
    case 0:  // an operand
      output.x_scale = std::ldexp(static_cast<float>(rng.between(1 << 12, (1 << 23) - 1)), -149);
      output.w_scale = random_float(rng, static_cast<int>(rng.between(2, 20)) - 23);
      break;
    case 1:  // an intermediate result
      output.x_scale = random_float(rng, static_cast<int>(rng.between(-70, -60)) - 23);
      output.w_scale = random_float(rng, static_cast<int>(rng.between(-70, -64)) - 23);
      break;
    default: {  // a result that only its rounding lifts to 2^-126
      output.x_scale = random_float(rng, -63 - 23);
      output.w_scale = neighbour(0x1p-63F / (output.x_scale * 0x1p63F), -static_cast<std::int64_t>(rng.below(2)));
      break;
    }
  }
  const std::int64_t sum = o.sum(0) + output.bias[0];
  if (sum != 0) output.y_scale = tie_scale(sum, output.x_scale, output.w_scale, 2 * rng.between(20, 100) + 1);
  if (!(output.y_scale > 0)) output.y_scale = 0x1p-149F;
  return assemble(rng, form, o, output);
}

struct Freedom {
  bool channel_scales, bias, x_zero_point, w_zero_point, y_zero_point;
};

// From what leaves every freedom to what leaves none: the first that a backend takes is used.
constexpr Freedom kFreedoms[] = {
    {true, true, true, true, true},     {true, true, true, false, true},    {false, true, true, true, true},
    {false, true, true, false, true},   {true, true, false, false, true},   {true, true, false, false, false},
    {true, false, true, false, true},   {false, false, true, true, true},   {false, false, true, false, true},
    {false, true, false, false, false}, {false, false, false, false, true}, {false, false, false, false, false},
};

using Forms = std::vector<std::vector<Form>>;

constexpr ElementType kTypes[] = {ElementType::uint8, ElementType::int8};

using Layouts = std::span<const std::string_view>;

// Lists first the forms that a library is most often made for.
Forms qlinear_forms(Layouts layouts) {
  Forms forms;
  const auto add = [&](const NodeKind& kind, bool with_channels) {
    std::vector<Form> chain;
    for (const std::int64_t rank : {4, 3}) {
      for (const Freedom& f : kFreedoms) {
        if (f.channel_scales != with_channels) continue;
        chain.push_back({"QLinearConv", 10, kind.x, kind.w, kind.y, rank, f.channel_scales, f.bias, f.x_zero_point,
                         f.w_zero_point, f.y_zero_point, kind.layout});
      }
    }
    forms.push_back(std::move(chain));
  };
  for (const std::string_view layout : layouts) {
    for (const ElementType w : {ElementType::int8, ElementType::uint8}) {
      for (const ElementType x : kTypes) {
        for (const ElementType y : kTypes) {
          for (const bool with_channels : {true, false}) add({x, w, y, layout}, with_channels);
        }
      }
    }
  }
  return forms;
}

Forms integer_forms(Layouts layouts) {
  Forms forms;
  const auto add = [&](const NodeKind& kind) {
    std::vector<Form> chain;
    for (const std::int64_t rank : {4, 3}) {
      for (const auto& [x_zero_point, w_zero_point] : {std::pair(true, true), {true, false}, {false, false}}) {
        chain.push_back({"ConvInteger", 10, kind.x, kind.w, ElementType::undefined, rank, false, false, x_zero_point,
                         w_zero_point, false, kind.layout});
      }
    }
    forms.push_back(std::move(chain));
  };
  for (const std::string_view layout : layouts) {
    for (const ElementType w : {ElementType::int8, ElementType::uint8}) {
      for (const ElementType x : kTypes) add({x, w, ElementType::undefined, layout});
    }
  }
  return forms;
}

}  // namespace

std::vector<Experiment> convolution_experiments() {
  constexpr std::string_view kQ = "QLinearConv";
  constexpr std::string_view kI = "ConvInteger";
  const Layouts all = kLayouts;
  const Layouts pointwise = all.first(1);
  return {{kQ, {"product", "rounding", "bias"}, qlinear_forms(all), draw_requantization},
          {kQ, {"sum"}, qlinear_forms(all), draw_sum},
          {kQ, {"overflow"}, qlinear_forms(pointwise), draw_overflow},
          {kQ, {"conversion"}, qlinear_forms(pointwise), draw_conversion},
          {kQ, {"subnormals"}, qlinear_forms(pointwise), draw_subnormals},
          {kI, {"sum"}, integer_forms(all), draw_sum},
          {kI, {"overflow"}, integer_forms(pointwise), draw_overflow}};
}

}  // namespace qconform::diagnose
