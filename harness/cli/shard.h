// Which part of a campaign this process runs.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "harness/campaign/identity.h"
#include "harness/core/error.h"

namespace qconform::cli {

struct ShardOptions {
  std::string shard;        ///< "3/16"; empty: from the environment, or all of it
  std::uint64_t count = 0;  ///< of shards, for JOB_COMPLETION_INDEX; 0: from JOB_COMPLETIONS
};

void add_shard_options(CLI::App& command, ShardOptions& options);

/// What is named; else the task of a Slurm job array (SLURM_ARRAY_TASK_ID), or the completion index of an Indexed
/// Job of Kubernetes (JOB_COMPLETION_INDEX); else all.
[[nodiscard]] Result<campaign::Shard> chosen_shard(const ShardOptions& options);

}  // namespace qconform::cli
