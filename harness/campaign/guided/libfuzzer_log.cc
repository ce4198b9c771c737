#include "harness/campaign/guided/libfuzzer_log.h"

#include <charconv>

namespace qconform::guided {
namespace {

// The number behind `label`, which stands somewhere behind `from`.
std::optional<std::uint64_t> number_behind(std::string_view line, std::string_view label) {
  std::size_t at = line.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  at += label.size();
  while (at < line.size() && (line[at] == ' ' || line[at] == ':')) ++at;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data() + at, line.data() + line.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<ForkLine> fork_line(std::string_view line) {
  if (line.empty() || line.front() != '#') return std::nullopt;
  const auto executions = number_behind(line, "#");
  const auto edges = number_behind(line, " cov:");
  const auto features = number_behind(line, " ft:");
  if (!executions || !edges || !features || line.find(" job:") == std::string_view::npos) return std::nullopt;
  return ForkLine{*executions, {*edges, *features}};
}

JobLine last_job_line(std::string_view log) {
  // An unfinished line may end in half a number.
  log = log.substr(0, log.rfind('\n') + 1);
  while (!log.empty()) {
    log.remove_suffix(1);
    const std::size_t begin = log.rfind('\n') + 1;  // 0 where there is none
    const std::string_view line = log.substr(begin);
    const auto executions = line.starts_with('#') ? number_behind(line, "#") : std::nullopt;
    if (executions) {
      return {*executions, {number_behind(line, " cov:").value_or(0), number_behind(line, " ft:").value_or(0)}};
    }
    log = log.substr(0, begin);
  }
  return {};
}

}  // namespace qconform::guided
