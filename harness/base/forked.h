// Work of other people's code on other people's files, in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "harness/core/error.h"

namespace qconform {

struct ForkLimits {
  std::uint64_t cpu_seconds = 30;
  std::uint64_t address_space = std::uint64_t{8} << 30;  ///< bytes; not in builds with sanitizers
};

/// What `work` returns in a process forked for it, stderr closed. Errors: its own, with their message alone,
/// and that the process died or gave up; `field` is theirs.
[[nodiscard]] Result<std::string> run_forked(const std::string& field, const ForkLimits& limits,
                                             const std::function<Result<std::string>()>& work);

}  // namespace qconform
