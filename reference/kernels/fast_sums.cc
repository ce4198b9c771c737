#include "reference/kernels/kernels.h"

#include <algorithm>
#include <array>
#include <vector>

#include "reference/convolution/geometry.h"

namespace qconform::reference {
namespace {

// Says whether a sum adds up the products and the bias, or their magnitudes.
enum class SumTerms : std::uint8_t { as_they_are, magnitudes };

using Values = std::vector<std::int16_t>;

// Windows and rows of weights are filled up with zeros to a multiple of kUnit, and kWindows windows are multiplied by a
// row at a time: a processor that takes several products at once then has none left over.
constexpr std::int64_t kUnit = 8;
constexpr std::int64_t kWindows = 4;

// A sum of at most kPart products fits 32 bits.
constexpr std::int64_t kPart = 4096;
static_assert(kPart * 255 * 255 < (std::int64_t{1} << 31) && kPart % kUnit == 0);

std::int64_t filled_up(std::int64_t depth) {
  return (depth + kUnit - 1) / kUnit * kUnit;
}

// The type is a template argument so that the loop has no branch on it.
template <ElementType type>
void subtract(std::span<const std::byte> bytes, std::int32_t zero_point, std::int16_t* out) {
  for (const std::byte byte : bytes) *out++ = static_cast<std::int16_t>(load8(type, byte) - zero_point);
}

void subtract(ElementType type, std::span<const std::byte> bytes, std::int32_t zero_point, std::int16_t* out) {
  type == ElementType::int8 ? subtract<ElementType::int8>(bytes, zero_point, out)
                            : subtract<ElementType::uint8>(bytes, zero_point, out);
}

// The operands less their zero points, in [-255, 255], and the bias.
struct SumOperands {
  Values x;                        // in its own order
  Values w;                        // a row for each output channel, filled up
  std::vector<std::int64_t> bias;  // one per output channel

  SumOperands(const ConvolutionOperands& o, std::span<const std::byte> x_bytes, std::span<const std::byte> w_bytes)
      : x(x_bytes.size()),
        w(o.w_zero_point.size() * static_cast<std::size_t>(filled_up(o.geometry.depth()))),
        bias(o.bias.begin(), o.bias.end()) {
    subtract(o.x_type, x_bytes, o.x_zero_point, x.data());
    const auto depth = static_cast<std::size_t>(o.geometry.depth());
    const auto row = static_cast<std::size_t>(filled_up(o.geometry.depth()));
    for (std::size_t m = 0; m < o.w_zero_point.size(); ++m) {
      subtract(o.w_type, w_bytes.subspan(m * depth, depth), o.w_zero_point[m], w.data() + m * row);
    }
    bias.resize(o.w_zero_point.size());
  }

  // A product's magnitude is the product of magnitudes.
  void take_magnitudes() {
    const auto magnitude = [](auto value) { return static_cast<decltype(value)>(value < 0 ? -value : value); };
    std::transform(x.begin(), x.end(), x.begin(), magnitude);
    std::transform(w.begin(), w.end(), w.begin(), magnitude);
    std::transform(bias.begin(), bias.end(), bias.begin(), magnitude);
  }
};

// Holds the windows of one image and group at a block of output positions: a row for each position, in the order of a
// row of w.
class ImageWindows {
 public:
  explicit ImageWindows(const ConvolutionGeometry& geometry)
      : channels_(geometry.group_input_channels()),
        channel_size_(geometry.input_positions()),
        taps_(geometry.kernel_taps()),
        row_(filled_up(geometry.depth())),
        most_(block_size(geometry.output_positions(), row_)),
        values_(static_cast<std::size_t>(most_ * row_)) {}

  // Returns the number of output positions in a block, a multiple of kWindows.
  [[nodiscard]] std::int64_t most() const { return most_; }

  // Sets all windows to zero before a block: gather() leaves the zeros in the padding, which is the same for all images
  // and groups.
  void clear() { std::fill(values_.begin(), values_.end(), std::int16_t{0}); }

  // Window `number`; `x` begins where the image and group does.
  void gather(std::int64_t number, const std::int16_t* x, std::span<const Tap> inside) {
    std::int16_t* channel = values_.data() + number * row_;
    for (std::int64_t c = 0; c < channels_; ++c, channel += taps_, x += channel_size_) {
      for (const Tap& tap : inside) channel[tap.weight] = x[tap.input];
    }
  }

