// Progress of searches that run a backend again and again: shrinking, explaining.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "harness/cli/output.h"
#include "harness/engine/shrink/shrink.h"

namespace qconform::cli {

/// A runner that shows, on `line`, what `text` makes of the number of runs. `line` outlives it.
template <typename Text>
[[nodiscard]] shrink::Runner with_progress(shrink::Runner run, ProgressLine& line, Text text) {
  return [run = std::move(run), &line, text = std::move(text), runs = std::uint64_t{0}](const Case& test_case) mutable {
    line.update([&] { return std::string(text(runs)); });
    ++runs;
    return run(test_case);
  };
}

}  // namespace qconform::cli
