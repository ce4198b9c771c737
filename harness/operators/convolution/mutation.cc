// Steps for QLinearConv and ConvInteger: shapes with all that depends on them, geometry, groups, types, per-tensor or
// per-channel parameters, bias, saturating data.
#include <algorithm>
#include <cmath>

#include "harness/model/draws/draws.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/model/operator.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/description.h"
#include "reference/numerics/integers.h"

namespace qconform::mutation {
namespace {

using Values = std::vector<std::int64_t>;

constexpr std::int64_t kLargestGroup = 4096;

// The shapes and the group of a case. They may contradict each other where it is out of contract.
std::optional<Convolution> sizes_of(Case& test_case) {
  const Tensor* const x = input_named(test_case, "x");
  const Tensor* const w = input_named(test_case, "w");
  if (x == nullptr || w == nullptr || x->shape.size() < 3 || x->shape.size() != w->shape.size()) return std::nullopt;
  const auto* const group = test_case.node().get<std::int64_t>("group");
  if (group != nullptr && (*group < 1 || *group > kLargestGroup)) return std::nullopt;
  Convolution sizes;
  sizes.x.shape = x->shape;
  sizes.w.shape = w->shape;
  sizes.group = group == nullptr ? 1 : *group;
  return sizes;
}

bool is_small_shape(const Values& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t dimension : shape) elements *= std::clamp<std::int64_t>(dimension, 0, 1 << 15);
  return elements <= (1 << 13);
}

// Around the widths of vector registers and tiles.
std::int64_t draw_channels(Rng& rng) {
  static constexpr std::int64_t kChannels[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65};
  return rng.chance(1, 64) ? 0 : rng.pick(kChannels);
}

std::int64_t draw_extent(Rng& rng) {
  return rng.chance(1, 64) ? 0 : rng.chance(1, 8) ? rng.between(8, 70) : rng.between(1, 9);
}

std::size_t draw_axis(Rng& rng, const Convolution& sizes) {
  return 2 + rng.below(static_cast<std::uint32_t>(sizes.spatial_rank()));
}

// Brings x, w, kernel_shape, group and what belongs to output channels in line with the sizes.
bool apply(Case& test_case, Rng& rng, const Convolution& sizes) {
  if (!is_small_shape(sizes.x.shape) || !is_small_shape(sizes.w.shape)) return false;
  Tensor& x = *input_named(test_case, "x");
  Tensor& w = *input_named(test_case, "w");
  const std::int64_t channels_before = w.shape[0];
  if (x.shape != sizes.x.shape) x = reshaped(rng, x, sizes.x.shape);
  if (w.shape != sizes.w.shape) w = reshaped(rng, w, sizes.w.shape);
  if (test_case.attribute("kernel_shape") != nullptr) {
    set_attribute(test_case, "kernel_shape", Values(sizes.w.shape.begin() + 2, sizes.w.shape.end()));
  }
  if (*sizes.group != 1 || test_case.attribute("group") != nullptr) set_attribute(test_case, "group", *sizes.group);
  for (const char* name : {"w_scale", "w_zero_point", "B"}) {
    Tensor* const parameter = input_named(test_case, name);
    if (parameter != nullptr && parameter->shape == Values{channels_before}) {
      *parameter = reshaped(rng, *parameter, {sizes.w.shape[0]});
    }
  }
  return true;
}

bool change_dimension(Case& test_case, Rng& rng, Convolution sizes) {
  switch (rng.below(6)) {
    case 0: sizes.x.shape[0] = rng.chance(1, 32) ? 0 : rng.between(1, 3); break;
    case 1: sizes.w.shape[1] = draw_channels(rng); break;
    case 2: sizes.w.shape[0] = draw_channels(rng) * *sizes.group; break;
    case 3: {
      const std::int64_t per_group = sizes.w.shape[0] / *sizes.group;
      *sizes.group = rng.between(1, 6);
      sizes.w.shape[0] = std::max<std::int64_t>(per_group, 1) * *sizes.group;
      break;
    }
    case 4: sizes.x.shape[draw_axis(rng, sizes)] = draw_extent(rng); break;
    default: sizes.w.shape[draw_axis(rng, sizes)] = rng.chance(1, 8) ? rng.between(1, 12) : rng.between(1, 4);
  }
  sizes.x.shape[1] = sizes.w.shape[1] * *sizes.group;
  return apply(test_case, rng, sizes);
}

// A list attribute with `parts` values for each spatial axis gets values for one more, or loses one's.
void change_list(Case& test_case, const char* name, std::size_t parts, std::size_t spatial, bool add,
                 std::int64_t value) {
  const auto* const present = test_case.node().get<Values>(name);
  if (present == nullptr || present->size() != parts * spatial) return;
  Values changed;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto begin = present->begin() + static_cast<std::ptrdiff_t>(part * spatial);
    changed.insert(changed.end(), begin, begin + static_cast<std::ptrdiff_t>(spatial - (add ? 0 : 1)));
    if (add) changed.push_back(value);
  }
  set_attribute(test_case, name, std::move(changed));
}

