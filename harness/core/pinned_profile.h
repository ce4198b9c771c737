// What one backend computes, as a profile: the only right answers of a regression check of that backend.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/describe/fields.h"
#include "harness/operators/operator_names.h"

namespace qconform {

using TextsByKey = std::map<std::string, std::string>;

/// Of all families, each once (harness/diagnose/identify/identify_variants.h).
[[nodiscard]] std::span<const std::string_view> choice_ids();

/// The arithmetic of one operator. Names are those of harness/diagnose/identify/identify_variants.h.
struct Pin {
  static constexpr std::array<std::string_view, 3> kTyped{"x", "w", "y"};

  QC_DESCRIBED(.name = "pin",
               .doc =
                   "The arithmetic of one operator. The first pin that speaks of a case's operator and types counts.");
  QC_FIELD(std::string, op_type, {}, "operator", .names = operator_names());
  QC_FIELD(TextsByKey, types, {}, "types", .doc = "Element types that it holds for; absent ones do not matter.",
           .presence = Presence::omitted, .names = Pin::kTyped);
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
  std::string file = {};  ///< where it was read from; empty otherwise

  bool operator==(const PinnedProfile&) const = default;
};

}  // namespace qconform
