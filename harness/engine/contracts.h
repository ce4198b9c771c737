// What a backend takes, learnt by asking it, and the suite that is made for that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/report.h"
#include "harness/core/suite.h"
#include "harness/suites/sweep/learn_contract.h"

namespace qconform {

/// By model of the sweep, in their order.
using Contracts = std::vector<sweep::LearntContract>;

/// A case that is neither unsupported nor rejected counts as taken, whatever else becomes of it.
[[nodiscard]] Contracts learn_contracts(Backend& backend, std::uint64_t seed);

/// "MODEL: PARAMETER=CLASS[|CLASS]..., ..."; nothing of other models is taken. Errors name the option --only.
[[nodiscard]] Result<Contracts> stated_contracts(const std::string& text);

[[nodiscard]] std::vector<BackendContract> described(const Contracts& contracts);

/// Valid cases that a suite of its own has for a backend, at least.
inline constexpr std::size_t kCasesWithin = 3000;

/// The sizes at which kernels change their way, inside what is taken. Null where nothing is.
[[nodiscard]] std::unique_ptr<Suite> sizes_within(const Contracts& contracts, const std::string& name,
                                                  std::uint64_t seed);

/// Covers every three classes that are taken together, with drawn cases up to kCasesWithin. Null where nothing is
/// taken, and where everything is: then the sweep itself does.
[[nodiscard]] std::unique_ptr<Suite> suite_within(const Contracts& contracts, std::string name, std::uint64_t seed);

}  // namespace qconform
