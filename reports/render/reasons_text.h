// Reasons that backends and suites give, in few words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace qconform::report {

/// Other people's text as it may be shown: control characters as \\x1b, so that none reaches the terminal.
[[nodiscard]] std::string shown(std::string_view text);

/// The commonest reasons with their counts, put together by what stands before their colon: "not quantized 811 (156
/// kinds)", and the number of those that are too rare to be listed. A reason that is the only one goes without its
/// number where the total stands beside it.
[[nodiscard]] std::string listed(const std::map<std::string, std::uint64_t>& counts, bool is_total_known = false);

/// Every reason with its count, a line each, the commonest first.
[[nodiscard]] std::vector<std::string> all_reasons(const std::map<std::string, std::uint64_t>& counts);

}  // namespace qconform::report
