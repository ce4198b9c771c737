// How far a run or a campaign has come, and how it went: docs/campaigns.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/fields.h"
#include "harness/core/verdict.h"

namespace qconform {

/// A time in UTC, ISO 8601.
inline constexpr const char* kUtcPattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$";

/// One run of a campaign on one machine: from its start, or from --resume on.
struct CampaignRun {
  static constexpr std::array<std::string_view, 5> kEndings{"cases", "time", "interrupted", "fault", "running"};

  QC_DESCRIBED();
  QC_FIELD(std::string, machine, {}, "machine");  ///< host name
  QC_FIELD(std::string, started, {}, "started", .pattern = kUtcPattern);
  QC_FIELD(double, seconds, {}, "seconds", .form = Form::seconds);
  QC_FIELD(int, jobs, {1}, "jobs", .minimum = 1);
  QC_FIELD(std::string, shard, {}, "shard", .doc = "Which part of the campaign, \"3/16\"; empty: all of it.",
           .pattern = "^([0-9]+/[0-9]+)?$");
  QC_FIELD(std::uint64_t, cases, {}, "cases");  ///< cases of the blocks that it did, or inputs that its engine ran
  QC_FIELD(std::string, ended, {}, "ended", .doc = "What ended it; running: it runs, or was killed.",
           .names = CampaignRun::kEndings);

  bool operator==(const CampaignRun&) const = default;
};

/// The counts of a campaign at one time.
struct ProgressPoint {
  QC_DESCRIBED();
  QC_FIELD(double, seconds, {}, "seconds", .doc = "Since the start, the time between runs left out.",
           .form = Form::seconds);
  QC_FIELD(std::uint64_t, cases, {}, "cases");
  QC_FIELD(std::uint64_t, failures, {}, "failures", .doc = "Failing verdicts that no waiver covers.");
  QC_FIELD(std::uint64_t, findings, {}, "findings", .doc = "Kinds of failures met, before they are explained.");
  QC_FIELD(std::optional<std::uint64_t>, edges, {}, "edges",
           .doc = "Covered edges of the fuzz target's code, where coverage guides.");
  QC_FIELD(std::optional<std::uint64_t>, features, {}, "features",
           .doc = "What the engine tells inputs apart by, where coverage guides.");

  bool operator==(const ProgressPoint&) const = default;
};

/// The engine of a campaign that is guided by coverage, and what it did in all runs. The suite of such a campaign
/// holds the inputs that it kept, each judged once.
struct EngineResult {
  static constexpr std::array<std::string_view, 1> kNames{"libfuzzer"};

  QC_DESCRIBED(.doc =
                   "Of a campaign that is guided by coverage: the engine, and what it did in all runs. Such a campaign "
                   "has no blocks; its suite holds the inputs that the engine kept.");
  QC_FIELD(std::string, name, {}, "name", .names = EngineResult::kNames);
  QC_FIELD(std::uint64_t, executions, {}, "executions", .doc = "Inputs that it ran.");
  QC_FIELD(std::uint64_t, edges, {}, "edges");  ///< as in ProgressPoint
  QC_FIELD(std::uint64_t, features, {}, "features");
  QC_FIELD(std::uint64_t, kept, {}, "kept", .doc = "Inputs that reached something new, or failed.");
  QC_FIELD(std::uint64_t, crashes, {}, "crashes", .doc = "Inputs over which a process of the fuzz target ended.");

  bool operator==(const EngineResult&) const = default;
};

/// The findings of a campaign over its blocks, in their order. Apart from the seconds, it depends only on which blocks
/// are done, not on who ran them and when: a merged campaign has the timeline that a single run would have.
struct CampaignTimeline {
  /// Neighbouring blocks, as far as they are done.
  struct Group {
    QC_DESCRIBED();
    QC_FIELD(std::uint64_t, first, {}, "first", .doc = "A multiple of group_blocks.");
    QC_FIELD(std::uint64_t, cases, {}, "cases");
    QC_FIELD(std::uint64_t, failures, {}, "failures", .doc = "Failing verdicts that no waiver covers.");
    QC_FIELD(double, seconds, {}, "seconds", .doc = "That jobs took for these blocks, added up.",
             .form = Form::seconds);

