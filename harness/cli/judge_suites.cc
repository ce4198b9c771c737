#include "harness/cli/judge_suites.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/code_coverage/code_coverage.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/first_failures.h"
#include "harness/cli/output.h"
#include "harness/cli/report_output.h"
#include "harness/core/backend.h"
#include "harness/diagnose/audit/audit.h"
#include "harness/diagnose/explain/campaign_diagnosis.h"
#include "harness/diagnose/explain/code_lines.h"
#include "harness/engine/case_files.h"
#include "harness/engine/cold_replay.h"
#include "harness/engine/contracts.h"
#include "harness/engine/cover.h"
#include "harness/engine/findings.h"
#include "harness/engine/relation_check.h"
#include "harness/engine/run_suites.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/model/operator.h"
#include "harness/suites/cache.h"
#include "harness/suites/case_line.h"
#include "harness/suites/select.h"
#include "harness/suites/stored_cases.h"
#include "harness/suites/sweep/covering_array.h"

namespace qconform::cli {

// A diagnoser that says on the progress line which failure is being explained: that takes longer than many cases.

class ShownDiagnosis final : public Diagnoser {
 public:
  /// All of them outlive it.
  ShownDiagnosis(Diagnoser& diagnoser, const std::vector<std::unique_ptr<Backend>>& backends, ProgressLine& line)
      : diagnoser_(diagnoser), backends_(backends), line_(line) {}

  void passed(std::size_t backend, const Case& test_case, const Expected& expected) override {
    diagnoser_.passed(backend, test_case, expected);
  }
  [[nodiscard]] std::string failed(std::size_t backend, const Case& test_case, const Expected& expected,
                                   const Outcome& outcome, const Verdict& verdict) override {
    show([&] { return fmt::format("explaining why {} fails {}", name(backend), test_case.id); });
    return diagnoser_.failed(backend, test_case, expected, outcome, verdict);
  }
  [[nodiscard]] std::string settled(std::size_t backend, const std::string& op_type,
                                    const std::string& signature) override {
    show([&] { return fmt::format("sorting failures of {} on {} by cause", name(backend), op_type); });
    return diagnoser_.settled(backend, op_type, signature);
  }
  [[nodiscard]] std::optional<Diagnosis> diagnosis(std::size_t backend, const std::string& op_type,
                                                   const std::string& signature) const override {
    return diagnoser_.diagnosis(backend, op_type, signature);
  }

 private:
  [[nodiscard]] const std::string& name(std::size_t backend) const { return backends_[backend]->info().name; }

  template <typename Text>
  void show(Text text) {
    line_.update([&] { return fmt::format("{}, {}", text(), line_.times(0, std::nullopt)); });
  }

  Diagnoser& diagnoser_;
  const std::vector<std::unique_ptr<Backend>>& backends_;
  ProgressLine& line_;
};

namespace {

constexpr std::string_view kWithin = "within";
constexpr std::string_view kKillers = "killers";
constexpr std::uint64_t kFewestModelMebibytes = 64;
constexpr std::uint64_t kMostModelMebibytes = std::uint64_t{1} << 24;

struct Suites {
  // `run` judges them against the reference in this order: a wrong backend is told soon.
  std::unique_ptr<Suite> first;  ///< the killers, which run before it is learnt what backends take; or null
  std::vector<std::unique_ptr<Suite>> drawn;  ///< directed and random, made for what a backend takes
  std::vector<std::unique_ptr<Suite>> own;    ///< systematic, made for that too
  std::vector<std::unique_ptr<Suite>> named;  ///< a backend that takes little declines most of these
  /// Judged by relations between a backend's own answers.
  std::vector<std::unique_ptr<Suite>> related;

