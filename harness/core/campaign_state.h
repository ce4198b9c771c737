// How far a campaign has come, and how it went: docs/campaigns.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qconform {

/// One stretch of a campaign on one machine: from its start, or from where it was taken up again.
struct CampaignRun {
  std::string machine;  ///< host name
  std::string started;  ///< UTC, ISO 8601
  double seconds = 0;
  int jobs = 1;
  std::string shard;        ///< "3/16"; empty for the whole campaign
  std::uint64_t cases = 0;  ///< of the blocks that it did; inputs that its engine ran
  std::string ended;  ///< "cases" or "time" (reached), "interrupted", "fault"; "running" where it was killed, or runs

  bool operator==(const CampaignRun&) const = default;
};

/// Where a campaign stood some time after it began.
struct CampaignProgress {
  double seconds = 0;  ///< of all runs so far
  std::uint64_t cases = 0;
  std::uint64_t failures = 0;  ///< failing verdicts that no waiver covers
  std::uint64_t findings = 0;  ///< kinds of failures met, before they are explained
  std::uint64_t edges = 0;     ///< of the fuzz target's code, covered, where coverage guides; else 0
  std::uint64_t features = 0;  ///< likewise what the engine tells inputs apart by: edges with numbers of times, ...

  bool operator==(const CampaignProgress&) const = default;
};

/// The engine of a campaign that is guided by coverage, and what it did in all runs. The suite of such a campaign
/// holds the inputs that it kept, each judged once.
struct EngineState {
  std::string name;              ///< "libfuzzer"
  std::uint64_t executions = 0;  ///< inputs that it ran
  std::uint64_t edges = 0;       ///< as in CampaignProgress
  std::uint64_t features = 0;
  std::uint64_t kept = 0;     ///< inputs that reached something new, or failed
  std::uint64_t crashes = 0;  ///< inputs over which a process of the fuzz target ended

  bool operator==(const EngineState&) const = default;
};

/// What a campaign found, in the order of its blocks: apart from the seconds it depends on which blocks are done
/// alone, not on who ran them, and when. A merged campaign has the one that a single run would have.
struct CampaignCourse {
  /// Neighbouring blocks, as far as they are done.
  struct Group {
    std::uint64_t first = 0;  ///< block; a multiple of `group_blocks`
    std::uint64_t cases = 0;
    std::uint64_t failures = 0;  ///< failing verdicts that no waiver covers
    double seconds = 0;          ///< that jobs took for these blocks, added up

    bool operator==(const Group&) const = default;
  };
  /// The first case that reached a hazard, by its index.
  struct Reached {
    std::string hazard;
    std::uint64_t first_case = 0;

    bool operator==(const Reached&) const = default;
  };
  std::uint64_t group_blocks = 1;  ///< a power of two
  std::vector<Group> groups;       ///< ascending
  std::vector<Reached> hazards;    ///< by first case, then in the order of their list

  bool operator==(const CampaignCourse&) const = default;
};

struct CampaignState {
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t end = 0;  ///< one behind the last

    bool operator==(const Range&) const = default;
  };
  struct Part {
    std::uint64_t block = 0;
    std::uint64_t cases = 0;  ///< the first ones of the block

    bool operator==(const Part&) const = default;
  };
  std::uint64_t block_cases = 0;           ///< cases of a whole block
  std::vector<Range> blocks;               ///< done; ascending, apart from each other
  std::vector<Part> parts;                 ///< blocks that were begun and are not done; ascending
  std::vector<CampaignRun> runs;           ///< by start
  std::vector<CampaignProgress> progress;  ///< by seconds; empty for a merged campaign
  std::optional<EngineState> engine{};     ///< of a campaign that coverage guides; it has no blocks
  CampaignCourse course;                   ///< without groups where an older qconform wrote the report

  bool operator==(const CampaignState&) const = default;
};

}  // namespace qconform
