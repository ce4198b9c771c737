// How fast the processor multiplies and adds 8-bit values at best: what a kernel's speed is a share of.
#pragma once

#include <string>
#include <vector>

#include "harness/bench/result.h"

namespace qconform::bench {

/// The peak of every kernel set's instruction that this CPU has, on one of `cpus`: the fastest of several short loops.
/// Takes some tens of milliseconds for each.
[[nodiscard]] std::vector<Peak> measure_peaks(const std::vector<int>& cpus);

/// The instruction among `peaks` that a backend's speed is held against: that of its instruction set where its
/// name says which ("avx512vnni", "onednn@avx2_vnni"), else the fastest. Empty without peaks.
[[nodiscard]] std::string peak_for(const std::string& backend, const std::vector<Peak>& peaks);

}  // namespace qconform::bench
