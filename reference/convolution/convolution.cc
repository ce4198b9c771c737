#include "reference/convolution/convolution.h"

#include <vector>

#include "reference/convolution/geometry.h"
#include "reference/numerics/admissible.h"
#include "reference/numerics/integers.h"

namespace qconform::reference {
namespace {

std::int64_t magnitude(std::int64_t value) {
  return value < 0 ? -value : value;
}

// Sums `term` of every product over the channels and the taps of each window. `term` of the bias is added.
template <typename Term>
void sum_terms(const ConvolutionOperands& o, std::span<const std::byte> x, std::span<const std::byte> w,
               std::span<std::int64_t> sums, Term term) {
  const ConvolutionGeometry& g = o.geometry;
  const std::int64_t positions = g.output_positions();
  TapsInside taps(g.axes);
  for (std::int64_t position = 0; position < (sums.empty() ? 0 : positions); ++position) {
    taps.select(position, 1);
    for (std::int64_t i = position; i < static_cast<std::int64_t>(sums.size()); i += positions) {
      const std::int64_t image = i / positions / g.output_channels;
      const std::int64_t m = i / positions % g.output_channels;
      const std::int64_t first = m / g.group_output_channels() * g.group_input_channels();
      const std::int32_t w_zero_point = o.w_zero_point[static_cast<std::size_t>(m)];
      std::int64_t sum = o.bias.empty() ? 0 : term(o.bias[static_cast<std::size_t>(m)]);
      for (std::int64_t c = 0; c < g.group_input_channels(); ++c) {
        const std::int64_t x_channel = (image * g.input_channels + first + c) * g.input_positions();
        const std::int64_t w_channel = (m * g.group_input_channels() + c) * g.kernel_taps();
        for (const Tap& tap : taps.at(0)) {
          const std::int32_t x_value = load8(o.x_type, x[static_cast<std::size_t>(x_channel + tap.input)]);
          const std::int32_t w_value = load8(o.w_type, w[static_cast<std::size_t>(w_channel + tap.weight)]);
          sum += term((x_value - o.x_zero_point) * (w_value - w_zero_point));
        }
      }
      sums[static_cast<std::size_t>(i)] = sum;
    }
  }
}

}  // namespace

void accumulate(const ConvolutionOperands& operands, std::span<const std::byte> x, std::span<const std::byte> w,
                std::span<std::int64_t> sums) {
  sum_terms(operands, x, w, sums, [](std::int64_t term) { return term; });
}

void accumulate_magnitudes(const ConvolutionOperands& operands, std::span<const std::byte> x,
                           std::span<const std::byte> w, std::span<std::int64_t> sums) {
  sum_terms(operands, x, w, sums, magnitude);
}

void qlinear_conv(const QLinearConv& node, RoundingProfile profile, std::span<const std::byte> x,
                  std::span<const std::byte> w, std::span<std::byte> y) {
  std::vector<std::int64_t> sums(y.size());
  accumulate(node.operands, x, w, sums);
  const ConvolutionGeometry& g = node.operands.geometry;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int64_t channel = static_cast<std::int64_t>(i) / g.output_positions() % g.output_channels;
    const Requantization parameters = node.requantization(static_cast<std::size_t>(channel));
    y[i] = store8(requantize(profile, wrap_to_int32(sums[i]), parameters));
  }
}

void requantize_sums(const QLinearConv& node, RoundingProfile profile, std::span<const std::int64_t> sums,
                     std::span<std::byte> y) {
  const auto positions = static_cast<std::size_t>(node.operands.geometry.output_positions());
  const auto channels = static_cast<std::size_t>(node.operands.geometry.output_channels);
  for (std::size_t begin = 0; begin < y.size(); begin += positions) {
    const Requantization parameters = node.requantization(begin / positions % channels);
    const ChannelTest test = channel_test(parameters);
    for (std::size_t i = begin; i < begin + positions; ++i) {
      const std::int32_t sum = wrap_to_int32(sums[i]);
      const auto decided = profile == RoundingProfile::correctly_rounded ? decided_value(test, sum) : std::nullopt;
      y[i] = store8(decided ? *decided : requantize(profile, sum, parameters));
    }
  }
}

void conv_integer(const ConvInteger& node, std::span<const std::byte> x, std::span<const std::byte> w,
                  std::span<std::int32_t> y) {
  std::vector<std::int64_t> sums(y.size());
  accumulate(node.operands, x, w, sums);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = wrap_to_int32(sums[i]);
}

}  // namespace qconform::reference