  /// All against the reference, in the order in which their failures are explained best: plain cases first.
  [[nodiscard]] std::vector<std::unique_ptr<Suite>> take_judged() {
    std::vector<std::unique_ptr<Suite>> all;
    if (first != nullptr) all.push_back(std::move(first));
    for (auto* part : {&named, &own, &drawn}) std::move(part->begin(), part->end(), std::back_inserter(all));
    return all;
  }
  [[nodiscard]] bool holds_model() const {
    return std::any_of(named.begin(), named.end(),
                       [](const auto& suite) { return suite->node_coverage().has_value(); });
  }
};

Result<Suites> open_suites(const SuitesOptions& options, NewerOpsets& newer) {
  if (options.suite.cases && std::none_of(options.suites.begin(), options.suites.end(), takes_number_of_cases)) {
    return fail("--cases", fmt::format("no number of cases can be chosen for {}; --suite random, fuzz, directed and "
                                       "relations take one",
                                       fmt::join(options.suites, ", ")));
  }
  Suites suites;
  for (const std::string& name : options.suites) {
    if (name == kWithin) continue;  // made when the backends are known
    QCONFORM_ASSIGN(auto opened, open_shown(name, options.suite));
    auto& sources = relations_base(name) ? suites.related : suites.named;
    for (auto& source : opened) sources.push_back(counted(std::move(source), newer));
  }
  if (suites.named.empty() || suites.named.front()->name() != kKillers) return suites;
  suites.first = std::move(suites.named.front());
  suites.named.erase(suites.named.begin());
  return suites;
}

// The report lists unnamed backends too. The exit code ignores a library among them, and a kernel set that computes no
// case of these suites.
void leave_to_kernels(Report& report) {
  for (BackendResult& backend : report.backends) {
    backend.decides = backend.info.kind != "library" && (backend.is_judged() || backend.fails());
  }
}

// Without how they are known.
std::vector<BackendContract> rules_of(std::vector<BackendContract> contracts) {
  for (BackendContract& contract : contracts) contract.probes = contract.confirmed = contract.contradicted = 0;
  return contracts;
}

bool is_named(const SuitesOptions& options, std::string_view suite) {
  return std::find(options.suites.begin(), options.suites.end(), suite) != options.suites.end();
}

// Returns whether the backend gets suites of its own, as one that may take less than the reference does.
bool has_own_suites(const SuitesOptions& options, const Backend& backend) {
  if (is_named(options, kWithin) || !options.within.only.empty()) return true;
  const bool wants_them = is_named(options, "conformance") || is_named(options, "relations");
  return options.within.within && wants_them && is_foreign(backend);
}

// `keeps`: in the cache.
void add_own_suites(const SuitesOptions& options, const Contracts& contracts, const std::string& name, bool keeps,
                    Suites& suites) {
  if (is_named(options, "relations")) {
    for (auto& drawn : drawn_within(contracts, name, options.suite.seed)) {
      if (drawn->name().starts_with("random")) suites.related.push_back(std::move(drawn));
    }
  }
  if (!is_named(options, "conformance") && !is_named(options, kWithin) && options.within.only.empty()) return;
  // The sizes of all that is taken, where the suite `sizes` does not run anyway.
  const bool has_sizes = is_named(options, "conformance") || is_named(options, "sizes");
  const std::uint64_t seed = options.suite.seed;
  const auto add = [&](std::unique_ptr<Suite> suite, auto& list) {
    if (suite == nullptr) return;
    const std::string origin = fmt::format("{} {}", seed, sweep::digest_of(plain(contracts)));
    // One file for all backends: a folder that grows with their names would have no end.
    std::string kind = suite->name();
    kind.resize(kind.find(kWithin) + kWithin.size());
    std::replace(kind.begin(), kind.end(), ' ', '-');
    list.push_back(keeps ? cache::kept(std::move(suite), kind, origin) : std::move(suite));
  };
  for (auto& drawn : drawn_within(contracts, name, seed)) add(std::move(drawn), suites.drawn);
  add(suite_within(contracts, name, seed), suites.own);
  add(sizes_within(contracts, name, seed, has_sizes), suites.own);
  add(neighbours_within(contracts, name, seed), suites.own);
}

// Two that take the same share a suite.
void add_thorough_suites(const SuitesOptions& options, const std::vector<std::unique_ptr<Backend>>& backends,
                         const Learnt& narrow, std::vector<std::unique_ptr<Suite>>& suites) {
  std::vector<std::vector<BackendContract>> known;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    const auto own = narrow.find(i);
    const Contracts contracts = own == narrow.end() ? whole_contracts() : own->second;
    const auto rules = rules_of(described(contracts));
    if (std::find(known.begin(), known.end(), rules) != known.end()) continue;
    known.push_back(rules);
    const std::string name = own == narrow.end() ? "thorough" : "thorough within " + backends[i]->info().name;
    if (auto suite = thorough_within(contracts, name, options.suite.seed)) suites.push_back(std::move(suite));
  }
}

// Learns which quantized units the backend takes. `known`: what others take, whose suites it shares.
void add_units_within(const SuitesOptions& options, Backend& backend, const ContractProgress& progress,
                      std::set<std::string>& known, Suites& suites) {
  const bool wants_them = is_named(options, "conformance") || is_named(options, kWithin);
  if (!wants_them || !options.within.only.empty()) return;
  const Contracts units = learn_unit_contracts(backend, options.suite.seed, progress);
  if (!known.insert(sweep::digest_of(plain(units))).second) return;
  if (auto suite = drawn_units_within(units, backend.info().name, options.suite.seed))
    suites.drawn.push_back(std::move(suite));
}

// Learns what the backends take. Two that take the same share their suites.
Result<void> add_suites_within(const SuitesOptions& options, std::vector<std::unique_ptr<Backend>>& backends,
                               Suites& suites, Learnt& learnt, ContractCheck& check) {
  std::vector<std::vector<BackendContract>> known;
  std::set<std::string> known_units;
  ProgressLine line;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    if (!has_own_suites(options, *backends[i])) continue;
    const ContractProgress progress = contract_progress(line, backends[i]->info().name);
    QCONFORM_ASSIGN(const auto contracts, contracts_of(options.within, *backends[i], options.suite.seed, progress));
    add_units_within(options, *backends[i], progress, known_units, suites);
    learnt[i] = contracts;
    check.add(i, contracts);
    const auto rules = rules_of(described(contracts));
    if (std::find(known.begin(), known.end(), rules) != known.end()) continue;
    known.push_back(rules);
    const std::string name = options.within.only.empty() ? backends[i]->info().name : options.within.only;
    // A kernel that is judged again and again: its cases take megabytes.
    const bool keeps = backends.size() == 1 && options.suite.seed == SuiteOptions{}.seed;
    add_own_suites(options, contracts, name, keeps, suites);
  }
  if (options.thorough) add_thorough_suites(options, backends, learnt, suites.own);
  return {};
}

