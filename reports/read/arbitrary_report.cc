#include "reports/read/arbitrary_report.h"

#include <rapidcheck.h>
#include <limits>

namespace qconform::testing {
namespace {

std::string text() {
  return *rc::gen::oneOf(rc::gen::elementOf(std::vector<std::string>{
                             "", "avx2", "QLinearConv", "x [1,2] * w", "a\"b\\c/d", "<b> & ]]> |`*_", "line\nline",
                             "\x01\x1f\x7f", "\xEF\xBF\xBE \xEF\xBF\xBF", "gr\xC3\xBC\xC3\x9F", "\xC3"}),
                         rc::gen::string<std::string>());
}

std::uint64_t count() {
  return *rc::gen::inRange<std::uint64_t>(0, 1000000);
}

double seconds() {
  return static_cast<double>(*rc::gen::inRange<std::int64_t>(0, 1000000000)) / 7e5;
}

bool coin() {
  return *rc::gen::arbitrary<bool>();
}

template <typename Make>
auto some(int most, Make make) {
  std::vector<decltype(make())> values(static_cast<std::size_t>(*rc::gen::inRange(0, most + 1)));
  for (auto& value : values) value = make();
  return values;
}

std::map<std::string, std::uint64_t> reasons() {
  std::map<std::string, std::uint64_t> result;
  for (const std::string& reason : some(3, text)) {
    // Keys that are not UTF-8 could become alike.
    if (reason != "\xC3" && std::all_of(reason.begin(), reason.end(), [](char c) { return c >= 0; }))
      result[reason] = count();
  }
  return result;
}

VerdictKind kind() {
  return static_cast<VerdictKind>(*rc::gen::inRange(0, kVerdictKinds));
}

ElementReport element() {
  ElementReport result;
  for (const std::uint64_t index : some(4, count)) result.index.push_back(static_cast<std::int64_t>(index));
  result.got = text();
  result.admissible = text();
  result.exact = text();
  result.distance = coin() ? seconds() : std::numeric_limits<double>::infinity();
  return result;
}

SuiteResult suite() {
  SuiteResult result;
  result.name = text();
  result.cases = count();
  result.digest = *rc::gen::arbitrary<std::uint64_t>();
  result.skipped = reasons();
  result.disputed = some(2, text);
  result.expectations = {{"valid", count()}, {"invalid", count()}};
  result.elements = count();
  result.exact_ties = count();
  result.near_ties = count();
  result.coverage = some(
      2, [] { return CombinationCoverage{text(), count(), count(), count(), count(), count(), count(), count()}; });
  return result;
}

HazardCoverage coverage() {
  HazardCoverage result;
  for (const std::string_view op_type : kHazardOperators) {
    if (!coin()) continue;
    result.note(std::string(op_type));
    for (const HazardInfo& info : hazards()) {
      if (!info.concerns(op_type) || !coin()) continue;
      HazardCoverage::Tallies tallies{};
      tallies[static_cast<std::size_t>(info.hazard)] = {1 + count(), 1 + count()};
      result.add(std::string(op_type), coin() ? "uint8 int8 uint8" : "int8", tallies);
    }
  }
  return result;
}

OperatorResult operator_result() {
  OperatorResult result;
  for (std::size_t i = 0; i < result.verdicts.size(); ++i) {
    result.verdicts[i] = coin() ? count() : 0;
    result.waived[i] = coin() ? result.verdicts[i] / 2 : 0;
  }
  result.elements = count();
  result.wrong_elements = count();
  if (coin()) {
    result.tiers.common = {};
    for (const reference::Tier tier : reference::kAllTiers) {
      result.tiers.by_tier[static_cast<std::size_t>(tier)] = count();
      if (coin()) result.tiers.common.insert(tier);
    }
    result.tiers.none = 1 + count();
  }
  result.unsupported_reasons = reasons();
  result.mistrusted_reasons = reasons();
  return result;
}

BackendResult backend() {
  BackendResult result;
  result.info = {text(), text(), text()};
  result.decides = coin();
  result.seconds = seconds();
  result.worst = some(2, [] { return WorstElement{text(), element()}; });
  for (const std::string_view op_type : kHazardOperators) {
    if (coin()) result.operators[std::string(op_type)] = operator_result();
  }
  result.relations =
      some(2, [] { return RelationResult{text(), count(), count(), count(), count(), count(), count()}; });
  if (!result.relations.empty()) result.failed_bases = count();
  return result;
}

Diagnosis diagnosis() {
  Diagnosis result;
  result.status = *rc::gen::element<std::string>("explained", "ambiguous", "partial", "unexplained");
  result.defects = some(2, [] { return DiagnosedDefect{text(), text(), text(), text(), text()}; });
  result.arithmetic = text();
  result.examined = count();
  result.trial_cases = count();
  result.trial_failing = count();
  result.trial_reproduced = count();
  result.where = text();
  result.when = some(3, text);
  result.failing = count();
  result.passing = count();
  result.passing_inside = count();
  return result;
}

Case named_case() {
  Case result;
  result.id = text();
  return result;
}

Finding finding() {
  Finding result;
  result.id = "F" + std::to_string(1 + count());
  result.backend = text();
  result.kind = kind();
  result.op_type = text();
  result.signature = text();
  result.cases = 1 + count();
  result.verdict.detail = text();
  result.verdict.rule = text();
  result.verdict.log = text();
  result.verdict.elements = count();
  result.verdict.wrong_elements = count();
  if (coin()) result.verdict.worst = element();
  result.example = named_case();
  result.example_summary = "x " + text();
  if (coin()) result.waiver = WaivedBy{text(), text(), text()};
  if (coin()) result.diagnosis = diagnosis();
  if (coin()) {
    result.shrinking = Shrinking{text(), count(), count(), seconds(), named_case(), "x " + text(), text()};
  }
  if (coin()) {
    result.related = some(2, named_case);
    result.related_file = "F1.related.json";
  }
  result.case_file = text();
  result.model_file = text();
  result.test_folder = text();
  result.replay = text();
  return result;
}

CampaignState campaign() {
  CampaignState result;
  result.block_cases = 1 + count();
  result.blocks = some(3, [] {
    const std::uint64_t first = count();
    return CampaignState::Range{first, first + 1 + count()};
  });
  result.parts = some(2, [] { return CampaignState::Part{count(), count()}; });
  result.runs = some(2, [] { return CampaignRun{text(), text(), seconds(), 3, text(), count(), text()}; });
  result.progress = some(3, [] { return CampaignProgress{seconds(), count(), count(), count(), 0, 0}; });
  if (coin()) {
    result.engine = EngineState{text(), count(), count(), count(), count(), count()};
    for (CampaignProgress& at : result.progress) at.edges = at.features = count();
  }
  return result;
}

}  // namespace

Report arbitrary_report() {
  Report report;
  report.environment = {text(), text(), text(), text(), text(), text(), some(3, text), some(2, text)};
  report.command = some(4, text);
  report.seed = *rc::gen::arbitrary<std::uint64_t>();
  report.profile = text();
  report.overflow = text();
  report.suites = some(2, suite);
  report.hazards = coverage();
  report.backends = some(2, backend);
  report.findings = some(3, finding);
  report.times = {seconds(), seconds(), seconds(), seconds(), seconds(), seconds(), seconds()};
  if (coin()) report.campaign = campaign();
  return report;
}

}  // namespace qconform::testing
