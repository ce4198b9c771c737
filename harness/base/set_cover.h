// Few of many sets that together have every number, each as often as it is wanted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace qconform {

/// One of the sets: its numbers, and the bytes that it costs.
struct CoverSet {
  std::vector<std::uint32_t> numbers;
  std::size_t bytes = 0;
};

/// How many sets each number is still to be in; a number that is in enough has no entry.
using CoverWants = std::map<std::uint32_t, std::size_t>;

/// Takes one set off what is wanted of its numbers.
inline void take_from(CoverWants& wants, const CoverSet& set) {
  for (const std::uint32_t number : set.numbers) {
    const auto found = wants.find(number);
    if (found != wants.end() && --found->second == 0) wants.erase(found);
  }
}

/// Returns the positions of the chosen sets: first the one that has most of what is still wanted, of equals the one of
/// fewest bytes. Ends where nothing is wanted, or where no set has any of it: that stays in `wants`.
[[nodiscard]] inline std::vector<std::size_t> greedy_cover(std::span<const CoverSet> sets, CoverWants& wants) {
  std::vector<std::size_t> chosen;
  while (!wants.empty()) {
    std::size_t best = sets.size();
    std::ptrdiff_t most = 0;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (std::find(chosen.begin(), chosen.end(), i) != chosen.end()) continue;
      const auto adds = std::count_if(sets[i].numbers.begin(), sets[i].numbers.end(),
                                      [&](std::uint32_t number) { return wants.contains(number); });
      if (adds > most || (adds == most && best != sets.size() && sets[i].bytes < sets[best].bytes)) {
        best = i;
        most = adds;
      }
    }
    if (best == sets.size()) break;
    take_from(wants, sets[best]);
    chosen.push_back(best);
  }
  return chosen;
}

}  // namespace qconform
