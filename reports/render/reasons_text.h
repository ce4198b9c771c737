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

/// The four most frequent reasons with their counts, grouped by the text before the colon: "not quantized 811 (156
/// kinds)"; then the number of the other reasons. `is_total_known`: a single reason needs no count.
[[nodiscard]] std::string listed(const std::map<std::string, std::uint64_t>& counts, bool is_total_known = false);

/// Every reason with its count, a line each, the most frequent first.
[[nodiscard]] std::vector<std::string> all_reasons(const std::map<std::string, std::uint64_t>& counts);

}  // namespace qconform::report
