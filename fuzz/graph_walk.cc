#include "fuzz/graph_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "harness/backends/kinds.h"
#include "harness/diagnose/explain/campaign_diagnosis.h"
#include "harness/engine/case_files.h"
#include "harness/engine/environment.h"
#include "harness/engine/execute.h"
#include "harness/engine/findings.h"
#include "harness/engine/run_suites.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/forms/json/case_json.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/defects/defect.h"
#include "harness/model/draws/draws.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/onnx/case_model.h"
#include "harness/operators/graph/graph.h"
#include "harness/suites/stored_cases.h"
#include "reference/graph/sets.h"
#include "reports/issue/page.h"
#include "reports/render/forms.h"
#include "reports/render/single_case.h"
#include "reports/render/terminal.h"

namespace qconform::fuzz {
namespace {

namespace graph = reference::graph;

constexpr Profile kProfiles[] = {Profile::correctly_rounded, Profile::fused_int8, Profile::fused_q31, Profile::dml_doc,
                                 Profile::ort_f32};

// A search with this clock depends on the case alone: no time ends it.
shrink::Limits shrinking(std::uint64_t runs) {
  return {.runs = runs, .seconds = 1, .clock = [] { return 0.0; }};
}

diagnose::ExplainOptions explaining() {
  return {.cases = 6, .work = 1 << 18, .learning_work = 1 << 16, .seconds = 1e9};
}

const Environment& environment() {
  static const Environment environment = current_environment();
  return environment;
}

}  // namespace

// One case on its way. The first thing that must not be stays.
class GraphWalk::Taking {
 public:
  Taking(GraphWalk& walk, const Case& test_case, std::uint64_t seed)
      : walk_(walk),
        walked_(walk.walked_),
        case_(test_case),
        rng_(seed, digest_of(test_case)),
        policy_{.profile = rng_.chance(2, 3) ? Profile::conformance : rng_.pick(kProfiles)},
        wired_(check_wiring(test_case)),
        expected_(expect(test_case, policy_)) {}

  std::string take() {
    ++walked_.cases;
    walked_.wired += wired_ ? 1 : 0;
    walked_.in_contract += expected_.classification.lowered ? 1 : 0;
    check_contract();
    check_tiers();
    describe(case_);
    check_forms(case_, wired_);
    for (const auto& backend : walk_.right_) run_right(*backend);
    run_wrong();
    return problem_;
  }

 private:
  void require(bool holds, std::string_view what, const std::string& value = {}) {
    if (!holds && problem_.empty()) problem_ = fmt::format("{}{}{}", what, value.empty() ? "" : ": ", value);
  }
  void require_reason(const Error& error, std::string_view what) {
    require(!error.field.empty() && !error.message.empty(), fmt::format("{} without field or reason", what),
            error.text());
  }

  void check_contract() {
    const Classification& classification = expected_.classification;
    const auto& violation = classification.contract.violation;
    require((classification.lowered == nullptr) == violation.has_value(), "neither an answer nor a violation, or both");
    if (violation) {
      require(!violation->rule.empty() && !violation->field.empty() && !violation->message.empty(),
              "a violation without rule, field or reason", violation->text());
    }
    assess(case_, expected_);
  }

