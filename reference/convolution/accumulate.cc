#include "reference/convolution/accumulate.h"

namespace qconform::reference {
namespace {

// Steps through all index tuples of a box in row-major order.
class BoxIndex {
 public:
  BoxIndex(const std::vector<SpatialAxis>& axes, std::int64_t SpatialAxis::*size)
      : axes_(axes), size_(size), index_(axes.size(), 0) {}

  [[nodiscard]] std::int64_t operator[](std::size_t axis) const { return index_[axis]; }

  void next() {
    for (std::size_t axis = index_.size(); axis-- > 0;) {
      if (++index_[axis] < axes_[axis].*size_) return;
      index_[axis] = 0;
    }
  }

 private:
  const std::vector<SpatialAxis>& axes_;
  std::int64_t SpatialAxis::*size_;
  std::vector<std::int64_t> index_;
};

constexpr std::int64_t kInPadding = -1;

// For one output position: for every tap, the offset of its input element within a channel, or
// kInPadding. The same for all images and channels.
void locate_taps(const std::vector<SpatialAxis>& axes, const BoxIndex& output, std::vector<std::int64_t>& offsets) {
  BoxIndex tap(axes, &SpatialAxis::kernel);
  for (std::int64_t& offset : offsets) {
    offset = 0;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const SpatialAxis& axis = axes[a];
      const std::int64_t position = output[a] * axis.stride - axis.pad_begin + tap[a] * axis.dilation;
      if (position < 0 || position >= axis.input) {
        offset = kInPadding;
        break;
      }
      offset = offset * axis.input + position;
    }
    tap.next();
  }
}

struct SignedTerm {
  static std::int64_t of(std::int64_t term) { return term; }
};
struct MagnitudeOfTerm {
  static std::int64_t of(std::int64_t term) { return term < 0 ? -term : term; }
};

// The sum for one output element: x points at the group's first channel of the image, w at the
// output channel's weights.
template <typename Term>
std::int64_t sum_of_products(const ConvolutionOperands& o, const std::byte* x, const std::byte* w,
                             std::int32_t w_zero_point, const std::vector<std::int64_t>& tap_offsets) {
  const std::int64_t channels = o.geometry.group_input_channels();
  const std::int64_t channel_size = o.geometry.input_positions();
  std::int64_t sum = 0;
  for (std::int64_t c = 0; c < channels; ++c, x += channel_size) {
    for (const std::int64_t offset : tap_offsets) {
      const std::byte weight = *w++;
      if (offset == kInPadding) continue;
      sum += Term::of((load8(o.x_type, x[offset]) - o.x_zero_point) * (load8(o.w_type, weight) - w_zero_point));
    }
  }
  return sum;
}

template <typename Term>
void accumulate_terms(const ConvolutionOperands& o, std::span<const std::byte> x, std::span<const std::byte> w,
                      std::span<std::int64_t> sums) {
  const ConvolutionGeometry& g = o.geometry;
  const std::int64_t positions = g.output_positions();
  const std::int64_t image_size = g.input_channels * g.input_positions();
  const std::int64_t group_size = g.group_input_channels() * g.input_positions();
  std::vector<std::int64_t> tap_offsets(static_cast<std::size_t>(g.kernel_taps()));
  BoxIndex output(g.axes, &SpatialAxis::output);
  for (std::int64_t position = 0; position < positions; ++position, output.next()) {
    locate_taps(g.axes, output, tap_offsets);
    for (std::int64_t n = 0; n < g.batch; ++n) {
      for (std::int64_t m = 0; m < g.output_channels; ++m) {
        const auto channel = static_cast<std::size_t>(m);
        const std::int64_t group = m / g.group_output_channels();
        const std::int64_t sum = sum_of_products<Term>(o, x.data() + n * image_size + group * group_size,
                                                       w.data() + m * g.depth(), o.w_zero_point[channel], tap_offsets);
        const std::int64_t bias = o.bias.empty() ? 0 : o.bias[channel];
        sums[static_cast<std::size_t>((n * g.output_channels + m) * positions + position)] = sum + Term::of(bias);
      }
    }
  }
}

}  // namespace

void accumulate(const ConvolutionOperands& operands, std::span<const std::byte> x, std::span<const std::byte> w,
                std::span<std::int64_t> sums) {
  accumulate_terms<SignedTerm>(operands, x, w, sums);
}

void accumulate_magnitudes(const ConvolutionOperands& operands, std::span<const std::byte> x,
                           std::span<const std::byte> w, std::span<std::int64_t> sums) {
  accumulate_terms<MagnitudeOfTerm>(operands, x, w, sums);
}

}  // namespace qconform::reference
