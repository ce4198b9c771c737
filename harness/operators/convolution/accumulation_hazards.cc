#include "harness/operators/convolution/accumulation_hazards.h"

#include <algorithm>
#include <vector>

#include "reference/convolution/taps.h"

namespace qconform {
namespace {

using reference::ConvolutionGeometry;
using reference::Integer8;
using reference::IntegerRange;

constexpr IntegerRange kInt16{-32768, 32767};

bool outside_int16(std::int32_t value) {
  return value < kInt16.lo || value > kInt16.hi;
}

// The raw operands of one window, zero points not subtracted, as vector kernels multiply them. A
// padded tap holds x's zero point.
class Window {
 public:
  explicit Window(const ConvolutionView& convolution)
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
  static std::int32_t flip_of(Integer8 type) { return type == Integer8::int8 ? 0x80 : 0; }
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
  const std::byte* x_ = nullptr;  // of the window's image and group
  const std::byte* w_ = nullptr;  // of its output channel
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
  Window window(c);
  for (std::int64_t i = 0; i < wanted && i * step < elements; ++i) {
    window.locate(i * step);
    visit(window);
  }
}

// Whether a weight is so large that two products of uint8 x with int8 w may leave int16.
bool has_large_weights(std::span<const std::byte> w) {
  return std::any_of(w.begin(), w.end(), [](std::byte b) {
    const std::int32_t weight = load8(Integer8::int8, b);
    return weight > 64 || weight < -64;
  });
}

}  // namespace

void count_accumulation_hazards(const ConvolutionView& c, HazardCounts& counts) {
  if (c.operands.w_type != Integer8::int8) return;
  if (c.operands.x_type == Integer8::uint8) {
    if (!has_large_weights(c.w)) return;
    for_some_windows(c, [&](const Window& window) {
      if (window.has_pair_overflow()) counts.add(Hazard::pair_saturation);
    });
    return;
  }
  const bool may_wrap_pairs = holds(c.x, -128) && holds(c.w, -128);
  const bool may_wrap_taps = c.operands.geometry.kernel_taps() > 2 || may_wrap_pairs;
  if (!may_wrap_pairs && !may_wrap_taps) return;
  for_some_windows(c, [&](const Window& window) {
    if (may_wrap_pairs && window.has_pair_overflow()) counts.add(Hazard::pair_wrap);
    if (may_wrap_taps && window.has_tap_overflow()) counts.add(Hazard::tap_sum_wrap);
  });
}

}  // namespace qconform