bool change_rank(Case& test_case, Rng& rng, Convolution sizes) {
  const std::size_t spatial = sizes.spatial_rank();
  const bool add = spatial == 1 || (spatial < 3 && rng.chance(1, 2));
  for (const char* name : {"strides", "dilations"}) change_list(test_case, name, 1, spatial, add, 1);
  change_list(test_case, "pads", 2, spatial, add, 0);
  if (add) {
    sizes.x.shape.push_back(rng.between(1, 5));
    sizes.w.shape.push_back(rng.between(1, 3));
  } else {
    sizes.x.shape.pop_back();
    sizes.w.shape.pop_back();
  }
  return apply(test_case, rng, sizes);
}

bool change_geometry(Case& test_case, Rng& rng, const Convolution& sizes) {
  static constexpr const char* kAutoPads[] = {"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"};
  const std::size_t spatial = sizes.spatial_rank();
  const auto list = [&](std::size_t count, std::int64_t lo, std::int64_t hi) {
    Values values(count);
    for (std::int64_t& value : values) value = rng.between(lo, hi);
    return values;
  };
  switch (rng.below(5)) {
    case 0: set_attribute(test_case, "strides", list(spatial, 1, rng.chance(1, 4) ? 5 : 2)); return true;
    case 1: set_attribute(test_case, "dilations", list(spatial, 1, 3)); return true;
    case 2:
      erase_attribute(test_case, "pads");
      set_attribute(test_case, "auto_pad", std::string(rng.pick(kAutoPads)));
      return true;
    case 3:
      if (test_case.attribute("kernel_shape") == nullptr) {
        set_attribute(test_case, "kernel_shape", Values(sizes.w.shape.begin() + 2, sizes.w.shape.end()));
      } else {
        erase_attribute(test_case, "kernel_shape");
      }
      return true;
    default:
      erase_attribute(test_case, "auto_pad");
      set_attribute(test_case, "pads", list(2 * spatial, 0, rng.chance(1, 4) ? 9 : 2));
      return true;
  }
}

// The bytes stay and mean other numbers.
bool change_type(Case& test_case, Rng& rng) {
  static constexpr std::pair<const char*, const char*> kPairs[] = {
      {"x", "x_zero_point"}, {"w", "w_zero_point"}, {"y_zero_point", ""}};
  const auto [tensor, zero_point] = rng.pick(kPairs);
  bool changed = false;
  for (const char* name : {tensor, zero_point}) {
    Tensor* const found = *name == '\0' ? nullptr : input_named(test_case, name);
    if (found == nullptr || !is_8bit_integer(found->type)) continue;
    found->type = with_other_sign(found->type);
    changed = true;
  }
  return changed;
}

// Scale and zero point of w: both per tensor, or both per output channel.
bool change_granularity(Case& test_case, Rng& rng, std::int64_t channels) {
  Tensor* const zero_point = input_named(test_case, "w_zero_point");
  if (zero_point == nullptr) return false;
  const Values shape = zero_point->shape.empty() ? Values{channels} : Values{};
  for (const char* name : {"w_scale", "w_zero_point"}) {
    Tensor* const parameter = input_named(test_case, name);
    if (parameter != nullptr) *parameter = reshaped(rng, *parameter, shape);
  }
  return true;
}

