// Runs one block of a campaign on its backends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "harness/campaign/blocks.h"
#include "harness/campaign/campaign_snapshot.h"
#include "harness/core/backend.h"
#include "harness/core/suite.h"

namespace qconform::campaign {

struct BlockOptions {
  CaseAt case_at;              ///< cases of the whole campaign: cases_of()
  std::string suite = "fuzz";  ///< name of the suite in reports
  JudgeOptions judge;
  std::vector<KnownContracts> contracts = {};  ///< contracts of the backends: held against each case
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

/// Bytes of a case's inputs.
[[nodiscard]] std::uint64_t input_bytes(const Case& test_case);

/// Runs the cases of `source` as block `number`. Their provenance tells them apart.
[[nodiscard]] Result<CampaignAggregate> run_cases(std::unique_ptr<Suite> source, std::uint64_t number,
                                                  std::vector<std::unique_ptr<Backend>>& backends,
                                                  const BlockOptions& options);

}  // namespace qconform::campaign
