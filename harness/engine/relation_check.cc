#include "harness/engine/relation_check.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "harness/base/stopwatch.h"
#include "harness/engine/execute.h"
#include "harness/engine/findings.h"
#include "harness/model/judge/judge.h"
#include "harness/model/text.h"

namespace qconform {
namespace {

// Whether an answer that the profile pins is rounded by rule C19.
bool rounds_by_rule(Profile profile) {
  return profile != Profile::onnx_reference && profile != Profile::tflite && profile != Profile::tflite_single_rounding;
}

using relations::Agreement;
using relations::Application;
using relations::Link;

class Equality final : public Agreement {
 public:
  [[nodiscard]] bool holds(const Tensor& base, const Tensor& derived, const Link& link) const override {
    return bits(base, link.base) == bits(derived, link.element);
  }
  [[nodiscard]] std::string required(const Tensor& base, const Link& link) const override {
    return element_text(base, link.base);
  }

 private:
  static std::uint64_t bits(const Tensor& tensor, std::int64_t index) {
    return raw_bits_at(tensor.bytes, bits_of(tensor.type), index);
  }
};

const Agreement& agreement_of(const Application& application) {
  static const Equality equality;
  return application.agreement ? *application.agreement : equality;
}

// The answers of one check, and what the semantics admit for them, parsed when it is first asked.
class Answers {
 public:
  Answers(const Case& base, const Tensor& base_output, const Application& application, std::vector<Tensor> outputs,
          const Policy& policy)
      : application_(application), outputs_(std::move(outputs)), policy_(policy_for(base, policy)) {
    sides_.resize(application.derived.size() + 1);
    sides_[0].test_case = &base;
    sides_[0].output = &base_output;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      sides_[i + 1].test_case = &application.derived[i];
      sides_[i + 1].output = &outputs_[i];
    }
  }

  [[nodiscard]] const Tensor& base() const { return *sides_[0].output; }
  [[nodiscard]] const Tensor& derived(const Link& link) const { return outputs_[link.derived]; }

  [[nodiscard]] bool agree(const Link& link) const {
    return agreement_of(application_).holds(base(), derived(link), link);
  }

  // Whether the policy admits both answers although they disagree. ONNX's reference rounds after it has added the zero
  // point, and fixed point breaks ties in other ways: where they are what is asked for, relations about rounding (C19)
  // break by design.
  [[nodiscard]] bool is_implementation_defined(const Link& link) {
    const Side& base_side = classified(0);
    const Side& derived_side = classified(link.derived + 1);
    const bool determined = rounds_by_rule(policy_.profile) && lowered(base_side).is_determined(link.base, policy_) &&
                            lowered(derived_side).is_determined(link.element, policy_);
    return !determined && is_right(base_side, link.base) && is_right(derived_side, link.element);
  }

 private:
  struct Side {
    const Case* test_case = nullptr;
    const Tensor* output = nullptr;
    std::optional<Classification> classification;
  };

  const Side& classified(std::size_t number) {
    Side& side = sides_[number];
    if (!side.classification) side.classification = classify(*side.test_case);
    return side;
  }
  static const Lowered& lowered(const Side& side) { return *side.classification->lowered; }
  [[nodiscard]] bool is_right(const Side& side, std::int64_t index) const {
    return lowered(side).examine(index, *side.output, policy_).right;
  }

