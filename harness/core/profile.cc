#include "harness/core/profile.h"

#include <array>

namespace qconform {
namespace {

constexpr std::array kProfiles{
    ProfileInfo{Profile::conformance, "conformance",
                "every value that the specification admits: requantization in float32 by any association (tier F_5)"},
    ProfileInfo{Profile::correctly_rounded, "correctly-rounded",
                "QLinearConv's product of sum and scales formed exactly, rounded once (tier E, rule C19)"},
    ProfileInfo{Profile::ort_f32, "ort-f32",
                "float32 multiplier RN(RN(x_scale*w_scale)/y_scale), as ONNX Runtime on VNNI machines"},
    ProfileInfo{Profile::onnx_reference, "onnx-reference",
                "float32 multiplier, product and zero point in double, as ONNX's own node test data"},
    ProfileInfo{
        Profile::dml_doc, "dml-doc",
        "dequantize, convolve in float, quantize, with the accuracies of GPUs (tier D), as DirectML documents it"},
    ProfileInfo{Profile::fixed_point, "fixed-point",
                "requantization by a 31-bit integer multiplier and shifts, as gemmlowp (tier Q31)"},
    ProfileInfo{Profile::fixed_point_f32, "fixed-point-f32",
                "requantization by a 31-bit integer multiplier formed in float32, and shifts (tier Q31-f32)"},
    ProfileInfo{Profile::tflite, "tflite", "31-bit multiplier, two roundings, as TensorFlow Lite and CMSIS-NN"},
    ProfileInfo{Profile::tflite_single_rounding, "tflite-single-rounding",
                "31-bit multiplier, one rounding of 64 bits, as TensorFlow Lite with TFLITE_SINGLE_ROUNDING"},
    ProfileInfo{Profile::fused_int8, "fused-int8",
                "in graphs also integer kernels with a float bias rounded to x_scale*w_scale (tiers fused-int8, D)"},
    ProfileInfo{
        Profile::fused_q31, "fused-q31",
        "in graphs also fused integer kernels, requantized by a 31-bit multiplier and shifts (tiers fused-q31, Q31)"},
};

}  // namespace

std::span<const ProfileInfo> profiles() {
  return kProfiles;
}

std::string_view name_of(Profile profile) {
  for (const ProfileInfo& info : kProfiles) {
    if (info.profile == profile) return info.name;
  }
  return "?";
}

std::optional<Profile> profile_named(std::string_view name) {
  for (const ProfileInfo& info : kProfiles) {
    if (info.name == name) return info.profile;
  }
  return std::nullopt;
}

std::optional<reference::Tier> tier_of(Profile profile) {
  switch (profile) {
    case Profile::conformance: return reference::Tier::float32;
    case Profile::correctly_rounded: return reference::Tier::exact;
    case Profile::dml_doc:
    case Profile::fused_int8: return reference::Tier::float_convolution;
    case Profile::fused_q31:
    case Profile::fixed_point: return reference::Tier::fixed_point;
    case Profile::fixed_point_f32: return reference::Tier::fixed_point_float32;
    case Profile::ort_f32:
    case Profile::onnx_reference:
    case Profile::tflite:
    case Profile::tflite_single_rounding: break;
  }
  return std::nullopt;
}

RoundingProfile arithmetic_of(Profile profile) {
  switch (profile) {
    case Profile::ort_f32: return RoundingProfile::ort_f32;
    case Profile::onnx_reference: return RoundingProfile::onnx_reference;
    case Profile::tflite: return RoundingProfile::tflite;
    case Profile::tflite_single_rounding: return RoundingProfile::tflite_single_rounding;
    case Profile::conformance:
    case Profile::correctly_rounded:
    case Profile::dml_doc:
    case Profile::fixed_point:
    case Profile::fixed_point_f32:
    case Profile::fused_int8:
    case Profile::fused_q31: break;
  }
  return RoundingProfile::correctly_rounded;
}

}  // namespace qconform
