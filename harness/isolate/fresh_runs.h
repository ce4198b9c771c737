// Whether what a backend answers depends on its inputs alone.
#pragma once

#include "harness/core/backend.h"

namespace qconform {

/// Whether two runs agree, each prepared anew on inputs in memory that no case lay in before: one with tensors that end
/// at a cache line, one with tensors that begin there, and what is allocated meanwhile filled with other bytes. Where
/// they do, and runs on used memory differ, the backend remembers earlier runs. False also where a run gives no output.
/// The inputs are kept, up to 16 MiB in a process, so that no later case gets their memory.
[[nodiscard]] bool agree_on_fresh_memory(Backend& backend, const Case& test_case);

}  // namespace qconform
