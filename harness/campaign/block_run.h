// One block of a campaign through its backends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "harness/campaign/blocks.h"
#include "harness/core/backend.h"
#include "harness/core/profile.h"
#include "harness/run/waivers.h"

namespace qconform::campaign {

struct BlockOptions {
  std::uint64_t seed = 0;
  Policy policy;
  const Waivers* waivers = nullptr;
  bool explain = true;                  ///< determine symptoms and sample cases
  std::function<bool()> stop = {};      ///< asked before every case whether to end; may be empty
  std::function<void()> progress = {};  ///< called after every case; may be empty
};

struct BlockResult {
  Span span;  ///< the cases that were run: fewer than asked for after a stop, none at all with cases 0
  Tally tally;
};

/// The first `cases` of the block. Depends on nothing but its arguments, as far as the backends do.
[[nodiscard]] Result<BlockResult> run_block(std::uint64_t block, std::uint64_t cases,
                                            std::vector<std::unique_ptr<Backend>>& backends,
                                            const BlockOptions& options);

}  // namespace qconform::campaign