    bool operator==(const Group&) const = default;
  };
  /// The first case that reached a corner case, by its index.
  struct Reached {
    QC_DESCRIBED();
    QC_FIELD(std::string, corner_case, {}, "id", .pattern = "^[a-z0-9-]+$");
    QC_FIELD(std::uint64_t, first_case, {}, "case", .doc = "Its index: it is in block index / block_cases.");

    bool operator==(const Reached&) const = default;
  };

  QC_DESCRIBED(
          .doc =
              "What was found, in the order of the blocks: apart from seconds the same whoever ran them, and when. "
              "Absent without blocks.");
  QC_FIELD(std::uint64_t, group_blocks, {1}, "group_blocks",
           .doc = "Blocks of a group, a power of two: the smallest at which there are at most 256 groups.",
           .minimum = 1);
  QC_FIELD(std::vector<Group>, groups, {}, "groups",
           .doc = "Blocks [first, first + group_blocks) as far as they are done, ascending.", .min_items = 1,
           .max_items = 256);
  /// By first case, then in the order of their list.
  QC_FIELD(std::vector<Reached>, corner_cases, {}, "corner_cases",
           .doc = "The first case that reached a corner case, ascending.");

  [[nodiscard]] bool empty() const { return groups.empty(); }

  bool operator==(const CampaignTimeline&) const = default;
};

/// A cause that this campaign or one before it in its folder met: findings that say the same of the same backend and
/// operator. Waived ones are among them.
struct KnownCause {
  QC_DESCRIBED(.name = "known_cause");
  QC_FIELD(std::string, backend, {}, "backend");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(VerdictKind, kind, {VerdictKind::wrong}, "verdict");
  QC_FIELD(std::string, signature, {}, "signature");
  QC_FIELD(std::string, text, {}, "text", .doc = "Verdict, cause, cases and conditions in one line.");
  QC_FIELD(std::string, first_seen, {}, "first_seen", .doc = "When the first report with it was made.",
           .pattern = kUtcPattern);
  QC_FIELD(std::string, last_seen, {}, "last_seen", .doc = "When the last report with it was made.",
           .pattern = kUtcPattern);

  bool operator==(const KnownCause&) const = default;
};

struct CampaignResult {
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t end = 0;  ///< one behind the last

    bool operator==(const Range&) const = default;
  };
  struct Part {
    QC_DESCRIBED();
    QC_FIELD(std::uint64_t, block, {}, "block");
    QC_FIELD(std::uint64_t, cases, {}, "cases");  ///< the first ones of the block

    bool operator==(const Part&) const = default;
  };

  QC_DESCRIBED(
          .name = "campaign",
          .doc =
              "How far a campaign of `qconform fuzz` has come; absent in other reports. Cases are drawn in blocks, "
              "each of which depends on its number alone.");
  QC_FIELD(std::uint64_t, block_cases, {}, "block_cases",
           .doc = "Cases of a whole block: block b holds the cases from b * block_cases on.", .minimum = 1);
  QC_FIELD(std::vector<Range>, blocks, {}, "blocks",
           .doc = "Whole blocks that are done: ranges [first, end), ascending.");  ///< apart from each other
  QC_FIELD(std::vector<Part>, parts, {}, "parts", .doc = "Blocks of which only the first cases are done, ascending.");
  QC_FIELD(std::vector<CampaignRun>, runs, {}, "runs",
           .doc = "Stretches of the campaign: each from its start, or from where it was resumed, on one machine.");
  QC_FIELD(std::vector<ProgressPoint>, progress, {}, "progress",
           .doc = "Where the campaign stood, over time; empty for a merged one.");
  /// Results of a campaign that coverage guides; such a campaign has no blocks.
  QC_FIELD(std::optional<EngineResult>, engine, {}, "engine");
  /// Has no groups where there are no blocks.
  QC_FIELD(CampaignTimeline, timeline, {}, "course", .presence = Presence::omitted);
  QC_FIELD(
      std::vector<KnownCause>, causes, {}, "causes",
      .doc = "Causes of this campaign and of those before it in its folder, with the times at which they were met.",
      .presence = Presence::omitted);

  /// Whether shards are missing, which may compute what no backend computed here.
  [[nodiscard]] bool is_part() const;

  bool operator==(const CampaignResult&) const = default;
};

// How far a run or a campaign has come, for its progress line.

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
