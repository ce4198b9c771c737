// Which of the right answers a judgement pins, and which arithmetic an in-tree kernel uses.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "reference/numerics/requantize.h"

namespace qconform {

using reference::RoundingProfile;

struct ProfileInfo {
  RoundingProfile profile;
  std::string_view name;
  std::string_view description;  ///< one line for `qconform list profiles`
};

[[nodiscard]] std::span<const ProfileInfo> profiles();
[[nodiscard]] std::string_view name_of(RoundingProfile profile);
[[nodiscard]] std::optional<RoundingProfile> profile_named(std::string_view name);

}  // namespace qconform