// Optional inputs come and go.
bool change_presence(Case& test_case, Rng& rng, std::int64_t channels) {
  if (test_case.node().op_type == "QLinearConv") {
    if (input_named(test_case, "B") != nullptr) {
      set_input(test_case, "B", std::nullopt);
    } else {
      set_input(
          test_case, "B",
          Tensor::of(ElementType::int32, {channels}, std::vector<std::int32_t>(static_cast<std::size_t>(channels), 1)));
    }
    return true;
  }
  const bool of_x = rng.chance(1, 2);
  const char* const name = of_x ? "x_zero_point" : "w_zero_point";
  if (input_named(test_case, name) != nullptr) {
    set_input(test_case, name, std::nullopt);
  } else {
    const ElementType type = input_named(test_case, of_x ? "x" : "w")->type;
    if (!is_8bit_integer(type)) return false;
    set_input(test_case, name, tensor8(type, {}, {random_zero_point(rng, type)}));
  }
  return true;
}

// Sums beyond 2^24 and 2^31, even and odd.
bool change_bias(Case& test_case, Rng& rng) {
  Tensor* const bias = input_named(test_case, "B");
  if (bias == nullptr || bias->type != ElementType::int32 || bias->elements() == 0) return false;
  const auto index = static_cast<std::int64_t>(rng.below(static_cast<std::uint32_t>(bias->elements())));
  const std::int64_t magnitude = (std::int64_t{1} << rng.between(0, 31)) + rng.between(-3, 3);
  store_number(*bias, index, static_cast<double>(rng.chance(1, 2) ? magnitude : -magnitude));
  return true;
}

// Data at the ends of its type with one sign prevailing: large sums, and saturating pairs.
bool fill_with_ends(Case& test_case, Rng& rng) {
  for (const char* name : {"x", "w"}) {
    Tensor& tensor = *input_named(test_case, name);
    const bool is_signed = tensor.type == ElementType::int8;
    const auto lo = std::byte{is_signed ? std::uint8_t{0x80} : std::uint8_t{0}};
    const auto hi = std::byte{is_signed ? std::uint8_t{0x7F} : std::uint8_t{0xFF}};
    const auto high = static_cast<std::uint32_t>(rng.below(17));
    for (std::byte& byte : tensor.bytes) byte = rng.chance(high, 16) ? hi : lo;
  }
  return true;
}

bool change_scale(Case& test_case, Rng& rng) {
  static constexpr const char* kScales[] = {"x_scale", "w_scale", "y_scale"};
  Tensor* const scale = input_named(test_case, rng.pick(kScales));
  if (scale == nullptr) return false;
  change_scales(rng, *scale, rng.chance(1, 16));
  return true;
}

}  // namespace

bool change_convolution(Case& test_case, Rng& rng) {
  const std::optional<Convolution> sizes = sizes_of(test_case);
  if (!sizes) return false;
  switch (rng.below(12)) {
    case 0:
    case 1: return change_dimension(test_case, rng, *sizes);
    case 2: return change_rank(test_case, rng, *sizes);
    case 3:
    case 4: return change_geometry(test_case, rng, *sizes);
    case 5: return change_type(test_case, rng);
    case 6: return change_granularity(test_case, rng, sizes->output_channels());
    case 7: return change_presence(test_case, rng, sizes->output_channels());
    case 8: return change_bias(test_case, rng);
    case 9: return fill_with_ends(test_case, rng);
    default: return change_scale(test_case, rng);
  }
}