// Backends beside those that are judged, of which relations between levels know.
struct Siblings {
  std::vector<std::unique_ptr<Backend>> opened;
  std::vector<std::vector<Backend*>> by_backend;
};

Result<Siblings> open_siblings(const std::vector<std::string>& names, const Policy& policy,
                               const backend::SandboxPolicy& sandbox) {
  Siblings siblings;
  for (const std::string& name : names) {
    auto& own = siblings.by_backend.emplace_back();
    for (const std::string& sibling : backend::siblings_of(name)) {
      QCONFORM_ASSIGN(auto opened, backend::select(sibling, arithmetic_of(policy.profile), sandbox));
      own.push_back(siblings.opened.emplace_back(std::move(opened)).get());
    }
  }
  return siblings;
}

// Failing verdicts that no waiver covers.
std::uint64_t failures_in(const Report& report) {
  std::uint64_t failures = 0;
  for (const Finding& finding : report.findings) failures += finding.waiver ? 0 : finding.cases;
  return failures;
}

using PowerMeters = std::vector<diagnose::PowerMeter>;  // by backend, or none

void add_computed(const Case& test_case, const std::vector<CaseResult::OfBackend>& results, PowerMeters& power) {
  for (std::size_t i = 0; i < power.size(); ++i) {
    const VerdictKind verdict = results[i].verdict;
    const bool is_computed = verdict == VerdictKind::pass || verdict == VerdictKind::vacuous || is_failure(verdict);
    if (is_computed && verdict != VerdictKind::refused_here) power[i].add(test_case);
  }
}

