#include "harness/campaign/guided/guided_driver.h"

#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <utility>

#include "harness/base/file.h"
#include "harness/campaign/build_report.h"
#include "harness/campaign/driver.h"
#include "harness/campaign/guided/libfuzzer.h"
#include "harness/onnx/case_model.h"
#include "harness/suites/drawn.h"

namespace qconform::guided {

namespace {

namespace fs = std::filesystem;
using campaign::CampaignSnapshot;

constexpr int kPatience = 200;  // ms
constexpr double kJudgeEvery = 1;
constexpr double kShowEvery = 0.2;
// Number of the seed's cases that the engine begins with: a turn through directed and random ones.
constexpr std::uint64_t kSeeds = campaign::kBlockCases;

// Flags of the target: what it judges, and how.
std::vector<std::string> flags_of(const campaign::Identity& identity) {
  std::vector<std::string> flags{"--profile=" + identity.profile, "--overflow=" + identity.overflow,
                                 "--failing=failing"};
  if (!identity.profile_digest.empty()) flags.front() = "--profile=" + fs::absolute(identity.profile).string();
  for (const std::string& backend : identity.backends) flags.push_back("--backend=" + backend);
  return flags;
}

Result<void> write_seeds(std::uint64_t seed, const fs::path& folder) {
  for (std::uint64_t i = 0; i < kSeeds; ++i) {
    const auto model = case_to_model(fuzz_case(seed, i));
    const bool fits = model && model->size() <= KeptInputs::kLargest && case_of_input(*model);
    if (!fits) continue;
    QCONFORM_TRY(write_file(folder / fmt::format("seed-{:04}", i), *model));
  }
  return {};
}

class GuidedDriver {
 public:
  explicit GuidedDriver(const GuidedOptions& options)
      : options_(options), campaign_(options.campaign), folders_{fs::absolute(campaign_.folder) / "libfuzzer"} {}

  Result<GuidedResult> run() {
    QCONFORM_TRY(store_.open(campaign_.folder, campaign_.take, remarks_));
    QCONFORM_TRY(begin());
    auto done = loop();
    engine_->stop();
    reporter_.end();
    if (done) done = end();
    QCONFORM_TRY(done);
    return GuidedResult{snapshot(), judge_->own_faults()};
  }

 private:
  [[nodiscard]] CampaignSnapshot snapshot() const {
    CampaignResult result = store_.result();
    result.engine = engine_result();
    return {identity_, judge_->aggregate(), std::move(result), judge_->case_at()};
  }

  Result<void> begin() {
    QCONFORM_ASSIGN(auto backends, campaign_.open());
    identity_ = campaign_.identity;
    for (const auto& backend : backends) identity_.infos.push_back(backend->info());
    QCONFORM_ASSIGN(const auto goes_on, run_.begin(identity_, campaign_.jobs, remarks_));
    for (const std::string& remark : remarks_) campaign_.remark(remark);
    QCONFORM_TRY(prepare(goes_on));
    const LibFuzzerOptions engine{folders_,       options_.target,  flags_of(identity_), identity_.seed,
                                  campaign_.jobs, options_.timeout, options_.memory};
    judge_.emplace(campaign_.block, engine, identity_.backends, std::move(backends));
    QCONFORM_TRY(judge_->judge_new());
    QCONFORM_ASSIGN(engine_, LibFuzzer::start(engine));
    if (goes_on) {
      news_.skip(judge_->aggregate());
      campaign_.remark(fmt::format("resuming a campaign of {} kept inputs", judge_->aggregate().suite.cases));
    }
    return {};
  }

  // Takes over the inputs of a killed engine; moves those of another campaign aside.
  Result<void> prepare(bool goes_on) {
    std::error_code error;
    if (!goes_on && fs::exists(folders_.root, error)) {
      fs::path previous = folders_.root;
      previous += ".previous";
      fs::remove_all(previous, error);
      fs::rename(folders_.root, previous, error);
      if (error) return fail(previous.string(), "cannot be renamed to: " + error.message());
      campaign_.remark(fmt::format("the inputs of the earlier campaign are now in {}", previous.string()));
    }
    QCONFORM_TRY(folders_.make());
    folders_.harvest();
    for (const CampaignRun& run : store_.result().runs) executions_before_ += run.cases;
    if (!store_.progress().empty()) {
      counters_.coverage = {store_.progress().back().edges.value_or(0), store_.progress().back().features.value_or(0)};
    }
    return write_seeds(identity_.seed, folders_.seeds());
  }

  Result<void> loop() {
    for (;;) {
      if (campaign_.interrupted()) run_.end("interrupted");
      if (campaign_.seconds && run_.seconds() >= *campaign_.seconds) run_.end("time");
      if (!run_.is_running()) return {};
      engine_->poll(wait());
      if (const auto ended = engine_->ended()) return fail("--engine", "libFuzzer ended " + *ended);
      QCONFORM_TRY(judge());
      news_.tell(judge_->aggregate(), identity_.infos, judge_->case_at());
      show();
      report_if_new();
    }
  }