  // Each tier of the sets holds the one before it.
  void check_tiers() {
    const Classification& classification = expected_.classification;
    const GraphProgram* read = classification.lowered ? graph_program_of(*classification.lowered) : nullptr;
    if (read == nullptr) return;
    std::vector<graph::Bounds> stricter = graph::bounds_of(read->program, reference::Tier::exact);
    for (const reference::Tier tier : std::span(graph::kGraphTiers).subspan(1)) {
      std::vector<graph::Bounds> looser = graph::bounds_of(read->program, tier);
      for (std::size_t value = 0; value < looser.size(); ++value) {
        const bool holds = all_held(read->program.values[value].type, stricter[value], looser[value]);
        require(holds, "a tier lacks what a stricter one holds",
                fmt::format("tier {}, value {}", name_of(tier), value));
      }
      stricter = std::move(looser);
    }
  }
  static bool all_held(ElementType type, const graph::Bounds& stricter, const graph::Bounds& looser) {
    for (std::size_t i = 0; i < looser.size(); ++i) {
      if (looser.is_open(i)) continue;
      if (!looser.rounded(i, type).contains(stricter.rounded(i, type))) return false;  // nor NaN
    }
    return std::equal(looser.members.begin(), looser.members.end(), stricter.members.begin(), stricter.members.end(),
                      [](const auto& more, const auto& fewer) {
                        return std::includes(more.begin(), more.end(), fewer.begin(), fewer.end());
                      });
  }

  void describe(const Case& test_case) {
    const std::string text = summary_of(test_case) + values_text(test_case) + test_case.op_types();
    require(!text.empty(), "nothing to say of a case");
    if (!is_judged_as_graph(test_case)) return;
    const CaseGraph shown = shown_graph(test_case);
    require(shown.nodes.size() == test_case.nodes.size(), "a graph is shown without some nodes");
  }

  // JSON, ONNX and a folder, there and back.
  void check_forms(const Case& test_case, const Result<void>& wired) {
    const auto is_same = [&](const Case& again) { return digest_of(again) == digest_of(test_case); };
    const std::string text = case_json(test_case);
    const auto read = read_cases_json(text);
    require(read.has_value() == wired.has_value(), "a case file is read though it is wrong, or the reverse",
            read ? wired.error().text() : read.error().text());
    if (read) require(is_same(read->front()) && case_json(read->front()) == text, "another case comes back from JSON");
    if (!read) require_reason(read.error(), "JSON is refused");
    const auto model = case_to_model(test_case);
    require(model.has_value() == wired.has_value(), "a model is written though it is wrong, or the reverse");
    if (!model) return require_reason(model.error(), "a model is refused");
    const auto again = case_from_model(*model);
    if (!again) return require(false, "what was written as a model cannot be read", again.error().text());
    require(is_same(*again), "another case comes back from a model", case_json(*again) + " for " + text);
    require(case_to_model(*again) == *model, "another model comes back", case_json(*again) + " for " + text);
    if (!walk_.folder_.empty() && rng_.chance(1, 32)) check_folder(test_case);
  }

  void check_folder(const Case& test_case) {
    const std::filesystem::path folder = walk_.folder_ / "case";
    const auto written = write_case(test_case, CaseForm::onnx_test, folder, AnswerGiven::always, policy_);
    require(written.has_value(), "a folder cannot be written", written ? "" : written.error().text());
    const auto read = read_case_folder(folder);
    if (!read) return require(false, "what was written as a folder cannot be read", read.error().text());
    require(read->size() == 1 && digest_of(read->front()) == digest_of(test_case), "another case comes from a folder");
    require(!admissible_text(test_case, policy_).empty(), "no admissible values");
  }

  void run_right(Backend& backend) {
    const Verdict verdict = judged(case_, expected_, execute(backend, case_, output_));
    if (policy_.profile != Profile::conformance) return;  // a profile may admit less than this backend's arithmetic
    require(!is_failure(verdict.kind), "a right backend fails",
            fmt::format("{} {} {}", backend.info().name, name_of(verdict.kind), verdict.detail));
  }

  Verdict judged(const Case& test_case, const Expected& expected, const Outcome& outcome) {
    Verdict verdict = judge(expected, outcome);
    require(!is_failure(verdict.kind) || !verdict.detail.empty(), "a failure without a detail",
            std::string(name_of(verdict.kind)));
    if (verdict.worst) check_worst(test_case, expected, *verdict.worst);
    (void)profiles_that_pin(expected, outcome);
    return verdict;
  }

