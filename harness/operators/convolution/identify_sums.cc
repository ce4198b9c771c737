// Probes of convolutions' sums and of QLinearConv's extremes, and the list of experiments of both operators.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/operators/convolution/description.h"
#include "harness/operators/convolution/diagnosis.h"

namespace qconform::diagnose {
namespace {

constexpr std::int64_t kInt32Max = 2147483647;

// A convolution with one output position, whose data are not drawn yet. `inputs`: channels of each group.
Convolution draw_shapes(const ProbeForm& form, std::int64_t outputs, std::int64_t inputs, std::int64_t kernel,
                        std::int64_t groups = 1) {
  Convolution c;
  c.is_quantized = form.op_type == "QLinearConv";
  c.x = {form.x, {1, groups * inputs}, {}};
  c.w = {form.w, {outputs, inputs}, {}};
  c.x.shape.resize(static_cast<std::size_t>(form.rank), kernel);
  c.w.shape.resize(static_cast<std::size_t>(form.rank), kernel);
  if (groups > 1) c.group = groups;
  c.x_zero_point = 0;
  c.w_zero_point = 0;
  return c;
}

// One value in two at an end of its type: `end` or, with `both`, either.
void draw_values(Rng& rng, Tensor& tensor, std::int64_t end, bool both) {
  const IntegerEnds ends = ends_of(tensor.type);
  std::vector<std::int64_t> values(static_cast<std::size_t>(elements_of(tensor.shape)));
  for (std::int64_t& value : values) {
    const bool at_end = rng.chance(1, 2);
    value = !at_end ? rng.between(ends.lo, ends.hi) : both && rng.chance(1, 2) ? ends.lo : end;
  }
  tensor = make::integers(tensor.type, tensor.shape, values);
}

// Few products for pairs and channels that saturate or wrap, or so many that float32 cannot hold the sum.
Convolution draw_sum_operands(Rng& rng, const ProbeForm& form) {
  constexpr std::int64_t kOutputs = 4;
  const bool is_one_channel = form.layout == layout::depthwise || form.layout == layout::multiplied;
  const bool is_deep = !is_one_channel && rng.chance(1, 4);
  const bool is_pointwise = form.layout == layout::pointwise || (form.layout == layout::groups && rng.chance(1, 2));
  const std::int64_t kernel = is_pointwise ? 1 : 3;
  const std::int64_t deep = rng.between(200, 320) * (is_pointwise ? 9 : 1);
  const std::int64_t inputs = is_deep ? deep : is_one_channel ? 1 : rng.pick({2, 3, 4, 8, 16, 33});
  const bool is_grouped = form.layout == layout::groups || form.layout == layout::multiplied;
  const std::int64_t groups = form.layout == layout::depthwise ? kOutputs : is_grouped ? 2 : 1;
  Convolution c = draw_shapes(form, kOutputs, inputs, kernel, groups);
  const IntegerEnds x_ends = ends_of(form.x);
  const IntegerEnds w_ends = ends_of(form.w);
  const std::int64_t x_end = form.x == ElementType::int8 ? x_ends.lo : x_ends.hi;
  const std::int64_t w_end = form.w == ElementType::int8 && rng.chance(1, 2) ? w_ends.lo : w_ends.hi;
  draw_values(rng, c.x, x_end, false);
  draw_values(rng, c.w, w_end, !is_deep);
  if (form.x_zero_point && rng.chance(1, 2)) c.x_zero_point = x_ends.lo + 255 - (x_end - x_ends.lo);
  return c;
}

// As many products of one sign, as large as they come, as leave int32.
Convolution draw_deep_operands(Rng& rng, const ProbeForm& form) {
  const IntegerEnds x_ends = ends_of(form.x);
  const IntegerEnds w_ends = ends_of(form.w);
  const std::int64_t x_zero_point = form.x_zero_point ? x_ends.hi : 0;
  const std::int64_t w_zero_point = form.w_zero_point ? w_ends.hi : 0;
  const std::int64_t x_end = form.x == ElementType::uint8 && !form.x_zero_point ? x_ends.hi : x_ends.lo;
  const std::int64_t w_end = form.w == ElementType::uint8 && !form.w_zero_point ? w_ends.hi : w_ends.lo;
  const std::int64_t largest = std::abs((x_end - x_zero_point) * (w_end - w_zero_point));
  Convolution c = draw_shapes(form, 2, kInt32Max / largest * 21 / 20 + rng.between(1, 1000), 1);
  c.x_zero_point = x_zero_point;
  c.w_zero_point = w_zero_point;
  c.x = make::filled(form.x, c.x.shape, x_end);
  c.w = make::filled(form.w, c.w.shape, w_end);
  return c;
}

using Bias = std::vector<std::int32_t>;

// Sums without a bias; one output position has one for each channel.
std::vector<std::int64_t> sums_of_products(Convolution c) {
  c.bias.reset();
  return exact_sums(c).values;
}

// Leaves out what the form does not have.
Case in_form(Rng& rng, const ProbeForm& form, Convolution c) {
  if (!c.is_quantized) {
    if (!form.w_zero_point) c.w_zero_point.reset();
    if (!form.x_zero_point && !form.w_zero_point) c.x_zero_point.reset();
    return build_convolution(std::move(c));
  }
  if (form.channel_scales) {
    const auto channels = static_cast<std::size_t>(c.output_channels());
    c.w_scale = ParameterValues(std::vector<float>(channels, c.w_scale.of(0)));
    c.w_zero_point = ParameterValues(std::vector<std::int64_t>(channels, c.w_zero(0)));
  }
  c.y_type = form.y;
  if (form.y_zero_point) c.y_zero_point = (form.y == ElementType::int8 ? 0 : 128) + rng.between(-9, 9);
  if (!form.bias) c.bias.reset();
  return build_convolution(std::move(c));
}

// The bias takes the exact sum away, so that what is left shows in units; without one, a tie shows it.
void show_sums(Rng& rng, const ProbeForm& form, Convolution& c) {
  if (!c.is_quantized) return;
  const std::vector<std::int64_t> sums = sums_of_products(c);
  Bias& bias = c.bias.emplace();
  for (const std::int64_t sum : sums) bias.push_back(static_cast<std::int32_t>(rng.between(-50, 50) - sum));
  if (form.bias) return;
  const std::int64_t sum = sums[rng.below(4)];
  if (sum != 0) c.y_scale = tie_scale(sum, 1.0F, 1.0F, 2 * rng.between(10, 100) + 1);
}

Case draw_sum(Rng& rng, const ProbeForm& form, const CandidatePairs&) {
  Convolution c = draw_sum_operands(rng, form);
  show_sums(rng, form, c);
  return in_form(rng, form, std::move(c));
}

// A tie half way between the end of int32 and the sum: a saturated sum lies below, an exact one above.
void put_tie_at_end(Rng& rng, std::int64_t sum, Convolution& c) {
  const std::int64_t end = sum > 0 ? kInt32Max : -kInt32Max - 1;
  c.y_scale = tie_scale((end + sum) / 2, c.x_scale.of(0), c.w_scale.of(0), 2 * rng.between(20, 100) + 1);
}

Case draw_overflow(Rng& rng, const ProbeForm& form, const CandidatePairs&) {
  if (form.op_type == "ConvInteger" || !form.bias) {
    Convolution c = draw_deep_operands(rng, form);
    if (c.is_quantized) put_tie_at_end(rng, sums_of_products(c)[0], c);
    return in_form(rng, form, std::move(c));
  }
  Convolution c = draw_shapes(form, 16, 64, 1);
  const IntegerEnds x_ends = ends_of(form.x);
  if (form.x_zero_point) c.x_zero_point = x_ends.lo;
  draw_values(rng, c.x, x_ends.hi, false);
  draw_values(rng, c.w, ends_of(form.w).hi, false);
  const std::vector<std::int64_t> sums = sums_of_products(c);
  Bias& bias = c.bias.emplace();
  for (const std::int64_t sum : sums) {
    const std::int64_t end = sum < 0 ? -kInt32Max - 1 : kInt32Max;
    bias.push_back(static_cast<std::int32_t>(end - sum / rng.between(2, 5)));
  }
  put_tie_at_end(rng, sums[0] + bias[0], c);
  return in_form(rng, form, std::move(c));
}

// Sixteen sums of eight products each, in the middle of their range.
Convolution draw_short_sums(Rng& rng, const ProbeForm& form) {
  Convolution c = draw_shapes(form, 16, 8, 1);
  if (form.x_zero_point) c.x_zero_point = form.x == ElementType::int8 ? 0 : 128;
  draw_values(rng, c.x, ends_of(form.x).hi, false);
  draw_values(rng, c.w, ends_of(form.w).hi, false);
  return c;
}

Bias draw_biases(Rng& rng, std::int64_t most) {
  Bias bias(16);
  for (std::int32_t& value : bias) value = static_cast<std::int32_t>(rng.between(-most, most));
  return bias;
}

// Values between 2^31 and 2^40 of either sign.
Case draw_conversion(Rng& rng, const ProbeForm& form, const CandidatePairs&) {
  Convolution c = draw_short_sums(rng, form);
  const auto exponent = static_cast<int>(rng.between(20, 27));
  c.x_scale = random_float(rng, exponent - 10 - 23);
  c.w_scale = random_float(rng, 10 - 23);
  c.bias = draw_biases(rng, 20000);
  return in_form(rng, form, std::move(c));
}

// Scales whose product, or one of which, lies below 2^-126; the outputs are ordinary.
Case draw_subnormals(Rng& rng, const ProbeForm& form, const CandidatePairs&) {
  Convolution c = draw_short_sums(rng, form);
  c.bias = draw_biases(rng, 2000);
  float x_scale = 1;
  float w_scale = 1;
  switch (rng.below(3)) {
    case 0:  // an operand
      x_scale = std::ldexp(static_cast<float>(rng.between(1 << 12, (1 << 23) - 1)), -149);
      w_scale = random_float(rng, static_cast<int>(rng.between(2, 20)) - 23);
      break;
    case 1:  // an intermediate result
      x_scale = random_float(rng, static_cast<int>(rng.between(-70, -60)) - 23);
      w_scale = random_float(rng, static_cast<int>(rng.between(-70, -64)) - 23);
      break;
    default: {  // a result that only its rounding lifts to 2^-126
      x_scale = random_float(rng, -63 - 23);
      w_scale = neighbour(0x1p-63F / (x_scale * 0x1p63F), -static_cast<std::int64_t>(rng.below(2)));
      break;
    }
  }
  c.x_scale = x_scale;
  c.w_scale = w_scale;
  const std::int64_t sum = exact_sums(c).values[0];
  if (sum != 0) c.y_scale = tie_scale(sum, x_scale, w_scale, 2 * rng.between(20, 100) + 1);
  if (!(c.y_scale.of(0) > 0)) c.y_scale = 0x1p-149F;
  return in_form(rng, form, std::move(c));
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

using Forms = std::vector<std::vector<ProbeForm>>;

constexpr ElementType kTypes[] = {ElementType::uint8, ElementType::int8};

using Layouts = std::span<const std::string_view>;

// Lists first the forms that a library is most often made for.
Forms qlinear_forms(Layouts layouts) {
  Forms forms;
  const auto add = [&](const NodeKind& kind, bool with_channels) {
    std::vector<ProbeForm> chain;
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
    std::vector<ProbeForm> chain;
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
