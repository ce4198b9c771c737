// Any backend as something to be timed.
#pragma once

#include "harness/core/backend.h"

namespace qconform::bench {

/// The backend's own prepare_repeated where it has one; else its prepare and run, on the case's tensors
/// and into memory that stays the same from run to run: channels first, one thread.
[[nodiscard]] RepeatedPreparation prepare_repeated(Backend& backend, const Case& test_case, const RunSetting& wanted);

}  // namespace qconform::bench