// Asking what they take executes code too, and judges nothing.
void forget_code(const std::vector<std::unique_ptr<Backend>>& backends) {
  for (const auto& backend : backends) {
    if (CodeCoverage* code = backend->code_coverage()) code->forget();
  }
}

}  // namespace

Result<std::vector<std::unique_ptr<Suite>>> suites_for(const SuitesOptions& options,
                                                       std::vector<std::unique_ptr<Backend>>& backends,
                                                       NewerOpsets& newer, Learnt& learnt) {
  keep_in_cache(options.within);
  QCONFORM_ASSIGN(auto suites, open_suites(options, newer));
  if (!suites.related.empty())
    return fail("--suite", "expected a suite of cases, got relations; name the suite of their base cases");
  ContractCheck unused;
  QCONFORM_TRY(add_suites_within(options, backends, suites, learnt, unused));
  return suites.take_judged();
}

Result<Contracts> contracts_from(const Learnt& learnt, const SuitesOptions& options,
                                 std::vector<std::unique_ptr<Backend>>& backends, std::size_t number) {
  if (const auto found = learnt.find(number); found != learnt.end()) return found->second;
  Backend& backend = *backends[number];
  if (options.within.only.empty() && !is_foreign(backend)) return whole_contracts();
  ProgressLine line;
  return contracts_of(options.within, backend, options.suite.seed, contract_progress(line, backend.info().name));
}

namespace {

// Describes the backends beside their verdicts.
Result<void> describe_backends(const SuitesOptions& options, std::vector<std::unique_ptr<Backend>>& backends,
                               const Learnt& learnt, const ContractCheck& check, const PowerMeters& power,
                               Report& report) {
  for (const auto& [backend, contracts] : learnt) {
    auto& stated = report.backends[backend].contracts = described(contracts);
    check.write(backend, stated);
    print_note(contradiction_text(report.backends[backend].info.name, stated));
  }
  for (std::size_t i = 0; i < backends.size(); ++i) {
    report.backends[i].code = executed_code(*backends[i]);
    report.backends[i].min_judged = options.min_judged;
  }
  for (std::size_t i = 0; i < power.size(); ++i) {
    QCONFORM_ASSIGN(const auto contracts, contracts_from(learnt, options, backends, i));
    QCONFORM_ASSIGN(report.backends[i].power, power[i].power(contracts, options.suite.seed));
  }
  return {};
}

// Shrinks the findings of a report, and refines what is said of them.
void shrink_with(const SuitesOptions& options, const std::vector<std::unique_ptr<Backend>>& backends,
                 const Policy& policy, const Waivers* waivers, diagnose::CampaignDiagnosis& diagnosis, Report& report) {
  const shrink::FindingLimits limits{.each = {},
                                     .diagnoser = options.explain ? &diagnosis : nullptr,
                                     .waivers = waivers,
                                     .stop = &Interruption::happened};
  ProgressLine line;
  std::uint64_t done = 0;
  const bool is_watched = line.is_shown();
  shrink::shrink_findings(report, backends, policy, limits, [&](Finding& finding, std::size_t backend) {
    diagnosis.refine(finding, backend);
    line.update("shrinking", ++done, report.findings.size(), "findings");
    if (!is_watched) return;
    line.clear();
    say(stderr, "{}", report::finding_row(finding, painter(stderr)));
  });
}

// Sets what belongs to the libraries that come in unasked, and gives all backends their whole names.
Result<void> complete_backends(SuitesOptions& options) {
  if (options.backends.empty()) options.backends = backend::default_backends();
  QCONFORM_ASSIGN(options.backends,
                  backend::whole_names(options.backends, options.sandbox.cpus, options.sandbox.valid_only));
  return {};
}

}  // namespace

namespace {

// Gathered in a run, beside the report.
struct Gathered {
  Gathered(const SuitesOptions& options, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy)
      : power(options.power ? backends.size() : 0, diagnose::PowerMeter(policy)), diagnosis(backends, policy) {}

