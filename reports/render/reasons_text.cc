#include "reports/render/reasons_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "reports/render/terminal.h"

namespace qconform::report {
namespace {

// Reasons are other people's sentences: what is cut off here stands in the report.
std::string shortened(const std::string& reason) {
  constexpr std::size_t kLongest = 60;
  return reason.size() <= kLongest ? reason : reason.substr(0, kLongest) + "...";
}

struct ReasonGroup {
  std::string reason;
  std::uint64_t count = 0;
  std::size_t kinds = 0;
};

// By what stands before the colon of a reason, the most frequent first.
std::vector<ReasonGroup> grouped(const std::map<std::string, std::uint64_t>& counts) {
  std::map<std::string, ReasonGroup> by_start;
  for (const auto& [reason, count] : counts) {
    const std::string start = reason.substr(0, reason.find(": "));
    ReasonGroup& group = by_start[start];
    group.reason = start;
    group.count += count;
    ++group.kinds;
  }
  std::vector<ReasonGroup> groups;
  for (auto& [start, group] : by_start) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const ReasonGroup& a, const ReasonGroup& b) { return a.count > b.count; });
  return groups;
}

}  // namespace

std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

std::string listed(const std::map<std::string, std::uint64_t>& counts, bool is_total_known) {
  constexpr std::size_t kMost = 4;
  const std::vector<ReasonGroup> groups = grouped(counts);
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), kMost); ++i) {
    text += (text.empty() ? "" : ", ") + shown(shortened(groups[i].reason));
    if (groups.size() > 1 || !is_total_known) text += " " + with_thousands(groups[i].count);
    if (groups[i].kinds > 1) text += fmt::format(" ({} kinds)", groups[i].kinds);
  }
  if (groups.size() <= kMost) return text;
  std::uint64_t rest = 0;
  for (std::size_t i = kMost; i < groups.size(); ++i) rest += groups[i].count;
  return text +
         fmt::format(", {} for {} other reasons (--verbose lists them)", with_thousands(rest), groups.size() - kMost);
}

std::vector<std::string> all_reasons(const std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> reasons(counts.begin(), counts.end());
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> lines;
  lines.reserve(reasons.size());
  for (const auto& [reason, count] : reasons) {
    lines.push_back(fmt::format("{:>8}  {}", with_thousands(count), shown(reason)));
  }
  return lines;
}

}  // namespace qconform::report
