#include "harness/operators/convolution/corner_cases.h"

#include <algorithm>
#include <vector>

#include "reference/convolution/geometry.h"

namespace qconform {
namespace {

using reference::ConvolutionGeometry;
using reference::ConvolutionOperands;
using reference::SpatialAxis;

// Counts the windows of one axis by how they lie in the input.
struct AxisWindows {
  std::int64_t inside = 0;  ///< windows without a padded tap
  std::int64_t seeing = 0;  ///< windows with a tap inside the input
  bool reach_begin = false;
  bool reach_end = false;
};

AxisWindows windows_of(const SpatialAxis& axis) {
  AxisWindows result;
  const std::int64_t last_tap = axis.kernel_extent() - 1;
  for (std::int64_t output = 0; output < axis.output; ++output) {
    const std::int64_t first = output * axis.stride - axis.pad_begin;
    const bool at_begin = first < 0;
    const bool at_end = first + last_tap >= axis.input;
    result.reach_begin = result.reach_begin || at_begin;
    result.reach_end = result.reach_end || at_end;
    if (!at_begin && !at_end) ++result.inside;
    // The first tap that is not before the input.
    const std::int64_t tap = at_begin ? (axis.dilation - 1 - first) / axis.dilation : 0;
    if (tap < axis.kernel && first + tap * axis.dilation < axis.input) ++result.seeing;
  }
  return result;
}

// Output positions, of one image and channel, by what their windows see.
struct Windows {
  std::int64_t all = 1;
  std::int64_t inside = 1;
  std::int64_t seeing = 1;
  bool asymmetric = false;
  bool end_only = false;

