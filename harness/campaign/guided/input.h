// Turns an input of the fuzz target into a case of a campaign.
#pragma once

#include <string>
#include <string_view>

#include "harness/core/case.h"
#include "harness/core/error.h"

namespace qconform::guided {

/// The case in the bytes of a one-node model, without what the model says of the case beside the node: a campaign
/// judges what is computed. Errors: no such model, an operator that qconform does not know, and cases too large to be
/// judged at once (harness/mutate).
[[nodiscard]] Result<Case> case_of_input(std::string_view bytes);

}  // namespace qconform::guided