  Learnt learnt;
  ContractCheck check;
  PinnedDraft pins;
  GraphSample graphs;
  PowerMeters power;
  diagnose::CampaignDiagnosis diagnosis;
};

// A run of suites that begins with the killers, before it is learnt what backends take: a wrong kernel is told at once.
class Judging {
 public:
  Judging(const SuitesOptions& options, std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
          const Waivers* waivers, Gathered& gathered, Report& report)
      : options_(options),
        backends_(backends),
        gathered_(gathered),
        report_(report),
        first_failures_(options.out, policy, line_),
        diagnoser_(gathered.diagnosis, backends, line_),
        campaign_(campaign(policy, waivers)) {}

  Result<void> judge(Suites& suites) {
    SuiteRun run(backends_, campaign_, report_);
    // Asking what they take executes code of which nothing is judged: it is asked before code is counted.
    const bool counts_code = std::any_of(backends_.begin(), backends_.end(),
                                         [](const auto& backend) { return backend->code_coverage() != nullptr; });
    if (!counts_code && suites.first != nullptr) QCONFORM_TRY(run.run(*std::exchange(suites.first, nullptr)));
    line_.clear();
    if (!run.has_ended()) QCONFORM_TRY(learn(suites));
    if (suites.first != nullptr) QCONFORM_TRY(run.run(*suites.first));
    for (const auto& suite : suites.drawn) QCONFORM_TRY(run.run(*suite, 2));
    for (const auto& suite : suites.own) QCONFORM_TRY(run.run(*suite, 1));
    for (const auto& suite : suites.named) QCONFORM_TRY(run.run(*suite));
    run.finish();
    return {};
  }

  // By relations between their own answers.
  Result<void> relate(std::vector<std::unique_ptr<Suite>>& suites, std::vector<std::vector<Backend*>> siblings) {
    if (campaign_.fail_fast) *campaign_.fail_fast -= std::min(*campaign_.fail_fast, failures_in(report_));
    campaign_.siblings = std::move(siblings);
    return run_relations(suites, backends_, campaign_, report_);
  }

 private:
  SuiteRunOptions campaign(const Policy& policy, const Waivers* waivers) {
    return {.policy = policy,
            .progress = [this](const Progress& progress) { line_.update(progress); },
            .stop = &Interruption::happened,
            .waivers = waivers,
            .pins = &gathered_.pins,
            .diagnoser = options_.explain ? &diagnoser_ : nullptr,
            .fail_fast = options_.fail_fast,
            .news =
                [this](std::size_t backend, const Case& test_case, const Verdict& verdict) {
                  first_failures_.judged(backend, backends_[backend]->info(), test_case, verdict);
                  if (options_.failed) options_.failed(test_case, verdict);
                },
            .explains_last = true,
            .drops_hanging_backends = true,
            .results = RowsKept::all,
            .judged = [this](const Case& test_case, const Expected& expected,
                             const auto& results) { judged(test_case, expected.classification, results); }};
  }

  void judged(const Case& test_case, const Classification& classification,
              const std::vector<CaseResult::OfBackend>& results) {
    if (!has_learnt_) {
      early_.emplace_back(test_case, results);
    } else if (!gathered_.check.is_empty()) {
      gathered_.check.judged(test_case, classification, results);
    }
    add_computed(test_case, results, gathered_.power);
    gathered_.graphs.add(test_case);
  }

  Result<void> learn(Suites& suites) {
    QCONFORM_TRY(add_suites_within(options_, backends_, suites, gathered_.learnt, gathered_.check));
    forget_code(backends_);
    has_learnt_ = true;
    if (gathered_.check.is_empty()) early_.clear();
    for (const auto& [test_case, results] : std::exchange(early_, {})) {
      gathered_.check.judged(test_case, classify(test_case), results);
    }
    return {};
  }

