// QuantizeLinear and DequantizeLinear of float32 and 8 bits at every layout and version; rejects what is out of
// contract of all types.
#include <qconform/node.hpp>

namespace {

struct AnyLinear {
  using Node = qc::Linear;
  static constexpr const char* name = "any linear";
  static constexpr const char* version = "1";
  static constexpr std::uint64_t capabilities = 0;

  static bool is_8_bit(std::int32_t type) { return type == QC_INT8 || type == QC_UINT8; }
  static void check(const qc::Linear& node) {
    const std::int32_t codes = node.is_quantize ? node.y_type : node.x_type;
    const std::int32_t reals = node.is_quantize ? node.x_type : node.y_type;
    qc::only(is_8_bit(codes) && reals == QC_FLOAT32 && node.scale_type == QC_FLOAT32, "x", "only float32 and 8 bits");
    qc::only(node.precision == 0 || node.precision == QC_FLOAT32, "precision", "only float32");
  }
  explicit AnyLinear(const qc::Linear& linear) : node(linear) {}

  void run(const qc::Run& run) const {
    for (std::int64_t i = 0; i < node.elements(); ++i) {
      const std::size_t parameter = node.parameter_of(i);
      const auto scale = static_cast<float>(node.scale[parameter]);
      const auto zero_point = static_cast<float>(node.zero_point[parameter]);
      if (node.is_quantize) {
        quantize(static_cast<const float*>(run.x)[i] / scale, zero_point, static_cast<std::uint8_t*>(run.y) + i);
      } else {
        const auto byte = static_cast<const std::uint8_t*>(run.x)[i];
        const int code = node.x_type == QC_INT8 ? static_cast<std::int8_t>(byte) : byte;
        static_cast<float*>(run.y)[i] = (static_cast<float>(code) - zero_point) * scale;
      }
    }
  }

  void quantize(float quotient, float zero_point, std::uint8_t* y) const {
    const float lowest = node.y_type == QC_INT8 ? -128 : 0;
    const float value = std::nearbyint(std::clamp(quotient, -512.0F, 512.0F)) + zero_point;
    *y = static_cast<std::uint8_t>(
        static_cast<int>(std::isnan(value) ? zero_point : std::clamp(value, lowest, lowest + 255)));
  }

  const qc::Linear& node;
};

}  // namespace

QC_EXPORT_KERNEL(AnyLinear)
