// Runs a campaign that coverage guides: libFuzzer draws the inputs, and what it keeps is judged, explained and
// reported as the cases of any other campaign are.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/campaign/block_run.h"
#include "harness/campaign/driver.h"
#include "harness/campaign/guided/libfuzzer.h"

namespace qconform::guided {

struct GuidedOptions {
  campaign::DriverOptions campaign;  ///< its backends run in workers; it has no number of cases and no shard
  FuzzTarget target;
  double timeout = 10;         ///< seconds for one input
  std::int64_t memory = 2048;  ///< MiB of one process of the engine
};

struct GuidedResult {
  campaign::CampaignSnapshot snapshot;
  /// Inputs that ended the fuzz target by its own fault: its message, and how to reproduce it.
  std::vector<std::string> own_faults;
};

/// Works in the folder "libfuzzer" below the campaign's.
[[nodiscard]] Result<GuidedResult> drive(const GuidedOptions& options);

// Judges what an engine keeps: every input once, on every backend.

class GuidedJudge {
 public:
  /// Artifacts that are looked at one by one, with processes of the target, and files of them that are kept.
  static constexpr std::size_t kExamined = 32;
  static constexpr std::size_t kArtifactsKept = 256;

  GuidedJudge(const campaign::BlockOptions& block, LibFuzzerOptions engine, std::vector<std::string> names,
              std::vector<std::unique_ptr<Backend>> backends)
      : block_(block), engine_(std::move(engine)), names_(std::move(names)), backends_(std::move(backends)) {}

  /// Judges new inputs in the engine's folders. True where there were some.
  [[nodiscard]] Result<bool> judge_new();

  [[nodiscard]] const campaign::CampaignAggregate& aggregate() const { return total_; }
  [[nodiscard]] campaign::CaseAt case_at() const;
  [[nodiscard]] const std::vector<std::string>& own_faults() const { return own_faults_; }
  /// Inputs that ended a process.
  [[nodiscard]] std::uint64_t artifacts() const { return artifacts_; }
  /// Examined ones that did not end a process again.
  [[nodiscard]] std::uint64_t not_repeated() const { return not_repeated_; }

 private:
  [[nodiscard]] Result<campaign::CampaignAggregate> judge(std::vector<std::filesystem::path> files);
  [[nodiscard]] Result<void> judge_artifact(const std::filesystem::path& file);
  void take_endings(const std::vector<TargetEnding>& endings, campaign::CampaignAggregate& aggregate) const;
  void add(const campaign::CampaignAggregate& aggregate);

  const campaign::BlockOptions& block_;
  LibFuzzerOptions engine_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Backend>> backends_;
  std::shared_ptr<KeptInputs> inputs_ = std::make_shared<KeptInputs>(engine_.seed);
  campaign::CampaignAggregate total_;
  std::uint64_t batches_ = 0;
  std::size_t examined_ = 0;
  std::uint64_t artifacts_ = 0;
  std::uint64_t not_repeated_ = 0;
  std::vector<std::string> own_faults_;
};

}  // namespace qconform::guided