  const Application& application_;
  std::vector<Tensor> outputs_;
  Policy policy_;
  std::vector<Side> sides_;
};

// Every link of the application; visit(link).
template <typename Visit>
void for_each_link(const Application& application, std::int64_t elements, Visit visit) {
  for (const Link& link : application.links) visit(link);
  if (!application.links.empty()) return;
  for (std::size_t derived = 0; derived < application.derived.size(); ++derived) {
    for (std::int64_t i = 0; i < elements; ++i) visit(Link{i, derived, i});
  }
}

std::vector<std::int64_t> index_in(const Tensor& tensor, std::int64_t flat) {
  std::vector<std::int64_t> index(tensor.shape.size());
  for (std::size_t axis = index.size(); axis-- > 0;) {
    index[axis] = flat % tensor.shape[axis];
    flat /= tensor.shape[axis];
  }
  return index;
}

ElementReport report_of(const Application& application, const Answers& answers, const Link& link) {
  const Tensor& derived = answers.derived(link);
  const double difference = std::fabs(number_at(derived, link.element) - number_at(answers.base(), link.base));
  return {.index = index_in(derived, link.element),
          .got = element_text(derived, link.element),
          .admissible = "{" + agreement_of(application).required(answers.base(), link) + "}",
          .exact = "",
          .distance = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference};
}

RelationCheck compare(const relations::Relation& relation, const Application& application, Answers& answers) {
  RelationCheck check;
  Verdict& verdict = check.verdict;
  std::uint64_t open = 0;
  std::optional<Link> first;
  for_each_link(application, answers.base().elements(), [&](const Link& link) {
    ++verdict.elements;
    if (answers.agree(link)) return;
    if (answers.is_implementation_defined(link)) {
      ++open;
      return;
    }
    ++verdict.wrong_elements;
    if (!first) first = link;
  });
  if (!first) {
    if (open > 0) check.outcome = RelationOutcome::implementation_defined;
    verdict.detail = open == 0 ? ""
                               : fmt::format("{} of {} elements differ, and the specification admits both answers",
                                             open, verdict.elements);
    return check;
  }
  check.outcome = RelationOutcome::broken;
  check.derived = application.derived;
  verdict.kind = VerdictKind::inconsistent;
  verdict.rule = relation.id;
  verdict.worst = report_of(application, answers, *first);
  verdict.detail = fmt::format("{} of {} elements contradict y of the case; first in {}", verdict.wrong_elements,
                               verdict.elements, application.derived[first->derived].id);
  return check;
}

RelationCheck without_output(const Case& derived, Verdict verdict) {
  const bool refused = is_refusal(verdict.kind);
  verdict.detail = derived.id + ": " + verdict.detail;
  return {refused ? RelationOutcome::refused : RelationOutcome::failed, std::move(verdict), {derived}};
}

}  // namespace

FormedOutput run_for_output(Backend& backend, const Case& test_case, GuardedOutput& output) {
  const Outcome outcome = execute(backend, test_case, output);
  FormedOutput result;
  result.verdict = judge(expect_form(test_case, {}), outcome);
  const auto* const produced = std::get_if<outcome::Produced>(&outcome);
  if (produced != nullptr && result.verdict.kind == VerdictKind::pass) result.tensor = produced->outputs.front();
  return result;
}

namespace {

RelationCheck not_applicable(std::string_view reason) {
  RelationCheck check;
  check.outcome = RelationOutcome::not_applicable;
  check.verdict.detail = reason;
  return check;
}

// The derived cases, and the backend that each is for.
struct Derived {
  Application application;
  std::vector<Backend*> backends;
};
Derived derived_for(Application application, Backend& backend, std::span<Backend* const> siblings) {
  Derived result{std::move(application), {}};
  std::vector<Case>& cases = result.application.derived;
  result.backends.assign(cases.size(), &backend);
  if (!result.application.on_siblings) return result;
  const Case base = std::move(cases.front());
  cases.clear();
  for (Backend* const sibling : siblings) {
    cases.push_back(base);
    cases.back().id += " on " + sibling->info().name;
  }
  result.backends.assign(siblings.begin(), siblings.end());
  return result;
}

RelationCheck broken_by_refusal(const relations::Relation& relation, const Case& derived, std::string detail) {
  RelationCheck check;
  check.outcome = RelationOutcome::broken;
  check.derived = {derived};
  check.verdict.kind = VerdictKind::inconsistent;
  check.verdict.rule = relation.id;
  check.verdict.detail = std::move(detail);
  return check;
}

}  // namespace

