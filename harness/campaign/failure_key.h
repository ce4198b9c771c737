// What failures of a campaign are put together by.
#pragma once

#include <compare>
#include <cstddef>
#include <string>

namespace qconform::campaign {

/// What failures are put together by before they are explained.
struct FailureKey {
  std::size_t backend = 0;  ///< position in the campaign's list
  std::string op_type;
  std::string symptom;  ///< symptom_of(); a verdict's kind and rule where there are no values to look at
  std::string waiver;   ///< id of the one that covers them; empty for none
  auto operator<=>(const FailureKey&) const = default;
};

}  // namespace qconform::campaign
