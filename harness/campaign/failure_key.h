// The key by which a campaign groups its failures.
#pragma once

#include <compare>
#include <cstddef>
#include <string>

#include "harness/describe/fields.h"

namespace qconform::campaign {

/// The key by which blocks group failures before any explanation.
struct FailureKey {
  QC_DESCRIBED();
  QC_FIELD(std::size_t, backend, {}, "backend");  ///< position in the campaign's list
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, symptom, {}, "symptom");  ///< symptom_of(); a verdict's kind and rule without values to look at
  QC_FIELD(std::string, waiver, {}, "waiver");    ///< id of the one that covers them; empty for none
  auto operator<=>(const FailureKey&) const = default;
};

}  // namespace qconform::campaign
