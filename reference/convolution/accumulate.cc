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

// A tap whose input element exists: offsets within one channel of w and of x.
struct Tap {
  std::int64_t weight;
  std::int64_t input;
};

// The taps of one output position that lie inside the input. A tap in the padding contributes zero
// (rule C1) and is left out. The same for all images and channels.
void locate_taps(const std::vector<SpatialAxis>& axes, const BoxIndex& output, std::int64_t kernel_taps,
                 std::vector<Tap>& inside) {
  inside.clear();
  BoxIndex tap(axes, &SpatialAxis::kernel);
  for (std::int64_t weight = 0; weight < kernel_taps; ++weight, tap.next()) {
    std::int64_t offset = 0;
    bool in_padding = false;
    for (std::size_t a = 0; a < axes.size() && !in_padding; ++a) {
      const SpatialAxis& axis = axes[a];
      const std::int64_t position = output[a] * axis.stride - axis.pad_begin + tap[a] * axis.dilation;
      in_padding = position < 0 || position >= axis.input;
      offset = offset * axis.input + position;
    }
    if (!in_padding) inside.push_back({weight, offset});
  }
}

// The operands less their zero points, in [-255, 255].
struct Differences {
  std::vector<std::int16_t> x;
  std::vector<std::int16_t> w;
};

// The type is a template argument so that the loop has no branch on it.
template <Integer8 type>
void subtract(std::span<const std::byte> bytes, std::int32_t zero_point, std::int16_t* out) {
  for (const std::byte byte : bytes) *out++ = static_cast<std::int16_t>(load8(type, byte) - zero_point);
}

void subtract(Integer8 type, std::span<const std::byte> bytes, std::int32_t zero_point, std::int16_t* out) {
  type == Integer8::int8 ? subtract<Integer8::int8>(bytes, zero_point, out)
                         : subtract<Integer8::uint8>(bytes, zero_point, out);
}

Differences subtract_zero_points(const ConvolutionOperands& o, std::span<const std::byte> x,
                                 std::span<const std::byte> w) {
  Differences result{std::vector<std::int16_t>(x.size()), std::vector<std::int16_t>(w.size())};
  subtract(o.x_type, x, o.x_zero_point, result.x.data());
  const auto depth = static_cast<std::size_t>(o.geometry.depth());
  for (std::size_t m = 0; m < o.w_zero_point.size(); ++m) {
    subtract(o.w_type, w.subspan(m * depth, depth), o.w_zero_point[m], result.w.data() + m * depth);
  }
  return result;
}

struct SignedTerm {
  template <typename Integer>
  static Integer of(Integer term) {
    return term;
  }
};
struct MagnitudeOfTerm {
  template <typename Integer>
  static Integer of(Integer term) {
    return term < 0 ? -term : term;
  }
};

// The sum for one output element: x points at the group's first channel of the image, w at the
// output channel's weights.
template <typename Term>
std::int64_t sum_of_products(const ConvolutionGeometry& g, const std::int16_t* x, const std::int16_t* w,
                             const std::vector<Tap>& taps) {
  const std::int64_t channels = g.group_input_channels();
  const std::int64_t channel_size = g.input_positions();
  const std::int64_t kernel_taps = g.kernel_taps();
  std::int64_t sum = 0;
  for (std::int64_t c = 0; c < channels; ++c, x += channel_size, w += kernel_taps) {
    for (const Tap& tap : taps) sum += Term::of(std::int32_t{x[tap.input]} * w[tap.weight]);
  }
  return sum;
}

template <typename Term>
void accumulate_terms(const ConvolutionOperands& o, std::span<const std::byte> x, std::span<const std::byte> w,
                      std::span<std::int64_t> sums) {
  const ConvolutionGeometry& g = o.geometry;
  const Differences differences = subtract_zero_points(o, x, w);
  const std::int64_t positions = g.output_positions();
  const std::int64_t image_size = g.input_channels * g.input_positions();
  const std::int64_t group_size = g.group_input_channels() * g.input_positions();
  std::vector<Tap> taps;
  BoxIndex output(g.axes, &SpatialAxis::output);
  for (std::int64_t position = 0; position < positions; ++position, output.next()) {
    locate_taps(g.axes, output, g.kernel_taps(), taps);
    for (std::int64_t n = 0; n < g.batch; ++n) {
      for (std::int64_t m = 0; m < g.output_channels; ++m) {
        const std::int64_t group = m / g.group_output_channels();
        const std::int64_t sum = sum_of_products<Term>(g, differences.x.data() + n * image_size + group * group_size,
                                                       differences.w.data() + m * g.depth(), taps);
        const std::int64_t bias = o.bias.empty() ? 0 : o.bias[static_cast<std::size_t>(m)];
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
