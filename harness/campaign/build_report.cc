#include "harness/campaign/build_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "harness/base/stopwatch.h"
#include "harness/campaign/block_run.h"
#include "harness/campaign/estimate.h"
#include "harness/diagnose/explain/campaign_diagnosis.h"
#include "harness/engine/cold_replay.h"
#include "harness/engine/execute.h"
#include "harness/engine/findings.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/model/text.h"

namespace qconform::campaign {

namespace {

constexpr double kNoTimeLimit = std::numeric_limits<double>::infinity();
// Cases and products that an explanation may take, and runs that shrinking a case may: about a second or two.
constexpr std::uint64_t kExplanationCases = 600;
constexpr std::uint64_t kExplanationWork = std::uint64_t{1} << 28;
constexpr std::uint64_t kShrinkRuns = 3000;
constexpr std::size_t kOfAMessage = 6;  // cases of one refusal or crash that experiments are made with

// Failures that turned out to have one cause.
struct CauseGroup {
  std::size_t backend = 0;
  std::string op_type;
  std::string signature;
  std::string waiver;
  std::uint64_t first_case = 0;  ///< index of the first of those that are known
  std::uint64_t examined = 0;    ///< those that a model was compared with, or that experiments were made with
  Failures failures = {};
};

// One failure: the signature that the diagnosis gives it, and what a group needs to know.
struct Examined {
  std::string signature;
  FailingCase failing_case = {};
  std::uint64_t hash = 0;
  diagnose::CaseTraits features = {};
};
// Failures of one symptom. Those that blocks kept are examined once more, beside those of all other symptoms; the
// others have the signature that the symptom implies, or none.
struct Symptom {
  FailureKey key;
  const Failures* failures = nullptr;  ///< null of those that are kUndetermined
  std::uint64_t cases = 0;
  std::vector<std::uint64_t> drawn = {};            ///< indices of a uniform sample, in an order that is random too
  std::map<std::uint64_t, Examined> examined = {};  ///< by index
  std::string implied = {};

  // A crash or a refusal; its symptom is the message, which tells more than models could.
  [[nodiscard]] bool is_without_values() const {
    return failures != nullptr && !has_wrong_output(failures->smallest.verdict.kind);
  }
};

// Returns the smallest failing case of a symptom, the first, and the sample.
std::vector<std::uint64_t> indices_of(const CampaignAggregate& aggregate, const Symptom& symptom, std::size_t most) {
  std::vector<std::uint64_t> indices;
  const auto add = [&](std::uint64_t index) {
    const bool is_new = std::find(indices.begin(), indices.end(), index) == indices.end();
    if (is_new && indices.size() < most) indices.push_back(index);
  };
  if (symptom.failures != nullptr) add(symptom.failures->smallest.index);
  const auto first = aggregate.rows.firsts().find(symptom.key);
  if (first != aggregate.rows.firsts().end()) add(first->second);
  for (const std::uint64_t index : symptom.drawn) add(index);
  return indices;
}

class ReportBuilder {
 public:
  ReportBuilder(const CampaignAggregate& aggregate, std::vector<std::unique_ptr<Backend>>& backends,
                const ReportOptions& options)
      : aggregate_(aggregate),
        backends_(backends),
        options_(options),
        diagnosis_(backends, options.judge.policy,
                   {.each = {.cases = kExplanationCases,
                             .work = kExplanationWork,
                             .learning_work = 0,  // a model is learnt once, of what none explains
                             .seconds = kNoTimeLimit,
                             .nearest = false}}) {}

  [[nodiscard]] diagnose::CampaignDiagnosis& diagnosis() { return diagnosis_; }

  std::vector<Finding> findings() {
    group();
    std::sort(groups_.begin(), groups_.end(), [](const CauseGroup& a, const CauseGroup& b) {
      return std::tie(a.first_case, a.backend, a.op_type, a.signature, a.waiver) <
             std::tie(b.first_case, b.backend, b.op_type, b.signature, b.waiver);
    });
    std::vector<Finding> findings;
    for (const CauseGroup& group : groups_) findings.push_back(finding_of(group, finding_id(findings.size())));
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
        const std::string finding =
            is_failure(of.verdict) ? finding_with({i, row.op_type, of.symptom, of.waiver}, index) : "";
        result.backends.push_back({of.verdict, of.tier, of.wrong_elements, finding, of.reason});
      }
    }
    return results;
  }