RelationCheck check_relation(const relations::Relation& relation, const relations::RelationSubject& subject,
                             const Tensor& base_output, Backend& backend, GuardedOutput& output, const Policy& policy,
                             std::span<Backend* const> siblings) {
  const relations::Applied applied = relation.apply(subject);
  if (const auto* none = std::get_if<relations::NotApplicable>(&applied)) return not_applicable(none->reason);
  const auto [application, backends] =
      derived_for(std::get<relations::Derivation>(applied)(base_output), backend, siblings);
  if (application.derived.empty()) return not_applicable("the backend has no levels of optimization");
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < application.derived.size(); ++i) {
    const Case& derived = application.derived[i];
    FormedOutput formed = run_for_output(*backends[i], derived, output);
    if (formed.tensor) {
      outputs.push_back(std::move(*formed.tensor));
      continue;
    }
    // Whatever failure another level has contradicts this backend's answer, and is told with its findings.
    const bool contradicts = application.on_siblings || is_refusal(formed.verdict.kind);
    if (!relation.compares_refusals || !contradicts) return without_output(derived, std::move(formed.verdict));
    return broken_by_refusal(
        relation, derived,
        fmt::format("y of the case is computed; {}: {}{}{}", derived.id, name_of(formed.verdict.kind),
                    formed.verdict.detail.empty() ? "" : ", ", formed.verdict.detail));
  }
  Answers answers(*subject.base, base_output, application, std::move(outputs), policy);
  return compare(relation, application, answers);
}

RelationCheck check_refusal(const relations::Relation& relation, const relations::RelationSubject& subject,
                            const Verdict& refusal, Backend& backend, GuardedOutput& output,
                            std::span<Backend* const> siblings) {
  RelationCheck refused;
  refused.outcome = RelationOutcome::refused;
  if (!relation.compares_refusals) return refused;
  const relations::Applied applied = relation.apply(subject);
  if (std::holds_alternative<relations::NotApplicable>(applied)) return refused;
  const auto [application, backends] = derived_for(std::get<relations::Derivation>(applied)({}), backend, siblings);
  for (std::size_t i = 0; i < application.derived.size(); ++i) {
    const Case& derived = application.derived[i];
    if (!run_for_output(*backends[i], derived, output).tensor) continue;
    return broken_by_refusal(relation, derived,
                             fmt::format("the case is refused: {}; {} is computed", refusal.detail, derived.id));
  }
  return refused;
}

namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t& counter_of(RelationResult& result, RelationOutcome outcome) {
  switch (outcome) {
    case RelationOutcome::held: return result.held;
    case RelationOutcome::broken: return result.broken;
    case RelationOutcome::implementation_defined: return result.implementation_defined;
    case RelationOutcome::refused: return result.refused;
    case RelationOutcome::failed: return result.failed;
    case RelationOutcome::not_applicable: break;
  }
  return result.not_applicable;
}

class RelationRunner {
 public:
  RelationRunner(std::vector<std::unique_ptr<Backend>>& backends, const SuiteRunOptions& options, Report& report)
      : backends_(backends), options_(options), report_(report), hangs_(backends.size()) {
    if (report_.backends.empty()) {
      for (const auto& backend : backends_) report_.backends.push_back({.info = backend->info()});
    }
    for (BackendResult& result : report_.backends) {
      if (!result.relations.empty()) continue;
      for (const relations::Relation& relation : relations::relations()) {
        result.relations.push_back({.id = std::string(relation.id)});
      }
    }
  }

  Result<void> run(Suite& source) {
    SuiteResult suite;
    suite.name = "relations:" + source.name();
    while (!options_.ends(failures_)) {
      const auto start = Clock::now();
      QCONFORM_ASSIGN(auto next, source.next());
      report_.times.generate += seconds_since(start);
      if (!next) break;
      ++suite.cases;
      suite.digest += digest_of(*next);
      run_case(*next, suite);
      if (options_.progress) options_.progress({suite.name, suite.cases, source.size(), failures_});
    }
    for (const auto& [reason, count] : source.skipped()) suite.skipped[reason] += count;
    report_.suites.push_back(std::move(suite));
    return {};
  }

  [[nodiscard]] bool has_failed_enough() const { return options_.has_failed_enough(failures_); }

  void finish() {
    options_.say_why_stopped(failures_, report_);
    for (Finding& finding : findings_.take()) {
      finding.id = "F" + std::to_string(report_.findings.size() + 1);
      report_.findings.push_back(std::move(finding));
    }
  }

