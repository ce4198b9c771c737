// A complete backend in C++: QLinearConv of int8 in two dimensions with the channels last, as plain loops.
#include <qconform/node.hpp>

struct Example {
  static constexpr const char* name = "example";
  static constexpr const char* version = "1.0";
  static constexpr std::uint64_t capabilities = QC_NEEDS_CHANNELS_LAST;

  static void check(const qc::Convolution& c) {
    qc::only(c.is_quantized, "operator", "only QLinearConv");
    qc::only(c.axes.size() == 2, "x", "only two dimensions");
    qc::only(c.x_type == QC_INT8 && c.w_type == QC_INT8 && c.y_type == QC_INT8, "x", "only int8");
  }
  explicit Example(const qc::Convolution& node) : c(node), w(static_cast<const std::int8_t*>(node.w)) {}

  void run(const qc::Run& run) const {
    const auto* x = static_cast<const std::int8_t*>(run.x);
    auto* y = static_cast<std::int8_t*>(run.y);
    for (std::int64_t n = 0; n < c.batch; ++n, x += c.input_pixels() * c.input_channels) {
      for (std::int64_t i = 0; i < c.axes[0].output; ++i) {
        for (std::int64_t j = 0; j < c.axes[1].output; ++j) {
          for (std::int64_t m = 0; m < c.output_channels; ++m) *y++ = rounded(sum(x, i, j, m), m);
        }
      }
    }
  }

  std::int64_t sum(const std::int8_t* x, std::int64_t i, std::int64_t j, std::int64_t m) const {
    const auto [rows, columns] = std::pair(c.axes[0], c.axes[1]);
    const std::int8_t* weight = w + m * c.taps() * c.group_inputs();
    std::int64_t result = c.bias[m];
    for (std::int64_t k = 0; k < c.taps(); ++k, weight += c.group_inputs()) {
      const std::int64_t row = rows.first(i) + k / columns.kernel * rows.dilation;
      const std::int64_t column = columns.first(j) + k % columns.kernel * columns.dilation;
      if (row < 0 || row >= rows.input || column < 0 || column >= columns.input) continue;
      const std::int8_t* pixel =
          x + (row * columns.input + column) * c.input_channels + m / c.group_outputs() * c.group_inputs();
      for (std::int64_t g = 0; g < c.group_inputs(); ++g)
        result += (pixel[g] - c.x_zero_point) * (weight[g] - c.w_zero_point[m]);
    }
    return result;
  }

  std::int8_t rounded(std::int64_t sum, std::int64_t m) const {
    const double value = std::nearbyint(static_cast<double>(sum) * c.multiplier(m)) + c.y_zero_point;
    return static_cast<std::int8_t>(std::clamp(value, -128.0, 127.0));
  }

  const qc::Convolution& c;
  const std::int8_t* w;
};

QC_EXPORT_KERNEL(Example)
