// A kernel of one case: QuantizeLinear from float16 to uint8 by the channels of three dimensions, sixteen at a time.
#include <qconform/node.hpp>

namespace {

struct HalfChannels {
  using Node = qc::Linear;
  static constexpr const char* name = "half channels";
  static constexpr const char* version = "1";
  static constexpr std::uint64_t capabilities = 0;

  static void check(const qc::Linear& node) {
    qc::only(node.is_quantize, "operator", "only QuantizeLinear");
    qc::only(node.x_type == QC_FLOAT16, "x", "only float16");
    qc::only(node.scale_type == QC_FLOAT16, "y_scale", "only float16");
    qc::only(node.y_type == QC_UINT8, "y", "only uint8");
    qc::only(node.precision == 0, "precision", "only that of x");
    qc::only(node.x_dims.size() == 3, "x", "only three dimensions");
    qc::only(node.block == 0 && node.scale.size() > 1, "y_scale", "only by channel");
    qc::only(node.channels % 16 == 0, "x", "only multiples of 16 channels");
  }
  explicit HalfChannels(const qc::Linear& linear) : node(linear) {}

  static float number(std::uint16_t half) {
    const int exponent = half >> 10 & 31;
    const auto fraction = static_cast<float>(half & 1023);
    float magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
    if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
    return half >> 15 != 0 ? -magnitude : magnitude;
  }

  // To the 11 bits of a float16: it divides in the type of x.
  static float rounded(float quotient) {
    int exponent = 0;
    const float fraction = std::frexp(quotient, &exponent);
    return std::isfinite(quotient) ? std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11) : quotient;
  }

  void run(const qc::Run& run) const {
    for (std::int64_t i = 0; i < node.elements(); ++i) {
      const std::size_t channel = node.parameter_of(i);
      const float x = number(static_cast<const std::uint16_t*>(run.x)[i]);
      const float quotient = rounded(x / static_cast<float>(node.scale[channel]));
      const auto zero_point = static_cast<float>(node.zero_point[channel]);
      const float value = std::nearbyint(std::clamp(quotient, -512.0F, 512.0F)) + zero_point;
      static_cast<std::uint8_t*>(run.y)[i] =
          static_cast<std::uint8_t>(std::isnan(value) ? zero_point : std::clamp(value, 0.0F, 255.0F));
    }
  }

  const qc::Linear& node;
};

}  // namespace

QC_EXPORT_KERNEL(HalfChannels)
