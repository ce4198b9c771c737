// The suite `sizes`: each extent alone crosses the sizes at which kernels change their way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/suite.h"
#include "harness/model/sweep/contract.h"

namespace qconform::sweep {

/// Cases of each size, with other types, parameters and kernels.
inline constexpr std::size_t kCasesOfSize = 3;

/// `contracts`: what is taken of each of plans(), in their order; empty: everything. Names of the cases have the size,
/// "sizes-QLinearConv-width 255-1-0", and a digest of the contracts where there are any. Depends on seed and contracts
/// alone. Sizes that nothing inside the contract has are left out.
[[nodiscard]] std::unique_ptr<Suite> sizes_suite(std::string name, const std::vector<Contract>& contracts,
                                                 std::uint64_t seed);

}  // namespace qconform::sweep
