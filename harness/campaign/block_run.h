// Runs one block of a campaign on its backends and diagnoses what fails.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/campaign/build_report.h"
#include "harness/campaign/campaign_aggregate.h"
#include "harness/core/backend.h"
#include "harness/core/suite.h"
#include "harness/engine/findings.h"
#include "harness/model/defects/diagnosed_case.h"

namespace qconform::campaign {

struct BlockOptions {
  CaseAt case_at;              ///< cases of the whole campaign: cases_of()
  std::string suite = "fuzz";  ///< name of the suite in reports
  JudgeOptions judge;
  std::vector<KnownContracts> contracts = {};  ///< contracts of the backends: held against each case
  double sum_seconds = 0.5;                    ///< a job sends the sum of its blocks about as often
  std::function<bool()> stop = {};             ///< asked before every case whether to end; may be empty
  std::function<void()> progress = {};         ///< called after every case; may be empty
};

struct BlockResult {
  Span span;  ///< the cases that were run: fewer than asked for after a stop, none at all with cases 0
  CampaignAggregate aggregate;
};

/// The first `cases` of the block. Depends on nothing but its arguments, as far as the backends do.
[[nodiscard]] Result<BlockResult> run_block(std::uint64_t block, std::uint64_t cases,
                                            std::vector<std::unique_ptr<Backend>>& backends,
                                            const BlockOptions& options);

/// The cases of a campaign that the seed gives: of its seed, and of what its backends take.
[[nodiscard]] CaseAt cases_of(const Identity& identity);

/// Runs the cases of `source` as block `number`. Their provenance tells them apart.
[[nodiscard]] Result<CampaignAggregate> run_cases(std::unique_ptr<Suite> source, std::uint64_t number,
                                                  std::vector<std::unique_ptr<Backend>>& backends,
                                                  const BlockOptions& options);

// Determines the symptoms of failing cases of a block, each without regard to other cases, so that they do not depend
// on which cases ran before. Explanations come later (build_report.h).

/// By which cases are sampled: as good as drawn, and the same in every run.
[[nodiscard]] std::uint64_t hash_of(const Case& test_case);

/// Names what one failing case shows: the known defects each of which reproduces it under an admitted arithmetic,
/// "pad-raw-zero|pads-order", the first kMostNamed of them; where none does the place that holds the wrong elements,
/// "unexplained:border".
inline constexpr std::size_t kMostNamed = 6;
[[nodiscard]] std::string symptom_of(const diagnose::Observation& observation);
/// The defects that a symptom names; empty where none reproduces the case.
[[nodiscard]] std::vector<std::string> defects_named_by(const std::string& symptom);

/// Diagnoses the failures of one block.
class BlockDiagnosis final : public Diagnoser {
 public:
  // Bounds on the work, for each backend and operator of a block.
  static constexpr std::uint64_t kExaminedEarly = 64;       ///< failures that are examined each, in early blocks
  static constexpr std::uint64_t kExamined = 4;             ///< failures that are examined each, in later blocks
  static constexpr std::uint64_t kExaminedAfterwards = 32;  ///< after those, one failure in so many is examined
  static constexpr std::uint64_t kEarlyBlocks = 4;          ///< blocks in which every passing case is sampled
  static constexpr std::uint64_t kPassingTurn = 16;         ///< in later blocks, one passing case in so many is sampled

  explicit BlockDiagnosis(std::uint64_t block) : block_(block) {}

  void passed(std::size_t backend, const Case& test_case, const Expected& expected) override;
  [[nodiscard]] std::string failed(std::size_t backend, const Case& test_case, const Expected& expected,
                                   const Outcome& outcome, const Verdict& verdict) override;
  [[nodiscard]] std::optional<Diagnosis> diagnosis(std::size_t, const std::string&, const std::string&) const override {
    return std::nullopt;
  }

  /// Adds the samples; the failures that they are of are there.
  void add_to(CampaignAggregate& aggregate) const;

 private:
  std::uint64_t block_;
  std::map<std::pair<std::size_t, std::string>, std::uint64_t> failed_;
  std::map<std::pair<std::size_t, std::string>, Sample> passing_;
  std::map<FailureKey, Sample> examined_;
};

}  // namespace qconform::campaign
