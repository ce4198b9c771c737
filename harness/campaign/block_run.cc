#include "harness/campaign/block_run.h"

#include <algorithm>
#include <map>
#include <utility>

#include "harness/base/bytes.h"
#include "harness/diagnose/explain/candidates.h"
#include "harness/diagnose/explain/explain.h"
#include "harness/engine/run_suites.h"
#include "harness/suites/drawn.h"
#include "harness/suites/fuzz_within.h"
#include "harness/suites/select.h"

namespace qconform::campaign {

namespace {

class BlockSuite final : public Suite {
 public:
  BlockSuite(std::string name, CaseAt case_at, std::uint64_t first, std::uint64_t count)
      : name_(std::move(name)), case_at_(std::move(case_at)), next_(first), end_(first + count) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (next_ == end_) return std::nullopt;
    return case_at_(next_++);
  }

 private:
  std::string name_;
  CaseAt case_at_;
  std::uint64_t next_;
  std::uint64_t end_;
};

std::size_t position_of(const Report& report, const std::string& backend) {
  std::size_t position = 0;
  while (report.backends[position].info.name != backend) ++position;
  return position;
}

void take_findings(Report& report, CampaignAggregate& aggregate) {
  for (Finding& finding : report.findings) {
    const FailureKey key{position_of(report, finding.backend), finding.op_type, finding.signature,
                         finding.waiver ? finding.waiver->id : ""};
    Failures& found = aggregate.failures[key];
    found.cases = finding.cases;
    found.smallest = {input_bytes(finding.example), finding.example.provenance.index, std::move(finding.verdict)};
  }
}

using Rows = std::map<std::uint64_t, CaseRow>;

// Leaves out most rows of cases that pass: those that CaseRows would drop at the end of the block.
class PassingChoice {
 public:
  bool takes(const std::string& op_type, std::uint64_t index) {
    std::vector<std::uint64_t>& smallest = smallest_[op_type];  // a heap, with the largest in front
    const std::uint64_t hash = CaseRows::hash_of(index);
    if (smallest.size() == CaseRows::kPassing) {
      if (hash > smallest.front()) return false;
      std::pop_heap(smallest.begin(), smallest.end());
      smallest.pop_back();
    }
    smallest.push_back(hash);
    std::push_heap(smallest.begin(), smallest.end());
    return true;
  }

 private:
  std::map<std::string, std::vector<std::uint64_t>> smallest_;
};

void note_row(const Case& test_case, const std::vector<CaseResult::OfBackend>& backends, PassingChoice& passing,
              Rows& rows) {
  const bool fails =
      std::any_of(backends.begin(), backends.end(), [](const auto& of) { return is_failure(of.verdict); });
  if (!fails && !passing.takes(test_case.subject(), test_case.provenance.index)) return;
  CaseRow& row = rows[test_case.provenance.index];
  row.op_type = test_case.subject();
  for (const CaseResult::OfBackend& of : backends) {
    row.backends.push_back({of.verdict, of.tier, of.wrong_elements, of.finding, "", of.reason});
  }
}

void note_corner_cases(const CornerCaseCounts& counts, std::uint64_t index, FirstCases& reached) {
  for (std::size_t i = 0; i < kCornerCases; ++i) {
    if (counts.all()[i] > 0 && !reached[i]) reached[i] = index;
  }
}

// Rows name findings by the block's ids; the aggregate names them by symptom.
void name_symptoms(const Report& report, Rows& rows) {
  std::map<std::string, const Finding*> findings;
  for (const Finding& finding : report.findings) findings[finding.id] = &finding;
  for (auto& [index, row] : rows) {
    for (CaseRow::OfBackend& of : row.backends) {
      if (!is_failure(of.verdict)) continue;
      const auto found = findings.find(of.symptom);
      if (found == findings.end()) {
        of.symptom = kUndetermined;
        continue;
      }
      const Finding& finding = *found->second;
      of.symptom = finding.signature;
      of.waiver = finding.waiver ? finding.waiver->id : "";
    }
  }
}

CampaignAggregate aggregate_of(Report& report, std::uint64_t block, const BlockDiagnosis& diagnosis, Rows rows,
                               const FirstCases& reached) {
  CampaignAggregate aggregate;
  name_symptoms(report, rows);
  aggregate.rows.add(std::move(rows));
  take_findings(report, aggregate);
  diagnosis.add_to(aggregate);
  for (BackendResult& backend : report.backends) {
    backend.info = {};
    aggregate.backends.push_back(std::move(backend));
  }
  aggregate.timeline =
      timeline_of_block({block, report.suites.front().cases, aggregate.unwaived(), report.times.total}, reached);
  aggregate.corner_cases = report.corner_cases;
  aggregate.times = report.times;
  aggregate.suite = std::move(report.suites.front());
  CampaignAggregate bounded;  // as adding up bounds lists
  bounded.add(aggregate);
  return bounded;
}

}  // namespace

CaseAt cases_of(const Identity& identity) {
  const std::uint64_t seed = identity.seed;
  DrawnSuite::Draw draw = draw_of_suite(identity.suite.empty() ? "fuzz" : identity.suite);
  if (identity.without_graphs && draw == fuzz_case) draw = fuzz_case_without_graphs;
  if (identity.contracts.empty()) return [seed, draw](std::uint64_t index) { return draw(seed, index); };
  std::vector<std::vector<sweep::SweepContract>> contracts;
  for (const KnownContracts& known : identity.contracts) contracts.push_back(plain(known.models));
  const auto within = std::make_shared<const FuzzWithin>(contracts);
  return [seed, within](std::uint64_t index) { return within->at(seed, index); };
}

