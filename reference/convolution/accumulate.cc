#include "reference/convolution/accumulate.h"

#include <algorithm>
#include <vector>

#include "reference/convolution/taps.h"

namespace qconform::reference {
namespace {

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

// The sum for one output element: both operands have `depth` elements one behind the other. In parts whose
// sums fit 32 bits, which a processor adds up several at a time.
template <typename Term>
std::int64_t sum_of_products(const std::int16_t* x, const std::int16_t* w, std::int64_t depth) {
  constexpr std::int64_t kPart = 4096;
  static_assert(kPart * 255 * 255 < (std::int64_t{1} << 31));
  std::int64_t sum = 0;
  for (std::int64_t begin = 0; begin < depth; begin += kPart) {
    const std::int64_t end = std::min(begin + kPart, depth);
    std::int32_t part = 0;
    for (std::int64_t k = begin; k < end; ++k) part += Term::of(std::int32_t{x[k]} * w[k]);
    sum += part;
  }
  return sum;
}

// The window's differences in the order of w's. Those in the padding are zeros.
void gather(const ConvolutionGeometry& g, const std::int16_t* x, const std::vector<Tap>& inside,
            std::vector<std::int16_t>& window) {
  const std::int64_t channel_size = g.input_positions();
  const std::int64_t kernel_taps = g.kernel_taps();
  if (static_cast<std::int64_t>(inside.size()) < kernel_taps) std::fill(window.begin(), window.end(), std::int16_t{0});
  std::int16_t* channel = window.data();
  for (std::int64_t c = 0; c < g.group_input_channels(); ++c, channel += kernel_taps, x += channel_size) {
    for (const Tap& tap : inside) channel[tap.weight] = x[tap.input];
  }
}

template <typename Term>
void accumulate_terms(const ConvolutionOperands& o, std::span<const std::byte> x, std::span<const std::byte> w,
                      std::span<std::int64_t> sums) {
  const ConvolutionGeometry& g = o.geometry;
  const Differences differences = subtract_zero_points(o, x, w);
  const std::int64_t positions = g.output_positions();
  const std::int64_t depth = g.depth();
  const std::int64_t group_size = g.group_input_channels() * g.input_positions();
  TapsInside taps(g.axes);
  std::vector<std::int16_t> window(static_cast<std::size_t>(depth));
  for (std::int64_t position = 0; position < positions; ++position) {
    const std::vector<Tap>& inside = taps.at(position);
    for (std::int64_t plane = 0; plane < g.batch * g.group; ++plane) {
      gather(g, differences.x.data() + plane * group_size, inside, window);
      for (std::int64_t channel = 0; channel < g.group_output_channels(); ++channel) {
        const std::int64_t m = plane % g.group * g.group_output_channels() + channel;
        const std::int64_t bias = o.bias.empty() ? 0 : o.bias[static_cast<std::size_t>(m)];
        const std::int64_t sum = sum_of_products<Term>(window.data(), differences.w.data() + m * depth, depth);
        const std::int64_t index = (plane * g.group_output_channels() + channel) * positions + position;
        sums[static_cast<std::size_t>(index)] = sum + Term::of(bias);
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
