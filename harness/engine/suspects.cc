#include "harness/engine/suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace qconform {
namespace {

using FileLine = std::pair<std::string, std::uint64_t>;  // file and number

struct LineCounts {
  std::string function;
  std::uint64_t failing = 0;
  std::uint64_t passing = 0;
};

double ochiai(std::uint64_t failing, std::uint64_t passing, std::uint64_t all_failing) {
  if (failing == 0) return 0;
  return static_cast<double>(failing) /
         std::sqrt(static_cast<double>(all_failing) * static_cast<double>(failing + passing));
}

bool follows(const SuspectLines& lines, const FileLine& line, const LineCounts& counts) {
  return lines.file == line.first && lines.last + 1 == line.second && lines.function == counts.function &&
         lines.failing == counts.failing && lines.passing == counts.passing;
}

}  // namespace

CodeSpectra::Run CodeSpectra::watching(Run run) {
  return [this, run = std::move(run)](const Case& test_case) {
    code_.forget();
    Outcome outcome = run(test_case);
    if (runs_.size() >= kMostRuns || !cases_.insert(digest_of(test_case)).second) return outcome;
    const VerdictKind kind = judge(expect(test_case, policy_), outcome).kind;
    if (is_failure(kind) || kind == VerdictKind::pass) runs_.push_back({code_.executed(), is_failure(kind)});
    return outcome;
  };
}

Result<Suspects> CodeSpectra::suspects() const {
  QCONFORM_ASSIGN(const auto map, CodeMap::of(code_));
  if (!map.has_lines()) return fail("--backend", "the plugin has no debug information (-g): no line is known");
  Suspects result;
  std::map<std::uint32_t, LineCounts> by_edge;
  for (const WatchedRun& run : runs_) {
    ++(run.fails ? result.failing : result.passing);
    for (const std::uint32_t edge : run.edges) ++(run.fails ? by_edge[edge].failing : by_edge[edge].passing);
  }
  std::set<std::uint32_t> edges;
  for (const auto& [edge, of] : by_edge) edges.insert(edge);
  // A line may have several blocks, of which one is taken in failing cases: it counts by the most suspect one.
  std::map<FileLine, LineCounts> counts;
  for (const auto& [edge, lines] : map.lines_of(code_, edges)) {
    const LineCounts& of = by_edge[edge];
    for (const CodeLine& line : lines) {
      LineCounts& best = counts[{line.file, line.line}];
      const double score = ochiai(of.failing, of.passing, result.failing);
      if (!best.function.empty() && score <= ochiai(best.failing, best.passing, result.failing)) continue;
      best = {line.function, of.failing, of.passing};
    }
  }
  for (const auto& [line, of] : counts) {
    // Cross products in place of shares: a line that all execute tells nothing.
    if (of.failing * result.passing <= of.passing * result.failing) continue;
    if (!result.lines.empty() && follows(result.lines.back(), line, of)) {
      result.lines.back().last = line.second;
    } else {
      result.lines.push_back({line.first, line.second, line.second, of.function, of.failing, of.passing});
    }
  }
  std::stable_sort(result.lines.begin(), result.lines.end(), [&](const SuspectLines& a, const SuspectLines& b) {
    return ochiai(a.failing, a.passing, result.failing) > ochiai(b.failing, b.passing, result.failing);
  });
  if (result.lines.size() > kMostSuspects) result.lines.resize(kMostSuspects);
  return result;
}

}  // namespace qconform