Result<CampaignAggregate> run_cases(std::unique_ptr<Suite> source, std::uint64_t number,
                                    std::vector<std::unique_ptr<Backend>>& backends, const BlockOptions& options) {
  std::vector<std::unique_ptr<Suite>> sources;
  sources.push_back(std::move(source));
  BlockDiagnosis diagnosis(number);
  SuiteRunOptions campaign{.policy = options.judge.policy, .stop = options.stop, .waivers = options.judge.waivers};
  // A broken kernel fails many cases of a block: whether the examples of findings fail alone is asked when the report
  // is built.
  campaign.replays = {.first = 1, .seconds = 0.05, .searches = 0};
  if (options.judge.explain) campaign.diagnoser = &diagnosis;
  if (options.progress) campaign.progress = [&](const Progress&) { options.progress(); };
  Rows rows;
  PassingChoice passing;
  FirstCases reached;
  ContractCheck check;
  for (const KnownContracts& known : options.contracts) check.add(known.backend, known.models);
  campaign.judged = [&](const Case& test_case, const Expected& expected, const auto& results) {
    check.judged(test_case, expected.classification, results);
    note_corner_cases(expected.corner_cases, test_case.provenance.index, reached);
    note_row(test_case, results, passing, rows);
  };
  Report report;
  QCONFORM_TRY(run_suites(sources, backends, campaign, report));
  for (const KnownContracts& known : options.contracts) {
    // The report gets the contradictions alone: the identity has the contracts themselves.
    auto& contracts = report.backends[known.backend].contracts;
    contracts.resize(known.models.size());
    check.write(known.backend, contracts);
  }
  return aggregate_of(report, number, diagnosis, std::move(rows), reached);
}

Result<BlockResult> run_block(std::uint64_t block, std::uint64_t cases, std::vector<std::unique_ptr<Backend>>& backends,
                              const BlockOptions& options) {
  auto source = std::make_unique<BlockSuite>(options.suite, options.case_at, block * kBlockCases, cases);
  QCONFORM_ASSIGN(auto aggregate, run_cases(std::move(source), block, backends, options));
  const Span span{block, 1, aggregate.suite.cases};
  return BlockResult{span, std::move(aggregate)};
}

std::uint64_t hash_of(const Case& test_case) {
  Digest digest;
  digest.add(test_case.provenance.seed);
  digest.add(test_case.provenance.index);
  return digest.value();
}

std::string symptom_of(const diagnose::Observation& observation) {
  const Operator& op = observation.modelled().op();
  const diagnose::CandidateTest test(op, observation.expected().policy);
  const diagnose::Observation* const alone[] = {&observation};
  std::string named;
  std::size_t count = 0;
  for (const diagnose::Defect* defect : diagnose::defects_in(op.name)) {
    diagnose::DefectSet single{{defect}};
    if (!test.fits(single, alone)) continue;
    named += (named.empty() ? "" : "|") + std::string(defect->id);
    if (++count == kMostNamed) break;
  }
  return named.empty() ? kUnexplained + std::string(diagnose::pattern_of(alone).id) : named;
}

std::vector<std::string> defects_named_by(const std::string& symptom) {
  std::vector<std::string> names;
  if (symptom.starts_with(kUnexplained)) return names;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = symptom.find('|', begin);
    names.push_back(symptom.substr(begin, end - begin));
  }
  return names;
}

void BlockDiagnosis::passed(std::size_t backend, const Case& test_case, const Expected& expected) {
  if (!expected.output) return;
  const std::uint64_t hash = hash_of(test_case);
  if (block_ >= kEarlyBlocks && hash % kPassingTurn != 0) return;
  const std::pair key(backend, test_case.subject());
  passing_.try_emplace(key, CampaignAggregate::kSampled)
      .first->second.add(hash, diagnose::features_of(test_case, expected));
}

std::string BlockDiagnosis::failed(std::size_t backend, const Case& test_case, const Expected& expected,
                                   const Outcome& outcome, const Verdict& verdict) {
  if (!has_wrong_output(verdict.kind)) return {};
  const auto observation = diagnose::Observation::borrowing(test_case, expected, outcome);
  if (observation == nullptr || !observation->is_failure()) return {};
  const std::uint64_t number = failed_[{backend, test_case.subject()}]++;
  const std::uint64_t first = block_ < kEarlyBlocks ? kExaminedEarly : kExamined;
  if (number >= first && number % kExaminedAfterwards != 0) return kUndetermined;
  std::string symptom = symptom_of(*observation);
  examined_.try_emplace({backend, test_case.subject(), symptom, ""}, Failures::kSampled)
      .first->second.add(hash_of(test_case), diagnose::features_of(test_case, expected));
  return symptom;
}

void BlockDiagnosis::add_to(CampaignAggregate& aggregate) const {
  for (const auto& [key, sample] : passing_)
    aggregate.passing.try_emplace(key, CampaignAggregate::kSampled).first->second.add(sample);
  for (const auto& [key, sample] : examined_) aggregate.failures[key].sample.add(sample);
}

}  // namespace qconform::campaign
