#include "harness/run/campaign.h"

#include <chrono>

#include "harness/judge/judge.h"
#include "harness/run/execute.h"
#include "harness/run/findings.h"

namespace qconform {
namespace {

// Adds the time since the last lap to one stage or another.
class Stopwatch {
 public:
  void lap(double& stage) {
    const auto now = std::chrono::steady_clock::now();
    stage += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// The types of data and weights, and of the output: "uint8 int8 uint8".
std::string type_mix(const Case& test_case, const Expected& expected) {
  const Operator* known = find_operator(test_case.domain, test_case.op_type);
  std::string mix;
  for (std::size_t i = 0; i < known->inputs.size(); ++i) {
    if (known->inputs[i].role != InputRole::parameter) mix += name_of(test_case.inputs[i]->type) + " ";
  }
  return mix + name_of(expected.output->type);
}

class Campaign {
 public:
  Campaign(std::vector<std::unique_ptr<Backend>>& backends, const CampaignOptions& options, Report& report)
      : backends_(backends), options_(options), report_(report) {
    for (const auto& backend : backends_) report_.backends.push_back({.info = backend->info()});
  }

  Result<void> run(CaseSource& source) {
    SuiteResult suite;
    suite.name = source.name();
    while (!options_.stop || !options_.stop()) {
      auto next = source.next();
      if (!next) return tl::unexpected(next.error());
      if (!*next) break;
      suite.digest += digest_of(**next);
      stopwatch_.lap(report_.times.generate);
      run_case(**next, suite);
      if (options_.progress) options_.progress({suite.name, suite.cases, source.size(), failures_});
    }
    suite.skipped = source.skipped();
    suite.coverage = source.coverage();
    report_.suites.push_back(std::move(suite));
    return {};
  }

  void finish() { report_.findings = findings_.take(); }

 private:
  void run_case(const Case& test_case, SuiteResult& suite) {
    // Workers compute while this process works out what is right.
    for (const auto& backend : backends_) {
      if (Worker* worker = backend->worker()) worker->start(test_case);
    }
    Expected expected = expect(test_case, options_.policy);
    stopwatch_.lap(report_.times.reference);
    assess(test_case, expected);
    count(test_case, expected, suite);
    if (expected.output) report_.hazards.add(test_case.op_type, type_mix(test_case, expected), expected.hazards);
    stopwatch_.lap(report_.times.survey);
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      BackendResult& result = report_.backends[i];
      stopwatch_.lap(report_.times.judge);
      double seconds = 0;
      Worker* worker = backends_[i]->worker();
      const Outcome outcome = worker == nullptr ? execute(*backends_[i], test_case, output_) : worker->finish();
      stopwatch_.lap(seconds);
      result.seconds += seconds;
      report_.times.backend += seconds;
      record(test_case, outcome, judge(expected, outcome), result);
    }
    stopwatch_.lap(report_.times.judge);
  }

  static void count(const Case& test_case, const Expected& expected, SuiteResult& suite) {
    ++suite.cases;
    ++suite.expectations[std::string(name_of(expected.classification.expectation()))];
    if (expected.output) suite.elements += static_cast<std::uint64_t>(expected.output->elements());
    suite.exact_ties += expected.power.exact_ties;
    suite.near_ties += expected.power.near_ties;
    if (expected.recorded_output_disputed) {
      suite.disputed.push_back(test_case.id + ": its recorded output is not what the rules give");
    }
    if (expected.expectation_disputed) {
      const auto* remark = expected.classification.deciding_remark();
      suite.disputed.push_back(test_case.id + ": stated " + std::string(name_of(test_case.expectation)) + ", found " +
                               std::string(name_of(expected.classification.expectation())) +
                               (remark == nullptr ? "" : ": " + remark->text()));
    }
  }

  void record(const Case& test_case, const Outcome& outcome, const Verdict& verdict, BackendResult& result) {
    OperatorResult& counts = result.operators[test_case.op_type];
    ++counts.verdicts[static_cast<std::size_t>(verdict.kind)];
    counts.elements += verdict.elements;
    counts.wrong_elements += verdict.wrong_elements;
    counts.tiers.add(verdict.tiers);
    if (verdict.worst) result.note_worst(test_case.id, *verdict.worst);
    if (verdict.kind == VerdictKind::mistrusted) ++counts.mistrusted_reasons[verdict.detail];
    if (verdict.kind == VerdictKind::unsupported) ++counts.unsupported_reasons[verdict.detail];
    if (is_failure(verdict.kind)) record_failure(test_case, outcome, verdict, result);
  }

  void record_failure(const Case& test_case, const Outcome& outcome, const Verdict& verdict, BackendResult& result) {
    const Waiver* waiver = options_.waivers == nullptr
                               ? nullptr
                               : options_.waivers->covering(result.info, test_case, outcome, verdict, options_.policy);
    findings_.add(result.info.name, test_case, verdict, {}, waiver);
    if (waiver != nullptr) {
      ++result.operators[test_case.op_type].waived[static_cast<std::size_t>(verdict.kind)];
      return;
    }
    ++failures_;
    if (options_.draft != nullptr) options_.draft->add(result.info, test_case, outcome, verdict);
  }

  std::vector<std::unique_ptr<Backend>>& backends_;
  const CampaignOptions& options_;
  Report& report_;
  Stopwatch stopwatch_;
  GuardedOutput output_;
  Findings findings_;
  std::uint64_t failures_ = 0;
};

}  // namespace

Result<void> run_campaign(std::vector<std::unique_ptr<CaseSource>>& suites,
                          std::vector<std::unique_ptr<Backend>>& backends, const CampaignOptions& options,
                          Report& report) {
  const auto start = std::chrono::steady_clock::now();
  Campaign campaign(backends, options, report);
  for (const auto& suite : suites) {
    if (auto done = campaign.run(*suite); !done) return done;
  }
  campaign.finish();
  report.times.total = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {};
}

}  // namespace qconform
