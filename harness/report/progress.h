// How far a run or a campaign has come, for its progress line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/report/campaign_result.h"

namespace qconform {

struct Progress {
  std::string suite;
  std::uint64_t cases = 0;  ///< cases done: of this suite; of all runs of a campaign, those that run now included
  std::optional<std::uint64_t> of = {};  ///< how many cases there are, where that is known
  std::uint64_t failures = 0;            ///< failing verdicts so far, all backends
  // Campaigns fill these too.
  double rate = 0;  ///< cases a second in this run
  std::uint64_t elements = 0;
  std::uint64_t corner_cases_reached = 0;
  std::uint64_t corner_cases = 0;  ///< corner cases that concern the operators met
  std::string findings = {};       ///< findings of the last report, by diagnosis; may be empty
  std::optional<double> seconds_left = {};
  std::optional<EngineResult> engine = {};  ///< set in a campaign that coverage guides
};

/// The seconds that the rest of `of` takes at the rate of the `done` so far. Nothing while these are too few, or took
/// too little time, to tell a rate.
[[nodiscard]] inline std::optional<double> seconds_left(double done, double of, double seconds) {
  constexpr double kFewest = 30;  // the rate of so many is off by a fifth if times vary as much as they are long
  constexpr double kShortest = 5;
  if (done < kFewest || seconds < kShortest || done > of) return std::nullopt;
  return seconds * (of - done) / done;
}

}  // namespace qconform