  void check_worst(const Case& test_case, const Expected& expected, const ElementReport& worst) {
    require(worst.output < test_case.output_count(), "a wrong element of an output that is not there");
    const auto shape = expected.classification.lowered->output(worst.output).output_shape();
    bool is_inside = worst.index.size() == shape.size();
    for (std::size_t d = 0; is_inside && d < shape.size(); ++d) {
      is_inside = worst.index[d] >= 0 && worst.index[d] < shape[d];
    }
    require(is_inside, "a wrong element outside its output");
    require(!worst.got.empty() && !worst.admissible.empty(), "a wrong element without values");
  }

  void run_wrong() {
    const auto backend = wrong_backend(rng_.next(), "wrong");
    const shrink::Runner run = shrink::in_process(*backend);
    const Outcome outcome = run(case_);
    const Verdict verdict = judged(case_, expected_, outcome);
    const auto* remark = expected_.classification.deciding_remark();
    (void)report::to_json(case_, expected_.classification.expectation(), remark == nullptr ? "" : remark->text(),
                          {{"wrong", verdict}});
    if (!is_failure(verdict.kind)) return;
    ++walked_.failing;
    report::Explained explained{case_, "wrong", verdict, {}, {}, {}, {}};
    if (rng_.chance(1, 4)) shrink_on(run, explained);
    if (rng_.chance(1, 8)) explain_on(run, outcome, explained);
    tell(explained, backend->info());
    if (rng_.chance(1, 2)) map_on(*backend);
  }

  void shrink_on(const shrink::Runner& run, report::Explained& explained) {
    auto shrunk = shrink::shrink(case_, run, policy_, shrinking(40));
    walked_.shrunk += shrunk.is_shrunk() ? 1 : 0;
    (void)report::to_json(shrunk, case_, "F1.json", "qconform replay F1.json");
    describe(shrunk.smallest);
    check_forms(shrunk.smallest, check_wiring(shrunk.smallest));
    explained.smallest = std::move(shrunk.smallest);
    explained.smallest_verdict = std::move(shrunk.verdict);
  }

  void explain_on(const shrink::Runner& run, const Outcome& outcome, report::Explained& explained) {
    if (is_judged_as_graph(case_) && rng_.chance(1, 4)) {
      const auto part = shrink::failing_part(case_, run, policy_);
      if (part) explained.failing_part = part->name();
    }
    auto observation = diagnose::Observation::of(case_, outcome, policy_);
    if (observation == nullptr || !observation->is_failure()) return;
    explained.explanation = diagnose::explain(std::move(observation), run, policy_, explaining());
    ++walked_.explained;
  }

  void tell(const report::Explained& explained, const BackendInfo& info) {
    require(!report::text_of(explained, report::Painter(false)).empty(), "no explanation in words");
    (void)report::to_json(explained);
    const Expected expected = expect(explained.smallest ? *explained.smallest : case_, policy_);
    const auto what = backend::parse_specification(rng_.pick({"onnxruntime", "onednn", "xnnpack", "plugin:a.so"}));
    require(what.has_value(), "a specification is not read");
    const report::FurtherAttempt attempt{"onnxruntime", explained.verdict};
    const report::Issue issue{explained, expected, info, environment(), issue::program_for(expected, *what, info),
                              {attempt}, {attempt}};
    require(!report::issue_page(issue).empty(), "no page for the maintainers");
  }

  void map_on(Backend& backend) {
    const auto map = element_map_of(case_, backend, policy_, {.output = 16, .input = 16});
    if (!map) return;
    ++walked_.mapped;
    require(map->got.values.size() == map->expected.size() && !map->admissible.empty(), "a map without elements");
  }

