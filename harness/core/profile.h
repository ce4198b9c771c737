// Which right answers the judge admits, and which arithmetic an in-tree kernel uses.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "harness/core/pinned_profile.h"
#include "reference/numerics/admissible.h"
#include "reference/numerics/requantize.h"

namespace qconform {

using reference::OverflowPolicy;
using reference::RoundingProfile;

/// What a judge admits. docs/latitude.md explains each.
enum class Profile : std::uint8_t {
  conformance,        ///< every value that the specification admits: tier F_5
  correctly_rounded,  ///< tier E: the exact value, rounded once
  ort_f32,            ///< one pinned float32 expression
  onnx_reference,     ///< likewise, in double behind a float32 multiplier
  dml_doc,            ///< tier D with GPU accuracies: dequantize, convolve in float, quantize
};

/// How a judge judges.
struct Policy {
  Profile profile = Profile::conformance;
  OverflowPolicy overflow = OverflowPolicy::wrap;  ///< of integer sums that are outputs: rule C17
  /// A profile from a file, which overrides `profile` in the cases that it pins. Null without one.
  std::shared_ptr<const PinnedProfile> pinned = {};
};

struct ProfileInfo {
  Profile profile;
  std::string_view name;
  std::string_view description;  ///< one line for `qconform list profiles`
};

[[nodiscard]] std::span<const ProfileInfo> profiles();
[[nodiscard]] std::string_view name_of(Profile profile);
[[nodiscard]] std::optional<Profile> profile_named(std::string_view name);

/// The tier whose sets the profile admits; nullopt when it pins a single float expression instead.
[[nodiscard]] std::optional<reference::Tier> tier_of(Profile profile);

/// The arithmetic that in-tree kernels use under the profile: the one that it pins, else correctly
/// rounded, which every profile that admits a set admits too.
[[nodiscard]] RoundingProfile arithmetic_of(Profile profile);

}  // namespace qconform
