#include "harness/model/judge/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/model/defects/arithmetic.h"
#include "harness/model/node_changes.h"
#include "harness/model/text.h"

namespace qconform {
namespace {

using reference::Remark;

std::vector<std::int64_t> index_of(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return index;
}

Verdict without_values(VerdictKind kind, std::string detail, std::string rule = {}) {
  Verdict verdict;
  verdict.kind = kind;
  verdict.detail = std::move(detail);
  verdict.rule = std::move(rule);
  return verdict;
}

const Tensor* pinned_of(const Expected& expected) {
  return expected.pinned ? &*expected.pinned : nullptr;
}

// One of the outputs, and the reference's answer for it.
struct RightOutput {
  const Lowered& lowered;
  const Tensor& exact;
  const Tensor* pinned;  // profiles pin the first output alone: a graph has no pinned one
};

RightOutput right_output(const Expected& expected, std::size_t number) {
  return {expected.classification.lowered->output(number), expected.output_at(number),
          number == 0 ? pinned_of(expected) : nullptr};
}

ElementReport worst_of(const Expected& expected, const RightOutput& right, std::size_t number, const Tensor& got,
                       const Comparison& comparison);

// `given` knows what follows from the backend's own answers; it may be null.
Verdict judge_values(const Expected& expected, std::size_t number, const Tensor& got, const Lowered* given) {
  Verdict verdict;
  verdict.elements = static_cast<std::uint64_t>(got.elements());
  if (expected.classification.value_is_open) return verdict;
  std::optional<Tensor> exact;
  if (given != nullptr) exact = given->output(number).evaluate(RoundingProfile::correctly_rounded);
  const RightOutput right =
      exact ? RightOutput{given->output(number), *exact, nullptr} : right_output(expected, number);
  const Comparison comparison = compare(right.lowered, got, right.exact, right.pinned, expected.policy);
  verdict.tiers = comparison.tiers;
  if (comparison.wrong == 0) return verdict;
  verdict.kind = VerdictKind::wrong;
  verdict.wrong_elements = comparison.wrong;
  verdict.errors = comparison.errors;
  verdict.worst = worst_of(expected, right, number, got, comparison);
  return verdict;
}

Verdict judge_output(const Expected& expected, std::size_t number, const Tensor& got, const Lowered* given) {
  const Lowered& right = expected.classification.lowered->output(number);
  if (got.type != right.output_type() || got.shape != right.output_shape()) {
    return without_values(VerdictKind::bad_shape,
                          fmt::format("output {} {}, expected {} {}", name_of(got.type), shape_text(got.shape),
                                      name_of(right.output_type()), shape_text(right.output_shape())));
  }
  return right.is_judged() ? judge_values(expected, number, got, given) : Verdict{};
}

// Adds the verdict on one output to that on all, which keeps the worst kind and the worst element.
void add_output(Verdict& all, Verdict one) {
  all.elements += one.elements;
  all.wrong_elements += one.wrong_elements;
  all.tiers.add(one.tiers);
  all.errors.add(one.errors);
  if (one.worst && (!all.worst || one.worst->distance > all.worst->distance)) all.worst = std::move(one.worst);
  if (all.kind == VerdictKind::bad_shape || one.kind == VerdictKind::pass) return;
  all.kind = one.kind;
  all.detail = std::move(one.detail);
}

// An output of one element needs no index.
std::string place_text(const ElementReport& element, const Verdict& verdict) {
  if (verdict.elements == 1) return {};
  const std::string output = element.output == 0 ? "" : fmt::format(" of output {}", element.output);
  return fmt::format(" at [{}]{}", fmt::join(element.index, ","), output);
}

// A right answer beside that of the defect which the case guards against.
std::string beside_the_defect(const Verdict& defect, const std::vector<Tensor>& outputs) {
  if (!defect.worst) {
    return fmt::format("the defect that this case guards against: {}{}{}", name_of(defect.kind),
                       defect.detail.empty() ? "" : ", ", defect.detail);
  }
  const ElementReport& worst = *defect.worst;
  const Tensor& got = outputs[worst.output];
  return fmt::format("gives {}{}; the defect that this case guards against gave {}",
                     element_text(got, flat_index(worst.index, got.shape)), place_text(worst, defect), worst.got);
}

Verdict judge_outputs(const Expected& expected, const std::vector<Tensor>& outputs) {
  const Classification& classification = expected.classification;
  if (const auto& violation = classification.contract.violation) {
    return without_values(VerdictKind::not_rejected, "accepts what the document forbids: " + violation->text(),
                          violation->rule);
  }
  const std::size_t count = classification.lowered->outputs();
  if (outputs.size() != count) {
    return without_values(VerdictKind::broken_interface, fmt::format("{} outputs, expected {}", outputs.size(), count));
  }
  const std::unique_ptr<Lowered> given = classification.lowered->given(outputs);
  Verdict all = judge_output(expected, 0, outputs[0], given.get());
  for (std::size_t i = 1; i < count; ++i) add_output(all, judge_output(expected, i, outputs[i], given.get()));
  if (all.kind == VerdictKind::wrong) {
    all.detail = fmt::format("{} of {} elements wrong", all.wrong_elements, all.elements);
  } else if (all.kind == VerdictKind::pass && !classification.value_is_open) {
    if (!expected.vacuous_because.empty()) all.kind = VerdictKind::vacuous;
    all.detail = expected.defect ? beside_the_defect(*expected.defect, outputs) : expected.vacuous_because;
  }
  return all;
}

// A clean refusal is right for a case out of contract and for one that is implementation-defined. For a valid case it
// is neither right nor wrong: the backend does not implement it.
Verdict judge_refusal(const Expected& expected, const std::string& reason) {
  const Expectation expectation = expected.classification.expectation();
  const bool is_guard = expected.defect && expected.defect->kind == VerdictKind::not_rejected;
  if (is_guard && expectation == Expectation::invalid) {
    return without_values(VerdictKind::pass,
                          "refuses it; the defect that this case guards against computed it: " + reason);
  }
  if (expectation != Expectation::valid) return without_values(VerdictKind::refused, reason);
  return without_values(VerdictKind::unsupported, reason);
}

// A stray access: each tensor, and each side of it, is a failure of its own.
Verdict beside(VerdictKind kind, std::string_view access, std::int64_t bytes, outcome::WroteOutOfBounds::Side side,
               const std::string& tensor) {
  const std::string place =
      fmt::format("{} {}", side == outcome::WroteOutOfBounds::Side::before ? "before" : "past", tensor);
  Verdict verdict = without_values(kind, fmt::format("{} {} byte{} {}", access, bytes, bytes == 1 ? "" : "s", place));
  verdict.place = place;
  return verdict;
}

struct OutcomeJudge {
  const Expected& expected;