 private:
  void run_case(const Case& base, SuiteResult& suite) {
    const auto subject = relations::subject_of(base);
    if (!subject) {
      ++suite.skipped["no relation applies: out of contract, implementation-defined, or without elements"];
      return;
    }
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      if (!report_.backends[i].stopped.empty()) continue;
      const auto start = Clock::now();
      run_backend(*subject, i);
      const double seconds = seconds_since(start);
      report_.backends[i].seconds += seconds;
      report_.times.backend += seconds;
    }
  }

  void run_backend(const relations::RelationSubject& subject, std::size_t number) {
    Backend& backend = *backends_[number];
    BackendResult& result = report_.backends[number];
    const FormedOutput base = run_for_output(backend, *subject.base, output_);
    if (!base.tensor) return without_base(subject, base.verdict, number);
    const std::span<const relations::Relation> all = relations::relations();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const RelationCheck check =
          check_relation(all[i], subject, *base.tensor, backend, output_, options_.policy, siblings_of(number));
      ++counter_of(result.relations[i], check.outcome);
      const bool has_failed = check.outcome == RelationOutcome::failed;
      if (has_failed || check.outcome == RelationOutcome::held) {
        note_timeouts(number, has_failed && check.verdict.kind == VerdictKind::timed_out);
      }
      if (check.outcome == RelationOutcome::broken) {
        fail(number, *subject.base, check.verdict, check.derived);
      } else if (has_failed) {
        // The derived case shows its failure alone.
        fail(number, check.derived.front(), check.verdict, {});
      }
    }
  }

  [[nodiscard]] std::span<Backend* const> siblings_of(std::size_t number) const {
    if (number >= options_.siblings.size()) return {};
    return options_.siblings[number];
  }

  // The base case was refused, or failed: few relations can be checked on it.
  void without_base(const relations::RelationSubject& subject, const Verdict& verdict, std::size_t number) {
    BackendResult& result = report_.backends[number];
    if (is_refusal(verdict.kind)) {
      const std::span<const relations::Relation> all = relations::relations();
      for (std::size_t i = 0; i < all.size(); ++i) {
        const RelationCheck check =
            check_refusal(all[i], subject, verdict, *backends_[number], output_, siblings_of(number));
        ++counter_of(result.relations[i], check.outcome);
        if (check.outcome == RelationOutcome::broken) fail(number, *subject.base, check.verdict, check.derived);
      }
      return;
    }
    ++result.failed_bases;
    note_timeouts(number, verdict.kind == VerdictKind::timed_out);
    fail(number, *subject.base, verdict, {});
  }

  void note_timeouts(std::size_t number, bool timed_out) {
    if (!options_.drops_hanging_backends || !hangs_.is_too_much(number, timed_out)) return;
    report_.backends[number].stopped = kHangs;
  }

  void fail(std::size_t number, const Case& example, const Verdict& verdict, const std::vector<Case>& related) {
    ++failures_;
    if (options_.news) options_.news(number, example, verdict);
    // Refusals have other causes than values.
    const bool is_refused = verdict.kind == VerdictKind::inconsistent && verdict.elements == 0;
    findings_.add(report_.backends[number].info.name, example, verdict, related, nullptr,
                  is_refused ? "inconsistent:" + verdict.rule + ", refused" : "");
  }

  std::vector<std::unique_ptr<Backend>>& backends_;
  const SuiteRunOptions& options_;
  Report& report_;
  GuardedOutput output_;
  Findings findings_;
  std::uint64_t failures_ = 0;
  HangWatch hangs_;
};

}  // namespace

Result<void> run_relations(std::vector<std::unique_ptr<Suite>>& bases, std::vector<std::unique_ptr<Backend>>& backends,
                           const SuiteRunOptions& options, Report& report) {
  if (bases.empty()) return {};
  const auto start = Clock::now();
  RelationRunner runner(backends, options, report);
  for (const auto& source : bases) {
    if (!runner.has_failed_enough()) QCONFORM_TRY(runner.run(*source));
  }
  runner.finish();
  report.times.total += seconds_since(start);
  return {};
}

}  // namespace qconform
