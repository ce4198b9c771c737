// Every valid QLinearConv and ConvInteger, in plain loops: what is in the tensors is up to the reader alone.
#include <qconform/node.hpp>

namespace {

struct AnyConvolution {
  static constexpr const char* name = "any convolution";
  static constexpr const char* version = "1";
  static constexpr std::uint64_t capabilities = 0;

  static void check(const qc::Convolution& /*node*/) {}
  explicit AnyConvolution(const qc::Convolution& node) : c(node) {}
  [[nodiscard]] std::size_t scratch_bytes() const { return c.axes.size() * sizeof(std::int64_t); }

  // `position` is the output's index along each axis.
  void run(const qc::Run& run) const {
    auto* position = static_cast<std::int64_t*>(run.scratch);
    const std::int64_t pixels = c.output_pixels();
    for (std::int64_t index = 0; index < c.batch * c.output_channels * pixels; ++index) {
      std::int64_t rest = index % pixels;
      for (std::size_t d = c.axes.size(); d-- > 0; rest /= c.axes[d].output) position[d] = rest % c.axes[d].output;
      const std::int64_t m = index / pixels % c.output_channels;
      store(run.y, index, m, sum(run.x, index / pixels / c.output_channels, m, position));
    }
  }

  static int code(const void* data, std::int64_t index, std::int32_t type) {
    return type == QC_INT8 ? static_cast<const std::int8_t*>(data)[index]
                           : static_cast<const std::uint8_t*>(data)[index];
  }

  std::int64_t sum(const void* x, std::int64_t n, std::int64_t m, const std::int64_t* position) const {
    std::int64_t result = c.bias[static_cast<std::size_t>(m)];
    for (std::int64_t k = 0; k < c.taps(); ++k) {
      const std::int64_t place = place_of(k, position);
      if (place < 0) continue;
      for (std::int64_t g = 0; g < c.group_inputs(); ++g) {
        const std::int64_t channel = n * c.input_channels + m / c.group_outputs() * c.group_inputs() + g;
        result += std::int64_t{code(x, channel * c.input_pixels() + place, c.x_type) - c.x_zero_point} *
                  (code(c.w, (m * c.group_inputs() + g) * c.taps() + k, c.w_type) -
                   c.w_zero_point[static_cast<std::size_t>(m)]);
      }
    }
    return result;
  }

  // Place of tap `k` of a window in x; -1 in the padding.
  std::int64_t place_of(std::int64_t k, const std::int64_t* position) const {
    std::int64_t place = 0;
    std::int64_t step = 1;
    for (std::size_t d = c.axes.size(); d-- > 0; k /= c.axes[d].kernel) {
      const std::int64_t at = c.axes[d].first(position[d]) + k % c.axes[d].kernel * c.axes[d].dilation;
      if (at < 0 || at >= c.axes[d].input) return -1;
      place += at * step;
      step *= c.axes[d].input;
    }
    return place;
  }

  void store(void* y, std::int64_t index, std::int64_t m, std::int64_t sum) const {
    if (!c.is_quantized) {
      static_cast<std::int32_t*>(y)[index] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
      return;
    }
    const double value = std::nearbyint(static_cast<double>(sum) * c.multiplier(m)) + c.y_zero_point;
    const bool is_signed = c.y_type == QC_INT8;
    const auto code = static_cast<int>(std::clamp(value, is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0));
    static_cast<std::uint8_t*>(y)[index] = static_cast<std::uint8_t>(code);
  }

  const qc::Convolution& c;
};

}  // namespace

QC_EXPORT_KERNEL(AnyConvolution)