  const SuitesOptions& options_;
  std::vector<std::unique_ptr<Backend>>& backends_;
  Gathered& gathered_;
  Report& report_;
  ProgressLine line_;
  FirstFailures first_failures_;
  ShownDiagnosis diagnoser_;
  SuiteRunOptions campaign_;
  bool has_learnt_ = false;
  std::vector<std::pair<Case, std::vector<CaseResult::OfBackend>>> early_;  // judged before it was learnt
};

Result<void> judge_all(const SuitesOptions& options, Suites& suites, std::vector<std::unique_ptr<Backend>>& backends,
                       const Policy& policy, const backend::SandboxPolicy& sandbox, const Waivers* waivers,
                       Gathered& gathered, Report& report) {
  Judging judging(options, backends, policy, waivers, gathered, report);
  QCONFORM_TRY(judging.judge(suites));
  if (!report.stopped.empty() || suites.related.empty()) return {};
  QCONFORM_ASSIGN(Siblings siblings, open_siblings(options.backends, policy, sandbox));
  return judging.relate(suites.related, siblings.by_backend);
}

}  // namespace

Result<Report> judge_suites(SuitesOptions options, const Policy& policy, bool stdout_is_data) {
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(options.sandbox));
  // The waivers that come with qconform belong to the libraries that come in unasked.
  const bool is_default = options.backends.empty();
  QCONFORM_ASSIGN(const auto waivers, chosen_waivers(options.waivers, is_default ? waivers_file() : ""));
  std::vector<std::unique_ptr<Backend>> backends;
  if (options.open_backends) {
    backends = options.open_backends();
  } else {
    QCONFORM_TRY(complete_backends(options));
    QCONFORM_ASSIGN(backends, backend::select_all(options.backends, arithmetic_of(policy.profile), sandbox));
  }
  if (!options.since.empty()) QCONFORM_TRY(check_since(options.since, backends));
  keep_in_cache(options.within);
  NewerOpsets newer;
  QCONFORM_ASSIGN(auto suites, open_suites(options, newer));
  if (options.min_judged && !suites.holds_model())
    return fail("--min-judged", "expected a suite that is a whole model: --suite model:FILE");
  QCONFORM_TRY(make_folder("--out", options.out));

  Report report = new_report(options.policy, options.suite.seed, given_arguments());
  print_headline(report, stdout_is_data);
  Gathered gathered(options, backends, policy);
  const Interruption interruption;
  QCONFORM_TRY(judge_all(options, suites, backends, policy, sandbox, waivers ? &*waivers : nullptr, gathered, report));
  QCONFORM_TRY(describe_backends(options, backends, gathered.learnt, gathered.check, gathered.power, report));
  print_note(newer.text());
  for (const std::string& text : cache::notes()) print_note(text);
  if (is_default) leave_to_kernels(report);
  if (!options.waivers.pins.empty()) QCONFORM_TRY(write_file(options.waivers.pins, gathered.pins.text()));
  // Those that come with qconform are for exactly its vectors.
  const auto waive = [&] {
    if (waivers && !is_default) waive_findings(*waivers, gathered.diagnosis.cases_outside(), report);
  };
  waive();
  if (report.stopped.empty()) replay_findings(report, backends, policy);
  if (options.shrink && report.stopped.empty()) {
    shrink_with(options, backends, policy, waivers ? &*waivers : nullptr, gathered.diagnosis, report);
    if (Interruption::happened())
      print_note("interrupted: some findings are reported without their cause, or not shrunk");
    waive();
  }
  QCONFORM_TRY(write_draft(options.waivers, report));
  add_element_maps(report, backends, policy);
  if (options.explain && !Interruption::happened()) diagnose::add_suspects(report, backends, policy);
  add_rewritings(gathered.graphs, options.expects_fusion, backends, report);
  if (!options.since.empty()) add_histories(options.since, backends, policy, sandbox, report);
  return report;
}

Result<std::vector<std::unique_ptr<Suite>>> open_shown(std::string_view name, SuiteOptions options) {
  ProgressLine line;
  options.tell = told_on(line);
  return open_suite(name, options);
}

void add_model_memory_option(CLI::App& command, std::uint64_t& mebibytes) {
  command
      .add_option("--model-memory", mebibytes, "MiB that a process may take which reads or runs a model (model:FILE)")
      ->check(CLI::Range(kFewestModelMebibytes, kMostModelMebibytes))
      ->capture_default_str();
}

