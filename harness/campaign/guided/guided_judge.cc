#include "harness/campaign/guided/guided_judge.h"

#include <algorithm>
#include <utility>

namespace qconform::guided {
namespace {

namespace fs = std::filesystem;
using campaign::CampaignAggregate;

// libFuzzer reports slow units as well, which are not failures.
bool is_artifact(const fs::path& file) {
  const std::string name = file.filename().string();
  return !name.starts_with("slow-unit-");
}

// Returns the operator of an aggregate that holds one case.
std::string operator_of(const CampaignAggregate& aggregate) {
  for (const auto& [op_type, result] : aggregate.backends.front().operators) {
    if (result.cases() > 0) return op_type;
  }
  return {};
}

}  // namespace

campaign::CaseAt GuidedJudge::case_at() const {
  return [inputs = inputs_](std::uint64_t index) { return inputs->at(index); };
}

Result<bool> GuidedJudge::judge_new() {
  std::vector<fs::path> files;
  for (const fs::path& folder : {engine_.folders.seeds(), engine_.folders.corpus(), engine_.folders.failing()}) {
    const auto fresh = inputs_->fresh(folder);
    files.insert(files.end(), fresh.begin(), fresh.end());
  }
  const std::vector<fs::path> artifacts = inputs_->fresh(engine_.folders.artifacts());
  if (!files.empty()) {
    QCONFORM_ASSIGN(const auto aggregate, judge(files));
    add(aggregate);
  }
  for (const fs::path& file : artifacts) {
    if (!is_artifact(file)) continue;
    QCONFORM_TRY(judge_artifact(file));
  }
  return !files.empty() || !artifacts.empty();
}

Result<CampaignAggregate> GuidedJudge::judge(std::vector<fs::path> files) {
  return campaign::run_cases(inputs_->source(std::move(files)), batches_++, backends_, block_);
}

// A failure that a worker shows too counts like any other. One that only the target shows, with its sanitizers, counts
// as a crash of the backend that it happens with.
Result<void> GuidedJudge::judge_artifact(const fs::path& file) {
  std::error_code ignored;
  QCONFORM_ASSIGN(auto aggregate, judge({file}));
  const bool is_seen = !aggregate.failures.empty();
  if (!is_seen && examined_ < kExamined) {
    ++examined_;
    QCONFORM_ASSIGN(const auto cause, cause_of(file, engine_, names_));
    if (cause.own_fault) own_faults_.push_back(*cause.own_fault);
    if (!cause.own_fault && cause.backends.empty()) ++not_repeated_;
    if (aggregate.suite.cases > 0) take_endings(cause.backends, aggregate);
  }
  add(aggregate);
  if (++artifacts_ > kArtifactsKept) fs::remove(file, ignored);
  return {};
}

void GuidedJudge::take_endings(const std::vector<Ending>& endings, CampaignAggregate& aggregate) const {
  const std::string op_type = operator_of(aggregate);
  const std::uint64_t index = inputs_->last_index();
  for (const Ending& ending : endings) {
    const auto position =
        static_cast<std::size_t>(std::find(names_.begin(), names_.end(), ending.backend) - names_.begin());
    VerdictCounts& verdicts = aggregate.backends[position].operators[op_type].verdicts;
    verdicts = {};
    verdicts[static_cast<std::size_t>(ending.verdict.kind)] = 1;
    campaign::Failures& failures = aggregate.failures[{position, op_type, ending.symptom, ""}];
    failures.cases = 1;
    failures.smallest = {campaign::input_bytes(inputs_->at(index)), index, ending.verdict};
  }
}

// Forgets cases that neither a failure nor the report's list needs; their files stay.
void GuidedJudge::add(const CampaignAggregate& aggregate) {
  total_.add(aggregate);
  std::set<std::uint64_t> needed;
  for (const auto& [key, failures] : total_.failures) needed.insert(failures.smallest.index);
  for (const auto& [index, row] : total_.rows.rows()) needed.insert(index);
  for (const auto& [key, first] : total_.rows.firsts()) needed.insert(first);
  inputs_->forget_all_but(needed);
}

}  // namespace qconform::guided
