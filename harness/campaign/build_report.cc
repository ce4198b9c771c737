#include "harness/campaign/build_report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "harness/campaign/block_diagnosis.h"
#include "harness/diagnose/explain/campaign_diagnosis.h"
#include "harness/engine/execute.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/operators/text.h"

namespace qconform::campaign {
namespace {

constexpr double kNoTimeLimit = std::numeric_limits<double>::infinity();
// Cases and products that an explanation may take, and runs that shrinking a case may: about a second or two.
constexpr std::uint64_t kExplanationCases = 600;
constexpr std::uint64_t kExplanationWork = std::uint64_t{1} << 28;
constexpr std::uint64_t kShrinkRuns = 3000;

// Failures that turned out to have one cause.
struct Group {
  std::size_t backend = 0;
  std::string op_type;
  std::string signature;
  std::string waiver;
  Failures failures;
};

class ReportBuilder {
 public:
  ReportBuilder(const CampaignAggregate& aggregate, std::vector<std::unique_ptr<Backend>>& backends,
                const ReportOptions& options)
      : aggregate_(aggregate),
        backends_(backends),
        options_(options),
        diagnosis_(backends, options.judge.policy,
                   {.each = {.cases = kExplanationCases, .work = kExplanationWork, .seconds = kNoTimeLimit}}) {}

  [[nodiscard]] diagnose::CampaignDiagnosis& diagnosis() { return diagnosis_; }

  std::vector<Finding> findings() {
    group();
    distribute();
    std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
      return std::tie(a.failures.first_block, a.backend, a.op_type, a.signature, a.waiver) <
             std::tie(b.failures.first_block, b.backend, b.op_type, b.signature, b.waiver);
    });
    std::vector<Finding> findings;
    for (const Group& group : groups_) findings.push_back(finding_of(group, id_of(findings.size())));
    return findings;
  }

  // After findings().
  [[nodiscard]] CaseResults results() const {
    CaseResults results{.rows = {}, .cases = aggregate_.suite.cases, .failing = aggregate_.rows.failing()};
    for (const auto& [index, row] : aggregate_.rows.rows()) {
      const Case test_case = options_.case_at(index);
      CaseResult& result = results.rows.emplace_back();
      result.suite = options_.suite;
      result.id = test_case.id;
      result.op_type = row.op_type;
      result.summary = summary_of(test_case);
      for (std::size_t i = 0; i < row.backends.size(); ++i) {
        const CaseRow::OfBackend& of = row.backends[i];
        const std::string finding = is_failure(of.verdict) ? finding_with({i, row.op_type, of.symptom, of.waiver}) : "";
        result.backends.push_back({of.verdict, of.tier, of.wrong_elements, finding, of.reason});
      }
    }
    return results;
  }

 private:
  using Entry = std::pair<const FailureKey, Failures>;

