#include "harness/core/profile.h"

#include <array>

namespace qconform {
namespace {

constexpr std::array kProfiles{
    ProfileInfo{RoundingProfile::correctly_rounded, "correctly-rounded",
                "QLinearConv's product of accumulator and scales formed exactly, rounded once (rule C19)"},
    ProfileInfo{RoundingProfile::ort_f32, "ort-f32",
                "float32 multiplier RN(RN(x_scale*w_scale)/y_scale), as ONNX Runtime on VNNI machines"},
    ProfileInfo{RoundingProfile::onnx_reference, "onnx-reference",
                "float32 multiplier, product and zero point in double, as ONNX's own node test data"},
};

}  // namespace

std::span<const ProfileInfo> profiles() {
  return kProfiles;
}

std::string_view name_of(RoundingProfile profile) {
  for (const ProfileInfo& info : kProfiles) {
    if (info.profile == profile) return info.name;
  }
  return "?";
}

std::optional<RoundingProfile> profile_named(std::string_view name) {
  for (const ProfileInfo& info : kProfiles) {
    if (info.name == name) return info.profile;
  }
  return std::nullopt;
}

}  // namespace qconform