  GraphWalk& walk_;
  Walked& walked_;
  const Case& case_;
  Rng rng_;
  Policy policy_;
  Result<void> wired_;
  Expected expected_;
  GuardedOutput output_;
  std::string problem_;
};

GraphWalk::GraphWalk(std::filesystem::path folder) : folder_(std::move(folder)) {
  for (const char* text : {"interpreter", "interpreter@order=pairwise,fma=1", "interpreter@flush-subnormals=1",
                           "interpreter@double-sums=1", "fused"}) {
    const auto what = backend::parse_specification(text);
    auto backend = what->name == backend::kFused ? backend::fused(*what) : backend::interpreter(*what);
    if (backend) right_.push_back(std::move(*backend));
  }
}

GraphWalk::~GraphWalk() = default;

std::string GraphWalk::take(const Case& test_case, std::uint64_t seed) {
  return Taking(*this, in_own_order(test_case), seed).take();
}

std::string GraphWalk::report(std::vector<Case> cases, std::uint64_t seed) {
  constexpr std::size_t kBackends = 2;
  std::vector<std::unique_ptr<Backend>> backends;
  for (std::size_t i = 0; i < kBackends; ++i) {
    backends.push_back(wrong_backend(Rng(seed, i).next(), "wrong" + std::to_string(i)));
  }
  std::vector<std::unique_ptr<Suite>> suites;
  suites.push_back(std::make_unique<testing::ListedSuite>(std::move(cases)));
  diagnose::CampaignDiagnosis::Limits limits{.each = explaining(), .learning = 1 << 16, .examining = 1 << 20};
  diagnose::CampaignDiagnosis diagnosis(backends, {}, std::move(limits));
  PinnedDraft pins;
  Report report{.environment = environment(), .command = {"run"}, .seed = seed, .profile = "conformance"};
  report.overflow = "wrap";
  const SuiteRunOptions options{.policy = {}, .pins = &pins, .diagnoser = &diagnosis, .results = RowsKept{}};
  if (const auto ran = run_suites(suites, backends, options, report); !ran)
    return "the run ends: " + ran.error().text();
  shrink::shrink_findings(report, backends, {}, {.each = shrinking(40), .seconds = 1e9},
                          [&](Finding& finding, std::size_t backend) { diagnosis.refine(finding, backend); });
  add_element_maps(report, backends, {});
  if (!folder_.empty()) {
    if (const auto written = write_findings(folder_, {}, report); !written) return written.error().text();
  }
  walked_.findings += report.findings.size();
  const std::string text = report::to_json(report);
  const auto read = report::read_report(text);
  if (!read) return "a report is not read: " + read.error().text();
  if (report::to_json(*read) != text) return "another report comes back";
  if (pins.text().empty() || draft_waivers(report).text.empty() || report::summary(report, {.verbose = true}).empty())
    return "a report says nothing";
  if (report::to_junit(report).empty() || report::to_markdown(report, report::kCommentBytes).empty()) {
    return "a form of the report is empty";
  }
  return {};
}

namespace {

enum class AnswerFault : std::uint8_t {
  element,
  values,
  special,
  type,
  shape,
  fewer,
  more,
  none,
  refusal,
  rejection,
  any
};

ElementType any_known_type(Rng& rng) {
  for (;;) {
    const auto type = static_cast<ElementType>(rng.between(1, 26));
    if (is_known(type)) return type;
  }
}

// The reference's, or where it has none something of one element.
std::vector<Tensor> right_outputs(const Case& test_case, Rng& rng) {
  std::vector<Tensor> outputs;
  const Classification classification = classify(test_case);
  for (std::size_t i = 0; i < test_case.output_count(); ++i) {
    const bool has_answer = classification.lowered && !classification.value_is_open;
    outputs.push_back(has_answer ? classification.lowered->output(i).evaluate(RoundingProfile::correctly_rounded)
                                 : Tensor::zeros(any_known_type(rng), {1}));
  }
  return outputs;
}

// Patterns that are numbers of no kind, or the largest.
void make_special(Tensor& tensor, Rng& rng) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double value = rng.pick({kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), -0.0, 1e300});
  if (!is_numeric(tensor.type)) return;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (rng.chance(1, 2)) store_number(tensor, i, value);
  }
}

