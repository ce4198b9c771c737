// XNNPACK up to 2023: an operator is set up in one call, and each conversion has functions of its own.
#include "harness/backends/libraries/xnnpack/xnnpack_operator.h"

#if !QCONFORM_XNNPACK_RESHAPES

namespace qconform::libraries::xnn {
namespace {

class ConvolutionOperator final : public ConvolutionBase {
 public:
  explicit ConvolutionOperator(const Convolution& what) : ConvolutionBase(what) {}

  xnn_status create() override {
    if (is_unsigned_) return create_unsigned(xnn_create_convolution2d_nhwc_qu8, what_, &made_);
    if (is_per_channel_) return create_signed(xnn_create_convolution2d_nhwc_qc8, what_, what_.w_scales, &made_);
    return create_signed(xnn_create_convolution2d_nhwc_qs8, what_, what_.node.w_scale.front(), &made_);
  }
  xnn_status reshape(Workspace& /*workspace*/) override { return xnn_status_success; }
  xnn_status set_up(const void* x, void* y, void* /*workspace*/) override {
    if (is_unsigned_) return set_up_as<std::uint8_t>(xnn_setup_convolution2d_nhwc_qu8, x, y);
    if (is_per_channel_) return set_up_as<std::int8_t>(xnn_setup_convolution2d_nhwc_qc8, x, y);
    return set_up_as<std::int8_t>(xnn_setup_convolution2d_nhwc_qs8, x, y);
  }

 private:
  template <typename T, typename SetUp>
  xnn_status set_up_as(SetUp call, const void* x, void* y) {
    const auto [height, width] = axes_of(geometry_);
    return call(made_, static_cast<std::size_t>(geometry_.batch), static_cast<std::size_t>(height.input),
                static_cast<std::size_t>(width.input), static_cast<const T*>(x), static_cast<T*>(y), nullptr);
  }
};

// All elements are channels of one row.
class ConversionOperator final : public Operator {
 public:
  explicit ConversionOperator(const Conversion& what) : what_(what) {}

  xnn_status create() override {
    const std::size_t n = what_.elements;
    const auto u8 = static_cast<std::uint8_t>(what_.zero_point);
    const auto s8 = static_cast<std::int8_t>(what_.zero_point);
    if (what_.y_type == ElementType::uint8)
      return xnn_create_convert_nc_f32_qu8(n, n, n, what_.scale, u8, 0, 255, 0, &made_);
    if (what_.y_type == ElementType::int8)
      return xnn_create_convert_nc_f32_qs8(n, n, n, what_.scale, s8, -128, 127, 0, &made_);
    if (what_.x_type == ElementType::uint8) return xnn_create_convert_nc_qu8_f32(n, n, n, what_.scale, u8, 0, &made_);
    return xnn_create_convert_nc_qs8_f32(n, n, n, what_.scale, s8, 0, &made_);
  }
  xnn_status reshape(Workspace& /*workspace*/) override { return xnn_status_success; }
  xnn_status set_up(const void* x, void* y, void* /*workspace*/) override {
    if (what_.y_type == ElementType::uint8) return set_up_as<float, std::uint8_t>(xnn_setup_convert_nc_f32_qu8, x, y);
    if (what_.y_type == ElementType::int8) return set_up_as<float, std::int8_t>(xnn_setup_convert_nc_f32_qs8, x, y);
    if (what_.x_type == ElementType::uint8) return set_up_as<std::uint8_t, float>(xnn_setup_convert_nc_qu8_f32, x, y);
    return set_up_as<std::int8_t, float>(xnn_setup_convert_nc_qs8_f32, x, y);
  }

 private:
  template <typename From, typename To, typename SetUp>
  xnn_status set_up_as(SetUp call, const void* x, void* y) {
    return call(made_, 1, static_cast<const From*>(x), static_cast<To*>(y), nullptr);
  }

  Conversion what_;
};

}  // namespace

std::unique_ptr<Operator> convolution(const Convolution& what) {
  return std::make_unique<ConvolutionOperator>(what);
}

std::unique_ptr<Operator> conversion(const Conversion& what) {
  return std::make_unique<ConversionOperator>(what);
}

}  // namespace qconform::libraries::xnn

#endif