 private:
  // The commonest symptoms come first: there is a limit to how many are explained.
  void group() {
    for (const auto& [key, failures] : aggregate_.failures) symptoms_[key] = {key, &failures, failures.cases};
    for (const auto& [key, first] : aggregate_.rows.firsts()) {
      symptoms_.try_emplace(key, Symptom{.key = key, .cases = unexamined_of(key)});
    }
    draw();
    std::vector<Symptom*> ordered;
    for (auto& [key, symptom] : symptoms_) ordered.push_back(&symptom);
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const Symptom* a, const Symptom* b) { return a->cases > b->cases; });
    for (Symptom* symptom : ordered) {
      examine(*symptom, 1);
    }
    for (Symptom* symptom : ordered) {
      examine(*symptom, symptom->is_without_values() ? kOfAMessage : CaseRows::most_of(symptom->key) + 2);
    }
    for (Symptom* symptom : ordered) settle(*symptom);
    for (Symptom* symptom : ordered) count(*symptom);
  }

  // Gives each symptom its sample: the cases with the smallest hashes, as far as blocks kept them.
  void draw() {
    for (const auto& [index, row] : aggregate_.rows.rows()) {
      for (const FailureKey& key : row.failures()) symptoms_.at(key).drawn.push_back(index);
    }
    for (auto& [key, symptom] : symptoms_) {
      std::sort(symptom.drawn.begin(), symptom.drawn.end(), [](std::uint64_t a, std::uint64_t b) {
        return std::pair(CaseRows::hash_of(a), a) < std::pair(CaseRows::hash_of(b), b);
      });
      if (symptom.drawn.size() > CaseRows::most_of(key)) symptom.drawn.resize(CaseRows::most_of(key));
    }
  }

  // The failing cases of the backend and operator that no block examined.
  [[nodiscard]] std::uint64_t unexamined_of(const FailureKey& key) const {
    const auto& operators = aggregate_.backends[key.backend].operators;
    const auto result = operators.find(key.op_type);
    std::uint64_t left = result == operators.end() ? 0 : result->second.failing();
    for (const auto& [other, failures] : aggregate_.failures) {
      if (other.backend == key.backend && other.op_type == key.op_type) left -= std::min(left, failures.cases);
    }
    return left;
  }

  [[nodiscard]] double seconds() const { return seconds_since(start_); }

  [[nodiscard]] bool is_explained(const Symptom& symptom) const {
    if (!options_.judge.explain || !symptom.key.waiver.empty()) return false;
    return !symptom.is_without_values() || diagnose::ends_alike(symptom.failures->smallest.verdict.kind);
  }

  void examine(Symptom& symptom, std::size_t most) {
    if (!is_explained(symptom)) return;
    const FailureKey& key = symptom.key;
    Backend& backend = *backends_[key.backend];
    if (symptom.is_without_values() && backend.switches().empty()) return;  // no experiment would tell more
    for (const std::uint64_t index : indices_of(aggregate_, symptom, most)) {
      if (symptom.examined.count(index) > 0) continue;
      if (seconds() > options_.seconds) return;
      if (options_.progress) {
        options_.progress(fmt::format("explaining failures of {}: {} cases, {:.0f} of at most {:.0f} s",
                                      backend.info().name, ++shown_, seconds(), options_.seconds));
      }
      const Case test_case = options_.case_at(index);
      const Outcome outcome = execute_for_judge(backend, test_case, output_);
      Expected expected = expect(test_case, options_.judge.policy);
      assess(test_case, expected);
      Verdict verdict = judge(expected, outcome);
      std::string signature = diagnosis_.failed(key.backend, test_case, expected, outcome, verdict);
      // A backend that crashes or hangs now, or no more, was judged all the same.
      const bool was_without_values = symptom.is_without_values();
      const bool fails = is_failure(verdict.kind);
      if (signature.empty()) signature = fails || was_without_values ? key.symptom : kUndetermined;
      const bool crashes = fails && !has_wrong_output(verdict.kind);
      if (symptom.failures != nullptr && (crashes || was_without_values)) verdict = symptom.failures->smallest.verdict;
      symptom.examined[index] = {std::move(signature),
                                 {input_bytes(test_case), index, std::move(verdict)},
                                 hash_of(test_case),
                                 diagnose::features_of(test_case, expected)};
    }
  }

  void settle(Symptom& symptom) {
    const FailureKey& key = symptom.key;
    symptom.implied = key.symptom;
    if (!is_explained(symptom)) return;
    for (auto& [index, examined] : symptom.examined) {
      examined.signature = diagnosis_.settled(key.backend, key.op_type, examined.signature);
    }
    if (!symptom.is_without_values()) {
      symptom.implied = diagnosis_.implied(key.backend, key.op_type, defects_named_by(key.symptom));
      return;
    }
    std::set<std::string> signatures;
    for (const auto& [index, examined] : symptom.examined) signatures.insert(examined.signature);
    if (!signatures.empty()) symptom.implied = signatures.size() == 1 ? *signatures.begin() : kUndetermined;
  }

  // Adds those that are known to the groups.
  void count(const Symptom& symptom) {
    std::uint64_t left = symptom.cases;
    for (const auto& [index, examined] : symptom.examined) {
      left -= std::min<std::uint64_t>(left, 1);
      if (examined.signature == kUndetermined) continue;
      Failures one{.cases = 1, .smallest = examined.failing_case};
      one.sample.add(examined.hash, examined.features);
      add(symptom.key, examined.signature, index, one, 1);
    }
    if (left == 0) return;
    if (symptom.failures != nullptr && symptom.implied != kUndetermined) {
      add_rest(symptom, left);
    } else {
      rests_.push_back({&symptom, left});
    }
  }

  // Returns how many cases have the cause, as far as the samples tell.
  [[nodiscard]] std::optional<CasesBetween> between(const CauseGroup& group) const {
    std::vector<SampledFailures> parts;
    for (const auto& [symptom, left] : rests_) {
      const FailureKey& key = symptom->key;
      if (key.backend != group.backend || key.op_type != group.op_type || key.waiver != group.waiver) continue;
      if (symptom->is_without_values() == has_wrong_output(group.failures.smallest.verdict.kind)) continue;
      SampledFailures& part = parts.emplace_back(SampledFailures{.rest = left});
      for (const std::uint64_t index : symptom->drawn) {
        const auto examined = symptom->examined.find(index);
        if (examined == symptom->examined.end()) break;  // others are there for their size: the sample ends here
        if (examined->second.signature == kUndetermined) continue;
        ++part.sampled;
        part.found += examined->second.signature == group.signature ? 1 : 0;
      }
      // Cases with another message have another finding. The same message may have several causes.
      const bool is_another = part.found == 0 && !group.signature.ends_with(key.symptom);
      if (symptom->is_without_values() && is_another) parts.pop_back();
    }
    if (parts.empty()) return std::nullopt;
    return cases_between(group.failures.cases, parts);
  }

  // Adds the failures of a symptom that were not examined. Beside examined ones their smallest and first are not known,
  // and those of another cause say nothing of this one's.
  void add_rest(const Symptom& symptom, std::uint64_t cases) {
    constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
    Failures rest{.cases = cases, .smallest = symptom.failures->smallest};
    std::set<std::uint64_t> others;
    for (const auto& [index, examined] : symptom.examined) {
      if (examined.signature != symptom.implied) others.insert(examined.hash);
    }
    for (const auto& [hash, features] : symptom.failures->sample.entries()) {
      if (others.count(hash) == 0) rest.sample.add(hash, features);
    }
    if (!symptom.examined.empty()) rest.smallest.bytes = kNone;
    const auto first = aggregate_.rows.firsts().find(symptom.key);
    const bool is_known = symptom.examined.empty() && first != aggregate_.rows.firsts().end();
    const std::uint64_t index = symptom.examined.empty() ? rest.smallest.index : kNone;
    const std::uint64_t examined = symptom.is_without_values() ? 0 : cases;
    add(symptom.key, symptom.implied, is_known ? first->second : index, rest, examined);
  }

  void add(const FailureKey& key, const std::string& signature, std::uint64_t first, const Failures& failures,
           std::uint64_t examined) {
    const std::size_t position = position_of(key, signature);
    if (position == groups_.size()) groups_.push_back({key.backend, key.op_type, signature, key.waiver, first});
    groups_[position].first_case = std::min(groups_[position].first_case, first);
    groups_[position].failures.add(failures);
    groups_[position].examined += examined;
  }

  [[nodiscard]] std::size_t position_of(const FailureKey& key, const std::string& signature) const {
    const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const CauseGroup& group) {
      return group.backend == key.backend && group.op_type == key.op_type && group.signature == signature &&
             group.waiver == key.waiver;
    });
    return static_cast<std::size_t>(found - groups_.begin());
  }

  // Empty where it is not known.
  [[nodiscard]] std::string finding_with(const FailureKey& key, std::uint64_t index) const {
    const auto symptom = symptoms_.find(key);
    if (symptom == symptoms_.end()) return {};
    const auto examined = symptom->second.examined.find(index);
    const std::size_t position = position_of(
        key, examined == symptom->second.examined.end() ? symptom->second.implied : examined->second.signature);
    return position == groups_.size() ? "" : finding_id(position);
  }

  Finding finding_of(const CauseGroup& group, std::string id) {
    const Failures& failures = group.failures;
    Finding finding;
    finding.id = std::move(id);
    finding.backend = backends_[group.backend]->info().name;
    finding.kind = failures.smallest.verdict.kind;
    finding.op_type = group.op_type;
    finding.signature = group.signature;
    finding.cases = failures.cases;
    finding.between = between(group);
    finding.first_case = group.first_case;
    finding.verdict = failures.smallest.verdict;
    finding.example = options_.case_at(failures.smallest.index);
    if (!group.waiver.empty()) finding.waiver = waived_by(group);
    if (!options_.judge.explain || !group.waiver.empty()) return finding;
    const auto passing = aggregate_.passing.find({group.backend, group.op_type});
    const auto passing_features =
        passing == aggregate_.passing.end() ? std::vector<diagnose::CaseTraits>{} : passing->second.features();
    diagnosis_.learn(group.backend, group.op_type, group.signature, {failures.sample.features(), passing_features});
    finding.diagnosis = diagnosis_.diagnosis(group.backend, group.op_type, group.signature);
    if (finding.diagnosis) finding.diagnosis->examined = group.examined;
    return finding;
  }

  [[nodiscard]] WaivedBy waived_by(const CauseGroup& group) const {
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
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t shown_ = 0;  ///< cases that progress has told of
  std::map<FailureKey, Symptom> symptoms_;
  std::vector<CauseGroup> groups_;
  std::vector<std::pair<const Symptom*, std::uint64_t>> rests_;  ///< cases whose cause a sample alone tells
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
  report.corner_cases = aggregate.corner_cases;
  describe_backends(aggregate, backends, report);
  report.times = aggregate.times;
  ReportBuilder builder(aggregate, backends, options);
  report.findings = builder.findings();
  count_undetermined(report);
  report.results = builder.results();
  const auto waive = [&] {
    if (options.judge.waivers != nullptr)
      waive_findings(*options.judge.waivers, builder.diagnosis().cases_outside(), report);
  };
  waive();
  replay_findings(report, backends, options.judge.policy);
  if (!options.shrink) return;
  shrink::shrink_findings(report, backends, options.judge.policy,
                          {.each = {.runs = kShrinkRuns, .seconds = kNoTimeLimit, .clock = {}},
                           .seconds = options.seconds,
                           .diagnoser = options.judge.explain ? &builder.diagnosis() : nullptr,
                           .waivers = options.judge.waivers},
                          [&](Finding& finding, std::size_t backend) {
                            if (options.progress) options.progress("shrinking " + finding.id);
                            builder.diagnosis().refine(finding, backend);
                          });
  waive();
}