  // Adds to sums[i] the products of window i with a row of w, for `count` windows; room for most() sums.
  void add_products(const std::int16_t* w, std::int64_t count, std::int64_t* sums) const {
    for (std::int64_t first = 0; first < count; first += kWindows) {
      for (std::int64_t begin = 0; begin < row_; begin += kPart) {
        const std::int16_t* const windows = values_.data() + first * row_ + begin;
        add_part(windows, w + begin, std::min(kPart, row_ - begin) / kUnit, sums + first);
      }
    }
  }

 private:
  // Returns as many positions as the fastest memory holds windows of.
  static std::int64_t block_size(std::int64_t positions, std::int64_t row) {
    constexpr std::int64_t kValues = 4096;
    const std::int64_t wanted = std::min(positions, kValues / row);
    return (std::max<std::int64_t>(wanted, 1) + kWindows - 1) / kWindows * kWindows;
  }

  // Adds the products of a row of w with each of kWindows windows to `sums`, at most kPart products for each window.
  void add_part(const std::int16_t* windows, const std::int16_t* w, std::int64_t units, std::int64_t* sums) const {
    std::array<std::int32_t, kWindows> part{};
    for (std::int64_t k = 0; k < units * kUnit; ++k) {
      for (std::size_t i = 0; i < part.size(); ++i) {
        part[i] += std::int32_t{windows[static_cast<std::int64_t>(i) * row_ + k]} * w[k];
      }
    }
    for (std::size_t i = 0; i < part.size(); ++i) sums[i] += part[i];
  }

  std::int64_t channels_;
  std::int64_t channel_size_;
  std::int64_t taps_;
  std::int64_t row_;
  std::int64_t most_;
  Values values_;
};

void accumulate_products(const ConvolutionGeometry& g, const SumOperands& operands, std::span<std::int64_t> y) {
  const std::int64_t positions = g.output_positions();
  const std::int64_t channels = g.group_output_channels();
  const std::int64_t row = filled_up(g.depth());
  const std::int64_t group_size = g.group_input_channels() * g.input_positions();
  TapsInside taps(g.axes);
  ImageWindows windows(g);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(windows.most()));
  for (std::int64_t first = 0; first < positions; first += windows.most()) {
    const std::int64_t count = std::min(windows.most(), positions - first);
    taps.select(first, count);
    if (first > 0) windows.clear();
    for (std::int64_t plane = 0; plane < g.batch * g.group; ++plane) {
      const std::int16_t* const x = operands.x.data() + plane * group_size;
      for (std::int64_t i = 0; i < count; ++i) windows.gather(i, x, taps.at(i));
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const std::int64_t m = plane % g.group * channels + channel;
        std::fill(sums.begin(), sums.end(), operands.bias[static_cast<std::size_t>(m)]);
        windows.add_products(operands.w.data() + m * row, count, sums.data());
        std::copy_n(sums.begin(), count, y.begin() + (plane * channels + channel) * positions + first);
      }
    }
  }
}

// No input channels or an empty kernel: the bias alone (rule C10).
void accumulate_nothing(const ConvolutionGeometry& g, const SumOperands& operands, std::span<std::int64_t> y) {
  const auto positions = static_cast<std::size_t>(g.output_positions());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = operands.bias[i / positions % operands.bias.size()];
}

void accumulate_terms(const ConvolutionOperands& o, std::span<const std::byte> x, std::span<const std::byte> w,
                      SumTerms terms, std::span<std::int64_t> y) {
  if (y.empty()) return;
  SumOperands operands(o, x, w);
  if (terms == SumTerms::magnitudes) operands.take_magnitudes();
  if (o.geometry.depth() == 0) return accumulate_nothing(o.geometry, operands, y);
  accumulate_products(o.geometry, operands, y);
}

}  // namespace

void fast_sums(const ConvolutionOperands& operands, std::span<const std::byte> x, std::span<const std::byte> w,
               std::span<std::int64_t> sums) {
  accumulate_terms(operands, x, w, SumTerms::as_they_are, sums);
}

void fast_sums_of_magnitudes(const ConvolutionOperands& operands, std::span<const std::byte> x,
                             std::span<const std::byte> w, std::span<std::int64_t> sums) {
  accumulate_terms(operands, x, w, SumTerms::magnitudes, sums);
}

}  // namespace qconform::reference
