// Measures the machine's peaks, which kernels are held against: products of 8-bit values added up, and memory copied.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/bench/result.h"
#include "harness/core/backend.h"

namespace qconform::bench {

/// The peak of every kernel set's instruction that this CPU has, on one of `cpus`: the fastest of several short loops.
/// Takes some tens of milliseconds for each.
[[nodiscard]] std::vector<Peak> measure_peaks(const std::vector<int>& cpus);

/// The instruction among `peaks` that a backend's speed is held against: that of its instruction set where its
/// name says which ("avx512vnni", "onednn@avx2_vnni"), else the fastest. Empty without peaks.
[[nodiscard]] std::string peak_for(const std::string& backend, const std::vector<Peak>& peaks);

/// Its run copies as many bytes as the larger of x and y has. It computes nothing, so there is nothing of it
/// to be judged.
[[nodiscard]] std::unique_ptr<Backend> memcpy_backend();

/// Bytes that one run copies for the case.
[[nodiscard]] std::int64_t memcpy_bytes(const Case& test_case);

}  // namespace qconform::bench
