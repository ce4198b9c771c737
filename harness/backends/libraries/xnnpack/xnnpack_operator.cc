#include "harness/backends/libraries/xnnpack/xnnpack_operator.h"

#include <fmt/format.h>

namespace qconform::libraries::xnn {
namespace {

std::string_view text_of(xnn_status status) {
  switch (status) {
    case xnn_status_success: return "success";
    case xnn_status_uninitialized: return "not initialized";
    case xnn_status_invalid_parameter: return "invalid parameter";
    case xnn_status_invalid_state: return "invalid state";
    case xnn_status_unsupported_parameter: return "unsupported parameter";
    case xnn_status_unsupported_hardware: return "unsupported hardware";
    case xnn_status_out_of_memory: return "out of memory";
    default: return "an unknown status";
  }
}

}  // namespace

std::string refusal_text(std::string_view call, xnn_status status) {
  return fmt::format("XNNPACK: {}: {}", call, text_of(status));
}

std::array<reference::SpatialAxis, 2> axes_of(const reference::ConvolutionGeometry& geometry) {
  if (geometry.axes.size() == 2) return {geometry.axes[0], geometry.axes[1]};
  reference::SpatialAxis one = geometry.axes.front();
  one.input = one.kernel = one.stride = one.dilation = one.output = 1;
  one.pad_begin = one.pad_end = 0;
  return {one, geometry.axes.front()};
}

#if !QCONFORM_XNNPACK_RESHAPES

// XNNPACK up to 2023: an operator is set up in one call, and each conversion has functions of its own.

namespace {

class ConvolutionOperator final : public ConvolutionBase {
 public:
  explicit ConvolutionOperator(const NhwcConvolution& what) : ConvolutionBase(what) {}

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
class ConversionOperator final : public LibraryOperator {
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

#else

// XNNPACK since 2023: an operator is created, reshaped and set up, with a workspace from outside; one operator converts
// between all types.

namespace {

class ConvolutionOperator final : public ConvolutionBase {
 public:
  explicit ConvolutionOperator(const NhwcConvolution& what) : ConvolutionBase(what) {}

  xnn_status create() override {
    xnn_code_cache_t code = nullptr;
    xnn_weights_cache_t weights = nullptr;
    if (is_unsigned_) return create_unsigned(xnn_create_convolution2d_nhwc_qu8, what_, code, weights, &made_);
    if (is_per_channel_) {
      return create_signed(xnn_create_convolution2d_nhwc_qs8_qc8w, what_, what_.w_scales, code, weights, &made_);
    }
    return create_signed(xnn_create_convolution2d_nhwc_qs8, what_, what_.node.w_scale.front(), code, weights, &made_);
  }
  xnn_status reshape(Workspace& workspace) override {
    if (is_unsigned_) return reshape_with(xnn_reshape_convolution2d_nhwc_qu8, workspace);
    if (is_per_channel_) return reshape_with(xnn_reshape_convolution2d_nhwc_qs8_qc8w, workspace);
    return reshape_with(xnn_reshape_convolution2d_nhwc_qs8, workspace);
  }
  xnn_status set_up(const void* x, void* y, void* workspace) override {
    if (is_unsigned_) {
      return xnn_setup_convolution2d_nhwc_qu8(made_, workspace, static_cast<const std::uint8_t*>(x),
                                              static_cast<std::uint8_t*>(y));
    }
    const auto call = is_per_channel_ ? xnn_setup_convolution2d_nhwc_qs8_qc8w : xnn_setup_convolution2d_nhwc_qs8;
    return call(made_, workspace, static_cast<const std::int8_t*>(x), static_cast<std::int8_t*>(y));
  }

 private:
  template <typename Reshape>
  xnn_status reshape_with(Reshape call, Workspace& workspace) {
    const auto [height, width] = axes_of(geometry_);
    std::size_t output_height = 0;
    std::size_t output_width = 0;
    return call(made_, static_cast<std::size_t>(geometry_.batch), static_cast<std::size_t>(height.input),
                static_cast<std::size_t>(width.input), &workspace.size, &workspace.alignment, &output_height,
                &output_width, nullptr);
  }
};

xnn_datatype datatype_of(ElementType type) {
  if (type == ElementType::uint8) return xnn_datatype_quint8;
  return type == ElementType::int8 ? xnn_datatype_qint8 : xnn_datatype_fp32;
}

// All elements are channels of one row.
class ConversionOperator final : public LibraryOperator {
 public:
  explicit ConversionOperator(const Conversion& what) : what_(what) {}

  xnn_status create() override {
    const xnn_quantization_params quantization{what_.zero_point, what_.scale};
    const bool quantizes = what_.x_type == ElementType::float32;
    return xnn_create_unary_elementwise_nc(xnn_unary_convert, datatype_of(what_.x_type), datatype_of(what_.y_type),
                                           nullptr, quantizes ? nullptr : &quantization,
                                           quantizes ? &quantization : nullptr, 0, &made_);
  }
  xnn_status reshape(Workspace& /*workspace*/) override {
    const std::size_t n = what_.elements;
    return xnn_reshape_unary_elementwise_nc(made_, 1, n, n, n, nullptr);
  }
  xnn_status set_up(const void* x, void* y, void* /*workspace*/) override {
    return xnn_setup_unary_elementwise_nc(made_, x, y);
  }

 private:
  Conversion what_;
};

}  // namespace

#endif

std::unique_ptr<LibraryOperator> convolution(const NhwcConvolution& what) {
  return std::make_unique<ConvolutionOperator>(what);
}

std::unique_ptr<LibraryOperator> conversion(const Conversion& what) {
  return std::make_unique<ConversionOperator>(what);
}

}  // namespace qconform::libraries::xnn