namespace {

constexpr std::chrono::seconds kShortestPause(2);
constexpr int kShare = 10;  ///< the pause after a report, in times that the report took
constexpr int kNice = 5;

}  // namespace

BackgroundReporter::~BackgroundReporter() {
  end();
}

bool BackgroundReporter::is_ready() const {
  return !process_.is_running() && Clock::now() >= next_;
}

void BackgroundReporter::begin(const std::function<void()>& close_files, const std::function<std::string()>& work) {
  Pipe pipe;
  if (!pipe.open(O_NONBLOCK)) return;
  process_ = ForkedProcess(ForkedProcess::Group::shared, [&] {
    (void)nice(kNice);
    close_files();
    write_all(pipe.write.get(), work().substr(0, 4096));  // a pipe holds so many bytes
  });
  from_ = std::move(pipe.read);
  receiving_.clear();
  begun_ = Clock::now();
  if (!process_.is_running()) end();
}

void BackgroundReporter::receive() {
  char bytes[4096];
  for (ssize_t count = 0; (count = ::read(from_.get(), bytes, sizeof bytes)) > 0;) {
    receiving_.append(bytes, static_cast<std::size_t>(count));
  }
}

void BackgroundReporter::poll() {
  if (!process_.is_running()) return;
  receive();
  if (!process_.poll()) return;
  receive();
  end();
  if (!receiving_.empty()) last_report_ = std::move(receiving_);
}

void BackgroundReporter::end() {
  process_.end();
  from_.close();
  next_ = Clock::now() + std::max<Clock::duration>(kShortestPause, (Clock::now() - begun_) * kShare);
}

}  // namespace qconform::campaign