std::vector<std::int64_t> other_shape(std::vector<std::int64_t> shape, Rng& rng) {
  if (shape.empty() || rng.chance(1, 4)) {
    shape.push_back(rng.pick({0, 1, 2}));
  } else if (rng.chance(1, 3)) {
    shape.pop_back();
  } else {
    shape[rng.below(static_cast<std::uint32_t>(shape.size()))] += rng.chance(1, 2) ? 1 : 0;
    std::swap(shape.front(), shape.back());
  }
  return shape;
}

void spoil(Tensor& tensor, AnswerFault way, Rng& rng) {
  switch (way) {
    case AnswerFault::values: rng.fill(tensor.bytes); break;
    case AnswerFault::special: make_special(tensor, rng); break;
    case AnswerFault::type: tensor = random_bits(rng, any_known_type(rng), tensor.shape); break;
    case AnswerFault::shape: tensor = random_bits(rng, tensor.type, other_shape(tensor.shape, rng)); break;
    default:
      if (!tensor.bytes.empty()) {
        tensor.bytes[rng.below(static_cast<std::uint32_t>(tensor.bytes.size()))] ^= std::byte{1};
      }
  }
}

class Answered final : public PreparedCase {
 public:
  explicit Answered(std::vector<Tensor> outputs) : outputs_(std::move(outputs)) {}
  void run(OutputSink& sink) override { copy_outputs(outputs_, sink); }

 private:
  outcome::Produced outputs_;
};

class WrongBackend final : public Backend {
 public:
  WrongBackend(std::uint64_t seed, std::string name) : seed_(seed), info_{std::move(name), "0", "test"} {
    Rng rng(seed_);
    way_ = static_cast<AnswerFault>(rng.below(static_cast<std::uint32_t>(AnswerFault::any) + 1));
    changes_ = rng.chance(1, 16);
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    Rng rng(seed_ + (changes_ ? ++runs_ : 0), digest_of(test_case));
    const AnswerFault way = way_ == AnswerFault::any
                                ? static_cast<AnswerFault>(rng.below(static_cast<std::uint32_t>(AnswerFault::any)))
                                : way_;
    if (way == AnswerFault::refusal) return outcome::Unsupported{rng.chance(1, 2) ? "" : "not here"};
    if (way == AnswerFault::rejection) return outcome::Rejected{"it seems wrong"};
    std::vector<Tensor> outputs = right_outputs(test_case, rng);
    const std::size_t chosen = rng.below(static_cast<std::uint32_t>(outputs.size() + 1));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (chosen == outputs.size() || chosen == i) spoil(outputs[i], way, rng);
    }
    if (way == AnswerFault::fewer && !outputs.empty()) outputs.pop_back();
    if (way == AnswerFault::more) outputs.push_back(Tensor::zeros(any_known_type(rng), {2}));
    if (way == AnswerFault::none) outputs.clear();
    return std::make_unique<Answered>(std::move(outputs));
  }

 private:
  std::uint64_t seed_;
  BackendInfo info_;
  AnswerFault way_ = AnswerFault::any;
  bool changes_ = false;
  std::uint64_t runs_ = 0;
};

// Combines two models of graphs; returns nothing where they do not combine.
std::unique_ptr<Backend> defective(Rng& rng, const std::string& name) {
  const std::vector<const diagnose::Defect*> known = diagnose::defects_in(kGraphSubject);
  const auto any = [&] { return known[rng.below(static_cast<std::uint32_t>(known.size()))]; };
  auto pair = diagnose::pair_of(*any(), *any());
  return pair ? backend::defect_model(std::move(*pair), name) : nullptr;
}

}  // namespace

std::unique_ptr<Backend> wrong_backend(std::uint64_t seed, std::string name) {
  Rng rng(seed, 1);
  if (rng.chance(1, 3)) {
    if (auto backend = defective(rng, name)) return backend;
  }
  return std::make_unique<WrongBackend>(seed, std::move(name));
}

}  // namespace qconform::fuzz