namespace {

// Backends rightly refuse such a case, which may be a slip of whoever typed it.
void note_if_out_of_contract(const std::string& line) {
  const auto test_case = case_of_line(line);
  if (!test_case) return;  // open_suite() says why
  const Classification classified = classify(*test_case);
  const auto& violation = classified.contract.violation;
  if (violation) print_note(fmt::format("--case: a backend has to refuse this case: {}", violation->text()));
}

}  // namespace

void add_suite_choice(CLI::App& command, SuitesOptions& options) {
  const CLI::Option* const suites =
      command.add_option("--suite", options.suites, "Suite of cases, may be repeated (see: qconform list suites)")
          ->capture_default_str();
  // CLI11 calls this behind what reads --suite.
  command.add_option_function<std::vector<std::string>>(
      "--case",
      [&options, suites](const std::vector<std::string>& lines) {
        if (suites->count() == 0) options.suites.clear();
        for (const std::string& line : lines) {
          options.suites.push_back(std::string(kLinePrefix) + line);
          note_if_out_of_contract(line);
        }
      },
      "A case in one line, may be repeated: \"QuantizeLinear x=1.5,2.5 y_scale=1 y_zero_point:int8=0\", \"QLinearConv "
      "ic64ih56oc64oh56kh3ph1 x:int8\" (docs/formats.md)");
  command.add_option(
      "--cases", options.suite.cases,
      "Number of cases of the suites random, fuzz and relations (default: 10000) and directed (4000) where they "
      "are named; conformance has its own");
  command.add_option("--seed", options.suite.seed, "Seed of everything random")->capture_default_str();
  command
      .add_option("--context", options.suite.context,
                  "Neighbouring nodes that the case of each unit of a model includes, before it and behind it")
      ->capture_default_str();
  add_model_memory_option(command, options.suite.model_mebibytes);
  add_within_options(command, options.within,
                     "With conformance, add no suites made for what each library, plugin or process takes");
  command.add_flag("--thorough", options.thorough,
                   "Also every four classes of sizes and positions together: kernel, stride, dilation, pads, groups, "
                   "channels, width, batch");
}

void add_suites_options(CLI::App& command, SuitesOptions& options, const char* waived) {
  add_suite_choice(command, options);
  command
      .add_option(
          "--fail-fast", options.fail_fast,
          "End at this many failing cases of all backends together, and explain none; those that a waiver covers, or "
          "may cover once findings have names, do not count")
      ->check(at_least(1));
  add_policy_options(command, options.policy);
  add_defects_option(command, options.defects);
  add_cpu_option(command, options.sandbox);
  add_valid_only_option(command, options.sandbox);
  options.sandbox.guard = "full";  // a suite is small, a campaign is not
  add_sandbox_options(command, options.sandbox);
  add_waiver_options(command, options.waivers, waived);
  command.add_option("--pin-waivers", options.waivers.pins,
                     "File for waivers of these very cases and answers, for suites that stay as they are");
  command.add_flag(
      "--power", options.power,
      "Measure for each backend how many defect models are detected by the cases that it computes, out of those "
      "that some known case which it takes detects");
  command.add_option("--out", options.out, "Folder for the report and the cases of its findings")
      ->capture_default_str();
  add_since_option(command, options.since);
  command.add_flag("--expect-fused", options.expects_fusion,
                   "A backend that fuses nothing in the suites' graphs, or does not show what it computes, does not "
                   "conform: its answers say nothing of fusion");
  command
      .add_option(
          "--min-judged", options.min_judged,
          fmt::format("Per cent of the quantized nodes of each whole model that a backend must be judged on to "
                      "conform; without it the exit code ignores that share, and the last line says \"agrees on\" "
                      "below {}",
                      BackendResult::kUsualMinJudged))
      ->check(CLI::Range(0, 100));
  command.add_flag("--no-explain{false}", options.explain,
                   "Group failures by verdict and rule alone, without looking for the defects behind them");
  command.add_flag("--no-shrink{false}", options.shrink, "Do not shrink the cases of findings");
}

}  // namespace qconform::cli