  [[nodiscard]] std::int64_t padded() const { return all - inside; }
};

Windows windows_of(const ConvolutionGeometry& geometry) {
  Windows result;
  for (const SpatialAxis& axis : geometry.axes) {
    const AxisWindows windows = windows_of(axis);
    result.all *= axis.output;
    result.inside *= windows.inside;
    result.seeing *= windows.seeing;
    const bool reached = windows.reach_begin || windows.reach_end;
    result.asymmetric = result.asymmetric || (axis.pad_begin != axis.pad_end && reached);
    result.end_only = result.end_only || (axis.pad_begin == 0 && axis.pad_end > 0 && windows.reach_end);
  }
  return result;
}

bool is_extreme(const ConvolutionOperands& operands) {
  const reference::IntegerRange range = reference::range_of(operands.x_type);
  return operands.x_zero_point == range.lo || operands.x_zero_point == range.hi;
}

void count_padding(const ConvolutionOperands& operands, CornerCaseCounts& counts) {
  const ConvolutionGeometry& geometry = operands.geometry;
  const Windows windows = windows_of(geometry);
  const std::int64_t planes = geometry.batch * geometry.output_channels;
  const std::int64_t padded = windows.padded() * planes;
  counts.add(CornerCase::padding_only_window, (windows.all - windows.seeing) * planes);
  if (is_extreme(operands)) counts.add(CornerCase::padding_extreme_zero_point, padded);
  if (operands.x_zero_point != 0) {
    const auto& zero_points = operands.w_zero_point;
    const auto nonzero =
        static_cast<std::int64_t>(zero_points.size()) - std::count(zero_points.begin(), zero_points.end(), 0);
    counts.add(CornerCase::padding_cross_term, windows.padded() * geometry.batch * nonzero);
  }
  if (windows.asymmetric) counts.add(CornerCase::pads_asymmetric, padded);
  if (windows.end_only) counts.add(CornerCase::pads_end_only, padded);
}

void count_same_padding(const ConvolutionGeometry& geometry, std::int64_t elements, CornerCaseCounts& counts) {
  bool odd = false;
  bool cropping = false;
  for (const SpatialAxis& axis : geometry.axes) {
    odd = odd || (axis.pad_begin + axis.pad_end) % 2 != 0;
    cropping = cropping || (axis.output - 1) * axis.stride + axis.kernel_extent() < axis.input;
  }
  if (odd) counts.add(CornerCase::same_odd_padding, elements);
  if (cropping) counts.add(CornerCase::same_short_kernel, elements);
}

bool dilations_differ(const ConvolutionGeometry& geometry) {
  std::int64_t first = 0;
  for (const SpatialAxis& axis : geometry.axes) {
    if (axis.kernel == 1) continue;
    if (first != 0 && axis.dilation != first) return true;
    first = axis.dilation;
  }
  return false;
}

// Far along an axis of the kernel, or with steps that reach far.
void count_reach(const ConvolutionGeometry& geometry, std::int64_t elements, CornerCaseCounts& counts) {
  constexpr std::int64_t kWideDilation = 4;
  constexpr std::int64_t kLongKernel = 9;
  const auto any = [&](auto condition) { return std::any_of(geometry.axes.begin(), geometry.axes.end(), condition); };
  if (any([](const SpatialAxis& axis) { return axis.kernel > 1 && axis.dilation >= kWideDilation; })) {
    counts.add(CornerCase::wide_dilation, elements);
  }
  if (any([](const SpatialAxis& axis) { return axis.kernel >= kLongKernel; })) {
    counts.add(CornerCase::long_kernel, elements);
  }
}

constexpr std::int64_t kNearIndices = 128;  // an index of 8 bits with a sign holds so many

void count_far_indices(const ConvolutionGeometry& geometry, std::int64_t elements, CornerCaseCounts& counts) {
  std::int64_t near = std::min(geometry.batch, kNearIndices) * std::min(geometry.output_channels, kNearIndices);
  for (const SpatialAxis& axis : geometry.axes) near *= std::min(axis.output, kNearIndices);
  counts.add(CornerCase::far_index, elements - near);
}

// Returns the elements that a vector loop leaves over: the remainder by the widest vector that is exceeded and leaves
// one.
std::int64_t tail(std::int64_t size) {
  for (const std::int64_t width : {32, 16, 8, 4}) {
    if (size > width && size % width != 0) return size % width;
  }
  return 0;
}

void count_shape(const ConvolutionGeometry& geometry, std::int64_t elements, CornerCaseCounts& counts) {
  if (dilations_differ(geometry)) counts.add(CornerCase::dilations_differ, elements);
  if (tail(geometry.group_input_channels()) > 0) counts.add(CornerCase::input_channel_tail, elements);
  counts.add(CornerCase::output_channel_tail, elements / geometry.output_channels * tail(geometry.output_channels));
  const std::int64_t width = geometry.axes.back().output;
  counts.add(CornerCase::output_width_tail, elements / width * tail(width));
  if (geometry.kernel_taps() == 1) {
    counts.add(CornerCase::grouped_pointwise, elements / geometry.group * (geometry.group - 1));
  }
}

void count_batch(const ConvolutionView& c, std::int64_t elements, CornerCaseCounts& counts) {
  const std::int64_t images = c.operands.geometry.batch;
  const std::size_t image_size = c.x.size() / static_cast<std::size_t>(images);
  // Shifted by one image, a batch of equal images overlaps itself.
  if (images < 2 || std::equal(c.x.begin() + static_cast<std::ptrdiff_t>(image_size), c.x.end(), c.x.begin())) return;
  counts.add(CornerCase::batch, elements / images * (images - 1));
  counts.add(CornerCase::fourth_image, elements / images * std::max<std::int64_t>(0, images - 3));
}

void count_channels(const ConvolutionView& c, std::int64_t elements, CornerCaseCounts& counts) {
  const ConvolutionGeometry& geometry = c.operands.geometry;
  const auto& zero_points = c.operands.w_zero_point;
  const auto group_channels = static_cast<std::size_t>(geometry.group_output_channels());
  std::int64_t own_zero_point = 0;
  std::int64_t unlike_group_0 = 0;
  std::int64_t unlike_last_block = 0;
  const auto differ = [&](std::size_t m, std::size_t other) {
    return zero_points[m] != zero_points[other] || (!c.w_scale.empty() && c.w_scale[m] != c.w_scale[other]);
  };
  for (std::size_t m = 0; m < zero_points.size(); ++m) {
    if (zero_points[m] != zero_points[0]) ++own_zero_point;
    if (differ(m, m % group_channels)) ++unlike_group_0;
    if (m >= kNearIndices && differ(m, m - kNearIndices)) ++unlike_last_block;
  }
  counts.add(CornerCase::channel_zero_points, elements / geometry.output_channels * own_zero_point);
  counts.add(CornerCase::group_parameters, elements / geometry.output_channels * unlike_group_0);
  counts.add(CornerCase::far_parameters, elements / geometry.output_channels * unlike_last_block);
}

// Whether the number of products alone keeps every sum within float32's integers, and with the bias within int32.
bool are_small(const ConvolutionOperands& operands) {
  constexpr std::int64_t kLargestProduct = 255 * 255;
  constexpr std::int32_t kLargestBias = std::int32_t{1} << 30;
  return operands.geometry.depth() <= RequantizationCornerCases::kFloatIntegers / kLargestProduct &&
         std::all_of(operands.bias.begin(), operands.bias.end(),
                     [](std::int32_t bias) { return bias >= -kLargestBias && bias <= kLargestBias; });
}

void count_sums(const ConvolutionView& c, CornerCaseCounts& counts) {
  if (are_small(c.operands)) return;
  const ConvolutionGeometry& geometry = c.operands.geometry;
  const auto positions = static_cast<std::size_t>(geometry.output_positions());
  const auto channels = static_cast<std::size_t>(geometry.output_channels);
  for (std::size_t begin = 0; begin < c.sums.size(); begin += positions) {
    const std::int64_t bias = c.operands.bias.empty() ? 0 : c.operands.bias[begin / positions % channels];
    for (const std::int64_t sum : c.sums.subspan(begin, positions)) {
      if (sum != static_cast<std::int32_t>(sum)) counts.add(CornerCase::int32_wrap);
      const std::int64_t products = sum - bias;
      if (!RequantizationCornerCases::is_small(products) && !RequantizationCornerCases::is_float(products)) {
        counts.add(CornerCase::float_accumulation);
      }
    }
  }
}

// How many bytes satisfy a condition. In parts whose number fits a byte: a processor then counts many at a time.
template <typename Condition>
std::int64_t count_bytes(std::span<const std::byte> bytes, Condition condition) {
  constexpr std::size_t kPart = 255;
  std::int64_t count = 0;
  while (!bytes.empty()) {
    const std::span<const std::byte> now = bytes.first(std::min(kPart, bytes.size()));
    std::uint8_t part = 0;
    for (const std::byte byte : now) part = static_cast<std::uint8_t>(part + (condition(byte) ? 1 : 0));
    count += part;
    bytes = bytes.subspan(now.size());
  }
  return count;
}

// Differences of x and its zero point outside [-128, 127]: on one side only, since values of x span 256.
void count_wide_differences(const ConvolutionView& c, CornerCaseCounts& counts) {
  const bool is_signed = c.operands.x_type == ElementType::int8;
  const auto flip = is_signed ? std::uint8_t{0x80} : std::uint8_t{0};  // bytes counted from the type's lowest value
  const std::int32_t zero_point = c.operands.x_zero_point + flip;
  const auto value = [flip](std::byte byte) {
    return static_cast<std::uint8_t>(std::to_integer<std::uint8_t>(byte) ^ flip);
  };
  if (zero_point < 128) {
    const auto largest = static_cast<std::uint8_t>(zero_point + 127);
    counts.add(CornerCase::wide_difference, count_bytes(c.x, [&](std::byte byte) { return value(byte) > largest; }));
  } else {
    const auto smallest = static_cast<std::uint8_t>(zero_point - 128);
    counts.add(CornerCase::wide_difference, count_bytes(c.x, [&](std::byte byte) { return value(byte) < smallest; }));
  }
}

}  // namespace

void count_convolution_corner_cases(const ConvolutionView& c, CornerCaseCounts& counts) {
  const auto elements = static_cast<std::int64_t>(c.sums.size());
  if (elements == 0 || c.x.empty()) return;
  const ConvolutionGeometry& geometry = c.operands.geometry;
  count_padding(c.operands, counts);
  if (c.same_padding) count_same_padding(geometry, elements, counts);
  count_shape(geometry, elements, counts);
  count_reach(geometry, elements, counts);
  count_far_indices(geometry, elements, counts);
  count_batch(c, elements, counts);
  count_channels(c, elements, counts);
  count_sums(c, counts);
  count_wide_differences(c, counts);
  count_accumulation_corner_cases(c, counts);
}

namespace {

using reference::IntegerRange;

constexpr IntegerRange kInt16{-32768, 32767};

bool outside_int16(std::int32_t value) {
  return value < kInt16.lo || value > kInt16.hi;
}

// The raw operands of one window, zero points not subtracted, as vector kernels multiply them. A
// padded tap holds x's zero point.
class RawWindow {
 public:
  explicit RawWindow(const ConvolutionView& convolution)
      : c_(convolution),
        inside_(convolution.operands.geometry.axes),
        offsets_(static_cast<std::size_t>(geometry().kernel_taps())) {}