  [[nodiscard]] int wait() const {
    if (!campaign_.seconds) return kPatience;
    return static_cast<int>(std::clamp((*campaign_.seconds - run_.seconds()) * 1000, 1.0, double{kPatience}));
  }

  Result<void> judge() {
    if (run_.seconds() < next_judge_) return {};
    QCONFORM_TRY(judge_->judge_new());
    next_judge_ = run_.seconds() + kJudgeEvery;
    return run_.is_due() ? note() : Result<void>{};
  }

  Result<void> note() {
    count();
    run_.set_cases(counters_.executions);
    const campaign::CampaignAggregate& sum = judge_->aggregate();
    run_.note({.cases = executions_before_ + counters_.executions,
               .failures = sum.unwaived(),
               .findings = campaign::kinds_of(sum),
               .edges = counters_.coverage.edges,
               .features = counters_.coverage.features});
    std::string remark;
    auto done = store_.commit(remark);
    if (!remark.empty()) campaign_.remark(remark);
    return done;
  }

  // Coverage is that of the whole corpus once the engine has looked through it: it does not shrink.
  void count() {
    const LibFuzzer::Counters now = engine_->counters();
    counters_.executions = std::max(counters_.executions, now.executions);
    counters_.coverage.edges = std::max(counters_.coverage.edges, now.coverage.edges);
    counters_.coverage.features = std::max(counters_.coverage.features, now.coverage.features);
  }

  [[nodiscard]] EngineResult engine_result() const {
    return {"libfuzzer",
            executions_before_ + counters_.executions,
            counters_.coverage.edges,
            counters_.coverage.features,
            judge_->aggregate().suite.cases,
            judge_->artifacts()};
  }

  void show() {
    if (run_.seconds() < next_show_) return;
    next_show_ = run_.seconds() + kShowEvery;
    count();
    Progress progress = campaign::progress_of(judge_->aggregate());
    progress.engine = engine_result();
    progress.cases = progress.engine->executions;
    progress.rate = static_cast<double>(counters_.executions) / std::max(run_.seconds(), 0.001);
    progress.findings = reporter_.last_report();
    if (campaign_.seconds) progress.seconds_left = std::max(0.0, *campaign_.seconds - run_.seconds());
    campaign_.progress(progress);
  }

  void report_if_new() {
    reporter_.poll();
    if (!campaign_.build_report || !reporter_.is_ready() || !campaign::note_failures(judge_->aggregate(), seen_))
      return;
    reporter_.begin([this] { store_.close(); }, [this] { return campaign_.build_report(snapshot()); });
  }

  // Judges also what the processes had found and not yet handed over.
  Result<void> end() {
    count();
    folders_.harvest();
    QCONFORM_TRY(judge_->judge_new());
    if (const std::uint64_t count = judge_->not_repeated(); count > 0) {
      campaign_.remark(fmt::format("{} of the inputs in {} ended the fuzz target once, and not again", count,
                                   folders_.artifacts().string()));
    }
    return note();
  }

  const GuidedOptions& options_;
  const campaign::DriverOptions& campaign_;
  campaign::FailureNews news_{campaign_.news};
  EngineFolders folders_;
  std::vector<std::string> remarks_;
  campaign::JournalStore store_;
  campaign::RunLog run_{store_};
  campaign::Identity identity_;
  std::optional<GuidedJudge> judge_;
  std::unique_ptr<LibFuzzer> engine_;
  campaign::BackgroundReporter reporter_;
  LibFuzzer::Counters counters_;
  std::uint64_t executions_before_ = 0;
  std::set<campaign::FailureKey> seen_;
  double next_judge_ = 0;
  double next_show_ = 0;
};

}  // namespace

Result<GuidedResult> drive(const GuidedOptions& options) {
  return GuidedDriver(options).run();
}

namespace {

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

void GuidedJudge::take_endings(const std::vector<TargetEnding>& endings, CampaignAggregate& aggregate) const {
  const std::string op_type = operator_of(aggregate);
  const std::uint64_t index = inputs_->last_index();
  for (const TargetEnding& ending : endings) {
    const auto position =
        static_cast<std::size_t>(std::find(names_.begin(), names_.end(), ending.backend) - names_.begin());
    VerdictCounts& verdicts = aggregate.backends[position].operators[op_type].verdicts;
    verdicts = {};
    verdicts[static_cast<std::size_t>(ending.verdict.kind)] = 1;
    campaign::Failures& failures = aggregate.failures[{position, op_type, ending.symptom, ""}];
    failures.cases = 1;
    failures.smallest = {input_bytes(inputs_->at(index)), index, ending.verdict};
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
