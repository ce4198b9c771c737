// Profiles: the right answers that the judge admits, and the arithmetic that an in-tree kernel uses.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/fields.h"
#include "reference/numerics/admissible.h"
#include "reference/numerics/requantize.h"

namespace qconform {

/// Names of operators(), in their order.
[[nodiscard]] std::span<const std::string_view> operator_names();

using TextsByKey = std::map<std::string, std::string>;

/// Ids of the arithmetic choices of all families, each once (harness/model/defects/arithmetic.h).
[[nodiscard]] std::span<const std::string_view> choice_ids();

/// The arithmetic of one operator. Names are those of harness/model/defects/arithmetic.h.
struct Pin {
  static constexpr std::array<std::string_view, 3> kTyped{"x", "w", "y"};

  QC_DESCRIBED(.name = "pin", .doc =
                                  "The arithmetic of one operator. The first pin that speaks of a case's operator, "
                                  "types and layout counts.");
  QC_FIELD(std::string, op_type, {}, "operator", .names = operator_names());
  QC_FIELD(TextsByKey, types, {}, "types", .doc = "Element types that it holds for; absent ones do not matter.",
           .presence = Presence::omitted, .names = Pin::kTyped);
  QC_FIELD(std::string, layout, {}, "layout",
           .doc = "How nodes are laid out that it holds for: 1x1, windows, groups, depthwise or depthwise-multiplier.",
           .presence = Presence::omitted);
  QC_FIELD(TextsByKey, variants, {}, "ways",
           .doc = "By choice, the id of the variant. A case that a choice without a variant concerns is not pinned.",
           .names = choice_ids(), .names_def = "aspect");  ///< {"product", "ort-f32"}

  bool operator==(const Pin&) const = default;
};

struct PinnedProfile {
  QC_DESCRIBED();
  QC_LINE(describe_format(archive, "qconform-profile", 1));
  QC_FIELD(std::string, name, {}, "name", .doc = "The backend and its version.");
  QC_FIELD(std::vector<Pin>, pins, {}, "pins", .max_items = 256);
  std::string file = {};  ///< file that it was read from; empty otherwise

  bool operator==(const PinnedProfile&) const = default;
};

using reference::OverflowPolicy;
using reference::RoundingProfile;

/// Selects the values that a judge admits. docs/implementation-defined.md explains each profile.
enum class Profile : std::uint8_t {
  conformance,             ///< every value that the specification admits: tier F_5
  correctly_rounded,       ///< tier E: the exact value, rounded once
  ort_f32,                 ///< one pinned float32 expression
  onnx_reference,          ///< one pinned expression, in double behind a float32 multiplier
  dml_doc,                 ///< tier D with GPU accuracies: dequantize, convolve in float, quantize
  fixed_point,             ///< tier Q31: a 31-bit integer multiplier and shifts
  fixed_point_f32,         ///< tier Q31-f32: as tier Q31, with the multiplier formed in float32
  tflite,                  ///< one pinned answer of tier Q31, rounded twice
  tflite_single_rounding,  ///< one pinned answer of tier Q31, rounded once
  fused_int8,              ///< also admits for graphs what QLinearConv with the same parameters may give (tier D)
  fused_q31,               ///< as fused_int8, with an integer multiplier (tier Q31)
};

/// How a judge judges.
struct Policy {
  Profile profile = Profile::conformance;
  OverflowPolicy overflow = OverflowPolicy::wrap;  ///< policy for integer sums that are outputs: rule C17
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