  // Moves to output element `index`.
  void locate(std::int64_t index) {
    const ConvolutionGeometry& g = geometry();
    const std::int64_t positions = g.output_positions();
    const std::int64_t m = index / positions % g.output_channels;
    const std::int64_t n = index / positions / g.output_channels;
    locate_taps(index % positions);
    x_ = c_.x.data() + (n * g.input_channels + m / g.group_output_channels() * channels_) * input_positions_;
    w_ = c_.w.data() + m * channels_ * taps_;
  }

  // Whether two neighbours, in the order of channels within taps, add up beyond int16.
  [[nodiscard]] bool has_pair_overflow() const {
    std::int32_t held = 0;
    bool holds = false;
    for (std::size_t tap = 0; tap < offsets_.size(); ++tap) {
      for (std::int64_t channel = 0; channel < channels_; ++channel) {
        const std::int32_t next = product(channel, tap);
        if (holds && outside_int16(held + next)) return true;
        held = next;
        holds = !holds;
      }
    }
    return false;
  }

  // Whether the taps of one channel add up beyond int16.
  [[nodiscard]] bool has_tap_overflow() const {
    for (std::int64_t channel = 0; channel < channels_; ++channel) {
      std::int32_t sum = 0;
      for (std::size_t tap = 0; tap < offsets_.size(); ++tap) sum += product(channel, tap);
      if (outside_int16(sum)) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] const ConvolutionGeometry& geometry() const { return c_.operands.geometry; }

  // A type's bytes counted from its lowest value, for load() without a branch.
  static std::int32_t flip_of(ElementType type) { return type == ElementType::int8 ? 0x80 : 0; }
  static std::int32_t load(std::int32_t flip, std::byte byte) {
    return (std::to_integer<std::int32_t>(byte) ^ flip) - flip;
  }

  [[nodiscard]] std::int32_t product(std::int64_t channel, std::size_t tap) const {
    const std::int64_t offset = offsets_[tap];
    const std::int32_t x = offset < 0 ? x_zero_point_ : load(x_flip_, x_[channel * input_positions_ + offset]);
    return x * load(w_flip_, w_[channel * taps_ + static_cast<std::int64_t>(tap)]);
  }

  // For every tap, the offset of its input within a channel, or -1 in the padding.
  void locate_taps(std::int64_t position) {
    std::fill(offsets_.begin(), offsets_.end(), -1);
    inside_.select(position, 1);
    for (const reference::Tap& tap : inside_.at(0)) offsets_[static_cast<std::size_t>(tap.weight)] = tap.input;
  }

  const ConvolutionView& c_;
  reference::TapsInside inside_;
  std::vector<std::int64_t> offsets_;
  std::int64_t input_positions_ = c_.operands.geometry.input_positions();
  std::int64_t channels_ = c_.operands.geometry.group_input_channels();
  std::int64_t taps_ = c_.operands.geometry.kernel_taps();
  std::int32_t x_zero_point_ = c_.operands.x_zero_point;
  std::int32_t x_flip_ = flip_of(c_.operands.x_type);
  std::int32_t w_flip_ = flip_of(c_.operands.w_type);
  const std::byte* x_ = nullptr;  // x of the window's image and group
  const std::byte* w_ = nullptr;  // w of its output channel
};

bool holds(std::span<const std::byte> bytes, std::int32_t value) {
  return std::find(bytes.begin(), bytes.end(), reference::store8(value)) != bytes.end();
}

// Calls visit(window) for windows spread evenly over the output.
template <typename Visit>
void for_some_windows(const ConvolutionView& c, Visit visit) {
  const auto elements = static_cast<std::int64_t>(c.sums.size());
  const std::int64_t depth = c.operands.geometry.depth();
  if (depth < 2) return;
  const std::int64_t wanted = std::min(kExaminedWindows, std::max<std::int64_t>(1, kExaminedProducts / depth));
  const std::int64_t step = std::max<std::int64_t>(1, elements / wanted);
  RawWindow window(c);
  for (std::int64_t i = 0; i < wanted && i * step < elements; ++i) {
    window.locate(i * step);
    visit(window);
  }
}

// Whether a weight is so large that two products of uint8 x with int8 w may leave int16.
bool has_large_weights(std::span<const std::byte> w) {
  return std::any_of(w.begin(), w.end(), [](std::byte b) {
    const std::int32_t weight = reference::load8(ElementType::int8, b);
    return weight > 64 || weight < -64;
  });
}

}  // namespace

void count_accumulation_corner_cases(const ConvolutionView& c, CornerCaseCounts& counts) {
  if (c.operands.w_type != ElementType::int8) return;
  if (c.operands.x_type == ElementType::uint8) {
    if (!has_large_weights(c.w)) return;
    for_some_windows(c, [&](const RawWindow& window) {
      if (window.has_pair_overflow()) counts.add(CornerCase::pair_saturation);
    });
    return;
  }
  const bool may_wrap_pairs = holds(c.x, -128) && holds(c.w, -128);
  const bool may_wrap_taps = c.operands.geometry.kernel_taps() > 2 || may_wrap_pairs;
  if (!may_wrap_pairs && !may_wrap_taps) return;
  for_some_windows(c, [&](const RawWindow& window) {
    if (may_wrap_pairs && window.has_pair_overflow()) counts.add(CornerCase::pair_wrap);
    if (may_wrap_taps && window.has_tap_overflow()) counts.add(CornerCase::tap_sum_wrap);
  });
}

}  // namespace qconform
