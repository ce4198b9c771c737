// Checks whether the answers of a backend depend on its inputs alone.
#pragma once

#include <functional>

#include "harness/core/backend.h"

namespace qconform {

/// Whether outputs of a case differ because the backend remembers earlier runs, and not by chance: four times
/// in turn, `happens_again` gets the same outputs once more, and two runs agree that are prepared anew in memory that
/// no case lay in before. The inputs of these are kept, up to 16 MiB in a process, so that no later case gets their
/// memory.
[[nodiscard]] bool remembers(Backend& backend, const Case& test_case, const std::function<bool()>& happens_again);

}  // namespace qconform