namespace {

// The sums without bias, as ConvInteger returns them. None of what is out of contract.
ConvolutionSums sums_in_int32(const Case& test_case) {
  std::optional<Convolution> c = read_convolution(test_case);
  if (!c) return {};
  c->bias.reset();
  ConvolutionSums sums = exact_sums(*c);
  for (std::int64_t& sum : sums.values) sum = reference::wrap_to_int32(sum);
  return sums;
}

// One of the sums; there is one.
std::size_t draw_sum_index(Rng& rng, const ConvolutionSums& sums) {
  return rng.below(static_cast<std::uint32_t>(sums.values.size()));
}

// y_scale = |A| * sx * sw / (q + 1/2), and a zero point that keeps q inside the output's range.
bool solve_scale(Case& test_case, Rng& rng) {
  const ConvolutionSums sums = sums_in_int32(test_case);
  if (sums.values.empty()) return false;  // types and shapes below are what they should be
  const std::size_t index = draw_sum_index(rng, sums);
  const Tensor& w_scale = *input_named(test_case, "w_scale");
  const auto channel = static_cast<std::int64_t>(sums.channel_of(index));
  const Tensor* const bias = input_named(test_case, "B");
  const std::int64_t sum = sums.values[index] + (bias == nullptr ? 0 : integer_at(*bias, channel));
  const std::int64_t whole = rng.between(0, rng.chance(1, 2) ? 7 : 120);
  const float solved = tie_scale(sum, std::fabs(float_at(*input_named(test_case, "x_scale"), 0)),
                                 std::fabs(float_at(w_scale, w_scale.elements() == 1 ? 0 : channel)), 2 * whole + 1);
  if (!(solved > 0x1p-120F && solved < 0x1p120F)) return false;
  const float y_scale = neighbour(solved, rng.chance(1, 2) ? 0 : rng.between(-2, 2));
  *input_named(test_case, "y_scale") = Tensor::scalar(ElementType::float32, y_scale);
  Tensor& zero_point = *input_named(test_case, "y_zero_point");
  const bool is_signed = zero_point.type == ElementType::int8;
  store_number(zero_point, 0, static_cast<double>((is_signed ? 0 : 127) + rng.between(-7, 7)));
  return true;
}

// Scales that are powers of two, and a bias that makes one sum an odd number of halves: a tie that no
// float32 arithmetic misses (tier F_0).
bool solve_bias(Case& test_case, Rng& rng) {
  const ConvolutionSums sums = sums_in_int32(test_case);
  if (sums.values.empty()) return false;
  const auto channels = static_cast<std::int64_t>(sums.channels);
  const std::size_t index = draw_sum_index(rng, sums);
  if (input_named(test_case, "B") == nullptr) {
    set_input(test_case, "B", reshaped(rng, Tensor::scalar<std::int32_t>(ElementType::int32, 0), {channels}));
  }
  const auto power = [](std::int64_t exponent) { return std::ldexp(1.0, static_cast<int>(exponent)); };
  const std::int64_t zeros = rng.between(0, 12);
  const std::int64_t x_exponent = rng.between(-10, 3);
  const std::int64_t w_exponent = rng.between(-10, 3);
  const std::int64_t odd = 2 * rng.between(-130, 130) + 1;
  const std::int64_t beside = rng.chance(1, 4) ? rng.between(-1, 1) : 0;
  // Half of the multipliers are no power of two: fixed-point ones cannot hold them.
  static constexpr std::int64_t kFactors[] = {1, 1, 1, 3, 5, 7};
  const auto factor = static_cast<double>(rng.pick(kFactors));
  const double wanted = static_cast<double>(odd) * factor * power(zeros) + static_cast<double>(beside);
  store_number(*input_named(test_case, "B"), static_cast<std::int64_t>(sums.channel_of(index)),
               wanted - static_cast<double>(sums.values[index]));
  store_number(*input_named(test_case, "x_scale"), 0, power(x_exponent));
  Tensor& w_scale = *input_named(test_case, "w_scale");
  for (std::int64_t i = 0; i < w_scale.elements(); ++i) store_number(w_scale, i, power(w_exponent));
  store_number(*input_named(test_case, "y_scale"), 0, factor * power(x_exponent + w_exponent + zeros + 1));
  return true;
}

}  // namespace

bool solve_convolution_tie(Case& test_case, Rng& rng) {
  if (test_case.node().op_type != qlinear_conv_operator().name) return false;
  return rng.chance(1, 2) ? solve_bias(test_case, rng) : solve_scale(test_case, rng);
}

}  // namespace qconform::mutation