  Verdict operator()(const outcome::Produced& produced) const { return judge_outputs(expected, produced.outputs); }
  Verdict operator()(const outcome::Unsupported& refusal) const { return judge_refusal(expected, refusal.reason); }
  Verdict operator()(const outcome::Rejected& refusal) const { return judge_refusal(expected, refusal.reason); }
  Verdict operator()(const outcome::Crashed& crash) const {
    if (crash.signal == 0) return without_values(VerdictKind::crashed, crash.detail);
    Verdict verdict = without_values(VerdictKind::crashed, fmt::format("signal {}{}{}", crash.signal,
                                                                       crash.detail.empty() ? "" : ": ", crash.detail));
    verdict.place = crash.place;
    return verdict;
  }
  Verdict operator()(const outcome::Exited& exit) const {
    return without_values(VerdictKind::exited, fmt::format("ended its process with status {}", exit.status));
  }
  Verdict operator()(const outcome::OutOfMemory& memory) const {
    return without_values(VerdictKind::out_of_memory, fmt::format("asked for more than {} MiB", memory.limit >> 20));
  }
  Verdict operator()(const outcome::TimedOut& timeout) const {
    return without_values(VerdictKind::timed_out, fmt::format("no answer within {} s", timeout.seconds));
  }
  Verdict operator()(const outcome::WroteOutOfBounds& write) const {
    return beside(VerdictKind::out_of_bounds, "wrote", write.offset, write.side, write.of);
  }
  Verdict operator()(const outcome::ReadOutOfBounds& read) const {
    const VerdictKind kind = read.wrote ? VerdictKind::out_of_bounds : VerdictKind::read_out_of_bounds;
    return beside(kind, read.wrote ? "wrote" : "read", read.offset, read.side, read.tensor);
  }
  Verdict operator()(const outcome::Nondeterministic& difference) const {
    return without_values(VerdictKind::nondeterministic, difference.detail);
  }
  Verdict operator()(const outcome::ChangedInput& change) const {
    return without_values(VerdictKind::changed_input,
                          fmt::format("changed its input {} at byte {}", change.tensor, change.byte));
  }
  Verdict operator()(const outcome::ChangedFloatMode& change) const {
    return without_values(VerdictKind::changed_float_mode, change.detail);
  }
  Verdict operator()(const outcome::GrewMemory& growth) const {
    const auto grows = [](std::int64_t bytes, std::string_view with) {
      return bytes > 0 ? fmt::format("{} bytes with each {}", bytes, with) : std::string();
    };
    const std::string each = grows(growth.per_prepare, "prepared node");
    const std::string run = grows(growth.per_run, "run");
    return without_values(VerdictKind::grows_memory, fmt::format("allocates and never gives back {}{}{}", each,
                                                                 each.empty() || run.empty() ? "" : ", and ", run));
  }
  Verdict operator()(const outcome::DependsOnEarlierRuns& difference) const {
    return without_values(VerdictKind::depends_on_earlier_runs, difference.detail);
  }
  Verdict operator()(const outcome::ThreadDependent& difference) const {
    return without_values(VerdictKind::thread_dependent, difference.detail);
  }
  Verdict operator()(const outcome::BrokenInterface& broken) const {
    return without_values(VerdictKind::broken_interface, broken.detail);
  }
  Verdict operator()(const outcome::Threw& exception) const {
    Verdict verdict = without_values(VerdictKind::threw, exception.detail);
    verdict.place = exception.detail.substr(0, exception.detail.find(": "));
    return verdict;
  }
  Verdict operator()(const outcome::LeftUnwritten& unwritten) const {
    return without_values(VerdictKind::unwritten, unwritten.detail);
  }
};

// Judges outputs that a case records by the specification alone: `policy`, without a profile that pins one answer.
Verdict judge_by_the_rules(Expected& expected, Policy policy, const std::vector<Tensor>& outputs) {
  if (policy.profile != Profile::dml_doc) policy.profile = Profile::conformance;
  policy.pinned = nullptr;
  std::swap(policy, expected.policy);
  std::optional<Tensor> pinned = std::exchange(expected.pinned, std::nullopt);
  Verdict verdict = judge_outputs(expected, outputs);
  expected.policy = policy;
  expected.pinned = std::move(pinned);
  return verdict;
}

bool has_outputs(VerdictKind kind) {
  return has_wrong_output(kind) || kind == VerdictKind::not_rejected;
}

// A right answer proves that a backend has not the defect, unless the run's policy admits what the defect gave. A
// failure without outputs, a crash say, is one under every policy.
void assess_defect(const Case& test_case, Expected& expected) {
  const DefectAnswer& defect = *test_case.defect;
  const bool is_judged = has_outputs(defect.verdict);
  Verdict verdict = without_values(defect.verdict, {});
  if (is_judged) verdict = judge_by_the_rules(expected, policy_for(test_case, {}), defect.outputs);
  expected.defect_disputed = !is_failure(defect.verdict) || verdict.kind != defect.verdict;
  if (expected.defect_disputed) return;
  if (is_judged) verdict = judge_outputs(expected, defect.outputs);
  if (!is_failure(verdict.kind)) return;
  expected.defect = std::move(verdict);
  expected.vacuous_because.clear();
}

}  // namespace

// A case may say which profile its source implies, with a tag; a profile that the user chose wins.
Policy policy_for(const Case& test_case, Policy policy) {
  constexpr std::string_view kTag = "profile:";
  if (policy.profile != Profile::conformance) return policy;
  for (const std::string& tag : test_case.tags) {
    if (!tag.starts_with(kTag)) continue;
    if (const auto profile = profile_named(std::string_view(tag).substr(kTag.size()))) policy.profile = *profile;
  }
  return policy;
}

Expected expect_form(const Case& test_case, const Policy& policy, Classification classification) {
  Expected expected;
  expected.policy = policy_for(test_case, policy);
  expected.classification = std::move(classification);
  expected.classification.value_is_open = true;
  return expected;
}

Expected expect_form(const Case& test_case, const Policy& policy) {
  return expect_form(test_case, policy, classify(test_case));
}

namespace {

// A profile from a file pins the right values of the cases that it covers.
void pin(const Case& test_case, Expected& expected) {
  if (!expected.policy.pinned) return;
  auto output = diagnose::pinned_output(test_case, expected.classification, *expected.policy.pinned);
  if (output) {
    expected.pinned = std::move(output);
  } else {
    expected.policy.pinned = nullptr;
  }
}

}  // namespace

Expected expect(const Case& test_case, const Policy& policy) {
  return expect(test_case, policy, classify(test_case));
}

Expected expect(const Case& test_case, const Policy& policy, Classification classification) {
  Expected expected;
  expected.test_case = &test_case;
  expected.policy = policy_for(test_case, policy);
  expected.classification = std::move(classification);
  if (!expected.classification.lowered || expected.classification.value_is_open) return expected;
  const Lowered& lowered = *expected.classification.lowered;
  expected.output = lowered.evaluate(RoundingProfile::correctly_rounded);
  for (std::size_t i = 1; i < lowered.outputs(); ++i) {
    expected.further_outputs.push_back(lowered.output(i).evaluate(RoundingProfile::correctly_rounded));
  }
  if (!tier_of(expected.policy.profile)) {
    expected.pinned = lowered.evaluate(arithmetic_of(expected.policy.profile));
  }
  pin(test_case, expected);
  return expected;
}

namespace {

// A backend may have left anything behind the last element of 2 or 4 bits; a file holds zeros there.
void clear_unused_bits(Tensor& tensor) {
  const auto used = static_cast<unsigned>(tensor.elements() * bits_of(tensor.type) % 8);
  if (used != 0 && !tensor.bytes.empty()) tensor.bytes.back() &= static_cast<std::byte>((1U << used) - 1U);
}

}  // namespace

std::optional<DefectAnswer> defect_answer(const Case& test_case, const Policy& policy, const Outcome& outcome,
                                          const Verdict& verdict) {
  DefectAnswer answer{verdict.kind, {}};
  if (!has_outputs(verdict.kind)) return answer;
  const auto* produced = std::get_if<outcome::Produced>(&outcome);
  if (produced == nullptr) return std::nullopt;
  answer.outputs = produced->outputs;
  for (Tensor& output : answer.outputs) clear_unused_bits(output);
  if (verdict.kind != VerdictKind::wrong || policy.profile == Profile::conformance) return answer;
  Expected expected = expect(test_case, policy);
  const Verdict by_the_rules = judge_by_the_rules(expected, policy_for(test_case, {}), answer.outputs);
  return by_the_rules.kind == verdict.kind ? std::optional(answer) : std::nullopt;
}

namespace {

// Keeps the corner cases that concern the operator: reports count no others.
CornerCaseCounts concerning(const Operator& known, const CornerCaseCounts& found) {
  CornerCaseCounts counts;
  for (const CornerCaseInfo& info : corner_cases()) {
    const std::uint64_t count = found[info.corner_case];
    if (count > 0 && known.corner_cases.contains(info)) counts.add(info.corner_case, static_cast<std::int64_t>(count));
  }
  return counts;
}

}  // namespace

void assess(const Case& test_case, Expected& expected) {
  const Classification& classification = expected.classification;
  if (expected.output) {
    const CaseStatistics statistics = classification.lowered->statistics(expected.policy);
    expected.ties = statistics.ties;
    expected.corner_cases = concerning(*operator_of(test_case), statistics.corner_cases);
    expected.vacuous_because = why_vacuous(*expected.output, expected.ties);
  }
  if (!test_case.recorded_outputs.empty()) {
    const Verdict recorded = judge_by_the_rules(expected, expected.policy, test_case.recorded_outputs);
    expected.recorded_output_disputed = is_failure(recorded.kind);
  }
  if (test_case.defect) assess_defect(test_case, expected);
  expected.expectation_disputed =
      test_case.expectation != Expectation::unstated && test_case.expectation != classification.expectation();
}

namespace {

ElementView view_of(const Expected& expected, const RightOutput& of, const Tensor& got, std::int64_t index) {
  const auto& [lowered, exact, pinned] = of;
  const std::string right = element_text(pinned == nullptr ? exact : *pinned, index);
  TierCounts tiers;
  const bool is_from_file = expected.policy.pinned != nullptr;
  return {.right = is_right(lowered, got, exact, pinned, expected.policy, index, tiers),
          .got = element_text(got, index),
          .expected = right,
          .exact = lowered.exact_value(index),
          .admissible = is_from_file ? "{" + right + "}" : text_of(lowered.right_values(index, expected.policy))};
}

ElementReport worst_of(const Expected& expected, const RightOutput& right, std::size_t number, const Tensor& got,
                       const Comparison& comparison) {
  ElementView worst = view_of(expected, right, got, comparison.worst);
  return {.index = index_of(comparison.worst, got.shape),
          .got = std::move(worst.got),
          .admissible = std::move(worst.admissible),
          .exact = std::move(worst.exact),
          .distance = comparison.worst_distance,
          .output = number};
}

}  // namespace

ElementView view(const Expected& expected, const Tensor& got, std::int64_t index) {
  return view_of(expected, right_output(expected, 0), got, index);
}

namespace {

// The case with the input that the prepared node got in a further run. Nothing without such a run.
std::optional<Case> with_other_input(const Case* base, const Outcome& outcome) {
  const auto& other = outcome.on_other_input;
  if (!other || !std::holds_alternative<outcome::Produced>(outcome) || base == nullptr) return std::nullopt;
  Case test_case = *base;
  // Does not trust a worker's memory.
  if (other->position >= test_case.inputs.size() || !test_case.inputs[other->position]) return std::nullopt;
  Tensor& input = *test_case.inputs[other->position];
  const Tensor& given = other->input;
  if (given.type != input.type || given.shape != input.shape || given.bytes.size() != input.bytes.size()) {
    return std::nullopt;
  }
  input = given;
  forget_answers(test_case);
  return test_case;
}

bool is_first_answer_again(const Outcome& outcome) {
  return outcome.on_other_input->outputs == std::get<outcome::Produced>(outcome).outputs;
}

// Judges the answer of the prepared node to another input, where that is wrong. A newly prepared node gives it too. The
// first answer again shows that the backend keeps the first input only where a new process gives another answer.
std::optional<Verdict> wrong_on_other_input(const Expected& expected, const Outcome& outcome) {
  const std::optional<Case> test_case = with_other_input(expected.test_case, outcome);
  if (!test_case) return std::nullopt;
  const std::vector<Tensor>& outputs = outcome.on_other_input->outputs;
  Verdict verdict = judge_outputs(expect(*test_case, expected.policy), outputs);
  if (!is_failure(verdict.kind)) return std::nullopt;
  if (!is_first_answer_again(outcome) || outcome.on_other_input->is_own.value_or(true)) {
    verdict.detail += ", when the prepared node is run with another x";
    return verdict;
  }
  return without_values(VerdictKind::depends_on_earlier_runs,
                        "gives the first answer again when the prepared node is run with another x");
}

// Judges the answer that a process gave which had run other nodes before; nothing where that is right too.
std::optional<Verdict> wrong_after_others(const Expected& expected, const Outcome& outcome) {
  if (!outcome.after_others) return std::nullopt;
  const AfterOthers& after = *outcome.after_others;
  Verdict verdict;
  if (after.end.empty()) {
    verdict = judge_outputs(expected, after.outputs);
    if (!is_failure(verdict.kind)) return std::nullopt;
  } else {
    verdict.detail = after.end;
  }
  verdict.kind = VerdictKind::depends_on_earlier_node;
  const Case& test_case = *expected.test_case;
  if (!test_case.before.empty()) verdict.place = differing_parts(test_case.before.back(), test_case);
  verdict.detail = fmt::format("{} alone in a process, but after {}: {}", is_refusal(outcome) ? "refused" : "right",
                               after_text(test_case), verdict.detail);
  return verdict;
}

// An answer or a refusal of a case of which qconform does not know what is right. Crashes and the like need no answer
// to be judged.
bool is_beyond_judgement(const Expected& expected, const Outcome& outcome) {
  return !expected.classification.is_judged() &&
         (is_refusal(outcome) || std::holds_alternative<outcome::Produced>(outcome));
}

// Declined here, and computed right by another setting of the library.
bool is_contradicted(const Expected& expected, const Verdict& verdict, const Outcome& outcome) {
  if (verdict.kind != VerdictKind::unsupported || !outcome.elsewhere || expected.test_case == nullptr) return false;
  const VerdictKind there = judge_outputs(expected, outcome.elsewhere->outputs).kind;
  return there == VerdictKind::pass || there == VerdictKind::vacuous;
}

Verdict judge_outcome(const Expected& expected, const Outcome& outcome) {
  if (is_beyond_judgement(expected, outcome)) {
    return without_values(VerdictKind::not_judged, expected.classification.contract.violation->text());
  }
  Verdict verdict = std::visit(OutcomeJudge{expected}, static_cast<const outcome::Any&>(outcome));
  if (!is_contradicted(expected, verdict, outcome)) return verdict;
  verdict = without_values(VerdictKind::refused_here,
                           fmt::format("refused here, computed by {}: {}", outcome.elsewhere->backend, verdict.detail));
  verdict.place = message_signature(reason_of(outcome), *expected.test_case);
  return verdict;
}

// Messages of glibc's allocator, which looks at its heap when memory is allocated or freed: long after something wrote
// there, and in whatever function.
bool tells_of_damaged_heap(const std::string& log) {
  constexpr std::string_view kMessages[] = {"malloc(): ",         "free(): ",
                                            "realloc(): ",        "munmap_chunk(): ",
                                            "corrupted size vs",  "double free or corruption",
                                            "malloc_consolidate", "corrupted double-linked list",
                                            "unaligned fastbin",  "unaligned tcache",
                                            "sysmalloc"};
  return std::any_of(std::begin(kMessages), std::end(kMessages),
                     [&](std::string_view message) { return log.find(message) != std::string::npos; });
}

}  // namespace

Verdict judge(const Expected& expected, const Outcome& outcome) {
  Verdict verdict = judge_outcome(expected, outcome);
  if (!is_failure(verdict.kind) && verdict.kind != VerdictKind::not_judged) {
    if (auto other = wrong_on_other_input(expected, outcome)) verdict = std::move(*other);
  }
  if (!is_failure(verdict.kind)) {
    if (auto after = wrong_after_others(expected, outcome)) verdict = std::move(*after);
  }
  if (outcome.of_neighbour) verdict.detail += ", in a run of the same node with other values";
  verdict.log = outcome.log;
  if (verdict.kind == VerdictKind::crashed && tells_of_damaged_heap(outcome.log))
    verdict.place = "where the allocator finds a damaged heap";
  return verdict;
}

std::optional<Case> doubtful_other_input(const Case& test_case, const Outcome& outcome) {
  std::optional<Case> other = with_other_input(&test_case, outcome);
  if (!other || outcome.on_other_input->is_own || !is_first_answer_again(outcome)) return std::nullopt;
  const bool is_wrong = is_failure(judge_outputs(expect(*other, {}), outcome.on_other_input->outputs).kind);
  return is_wrong ? std::move(other) : std::nullopt;
}

std::optional<SelfContained> with_its_own_input(const Expected& expected, const Outcome& outcome) {
  if (is_failure(judge_outcome(expected, outcome).kind)) return std::nullopt;
  const std::optional<Verdict> wrong = wrong_on_other_input(expected, outcome);
  if (!wrong || wrong->kind == VerdictKind::depends_on_earlier_runs) return std::nullopt;
  std::optional<Case> test_case = with_other_input(expected.test_case, outcome);
  test_case->id += "/another-x";
  test_case->tags.emplace_back(kAnotherXTag);
  test_case->note = test_case->note.empty() ? "with another x" : "with another x than: " + test_case->note;
  SelfContained own{std::move(*test_case), Outcome(outcome::Produced(outcome.on_other_input->outputs))};
  own.outcome.log = outcome.log;
  return own;
}

std::vector<Profile> profiles_that_pin(const Expected& expected, const Outcome& outcome) {
  std::vector<Profile> pinning;
  const auto* produced = std::get_if<outcome::Produced>(&outcome);
  if (produced == nullptr) return pinning;
  const Verdict verdict = judge_outputs(expected, produced->outputs);
  const bool has_tier = verdict.tiers.elements() > 0 && verdict.tiers.common.strictest();
  if (verdict.kind != VerdictKind::wrong || !has_tier) return pinning;
  for (const ProfileInfo& info : profiles()) {
    if (tier_of(info.profile)) continue;
    const Tensor pinned = expected.classification.lowered->evaluate(arithmetic_of(info.profile));
    if (pinned.bytes == produced->outputs.front().bytes) pinning.push_back(info.profile);
  }
  return pinning;
}

}  // namespace qconform
