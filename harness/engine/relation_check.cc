#include "harness/engine/relation_check.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "harness/engine/execute.h"
#include "harness/judge/judge.h"
#include "harness/operators/element_text.h"

namespace qconform {
namespace {

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

  // Whether the policy admits both answers although they disagree. ONNX's reference rounds after it has
  // added the zero point: where it is what is asked for, relations about rounding (C19) break by design.
  [[nodiscard]] bool is_latitude(const Link& link) {
    const Side& base_side = classified(0);
    const Side& derived_side = classified(link.derived + 1);
    const bool determined = policy_.profile != Profile::onnx_reference &&
                            lowered(base_side).is_determined(link.base, policy_) &&
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
  if (!application.links.empty() || application.derived.empty()) return;
  for (std::int64_t i = 0; i < elements; ++i) visit(Link{i, 0, i});
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
    if (answers.is_latitude(link)) {
      ++open;
      return;
    }
    ++verdict.wrong_elements;
    if (!first) first = link;
  });
  if (!first) {
    if (open > 0) check.outcome = RelationOutcome::latitude;
    verdict.detail = open == 0 ? "" : fmt::format("{} of {} elements differ within latitude", open, verdict.elements);
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
  const Tensor* const produced = output_of(outcome);
  if (produced != nullptr && result.verdict.kind == VerdictKind::pass) result.tensor = *produced;
  return result;
}

RelationCheck check_relation(const relations::Relation& relation, const relations::Subject& subject,
                             const Tensor& base_output, Backend& backend, GuardedOutput& output, const Policy& policy) {
  const relations::Applied applied = relation.apply(subject);
  if (const auto* none = std::get_if<relations::NotApplicable>(&applied)) {
    RelationCheck check;
    check.outcome = RelationOutcome::not_applicable;
    check.verdict.detail = none->reason;
    return check;
  }
  const Application application = std::get<relations::Derivation>(applied)(base_output);
  std::vector<Tensor> outputs;
  for (const Case& derived : application.derived) {
    FormedOutput formed = run_for_output(backend, derived, output);
    if (!formed.tensor) return without_output(derived, std::move(formed.verdict));
    outputs.push_back(std::move(*formed.tensor));
  }
  Answers answers(*subject.base, base_output, application, std::move(outputs), policy);
  return compare(relation, application, answers);
}

}  // namespace qconform