  // Explains the commonest symptoms first: there is a limit to how many it explains.
  void group() {
    std::vector<const Entry*> ordered;
    for (const Entry& entry : aggregate_.failures) {
      if (entry.first.symptom != kUnexamined) ordered.push_back(&entry);
    }
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const Entry* a, const Entry* b) { return a->second.cases > b->second.cases; });
    for (const Entry* entry : ordered) signatures_[entry->first] = signature_of(*entry);
    for (const Entry* entry : ordered) {
      const FailureKey& key = entry->first;
      std::string& signature = signatures_[key];
      if (key.waiver.empty()) signature = diagnosis_.settled(key.backend, key.op_type, signature);
      group_of(key, signature).failures.add(entry->second);
    }
  }

  [[nodiscard]] std::size_t position_of(const FailureKey& key, const std::string& signature) const {
    const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
      return group.backend == key.backend && group.op_type == key.op_type && group.signature == signature &&
             group.waiver == key.waiver;
    });
    return static_cast<std::size_t>(found - groups_.begin());
  }

  [[nodiscard]] std::string finding_with(const FailureKey& key) const {
    return id_of(position_of(key, signatures_.at(key)));
  }

  static std::string id_of(std::size_t position) { return "F" + std::to_string(position + 1); }

  Group& group_of(const FailureKey& key, const std::string& signature) {
    const std::size_t position = position_of(key, signature);
    if (position < groups_.size()) return groups_[position];
    groups_.push_back({key.backend, key.op_type, signature, key.waiver, {}});
    return groups_.back();
  }

  std::string signature_of(const Entry& entry) {
    const auto& [key, failures] = entry;
    const Verdict& verdict = failures.smallest.verdict;
    const bool has_values = verdict.kind == VerdictKind::wrong || verdict.kind == VerdictKind::bad_shape;
    if (!key.waiver.empty()) return key.symptom;
    if (!options_.judge.explain && options_.draft == nullptr) return key.symptom;
    Backend& backend = *backends_[key.backend];
    if (options_.progress) options_.progress("explaining failures of " + backend.info().name);
    const Case test_case = options_.case_at(failures.smallest.index);
    const Outcome outcome = execute_beside_siblings(backend, test_case, output_);
    if (options_.draft != nullptr) options_.draft->add(backend.info(), test_case, outcome, verdict);
    if (!options_.judge.explain || !has_values || failures.examined == 0) return key.symptom;
    Expected expected = expect(test_case, options_.judge.policy);
    assess(test_case, expected);
    std::string signature = diagnosis_.failed(key.backend, test_case, expected, outcome, verdict);
    return signature.empty() ? key.symptom : signature;
  }

  // Adds failures of unexamined symptom to the commonest group.
  void distribute() {
    for (const auto& [key, failures] : aggregate_.failures) {
      if (key.symptom != kUnexamined) continue;
      Group* commonest = nullptr;
      for (Group& group : groups_) {
        const bool fits = group.backend == key.backend && group.op_type == key.op_type && group.waiver.empty() &&
                          group.failures.examined > 0;
        if (fits && (commonest == nullptr || group.failures.cases > commonest->failures.cases)) commonest = &group;
      }
      if (commonest == nullptr) commonest = &group_of(key, key.symptom);
      signatures_[key] = commonest->signature;
      commonest->failures.cases += failures.cases;
      if (commonest->failures.examined == 0) commonest->failures = failures;
    }
  }

  Finding finding_of(const Group& group, std::string id) {
    const Failures& failures = group.failures;
    Finding finding;
    finding.id = std::move(id);
    finding.backend = backends_[group.backend]->info().name;
    finding.kind = failures.smallest.verdict.kind;
    finding.op_type = group.op_type;
    finding.signature = group.signature;
    finding.cases = failures.cases;
    finding.first_case = first_case_of(group);
    finding.verdict = failures.smallest.verdict;
    finding.example = options_.case_at(failures.smallest.index);
    if (!group.waiver.empty()) finding.waiver = waived_by(group);
    if (!options_.judge.explain || !group.waiver.empty()) return finding;
    const auto passing = aggregate_.passing.find({group.backend, group.op_type});
    const auto passing_features =
        passing == aggregate_.passing.end() ? std::vector<diagnose::FeatureSet>{} : passing->second.features();
    diagnosis_.learn(group.backend, group.op_type, group.signature,
                     {failures.examined, failures.sample.features(), passing_features});
    finding.diagnosis = diagnosis_.diagnosis(group.backend, group.op_type, group.signature);
    return finding;
  }

  // Of the failures that count to it.
  [[nodiscard]] std::uint64_t first_case_of(const Group& group) const {
    std::uint64_t first = group.failures.smallest.index;
    for (const auto& [key, index] : aggregate_.rows.firsts()) {
      const auto signature = signatures_.find(key);
      if (signature == signatures_.end() || &group != &groups_[position_of(key, signature->second)]) continue;
      first = std::min(first, index);
    }
    return first;
  }

  [[nodiscard]] WaivedBy waived_by(const Group& group) const {
    if (options_.judge.waivers == nullptr) return {group.waiver, "", ""};
    for (const Waiver* waiver : options_.judge.waivers->of(backends_[group.backend]->info())) {
      if (waiver->id == group.waiver) return {waiver->id, waiver->reason, waiver->reference};
    }
    return {group.waiver, "", ""};
  }

  const CampaignAggregate& aggregate_;
  std::vector<std::unique_ptr<Backend>>& backends_;
  const ReportOptions& options_;
  diagnose::CampaignDiagnosis diagnosis_;
  GuardedOutput output_;
  std::vector<Group> groups_;
  std::map<FailureKey, std::string> signatures_;  ///< of the group that counts them
};

void describe_backends(const CampaignAggregate& aggregate, const std::vector<std::unique_ptr<Backend>>& backends,
                       Report& report) {
  report.backends = aggregate.backends;
  report.backends.resize(backends.size());
  for (std::size_t i = 0; i < backends.size(); ++i) report.backends[i].info = backends[i]->info();
}

}  // namespace

void build_report(const CampaignAggregate& aggregate, std::vector<std::unique_ptr<Backend>>& backends,
                  const ReportOptions& options, Report& report) {
  report.suites = {aggregate.suite};
  report.suites.front().name = options.suite;
  report.hazards = aggregate.hazards;
  describe_backends(aggregate, backends, report);
  report.times = aggregate.times;
  ReportBuilder builder(aggregate, backends, options);
  report.findings = builder.findings();
  report.results = builder.results();
  if (!options.shrink) return;
  shrink::shrink_findings(report, backends, options.judge.policy,
                          {.each = {.runs = kShrinkRuns, .seconds = kNoTimeLimit, .clock = {}},
                           .seconds = kNoTimeLimit,
                           .diagnoser = options.judge.explain ? &builder.diagnosis() : nullptr,
                           .waivers = options.judge.waivers},
                          [&](Finding& finding, std::size_t backend) {
                            if (options.progress) options.progress("shrinking " + finding.id);
                            builder.diagnosis().refine(finding, backend);
                          });
}

}  // namespace qconform::campaign
